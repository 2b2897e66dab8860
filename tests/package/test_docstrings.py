"""The examples in the docstrings run."""

from __future__ import annotations

import doctest
import importlib
import inspect

import pytest

from sources import module_names

MODULES = module_names()


class Finder(doctest.DocTestFinder):
    """Finds the examples of a module's functions also where they are decorated."""

    def _from_module(self, module, thing):
        return super()._from_module(module, inspect.unwrap(thing) if inspect.isfunction(thing) else thing)


def examples_of(name):
    """Return what of a module has examples, by its name."""
    found = Finder().find(importlib.import_module(name), name)
    return {test.name: test for test in found if test.examples}


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    if name.endswith(".treelite_model"):
        pytest.importorskip("treelite", minversion="4.8")  # which needs Python 3.11
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert [test for test in examples_of(name).values() if runner.run(test).failed] == []
