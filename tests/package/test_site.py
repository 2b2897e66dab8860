"""The reference has every public name, and the pages stay short."""

from __future__ import annotations

import importlib
import runpy

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


def test_the_site_and_the_readme_are_short():
    counting = runpy.run_path(str(DOCS / "count_words.py"))
    assert counting["words"]("# Two words\n\n<!-- none --> | - | [a link](there) |") == 4
    assert not [name for name, total in counting["totals"]().items() if total > counting["LIMITS"][name]]


def test_llms_txt_lists_every_page_once(tmp_path):
    """Which the check of the built site sees."""
    llms_text = runpy.run_path(str(DOCS / "llms.py"))["llms_text"]
    wrong = runpy.run_path(str(DOCS / "check_links.py"))["wrong_in_llms"]
    children = {"index": ["start", "guide"], "guide": ["labels"]}
    titles = {"start": "Start", "guide": "Guide", "labels": "Labels"}
    for page in ("index", "search", *titles):
        (tmp_path / f"{page}.html").touch()
    written = tmp_path / "llms.txt"
    text = llms_text("boosting", "Of trees.", children, titles, {"labels": "What classes are called."})
    assert text.splitlines()[0] == "# boosting"
    assert text.endswith("## Guide\n\n- [Guide](guide.html)\n- [Labels](labels.html): What classes are called.\n")
    written.write_text(text)
    assert wrong(tmp_path) == []
    written.write_text(text.replace("- [Labels](labels.html)", "- [Guide](guide.html)\n- [More](more.html)"))
    assert wrong(tmp_path) == ["guide.html", "labels.html", "more.html"]
