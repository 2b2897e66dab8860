"""The site's reference, its pages for contributors, its examples, and its link check."""

from __future__ import annotations

import ast
import importlib
import re
import runpy
import shutil
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


PAGE = """<link rel="stylesheet" href="{css}">
<div class="bd-header"><a href="">Start</a>{header}<a href="">End</a></div>
<div class="bd-article"><table class="table"><td>
<code><span class="pre">predict_proba_ordered</span></code></table></div>"""


@pytest.mark.slow
def test_what_the_layout_check_finds(tmp_path):
    """A word of code that is broken on both screens, and a header of two rows on a laptop."""
    check = runpy.run_path(str(DOCS / "check_overflow.py"))
    browser = next(filter(None, map(shutil.which, check["BROWSERS"])), None)
    if browser is None:
        pytest.skip("there is no browser")
    (tmp_path / "as_it_is.html").write_text(PAGE.format(css="site.css", header=""))
    (tmp_path / "site.css").write_text((DOCS / "_static" / "site.css").read_text(encoding="utf-8"))
    (tmp_path / "broken.html").write_text(PAGE.format(css="broken.css", header="<p>"))
    (tmp_path / "broken.css").write_text("td { width: 2em; display: block; } .pre { overflow-wrap: anywhere; }")
    word = "broken in a table: predict_proba_ordered"
    on_laptop = [["laptop", "/broken.html", what] for what in (word, "the header has several rows")]
    assert check["overflows"](tmp_path, browser) == [*on_laptop, ["phone", "/broken.html", word]]


# What readers look for is in the title of the page that has it, or among its words: the search wants all of them.


@pytest.mark.parametrize(
    ("words", "page", "in_title"),
    [
        ("categorical", "how_to/columns", "categorical"),
        ("prediction interval", "guide/distributions", "prediction interval"),
        ("three graders", "how_to/soft_labels", ""),
        ("raters", "how_to/soft_labels", "raters"),
        ("pipeline", "how_to/pipeline", "pipeline"),
        ("free text", "how_to/text", "free text"),
        ("id column", "how_to/text", "id column"),
    ],
)
def test_a_search_finds_the_page(words, page, in_title):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8").lower()
    assert in_title in text.partition("\n")[0]
    assert all(word in text for word in words.split())


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


def test_a_missing_file_is_found():
    assert missing("`rows/native.py`, `adapters/<name>/`, `rows/gone.py`") == ["rows/gone.py"]


# The examples are in the gallery and show every display. That they run is what `make docs` finds


EXAMPLES = ROOT / "examples"
SCRIPTS = sorted(path for path in EXAMPLES.rglob("*.py") if path.name != "demo.py")  # which is a command
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
