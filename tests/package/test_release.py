"""What a release says of itself in several files: version, dates, requirements, actions by their commits."""

from __future__ import annotations

import re
from importlib import metadata

import pytest
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


def test_the_recipe_requires_what_the_package_requires():
    recipe = loaded("recipe/recipe.yaml")["requirements"]
    run = requirements()
    assert len(run) == 5
    assert set(recipe["run"]) == run | {"python"}
    assert set(recipe["run_constraints"]) == requirements("xgboost") | requirements("lightgbm")
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    build = re.search(r"^requires = \[(.*)\]$", text, re.MULTILINE)[1].replace('"', "").replace(">=", " >=")
    assert set(recipe["host"]) == {"python", "pip", *build.split(", ")}
    assert (
        f'"<{re.search(r"^requires-python = .>=(.*).$", text, re.MULTILINE)[1]}"'
        in loaded("recipe/recipe.yaml")["build"]["skip"]
    )


def test_the_classifiers_name_the_pythons_that_are_tested():
    classifiers = metadata.metadata("ordinal-objectives").get_all("Classifier")
    named = {one.rpartition(" ")[2] for one in classifiers if re.search(r"Python :: 3\.\d+$", one)}
    matrix = loaded(".github/workflows/tests.yml")["jobs"]["linux"]["strategy"]["matrix"]["include"]
    assert named == {row["python"] for row in matrix}
    assert len(named) == 4


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_takes_actions_by_their_commits(path):
    """A line says also which version the commit is, and the same in every file."""
    used = re.findall(r"uses: (?!\./)(.*)", path.read_text(encoding="utf-8"))
    assert used
    everywhere = "".join(one.read_text(encoding="utf-8") for one in WORKFLOWS)
    for line in used:
        name = re.fullmatch(r"([\w/-]+)@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)[1]
        assert set(re.findall(rf"uses: ({name}@.*)", everywhere)) == {line}


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
