"""The examples in the docstrings run, and every public name has one."""

from __future__ import annotations

import doctest
import importlib
import inspect

import pytest

from sources import entries, module_names

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
        pytest.importorskip("treelite", minversion="4.8")
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert [test for test in examples_of(name).values() if runner.run(test).failed] == []


def test_every_public_name_has_an_example():
    """Those of the reference, but for constants."""
    with_example = {name for module in MODULES for name in examples_of(module)}
    public = [getattr(importlib.import_module(module), name) for module, name in entries()]
    public = [one for one in public if issubclass(type(one), type) or inspect.isroutine(one)]
    names = {f"{one.__module__}.{one.__qualname__}" for one in public}
    assert len(names) > 100
    assert names - with_example == set()
