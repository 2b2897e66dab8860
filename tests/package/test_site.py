"""The site's reference has every public name, its pages all Markdown files, and its link check finds what is broken."""

from __future__ import annotations

import importlib
import re
import runpy
from pathlib import Path

from sources import DOCS, check_exceptions, entries, module_names

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


def test_every_page_is_in_the_site():
    """Each Markdown file below docs stands in a list of pages."""
    listed = set()
    for page in DOCS.rglob("*.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            names = re.findall(r"^(?:.* <)?([\w/]+)>?$", block, re.MULTILINE)
            listed |= {(page.parent / name).relative_to(DOCS).as_posix() for name in names}
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    assert listed == pages - {"index"} | {"reference", "gallery/index"}


def test_what_the_link_check_finds(tmp_path):
    broken = runpy.run_path(str(DOCS / "check_links.py"))["broken"]
    (tmp_path / "there.html").write_text('<p id="here"></p><a href="https://elsewhere/gone">')
    (tmp_path / "index.html").write_text(
        '<a href="there.html#here"><a href="#"><a href="there.html#gone"><a href="gone.html"><img src="gone.png">'
    )
    assert broken(Path(tmp_path)) == [f"index.html: {name}" for name in ("there.html#gone", "gone.html", "gone.png")]
