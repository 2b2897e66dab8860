"""The demonstration runs on a survey that ships with statsmodels and on any CSV file."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from demo import main
from ordinal_objectives import HistGradientBoostingOrdinalClassifier

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
