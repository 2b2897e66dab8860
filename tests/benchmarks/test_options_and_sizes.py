"""The thesis's options and the learning curves: what they measure and what their tables say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from claims.accuracy import accuracy, learning_curves, thesis_options
from claims.accuracy.learning_curves import N_TEST, SETS, SIZES
from lib import report
from lib.data import Dataset
from lib.methods import METHODS, MULTICLASS, OURS, PROPORTIONAL, ROUNDED, Fitted

pytestmark = pytest.mark.slow


def test_every_option_is_measured_beside_what_it_is_compared_with():
    found = {(case["rule"], case["method"]) for case in thesis_options.cases()}
    for rule, pairs in thesis_options.PAIRS.items():
        assert {(rule, method) for pair in pairs for method in pair} == {one for one in found if one[0] == rule}
    assert {case["data"] for case in thesis_options.cases(quick=True)} == {"sklearn_diabetes"}


def test_pruning_makes_smaller_models():
    def leaves(method):
        case = {"data": "sklearn_diabetes", "rule": "quantile", "seed": 0, "method": method}
        (row,) = thesis_options.measure(case)
        assert "failure" not in row, row
        return row["leaves"] / row["rounds"]

    assert 1 <= leaves("joint, sample, both") < leaves("joint, sample")


def test_options_are_compared_by_ratios(tmp_path):
    path = tmp_path / "thesis_options_runs.csv"
    store = report.RunsFile(path, thesis_options.COLUMNS)
    for method, loss, leaves in (("joint, sample", 0.4, 100), ("joint, sample, pruning", 0.2, 50)):
        row = {"data": "a", "rule": "quantile", "seed": 0, "method": method, "n_train": 10, "n_classes": 3}
        scores = dict.fromkeys(("zero_one", "mae", "macro_mae", "rps", "log_loss"), loss) | {"qwk": 0.5}
        store.add([row | scores | {"leaves": leaves, "rounds": 10, "fit_seconds": 1.0}])
    table = thesis_options.tables(path)["thesis options"]
    (row,) = table.rows
    assert (row["variant"], row["against"]) == ("joint, sample, pruning", "joint, sample")
    assert row["MAE"] == row["leaves"] == "0.500, 0.500 (1 / 0 / 0; 1.000)"
    assert row["rounds"] == "1.000, 1.000 (0 / 1 / 0; 1.000)"
    assert "Measured on" in table.note


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


def test_few_rows_say_who_was_ahead(tmp_path):
    path = tmp_path / "learning_curves_runs.csv"
    store = report.RunsFile(path, learning_curves.COLUMNS)
    for rows, theirs in ((100, 0.1), (1_000, 0.4)):
        for method, loss in ((OURS, 0.2), (ROUNDED, theirs), (MULTICLASS, 0.3), (PROPORTIONAL, 0.2)):
            scores = dict.fromkeys(("zero_one", "mae", "qwk"), loss)
            scores |= {} if method == ROUNDED else {"rps": loss, "log_loss": loss}
            store.add([{"data": "a", "rows": rows, "seed": 0, "method": method} | scores])
    tables = learning_curves.tables(path)
    few = tables["few rows"]
    assert few.cell(f"MAE of {ROUNDED}", {"rows": "100"}) == "0.500, 0.500 (0 / 0 / 1; 1.000)"
    assert few.cell(f"MAE of {ROUNDED}", {"rows": "1,000"}) == "2.000, 2.000 (1 / 0 / 0; 1.000)"
    assert tables["learning curves MAE"].cell(ROUNDED, {"rows": "100"}) == "0.1000"
    assert tables["learning curves RPS"].cell(ROUNDED, {"rows": "100"}) == "-"
    assert learning_curves.draw(path) is not None
    assert set(learning_curves.METHODS) <= set(METHODS)
