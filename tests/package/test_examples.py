"""The examples are in the gallery and show every display. That they run is what `make docs` finds."""

from __future__ import annotations

import ast
import re

import pytest

from ordinal_objectives import plotting
from sources import ROOT

EXAMPLES = ROOT / "examples"
SCRIPTS = sorted(EXAMPLES.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SCRIPTS}
CONF = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
each = pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)


def test_every_display_is_in_an_example():
    """Also in the one that has all of them."""
    calls = [ast.unparse(node.func) for node in ast.walk(TREES[EXAMPLES / "pictures.py"]) if isinstance(node, ast.Call)]
    drawn = {call.removesuffix(".from_estimator") for call in calls if call.endswith(".from_estimator")}
    assert set(plotting.__all__) == drawn


def test_every_example_is_in_the_gallery():
    """Each has its place in the order, by a name that no other has, in a folder that says what it is about."""
    order = re.search(r"ExplicitOrder\(\s*\[(.*?)\]", CONF, re.DOTALL).group(1)
    assert sorted(re.findall(r'"(\w+\.py)"', order)) == sorted(path.name for path in SCRIPTS)
    folders = re.search(r'"subsection_order": \[(.*?)\]', CONF).group(1)
    listed = {EXAMPLES, *(EXAMPLES / name for name in re.findall(r'"\.\./examples/(\w+)"', folders))}
    assert listed == {path.parent for path in SCRIPTS}
    assert all((folder / "README.rst").exists() for folder in listed)


@each
def test_an_example_begins_with_a_title(path):
    title, line, *text = ast.get_docstring(TREES[path]).splitlines()
    assert line == "=" * len(title)
    assert len(" ".join(text)) > 100
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 140


@each
def test_data_that_are_drawn_are_called_simulated(path):
    text = path.read_text(encoding="utf-8")
    assert ("default_rng(" in text) == ("simulated" in (ast.get_docstring(TREES[path]) or ""))
    assert "default_rng()" not in text  # without a seed the page would differ from run to run


def test_links_to_files_lead_somewhere():
    texts = [path.read_text(encoding="utf-8") for path in [*SCRIPTS, *EXAMPLES.rglob("*.rst")]]
    found = {name for text in texts for name in re.findall(r"/ordinal-objectives/blob/main/([^>#]+)", text)}
    assert len(found) >= 3
    assert all((ROOT / name).exists() for name in found), found
