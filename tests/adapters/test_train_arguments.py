"""Wrong arguments of ``train`` and ``cv`` are named, and what a framework would misread is refused."""

from __future__ import annotations

from decimal import Decimal

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xgboost

from ordinal_objectives import LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb

X = np.random.default_rng(0).normal(size=(60, 2))
Y = np.digitize(X[:, 0], [-0.5, 0.5])
MATRIX, DATASET = xgboost.DMatrix(X, Y), lightgbm.Dataset(X, Y)


@pytest.mark.parametrize(
    "signs", [[1, 0], np.array([1, 0]), tuple(np.array([1, 0]))], ids=["list", "array", "of NumPy"]
)
def test_signs_come_in_any_sequence(signs):
    """XGBoost reads tuples alone, and takes anything else for names of columns."""
    as_tuple, options = {"monotone_constraints": (1, 0)}, {"proportional": True, "threshold_update": "newton"}
    expected = oxgb.train(as_tuple, MATRIX, 2, **options).get_dump()
    assert oxgb.train({"monotone_constraints": signs}, MATRIX, 2, **options).get_dump() == expected
    models = [XGBOrdinalClassifier(n_estimators=2, monotone_constraints=one, **options) for one in (signs, (1, 0))]
    np.testing.assert_array_equal(*(model.fit(X, Y).predict_proba(X) for model in models))


# A model is continued on the columns that it was trained on, and callbacks are what a framework can call


WIDE = np.random.default_rng(0).normal(size=(120, 4))
WIDE_Y = np.digitize(WIDE[:, 0], [-1.0, 0.0, 1.0])
FRAME = pd.DataFrame(WIDE, columns=["a b", "c", "d", "e"])
QUIET = {"verbosity": -1, "num_threads": 1, "num_leaves": 4}


def xgb(rows, model=None, **options):
    return XGBOrdinalClassifier(n_estimators=2, max_depth=2, n_jobs=1, **options).fit(rows, WIDE_Y, xgb_model=model)


def lgbm(rows, model=None, **options):
    return LGBMOrdinalClassifier(n_estimators=2, num_leaves=4, n_jobs=1).fit(rows, WIDE_Y, init_model=model, **options)


def xgb_train(rows, model=None, **options):
    return oxgb.train({"max_depth": 2, "nthread": 1}, xgboost.DMatrix(rows, WIDE_Y), 2, xgb_model=model, **options)


def lgbm_train(rows, model=None, **options):
    return olgbm.train(QUIET, lightgbm.Dataset(rows, WIDE_Y), 2, init_model=model, **options)


def lgbm_subset(rows, model=None):
    data = lightgbm.Dataset(rows, WIDE_Y, free_raw_data=False, params=QUIET).construct()
    return olgbm.train(QUIET, data.subset(range(100)), 2, init_model=model, n_classes=4)


CONTINUING = {
    "XGBOrdinalClassifier": (xgb, "xgb_model"),
    "oxgb.train": (xgb_train, "xgb_model"),
    "LGBMOrdinalClassifier": (lgbm, "init_model"),
    "olgbm.train": (lgbm_train, "init_model"),
    "olgbm.train, a subset": (lgbm_subset, "init_model"),
}
each_door = pytest.mark.parametrize(("fit", "argument"), CONTINUING.values(), ids=CONTINUING)


@each_door
def test_the_same_columns_go_on(fit, argument):
    fit(FRAME, fit(FRAME))
    fit(WIDE, fit(WIDE))
    if argument == "init_model":  # names that LightGBM made up mean nothing
        fit(FRAME, fit(WIDE))
        fit(WIDE, fit(FRAME))
    else:
        with pytest.raises(ValueError, match=r"xgb_model was trained on the columns .* here X has no names"):
            fit(WIDE, fit(FRAME))


# Two metrics, or two evaluation sets, of one name are refused: their values would stand in one list


METRICS = {
    "of one function": [("u", 1.0, False), ("v", 1.0, False), ("u", 2.0, False)],
    "the loss's": [("all_threshold", 1.0, False)],
}
BY_NAME = pytest.mark.parametrize("results", METRICS.values(), ids=METRICS)


@pytest.fixture
def rows(ordinal_data):
    return ordinal_data(120)


def refused(results):
    names = ", ".join(repr(name) for name, *_ in results)
    return pytest.raises(
        ValueError,
        match=f"each metric must have a name of its own; got 'all_threshold', {names}, of which the first is",
    )


@BY_NAME
def test_xgboost(rows, results):
    matrix = xgboost.DMatrix(*rows)

    def custom_metric(proba, matrix):
        return [(name, value) for name, value, _ in results]

    with refused(results):
        oxgb.train({}, matrix, 2, evals=[(matrix, "rows")], custom_metric=custom_metric, verbose_eval=False)
    with refused(results):
        oxgb.cv({}, matrix, 2, custom_metric=custom_metric)


@BY_NAME
def test_lightgbm(rows, results):
    params = {"verbosity": -1}

    def feval(proba, data):
        return results

    def one_each():
        return [lambda proba, data, result=result: result for result in results]

    for how in (feval, one_each()):
        data = lightgbm.Dataset(*rows, free_raw_data=False)
        with refused(results):
            olgbm.train(params, data, 2, valid_sets=[data], feval=how)
        with refused(results):
            olgbm.cv(params, lightgbm.Dataset(*rows, free_raw_data=False), 2, feval=how)


# What LightGBM would take in silence, or end the process over: refused by name before it sees it


PARAMS = {"verbosity": -1, "num_threads": 1}
LABELS = np.arange(100) % 3
ROWS = np.random.default_rng(0).normal(size=(100, 3))


def train(data, **options):
    return olgbm.train(PARAMS, data, 2, n_classes=3, **options)


# Types of columns

LETTERS = np.array(list("abc"))[LABELS]
UNREAD = {
    "polars Enum": lambda: pl.DataFrame({"a": pl.Series(LETTERS).cast(pl.Enum(list("abc")))}),
    "polars Categorical": lambda: pl.DataFrame({"a": pl.Series(LETTERS).cast(pl.Categorical)}),
    "polars Decimal": lambda: pl.DataFrame({"a": [Decimal(int(code)) for code in LABELS]}),
    "Arrow dictionary": lambda: pa.table({"a": pa.array(LETTERS).dictionary_encode()}),
    "Arrow decimal": lambda: pa.table({"a": [Decimal(int(code)) for code in LABELS]}),
    "Arrow halffloat": lambda: pa.table({"a": LABELS.astype(np.float16)}),
    "Arrow null": lambda: pa.table({"a": pa.nulls(100)}),
    "Arrow list": lambda: pa.table({"a": [[1.0]] * 100}),
}


# scikit-learn 1.7 knows no names of polars.
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("container", UNREAD)
def test_types_that_end_the_process(container):
    table = UNREAD[container]()
    message = "must hold numbers and booleans of types that LightGBM reads; got column 'a' of type .*pandas"
    with pytest.raises(ValueError, match=f"train_set {message}"):
        train(lightgbm.Dataset(table, LABELS))
    numbers = pd.DataFrame({"a": LABELS.astype(float)})
    booster = train(lightgbm.Dataset(numbers, LABELS))
    with pytest.raises(ValueError, match=f"data {message}"):
        olgbm.predict_proba(booster, table)


# Labels, weights and start scores of data sets


@pytest.mark.parametrize("field", ["label", "weight", "init_score"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_data_sets_with_values_that_lightgbm_would_replace(field, value):
    """It takes NaN for 0, so rows without a label were of the lowest class."""
    wrong = np.where(np.arange(100) == 7, value, LABELS.astype(float) + (field == "weight"))
    given = {"label": LABELS, field: wrong}
    with pytest.raises(ValueError, match=f"{field} of train_set holds NaN or infinite values"):
        train(lightgbm.Dataset(ROWS, **given))
    with pytest.raises(ValueError, match=f"{field} of train_set holds NaN or infinite values"):
        olgbm.cv(PARAMS, lightgbm.Dataset(ROWS, **given), 2, n_classes=3)
    data = lightgbm.Dataset(ROWS, LABELS)
    with pytest.raises(ValueError, match=f"{field} of valid_sets holds NaN or infinite values"):
        train(data, valid_sets=[data.create_valid(ROWS, **given)])
    assert data._handle is None


# Arguments


@pytest.mark.parametrize(("package", "rows"), [(oxgb, MATRIX), (olgbm, DATASET)], ids=["xgboost", "lightgbm"])
def test_thresholds_start_in_any_order_where_the_loss_has_none(package, rows):
    booster = package.train({}, rows, 1, loss="immediate_threshold", thresholds=[1.0, -1.0])
    assert package.threshold_record(booster).at(0).tolist() == [1.0, -1.0]
