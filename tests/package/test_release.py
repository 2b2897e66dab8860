"""What a release says of itself in several files: version, dates, requirements, actions by their commits."""

from __future__ import annotations

import json
import re
import runpy
from importlib import metadata

import yaml

import ordinal_objectives
from sources import ROOT

CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def loaded(name):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def sections():
    """Return the changelog's sections by their headings, newest first."""
    parts = re.split(r"^## (.*)$", CHANGELOG, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_file_has_the_version():
    version = ordinal_objectives.__version__
    assert metadata.version("ordinal-objectives") == version
    assert loaded("CITATION.cff")["version"] == version
    assert loaded("recipe/recipe.yaml")["context"]["version"] == version
    newest, text = next(iter(sections().items()))
    if newest == "[Unreleased]":
        assert text.startswith(f"\n\nThe next version is {version}.\n")
    else:
        assert newest.startswith(f"[{version}] - ")


def requirements(extra=None):
    """Return what the package requires, always or with an extra, by name."""
    end = "$" if extra is None else f'; extra == "{extra}"$'
    found = [re.match(r"([\w-]+)>=([\d.]+)" + end, line) for line in metadata.requires("ordinal-objectives")]
    return {f"{one[1]} >={one[2]}" for one in found if one}


def test_only_who_publishes_may_identify_itself():
    """And nobody may write to the repository."""
    rights = {
        (path.name, name): set(job["permissions"].items())
        for path in WORKFLOWS
        for name, job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].items()
    }
    publishing = {("docs.yml", "publish"), ("release.yml", "publish")}
    assert {job for job, granted in rights.items() if ("id-token", "write") in granted} == publishing
    assert all(granted == {("contents", "read")} for job, granted in rights.items() if job not in publishing)


def test_coverage_has_a_figure_and_a_goal_for_each_language(tmp_path):
    script = runpy.run_path(str(ROOT / "tests" / "coverage_figures.py"))
    (tmp_path / "python.json").write_text(json.dumps({"totals": {"covered_branches": 960, "num_branches": 1000}}))
    assert script["figures"](tmp_path) == {"branches of Python": (960, 1000)}
    (tmp_path / "native.json").write_text(json.dumps({"line_covered": 94, "line_total": 100}))
    found = script["figures"](tmp_path)
    assert found == {"branches of Python": (960, 1000), "lines of native/core": (94, 100)}
    assert script["too_low"](found) == ["lines of native/core"]
