"""The examples in the docstrings run."""

from __future__ import annotations

import doctest
import importlib

import pytest

from sources import module_names

MODULES = module_names()


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    if name.endswith(".treelite_model"):
        pytest.importorskip("treelite", minversion="4.8")  # which needs Python 3.11
    failures, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failures == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    found = sum(bool(test.examples) for name in MODULES for test in finder.find(importlib.import_module(name)))
    assert found > 30
    assert {"ordinal_objectives.metrics.of_scores", "ordinal_objectives.adapters.xgb.train"} < set(MODULES)
