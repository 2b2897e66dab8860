"""The examples in the docstrings run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import ordinal_objectives

MODULES = [
    info.name
    for info in pkgutil.walk_packages(ordinal_objectives.__path__, "ordinal_objectives.")
    if not info.name.endswith(("__main__", "_core"))
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    failures, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failures == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    found = sum(bool(test.examples) for name in MODULES for test in finder.find(importlib.import_module(name)))
    assert found > 30
