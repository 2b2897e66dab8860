"""What LightGBM would take in silence, or end the process over: refused by name before it sees it."""

from __future__ import annotations

from decimal import Decimal

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from makers import make_lgb
from ordinal_objectives.adapters import lgbm as olgbm

PARAMS = {"verbosity": -1, "num_threads": 1}
Y = np.arange(100) % 3
X = np.random.default_rng(0).normal(size=(100, 3))


def train(data, **options):
    return olgbm.train(PARAMS, data, 2, n_classes=3, **options)


# Types of columns

LETTERS = np.array(list("abc"))[Y]
UNREAD = {
    "polars Enum": lambda: pl.DataFrame({"a": pl.Series(LETTERS).cast(pl.Enum(list("abc")))}),
    "polars Categorical": lambda: pl.DataFrame({"a": pl.Series(LETTERS).cast(pl.Categorical)}),
    "polars Decimal": lambda: pl.DataFrame({"a": [Decimal(int(code)) for code in Y]}),
    "Arrow dictionary": lambda: pa.table({"a": pa.array(LETTERS).dictionary_encode()}),
    "Arrow decimal": lambda: pa.table({"a": [Decimal(int(code)) for code in Y]}),
    "Arrow halffloat": lambda: pa.table({"a": Y.astype(np.float16)}),
    "Arrow null": lambda: pa.table({"a": pa.nulls(100)}),
    "Arrow list": lambda: pa.table({"a": [[1.0]] * 100}),
}


# scikit-learn 1.7 knows no names of polars.
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("container", UNREAD)
def test_types_that_end_the_process(container):
    table = UNREAD[container]()
    message = "must hold numbers and booleans of types that LightGBM reads; got column 'a' of type .*pandas"
    with pytest.raises(ValueError, match=f"X {message}"):
        make_lgb().fit(table, Y)
    with pytest.raises(ValueError, match=f"train_set {message}"):
        train(lightgbm.Dataset(table, Y))
    numbers = pd.DataFrame({"a": Y.astype(float)})
    model = make_lgb(n_estimators=2).fit(numbers, Y)
    with pytest.raises(ValueError, match=f"X {message}"):
        model.predict(table)
    with pytest.raises(ValueError, match=f"data {message}"):
        olgbm.predict_proba(model.booster_, table)


@pytest.mark.slow  # and so not among the tests of LightGBM 4.5, which reads neither without more packages
def test_types_that_lightgbm_reads():
    columns = {"a": Y.astype(np.uint8), "b": Y > 1, "c": Y.astype(np.float32)}
    expected = make_lgb(n_estimators=2).fit(pd.DataFrame(columns), Y).predict_proba(pd.DataFrame(columns))
    for table in (pl.DataFrame(columns), pa.table(columns)):
        model = make_lgb(n_estimators=2).fit(table, Y)
        np.testing.assert_array_equal(model.predict_proba(table), expected)


# Labels, weights and start scores of data sets


@pytest.mark.parametrize("field", ["label", "weight", "init_score"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_data_sets_with_values_that_lightgbm_would_replace(field, value):
    """It takes NaN for 0, so rows without a label were of the lowest class."""
    wrong = np.where(np.arange(100) == 7, value, Y.astype(float) + (field == "weight"))
    given = {"label": Y, field: wrong}
    with pytest.raises(ValueError, match=f"{field} of train_set holds NaN or infinite values"):
        train(lightgbm.Dataset(X, **given))
    with pytest.raises(ValueError, match=f"{field} of train_set holds NaN or infinite values"):
        olgbm.cv(PARAMS, lightgbm.Dataset(X, **given), 2, n_classes=3)
    data = lightgbm.Dataset(X, Y)
    with pytest.raises(ValueError, match=f"{field} of valid_sets holds NaN or infinite values"):
        train(data, valid_sets=[data.create_valid(X, **given)])
    assert data._handle is None


def test_data_sets_without_labels():
    with pytest.raises(ValueError, match="train_set has no labels; pass label="):
        train(lightgbm.Dataset(X))
    data = lightgbm.Dataset(X, Y, free_raw_data=False)
    with pytest.raises(ValueError, match="valid_sets has no labels; pass label="):
        train(data, valid_sets=[data.create_valid(X)])
    data.construct()
    booster = train(data.subset(range(60)), valid_sets=data.subset(range(60, 100)))
    assert booster.current_iteration() == 2


def test_labels_in_any_column():
    expected = olgbm.predict_proba(train(lightgbm.Dataset(X, Y)), X)
    for column in (Y.tolist(), pd.Series(Y)):
        np.testing.assert_array_equal(olgbm.predict_proba(train(lightgbm.Dataset(X, column)), X), expected)


@pytest.mark.parametrize("columns", [(0,), np.array([0]), [np.int64(0)], True, "a", [0.0]])
def test_data_sets_whose_categorical_features_lightgbm_would_not_read(columns):
    data = lightgbm.Dataset(np.round(X), Y, categorical_feature=columns)
    with pytest.raises(
        ValueError, match="categorical_feature of train_set must be 'auto' or a list of str and int; got "
    ):
        train(data)
    for right in ("auto", None, [0], [], ["Column_0"]):
        train(lightgbm.Dataset(np.round(X), Y, categorical_feature=right, feature_name=["Column_0", "b", "c"]))


# Arguments


def test_metrics_are_functions():
    data = lightgbm.Dataset(X, Y)
    for wrong in ("rps", ["rps"], (lambda proba, rows: ("one", 1.0, True),)):
        with pytest.raises(TypeError, match="feval must be a function, or a list of functions; got "):
            train(data, valid_sets=[data], feval=wrong)


def test_boosters_are_boosters():
    model = make_lgb(n_estimators=2).fit(X, Y)
    for use in (olgbm.predict_proba, olgbm.predict, olgbm.save_model):
        with pytest.raises(TypeError, match=r"booster must be a lightgbm\.Booster; got LGBM.*; pass its booster_"):
            use(model, X)
    with pytest.raises(TypeError, match=r"booster must be a lightgbm\.Booster; got str$"):
        olgbm.threshold_record("model.txt")


@pytest.mark.parametrize("proportional", [True, False])
def test_predictions_of_no_rows(proportional):
    booster = train(lightgbm.Dataset(X, Y), proportional=proportional)
    assert olgbm.predict_proba(booster, X[:0]).shape == (0, 3)


# The classifier's arguments


@pytest.mark.parametrize("columns", [[0], (0,), np.array([0]), [np.int64(0)], ["a"], np.array(["a"])])
def test_categorical_features_in_any_list(columns):
    """LightGBM takes lists alone, and nothing of a tuple or an array, without a word."""
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 9, (100, 3)), columns=list("abc"))
    model = make_lgb(min_data_per_group=1, cat_smooth=0).fit(frame, Y, categorical_feature=columns)
    expected = make_lgb(min_data_per_group=1, cat_smooth=0).fit(frame.astype({"a": "category"}), Y)
    assert "==" in set(model.booster_.trees_to_dataframe()["decision_type"])
    np.testing.assert_array_equal(model.predict_proba(frame), expected.predict_proba(frame.astype({"a": "category"})))


@pytest.mark.parametrize("wrong", [[3], [-1], [True], True, "a", "", ["z"], [0.0], [0, "z"]])
def test_categorical_features_that_are_none(wrong):
    frame = pd.DataFrame(np.round(X), columns=list("abc"))
    with pytest.raises(ValueError, match=r"categorical_feature must be 'auto' or a list of .*; got "):
        make_lgb().fit(frame, Y, categorical_feature=wrong)


def test_names_of_evaluation_sets():
    sets = {"eval_set": [(X, Y), (X, Y)]}
    with pytest.raises(ValueError, match=r"eval_names must have a name of its own for each set; got \['a', 'a'\]"):
        make_lgb().fit(X, Y, eval_names=["a", "a"], **sets)
    with pytest.raises(ValueError, match="eval_names must have 2 entries; got 1"):
        make_lgb().fit(X, Y, eval_names="ab", **sets)
    assert list(make_lgb().fit(X, Y, eval_names="ab", eval_set=[(X, Y)]).evals_result_) == ["ab"]
