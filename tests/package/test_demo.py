"""The demonstration runs on a survey that ships with statsmodels and on any CSV file."""

from __future__ import annotations

import re

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost

import demo
from demo import main
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, metrics
from ordinal_objectives.__main__ import main as run_command
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb

pytestmark = pytest.mark.slow
LIBRARIES = ("XGBoost", "LightGBM")


def test_default_data(tmp_path, capsys):
    assert main(["--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    lines = [line for line in printed.splitlines() if re.search(r"\d+% +\d+% +\d+\.\d\d$", line)]
    kinds = ("multiclass", "multiclass, stopped", "rounded, stopped")
    others = [f"{library}, {kind}" for library in LIBRARIES for kind in kinds]
    ordinal = [f"{name}, ordinal" for name in ("native engine", *LIBRARIES)]
    assert [line.split("  ")[0] for line in lines] == ordinal + others
    # The point of the package: nobody is nearer to the party of a voter, and no interval holds 0.
    assert all(re.search(r"\[\+[.\d]+, \+[.\d]+\]\*", line[29:56]) for line in lines[3:])
    assert not any("*" in line[:56] for line in lines[:3])
    assert "classes, lowest first: strong Democrat, weak Democrat, leaning Democrat, independent" in printed
    assert demo.LEGEND in printed
    counts = [int(x) for row in re.findall(r"Democrat((?: +\d+){7})$", printed, re.MULTILINE) for x in row.split()]
    assert sum(counts) == 2 * (200 + 180 + 108)
    assert "One decision: row" in printed
    assert (tmp_path / "scores.png").stat().st_size > 10_000
    booster = xgboost.Booster(model_file=tmp_path / "xgboost_ordinal.json")
    assert oxgb.threshold_record(booster).n_classes == 7
    assert olgbm.threshold_record(olgbm.load_model(tmp_path / "lightgbm_ordinal.txt")).n_classes == 7
    assert isinstance(lightgbm.Booster(model_file=tmp_path / "lightgbm_ordinal.txt"), lightgbm.Booster)


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
def quick(monkeypatch):
    """Few trees and no picture, where only what is read and what is left out matters."""
    monkeypatch.setitem(demo._EARLY, "n_estimators", 3)
    monkeypatch.setattr(demo, "_save", lambda *_: [])


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


@pytest.mark.parametrize("backend", ["xgboost", "lightgbm"])
def test_csv_file_with_named_classes(table, tmp_path, capsys, backend):
    arguments = ["--data", str(table), "--target", "grade", "--classes", "low,mid,high", "--backend", backend]
    assert main([*arguments, "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "classes, lowest first: low, mid, high" in printed
    assert ("XGBoost" in printed) == (backend == "xgboost")


def test_the_native_engine_alone(table, tmp_path, capsys):
    arguments = ["--target", "grade", "--classes", "low", "mid", "high", "--output", str(tmp_path)]
    assert main(["--data", str(table), "--backend", "native", *arguments]) == 0
    assert "native engine, ordinal" in capsys.readouterr().out
    loaded = HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "native_engine_ordinal.json")
    assert loaded.n_classes_ == 3


@pytest.mark.usefixtures("quick")
def test_an_id_is_left_out_of_all_models_or_if_kept_only_of_the_engine(table, tmp_path, capsys):
    arguments = ["--target", "grade", "--classes", "low", "mid", "high", "--folds", "2"]
    wide = tmp_path / "wide.csv"
    pd.read_csv(table).loc[lambda frame: frame.index.repeat(3)].assign(
        key=lambda frame: [f"k{i}" for i in range(len(frame))]
    ).to_csv(wide, index=False)
    assert main(["--data", str(wide), "--backend", "native", *arguments]) == 0
    printed = capsys.readouterr().out
    assert "Left out of all models: key (" in printed
    assert "wide.csv: 597 rows, 5 columns" in printed
    assert "native engine, ordinal  " in printed
    assert main(["--data", str(wide), *arguments, "--keep", "key"]) == 0
    printed = capsys.readouterr().out
    assert "native engine, ordinal is left out: " in printed
    assert "LightGBM, ordinal" in printed
    assert main(["--data", str(wide), "--backend", "native", *arguments, "--keep", "key"]) == 2
    assert capsys.readouterr().err == "error: no model could be trained\n"


@pytest.mark.usefixtures("quick")
def test_two_classes(table, tmp_path, capsys):
    frame = pd.read_csv(table)
    path = tmp_path / "two.csv"
    frame.assign(grade=(frame["grade"] == "low").astype(int)).to_csv(path, index=False)
    arguments = ["--data", str(path), "--target", "grade", "--folds", "2"]
    assert main([*arguments, "--output", str(tmp_path)]) == 0
    assert "classes, lowest first: 0, 1" in capsys.readouterr().out


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


def written(path, X, y, names):
    lines = [",".join([*names, "grade"]), *(f"{a},{b},{label}" for (a, b), label in zip(X[:, :2], y, strict=True))]
    path.write_text("\n".join(lines))
    return ["--data", str(path), "--folds", "2", "--output", str(path.parent)]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("names", [('"a[0], {b<1>: c}"', "f g"), ("a b", "a_b"), ("", "a")])
def test_columns_with_names_that_the_libraries_refuse(ordinal_data, tmp_path, capsys, names):
    X, y = ordinal_data(80, 3)
    assert main(written(tmp_path / "odd.csv", X, y, names)) == 0
    assert "classes, lowest first: 0, 1, 2" in capsys.readouterr().out


@pytest.mark.parametrize("n_rows", [0, 1, 4])
def test_too_few_rows_are_counted(ordinal_data, tmp_path, capsys, n_rows):
    X, y = ordinal_data(20, 2)
    assert main(written(tmp_path / "few.csv", X[:n_rows], y[:n_rows], "ab")) == 2
    assert f"few.csv has {n_rows} rows with a target" in capsys.readouterr().err


def test_infinite_features_are_named(ordinal_data, tmp_path, capsys):
    X, y = ordinal_data(20, 2)
    X[3, 1] = np.inf
    assert main(written(tmp_path / "far.csv", X, y, "ab")) == 2
    assert capsys.readouterr().err.endswith("holds infinite numbers in ['b'], which XGBoost refuses; leave such cells "
                                            "empty\n")  # fmt: skip


@pytest.mark.usefixtures("quick")
@pytest.mark.filterwarnings("ignore:no tree has a split")
@pytest.mark.parametrize("labels", [np.arange(30) / 2, np.arange(15)])
def test_more_classes_than_training_rows_have(ordinal_data, tmp_path, capsys, labels):
    """The multiclass models of both libraries cannot be compared then; fractions are classes where they are few."""
    X, _ = ordinal_data(30, 2)
    y = labels[np.arange(30) % len(labels) % 12]
    assert main(written(tmp_path / "rare.csv", X, np.append(y[1:], labels[13]), "ab")) == 0
    printed = capsys.readouterr().out
    assert "The multiclass models are left out: they need training rows of every class." in printed
    assert "XGBoost, multiclass" not in printed
    assert "LightGBM, ordinal" in printed


def test_missing_file_ends_with_one_line(capsys):
    assert main(["--data", "nowhere.csv"]) == 2
    assert "nowhere.csv" in capsys.readouterr().err


def test_versions(capsys):
    assert run_command(["versions"]) == 0
    printed = capsys.readouterr().out
    for name in ("ordinal_objectives", "instruction set", "threads", "xgboost", "lightgbm", "numpy"):
        assert name in printed
