"""The page of the libraries' names: every one has a decision, and the page says what the code does."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

PARITY: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "parity.py"))


@pytest.fixture(scope="module", params=[*PARITY["KINDS"], PARITY["SPARK"]])
def library(request: pytest.FixtureRequest) -> str:
    if request.param == PARITY["SPARK"]:
        pytest.importorskip("pyspark")
    return str(request.param)


def told(library: str) -> dict[tuple[str, str], str]:
    """Return what the page says of a library's names, by where they stand."""
    page = PARITY["PAGE"].read_text(encoding="utf-8")
    section = re.split("^## ", page.split(f"\n## {library}\n")[1], flags=re.MULTILINE)[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return {(where, name): here for where, listed, here in rows[1:] for name in re.findall("`([^`]+)`", listed)}


def test_every_name_has_a_decision_that_the_page_tells(library):
    decided = PARITY["listed"](library)
    assert not [name for name, here in decided.items() if not here]
    page = told(library)
    assert {name: page.get(name, "not there: run docs/parity.py, and decide") for name in decided} == decided


def test_what_is_translated_is_one_of_ours(library):
    if library == PARITY["SPARK"]:
        from ordinal_objectives.adapters.xgb.spark_estimator import SparkXGBOrdinalClassifier

        translated = [here.strip("`") for here in PARITY["listed"](library).values() if here.startswith("`")]
        assert translated
        assert all(hasattr(SparkXGBOrdinalClassifier, here) for here in translated)
        return
    ours = PARITY["KINDS"][library][1]
    for (where, name), here in PARITY["decided"](library).items():
        if here.startswith("`") and where == "constructor":
            known = {*ours().get_params(), *PARITY["_arguments"](ours.fit), *ours._parameter_names.of_library}
            assert here.strip("`") in known, name
