"""The demonstration runs on the data that ships with scikit-learn and on any CSV file."""

from __future__ import annotations

import re

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost

import demo
from demo import main
from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.__main__ import main as run_command
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb

pytestmark = pytest.mark.slow


def test_default_data(tmp_path, capsys):
    assert main(["--rounds", "40", "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    for name in ("XGBoost ordinal", "XGBoost multiclass", "XGBoost regression, rounded", "LightGBM ordinal",
                 "LightGBM multiclass", "LightGBM regression, rounded", "Native joint", "Native default"):  # fmt: skip
        assert name in printed
    for column in ("MAE", "zero-one", "QWK", "RPS", "seconds", "rounds", "Learned thresholds"):
        assert column in printed
    assert demo.LEGEND in printed
    assert len(re.findall("  (?:XGBoost|LightGBM) .* ± .*, (?:within|beyond) chance\n", printed)) == 4
    assert (tmp_path / "scores.png").stat().st_size > 10_000
    booster = xgboost.Booster(model_file=tmp_path / "xgboost_ordinal.json")
    assert oxgb.threshold_record(booster).n_classes == 5
    assert olgbm.threshold_record(olgbm.load_model(tmp_path / "lightgbm_ordinal.txt")).n_classes == 5
    assert isinstance(lightgbm.Booster(model_file=tmp_path / "lightgbm_ordinal.txt"), lightgbm.Booster)


def test_only_differences_beyond_chance_are_called_so():
    y = np.arange(100) % 4
    names = {"XGBoost ordinal": y, "XGBoost multiclass": (y + (y == 1)) % 4, "XGBoost regression, rounded": 3 - y}
    names |= {"LightGBM ordinal": np.roll(y, 1), "LightGBM multiclass": np.append(y[1:], 3 - y[0])}
    results = [demo.Result(name, np.eye(4)[predicted], predicted, 0.0, 1) for name, predicted in names.items()]
    said = demo.reading(results, y).splitlines()[2:5]
    assert [" ".join(line.split()) for line in said] == [
        "XGBoost multiclass +0.250 ± 0.087, beyond chance",
        "XGBoost regression, rounded +2.000 ± 0.201, beyond chance",
        "LightGBM multiclass -0.030 ± 0.282, within chance",
    ]


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
    assert main([*arguments, "--rounds", "20", "--output", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "classes, lowest first: low, mid, high" in printed
    assert ("XGBoost" in printed) == (backend == "xgboost")


def test_the_native_engine_alone(table, tmp_path, capsys):
    """A column with more categories than the engine takes leaves its rows out, and the other libraries' stay."""
    arguments = ["--target", "grade", "--classes", "low", "mid", "high", "--rounds", "5", "--output", str(tmp_path)]
    assert main(["--data", str(table), "--backend", "native", *arguments]) == 0
    assert "Native joint" in capsys.readouterr().out
    joint = HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "native_joint.json")
    default = HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "native_default.json")
    assert (joint.proportional_, default.proportional_) == (True, False)
    wide = tmp_path / "wide.csv"
    pd.read_csv(table).loc[lambda frame: frame.index.repeat(3)].assign(
        key=lambda frame: [f"k{i}" for i in range(len(frame))]
    ).to_csv(wide, index=False)
    assert main(["--data", str(wide), *arguments]) == 0
    printed = capsys.readouterr().out
    assert "Native joint is left out: " in printed
    assert "LightGBM ordinal" in printed
    assert main(["--data", str(wide), "--backend", "native", *arguments]) == 2
    assert capsys.readouterr().err == "error: no model could be trained\n"


def test_two_classes(table, tmp_path, capsys):
    frame = pd.read_csv(table)
    path = tmp_path / "two.csv"
    frame.assign(grade=(frame["grade"] == "low").astype(int)).to_csv(path, index=False)
    arguments = ["--data", str(path), "--target", "grade", "--rounds", "5"]
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
    return ["--data", str(path), "--rounds", "5", "--output", str(path.parent)]


@pytest.mark.parametrize("names", [("a[0]", "b<1>"), ('"{c: d,e}"', "f g"), ("a b", "a_b"), ("", "a")])
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


@pytest.mark.filterwarnings("ignore:no tree has a split")
@pytest.mark.parametrize("labels", [np.arange(30) / 2, np.arange(15)])
def test_more_classes_than_training_rows_have(ordinal_data, tmp_path, capsys, labels):
    """The multiclass models of both libraries cannot be compared then; fractions are classes where they are few."""
    X, _ = ordinal_data(30, 2)
    y = labels[np.arange(30) % len(labels) % 12]
    assert main(written(tmp_path / "rare.csv", X, np.append(y[1:], labels[13]), "ab")) == 0
    printed = capsys.readouterr().out
    assert "The multiclass model is left out: it needs training rows of every class." in printed
    assert "XGBoost multiclass" not in printed
    assert "LightGBM ordinal" in printed


def test_missing_file_ends_with_one_line(capsys):
    assert main(["--data", "nowhere.csv"]) == 2
    assert "nowhere.csv" in capsys.readouterr().err


def test_versions(capsys):
    assert run_command(["versions"]) == 0
    printed = capsys.readouterr().out
    for name in ("ordinal_objectives", "instruction set", "threads", "xgboost", "lightgbm", "numpy"):
        assert name in printed
