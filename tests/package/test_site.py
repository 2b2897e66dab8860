"""The site's reference, its pages for contributors, its examples, and its link check."""

from __future__ import annotations

import ast
import importlib
import re
import runpy
from pathlib import Path

import pytest

from ordinal_objectives import plotting
from sources import DOCS, ROOT, check_exceptions, entries, module_names

INNER = {
    "ordinal_objectives.rows": "who adds a framework or a device reads the source",
    "ordinal_objectives.trees": "who adds a trainer or a format reads the source",
}


def public_names():
    """Return the names that modules export, by their modules."""
    modules = {name: importlib.import_module(name) for name in ["ordinal_objectives", *module_names()]}
    return {name: module.__all__ for name, module in modules.items() if "__all__" in vars(module)}


def test_every_public_name_is_in_the_reference():
    """A name that several modules export has one entry."""
    listed = {id(getattr(importlib.import_module(module), name)) for module, name in entries()}
    missing = {
        (module, name)
        for module, names in public_names().items()
        for name in names
        if id(getattr(importlib.import_module(module), name)) not in listed
    }
    assert not {(module, name) for module, name in missing if module not in INNER}
    check_exceptions({module for module, _ in missing}, INNER)


def test_entries_stand_once():
    found = entries()
    assert len(found) > 100
    assert len(found) == len(set(found))


def test_the_site_and_the_readme_are_short():
    counting = runpy.run_path(str(DOCS / "count_words.py"))
    assert counting["words"]("# Two words\n\n<!-- none --> | - | [a link](there) |") == 4
    assert not [name for name, total in counting["totals"]().items() if total > counting["LIMITS"][name]]


def test_what_the_link_check_finds(tmp_path):
    broken = runpy.run_path(str(DOCS / "check_links.py"))["broken"]
    (tmp_path / "there.html").write_text('<p id="here"></p><a href="https://elsewhere/gone">')
    (tmp_path / "index.html").write_text(
        '<a href="there.html#here"><a href="#"><a href="there.html#gone"><a href="gone.html"><img src="gone.png">'
    )
    assert broken(Path(tmp_path)) == [f"index.html: {name}" for name in ("there.html#gone", "gone.html", "gone.png")]


# The pages for contributors name files that exist


PAGES = [*sorted((ROOT / "docs" / "how_to").glob("*.md")), ROOT / "CONTRIBUTING.md"]
FOLDERS = (
    "adapters",
    "benchmarks",
    "docs",
    "examples",
    "histogram_engine",
    "native",
    "ordinal_objectives",
    "tests",
    "threshold_solver",
)


def missing(text):
    """Return the paths in backticks that no file ends in; those of users and of placeholders do not count."""
    there = [str(path.relative_to(ROOT)) for name in FOLDERS for path in (ROOT / name).rglob("*.*")]
    named = re.findall(r"`((?:[\w-]+/)+[\w-]+\.(?:py|hpp|cpp|md))`", text)
    return [name for name in named if not any(f"/{path}".endswith(f"/{name}") for path in there)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_name_files_that_exist(page):
    assert not missing(page.read_text())


# The examples are in the gallery and show every display. That they run is what `make docs` finds


EXAMPLES = ROOT / "examples"
SCRIPTS = sorted(path for path in EXAMPLES.rglob("*.py") if path.name != "demo.py")  # which is a command
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SCRIPTS}
CONF = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")


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
