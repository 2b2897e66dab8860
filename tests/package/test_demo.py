"""The demonstration runs on a survey that ships with statsmodels and on any CSV file."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import demo
from demo import main
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, metrics

pytestmark = pytest.mark.slow


def test_default_data(tmp_path, capsys):
    assert main(["--backend", "native", "--folds", "2", "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "classes, lowest first: strong Democrat, weak Democrat, leaning Democrat, independent" in printed
    assert "native engine, ordinal" in printed
    counts = [int(x) for row in re.findall(r"Democrat((?: +\d+){7})$", printed, re.MULTILINE) for x in row.split()]
    assert sum(counts) == 200 + 180 + 108
    assert (tmp_path / "scores.png").stat().st_size > 10_000
    loaded = HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "native_engine_ordinal.json")
    assert loaded.n_classes_ == 7


def test_only_differences_whose_interval_excludes_0_are_marked():
    y = np.arange(100) % 4
    predicted = {"a": y, "b": (y + (y == 1)) % 4, "c": np.append(1, y[1:])}
    results = [demo.Result(name, np.eye(4)[codes], codes, 0.0) for name, codes in predicted.items()]
    first, b, c = demo.table(results, y).splitlines()[1:]
    assert "[" not in first
    assert b.count("*") == 2
    assert "*" not in c
    low, high = demo.interval(np.abs(predicted["b"] - y).astype(float))
    assert (low, high) == pytest.approx((0.25 - 0.085, 0.25 + 0.085), abs=0.01)  # 1.96 * sqrt(.25 * .75 / 100)
    for result in results:
        off, rps = demo.errors(result, y)
        assert off.mean() == metrics.mean_absolute_error(y, result.predicted)
        assert rps.mean() == pytest.approx(metrics.ranked_probability_score(y, result.proba))


def test_every_row_is_predicted_by_models_that_have_not_seen_it(ordinal_data):
    y, fold, seen = ordinal_data(60, 3)[1], np.arange(60) % 4, []

    class Model:
        def fit(self, X, y):
            seen.append(set(X["row"]))

        def predict(self, X):
            assert seen[-1].isdisjoint(X["row"])
            return np.full(len(X), float(len(seen)))

    data = demo.Data("table", demo.OrderedLabels().fit(y), pd.DataFrame({"row": np.arange(60)}), y, fold)
    result = demo.cross_predict("model", Model, data, 0)
    np.testing.assert_array_equal(result.predicted, np.minimum(fold + 1, 2))
    assert len(seen) == 4


@pytest.fixture
def table(ordinal_data, tmp_path):
    X, y = ordinal_data(200, 3)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["kind"] = np.where(X[:, 0] > 0, "red", "blue")
    frame["grade"] = np.array(["low", "mid", "high"])[y]
    frame.loc[3, "grade"] = None
    path = tmp_path / "table.csv.gz"
    frame.to_csv(path, index=False)
    return path


def test_csv_file_with_named_classes(table, tmp_path, capsys):
    arguments = ["--data", str(table), "--target", "grade", "--classes", "low,mid,high", "--backend", "lightgbm"]
    assert main([*arguments, "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "classes, lowest first: low, mid, high" in printed
    assert "XGBoost" not in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "price"], "--target 'price' is not a column"),
        (["--target", "grade", "--classes", "low,high"], "outside the classes"),
    ],
)
def test_bad_input_ends_with_one_line(table, capsys, arguments, message):
    assert main(["--data", str(table), *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error
