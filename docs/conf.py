"""Sphinx configuration of the site: the Markdown pages beside this file, and a reference made from docstrings."""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib import metadata
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.ext.autosummary import Autosummary
from sphinx.util.nodes import make_refnode
from sphinx_gallery.sorting import ExplicitOrder

import ordinal_objectives

sys.path.append(str(Path(__file__).parent))  # Sphinx does not put it there
from llms import llms_text

ROOT = Path(__file__).parents[1]
REPOSITORY = "https://github.com/ordinal-objectives/ordinal-objectives"
BLOB = f"{REPOSITORY}/blob/main/"
RAW = BLOB.replace("github.com", "raw.githubusercontent.com").replace("/blob", "")

project = "ordinal-objectives"
author = project_copyright = "The ordinal-objectives developers"
version = release = ordinal_objectives.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
# Pages for readers of the repository. Links from the site lead to GitHub.
IN_SITE = ("plain_call", "confirmation", "tuned", "when_not", "data")
exclude_patterns = [
    *("architecture.md", "decisions.md", "evidence_tables.md", "high_order.md", "multi_output.md", "parity.md"),
    *("reliability.md", "scaling.md", "upstream/*.md"),
    *(f"evidence/{path.name}" for path in (ROOT / "docs/evidence").glob("*.md") if path.stem not in IN_SITE),
]
default_role = "literal"
highlight_language = "none"
html_math_renderer = "mathml"
toc_object_entries_show_parents = "hide"
nitpicky = True
# Nothing is fetched while the site is built, so other packages' names stay without a link.
nitpick_ignore_regex = [("py:.*", r"(copy|lightgbm|numpy|pickle|sklearn|xgboost)(\..*)?")]

myst_enable_extensions = ["attrs_block", "dollarmath"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False

# What examples print is shown, and nothing that differs from run to run: no times, no objects in memory.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"demo\.py$",  # a command, which prints times
    "subsection_order": ["../examples/data", "../examples/use", "../examples/theory"],
    "within_subsection_order": ExplicitOrder(
        [
            *("quickstart.py", "pictures.py"),
            *("survey.py", "star_rating.py", "severity.py", "readers.py", "judges.py", "panels.py"),
            *("decisions.py", "calibration_and_sets.py", "interpretation.py", "distributions.py", "ensembles.py"),
            *("moving_thresholds.py", "joint_steps.py", "beyond_one_score.py", "majoriser.py"),
        ]
    ),
    "doc_module": ("ordinal_objectives",),
    "backreferences_dir": "generated/backreferences",
    "capture_repr": (),
    "download_all_examples": False,
    "image_srcset": ["2x"],
    "min_reported_time": float("inf"),
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = project
html_static_path = ["_static"]
html_css_files = ["site.css"]
# Pages that have none below them.
html_sidebars: dict[str, list[str]] = {page: [] for page in ("index", "start", "tutorial")}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "github_url": REPOSITORY,
    "header_links_before_dropdown": 8,
    "navbar_persistent": ["search-button"],  # the field would take a second row on a laptop
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": ["license"],
}


def section(file: str, heading: str) -> str:
    """Return a file of the repository, or a section of it by its heading, with the addresses of its links."""
    text = (ROOT / file).read_text(encoding="utf-8")
    if not heading:
        return text
    defined = dict(re.findall(r"^\[([^]]+)\]: (\S+)$", text, re.MULTILINE))
    text = re.sub(r"\]\[([^]]+)\]", lambda found: f"]({defined[found[1]]})", text)
    start = text.index(f"\n## {heading}\n")
    return text[start : text.index("\n## ", start + 1)]


def target_in_site(page: str, target: str) -> str:
    """Return where a link of a page leads: to pages and examples in the site, or to a file of the repository."""
    if re.match(r"[a-z]+:|#|$", target):
        return target
    path = normpath(PurePosixPath(page).parent / target)
    if example := re.fullmatch(r"\.\./examples/((?:\w+/)?)(README\.rst|\w+\.py)", path):
        return f"/gallery/{example[1]}{'index' if example[2] == 'README.rst' else example[2].removesuffix('.py')}.rst"
    if any(PurePosixPath(path.partition("#")[0]).match(pattern) for pattern in exclude_patterns):
        return f"{BLOB}docs/{path}"
    return BLOB + path.removeprefix("../") if path.startswith("../") else target


def into_site(_: Any, page: str, source: list[str]) -> None:
    """Fill in sections of other files, and lead links to where their targets are in the site."""
    fill = re.compile(r"^<!-- from (\S+?)(?:: (.+))? -->$", re.MULTILINE)
    text = fill.sub(lambda found: section(found[1], found[2] or ""), source[0])
    if text != source[0]:
        for home in ("", BLOB, RAW):
            text = text.replace(f"]({home}docs/", "](").replace(f"]({home}examples/", "](../examples/")
    text = re.sub(rf"`([^`<]+) <{BLOB}docs/([\w/]+)\.md>`_", r":doc:`\1 </\2>`", text)
    source[0] = re.sub(r"\]\(([^)\s]+)\)", lambda found: f"]({target_in_site(page, found[1])})", text)


def skip_inherited(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out methods that other packages document."""
    home = getattr(getattr(member, "fget", member), "__module__", None) or ""
    return True if callable(member) and not home.startswith("ordinal_objectives") else None


class Summaries(Autosummary):  # type: ignore[misc]  # where lint runs Sphinx is not installed
    """Tables of names whose summaries cite nothing: what they would cite stands on the page of the name."""

    def get_items(self, names: list[str]) -> list[tuple[str, str | None, str, str]]:
        """Return name, signature, summary and whole name of each."""
        items = super().get_items(names)
        return [(name, signature, re.sub(r" ?\[[\w-]+\]_", "", text), real) for name, signature, text, real in items]


@cache
def names_by_text(env: Any) -> dict[str, tuple[str, str]]:
    """Return page and anchor of each object of the reference, by what a page calls it: its name, or module and name."""
    short = {"xgb": "oxgb", "lgbm": "olgbm", "cb": "ocb"}
    modules = {f"ordinal_objectives.adapters.{name}": alias for name, alias in short.items()}
    found: dict[str, tuple[str, str]] = {}
    several = set()
    for name, _, kind, page, anchor, _ in env.get_domain("py").get_objects():
        module, _, last = name.rpartition(".")
        if kind in ("module", "attribute", "property"):
            continue
        texts = {last, f"{modules.get(module, module.rpartition('.')[2])}.{last}"}
        several |= {text for text in texts if found.get(text, (page, anchor)) != (page, anchor)}
        found |= dict.fromkeys(texts, (page, anchor))
    return {text: place for text, place in found.items() if text not in several}


def link_names(app: Any, tree: nodes.document, page: str) -> None:
    """Lead what stands in backticks to its page in the reference, where one object alone has that name."""
    known = names_by_text(app.env)
    for literal in list(tree.findall(nodes.literal)):
        place = known.get(literal.astext().removesuffix("()"))
        if place is None or place[0] == page or isinstance(literal.parent, (nodes.reference, nodes.title)):
            continue
        literal.replace_self(make_refnode(app.builder, page, *place, literal.deepcopy()))


def write_formula(writer: Any, node: nodes.math | nodes.math_block) -> None:
    """Write a formula as MathML, which browsers show without a script from elsewhere."""
    writer.body.append(tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block)))
    raise nodes.SkipNode


def write_llms(app: Any, error: Exception | None) -> None:
    """Write llms.txt beside the pages, with the first sentence of each."""
    if error is not None or app.builder.name != "html":
        return
    first = {}
    for page in app.env.found_docs:
        paragraph = app.env.get_doctree(page).next_node(nodes.paragraph)
        text = " ".join(paragraph.astext().split()) if paragraph else ""
        first[page] = re.split(r"(?<=[.:]) ", text)[0]
    titles = {page: title.astext() for page, title in app.env.titles.items()}
    summary = metadata.metadata("ordinal-objectives")["Summary"]
    text = llms_text(project, summary, app.env.toctree_includes, titles, first)
    (Path(app.outdir) / "llms.txt").write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    """Register what is done to pages, members and formulas, and what is written beside them."""
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
    app.add_directive("autosummary", Summaries, override=True)
    app.connect("source-read", into_site)
    app.connect("autodoc-skip-member", skip_inherited)
    app.connect("doctree-resolved", link_names)
    app.connect("build-finished", write_llms)
