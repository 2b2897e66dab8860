"""The thesis's options and the learning curves: what they measure and what their tables say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from claims.accuracy import accuracy, learning_curves, thesis_options
from claims.accuracy.learning_curves import N_TEST, SETS, SIZES
from lib.data import Dataset
from lib.methods import MULTICLASS, OURS, PROPORTIONAL, ROUNDED, Fitted

pytestmark = pytest.mark.slow


def test_every_option_is_measured_beside_what_it_is_compared_with():
    found = {(case["rule"], case["method"]) for case in thesis_options.cases()}
    for rule, pairs in thesis_options.PAIRS.items():
        assert {(rule, method) for pair in pairs for method in pair} == {one for one in found if one[0] == rule}
    assert {case["data"] for case in thesis_options.cases(quick=True)} == {"sklearn_diabetes"}


def test_sizes_leave_the_test_rows():
    cases = learning_curves.cases()
    for data, n in SETS.items():
        sizes = {case["rows"] for case in cases if case["data"] == data}
        assert sizes == {rows for rows in SIZES if rows + N_TEST <= n}
    assert {case["method"] for case in cases} == {OURS, PROPORTIONAL, MULTICLASS, ROUNDED}


def test_a_smaller_training_set_is_part_of_a_larger_one(monkeypatch):
    seen = []

    def method(train, valid, rounds, n_classes):
        def predict(X):
            seen.append(set(X["x"]))
            return np.zeros(len(X), dtype=int), None

        seen.append(set(train[0]["x"]))
        return Fitted(predict)

    dataset = Dataset(pd.DataFrame({"x": np.arange(900)}), np.zeros(900, dtype=np.int32), 2, None, None)
    monkeypatch.setattr(learning_curves, "load", lambda name: dataset)
    monkeypatch.setitem(accuracy.ALL_METHODS, "fake", (method, ({},)))
    for rows in (100, 300):
        (row,) = learning_curves.measure({"data": "any", "rows": rows, "seed": 5, "method": "fake"})
        assert "failure" not in row, row
    small, test, large, same_test = seen
    assert (len(small), len(test), len(large)) == (100, 300, 300)
    assert small < large
    assert test == same_test
    assert not test & large
