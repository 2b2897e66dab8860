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
from scipy.sparse import csr_matrix

from makers import make_lgb
from ordinal_objectives import LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.adapters import cb as ocb, lgbm as olgbm, xgb as oxgb

X = np.random.default_rng(0).normal(size=(60, 2))
Y = np.digitize(X[:, 0], [-0.5, 0.5])
MATRIX, DATASET = xgboost.DMatrix(X, Y), lightgbm.Dataset(X, Y)


@pytest.mark.parametrize("wrong", [X, (X, Y), None, DATASET], ids=["X", "pair", "None", "Dataset"])
@pytest.mark.parametrize("entry", [oxgb.train, oxgb.cv])
def test_no_matrix(entry, wrong):
    with pytest.raises(TypeError, match=r"dtrain must be an xgboost.DMatrix; got .*pass xgboost.DMatrix\(X, y\)"):
        entry({}, wrong, 1)


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


NO_EVALS = {
    "X and y": [(X, Y)],
    "matrix and y": [(MATRIX, Y)],
    "no name": [MATRIX],
    "no list": MATRIX,
    "one pair": (MATRIX, "a"),
    "number": 3,
    "text": "ab",
    "dict": {"a": MATRIX},
    "a number for a name": [(MATRIX, 3)],
    "three": [(MATRIX, "a", 1)],
}


@pytest.mark.parametrize("wrong", NO_EVALS.values(), ids=NO_EVALS)
def test_no_matrices_to_evaluate(wrong):
    with pytest.raises(TypeError, match=r"evals must be a list of \(DMatrix, name\) pairs, or None; got"):
        oxgb.train({}, MATRIX, 1, evals=wrong)


ENTRIES = {
    "oxgb.train": lambda *asked: oxgb.train(asked[0], MATRIX, *asked[1:]),
    "oxgb.cv": lambda *asked: oxgb.cv(asked[0], MATRIX, *asked[1:]),
    "olgbm.train": lambda *asked: olgbm.train(asked[0], lightgbm.Dataset(X, Y), *asked[1:]),
    "olgbm.cv": lambda *asked: olgbm.cv(asked[0], lightgbm.Dataset(X, Y), *asked[1:]),
}


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
@pytest.mark.parametrize("other", [WIDE[:, :3], np.c_[WIDE, WIDE]], ids=["fewer", "more"])
def test_another_number_of_columns_is_refused(fit, argument, other):
    with pytest.raises(ValueError, match=f"{argument} was trained on 4 columns; here X has {other.shape[1]}"):
        fit(other, fit(WIDE))


@each_door
def test_columns_in_another_order_are_refused(fit, argument):
    """LightGBM takes them, and a model of it then mixes features."""
    with pytest.raises(ValueError, match=rf"{argument} was trained on the columns 'a.b', 'c', .* 'd' for 'c'"):
        fit(FRAME[["a b", "d", "c", "e"]], fit(FRAME))


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


def test_numbers_for_names_are_no_names_of_other_columns():
    numbered = pd.DataFrame(WIDE)
    lgbm(numbered, lgbm(numbered))
    lgbm(WIDE, lgbm(numbered))


@pytest.mark.parametrize(
    "fit",
    [
        lambda callbacks: xgb(WIDE, callbacks=callbacks),
        lambda callbacks: xgb_train(WIDE, callbacks=callbacks),
        lambda callbacks: oxgb.cv({"nthread": 1}, xgboost.DMatrix(WIDE, WIDE_Y), 2, nfold=2, callbacks=callbacks),
    ],
    ids=["XGBOrdinalClassifier", "oxgb.train", "oxgb.cv"],
)
@pytest.mark.parametrize("wrong", [3, [3], "stop", [None], print])
def test_callbacks_that_are_none_are_refused(fit, wrong):
    with pytest.raises(TypeError, match="callbacks must be a list of"):
        fit(wrong)


def test_any_iterable_of_callbacks_will_do():
    rounds = []
    lgbm(WIDE, callbacks=(one for one in [lambda env: rounds.append(env.iteration)]))
    assert rounds == [0, 1]


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


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("container", ["polars Decimal", "Arrow decimal", "Arrow halffloat"])
def test_the_classifier_reads_them_as_numbers(container):
    table, numbers = UNREAD[container](), pd.DataFrame({"a": LABELS.astype(float)})
    expected = make_lgb(n_estimators=2).fit(numbers, LABELS).predict_proba(numbers)
    np.testing.assert_array_equal(make_lgb(n_estimators=2).fit(table, LABELS).predict_proba(table), expected)
    with pytest.raises(ValueError, match=r"^X "):
        make_lgb().fit(UNREAD["Arrow list"](), LABELS)


@pytest.mark.slow  # and so not among the tests of LightGBM 4.5, which reads neither without more packages
def test_types_that_lightgbm_reads():
    columns = {"a": LABELS.astype(np.uint8), "b": LABELS > 1, "c": LABELS.astype(np.float32)}
    expected = make_lgb(n_estimators=2).fit(pd.DataFrame(columns), LABELS).predict_proba(pd.DataFrame(columns))
    for table in (pl.DataFrame(columns), pa.table(columns)):
        model = make_lgb(n_estimators=2).fit(table, LABELS)
        np.testing.assert_array_equal(model.predict_proba(table), expected)


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


def test_data_sets_without_labels():
    with pytest.raises(ValueError, match="train_set has no labels; pass label="):
        train(lightgbm.Dataset(ROWS))
    data = lightgbm.Dataset(ROWS, LABELS, free_raw_data=False)
    with pytest.raises(ValueError, match="valid_sets has no labels; pass label="):
        train(data, valid_sets=[data.create_valid(ROWS)])
    data.construct()
    booster = train(data.subset(range(60)), valid_sets=data.subset(range(60, 100)))
    assert booster.current_iteration() == 2


def test_labels_in_any_column():
    expected = olgbm.predict_proba(train(lightgbm.Dataset(ROWS, LABELS)), ROWS)
    for column in (LABELS.tolist(), pd.Series(LABELS)):
        np.testing.assert_array_equal(olgbm.predict_proba(train(lightgbm.Dataset(ROWS, column)), ROWS), expected)


@pytest.mark.parametrize("columns", [(0,), np.array([0]), [np.int64(0)], True, "a", [0.0]])
def test_categorical_features_that_lightgbm_would_not_read(columns):
    data = lightgbm.Dataset(np.round(ROWS), LABELS, categorical_feature=columns)
    with pytest.raises(
        ValueError, match="categorical_feature of train_set must be 'auto' or a list of str and int; got "
    ):
        train(data)
    for right in ("auto", None, [0], [], ["Column_0"]):
        train(lightgbm.Dataset(np.round(ROWS), LABELS, categorical_feature=right, feature_name=["Column_0", "b", "c"]))


# Arguments


@pytest.mark.parametrize(("package", "rows"), [(oxgb, MATRIX), (olgbm, DATASET)], ids=["xgboost", "lightgbm"])
def test_thresholds_start_in_any_order_where_the_loss_has_none(package, rows):
    booster = package.train({}, rows, 1, loss="immediate_threshold", thresholds=[1.0, -1.0])
    assert package.threshold_record(booster).at(0).tolist() == [1.0, -1.0]


def test_boosters_are_boosters():
    model = make_lgb(n_estimators=2).fit(ROWS, LABELS)
    for use in (olgbm.predict_proba, olgbm.predict, olgbm.save_model):
        with pytest.raises(TypeError, match=r"booster must be a lightgbm\.Booster; got LGBM.*; pass its booster_"):
            use(model, ROWS)
    with pytest.raises(TypeError, match=r"booster must be a lightgbm\.Booster; got str$"):
        olgbm.threshold_record("model.txt")


@pytest.mark.parametrize("proportional", [True, False])
def test_predictions_of_no_rows(proportional):
    booster = train(lightgbm.Dataset(ROWS, LABELS), proportional=proportional)
    assert olgbm.predict_proba(booster, ROWS[:0]).shape == (0, 3)


# The classifier's arguments


@pytest.mark.parametrize("columns", [[0], (0,), np.array([0]), [np.int64(0)], ["a"], np.array(["a"])])
def test_categorical_features_in_any_list(columns):
    """LightGBM takes lists alone, and nothing of a tuple or an array, without a word."""
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 9, (100, 3)), columns=list("abc"))
    model = make_lgb(min_data_per_group=1, cat_smooth=0).fit(frame, LABELS, categorical_feature=columns)
    expected = make_lgb(min_data_per_group=1, cat_smooth=0).fit(frame.astype({"a": "category"}), LABELS)
    assert "==" in set(model.booster_.trees_to_dataframe()["decision_type"])
    np.testing.assert_array_equal(model.predict_proba(frame), expected.predict_proba(frame.astype({"a": "category"})))


@pytest.mark.parametrize("wrong", [[3], [-1], [True], True, "a", "", ["z"], [0.0], [0, "z"]])
def test_categorical_features_that_are_none(wrong):
    frame = pd.DataFrame(np.round(ROWS), columns=list("abc"))
    with pytest.raises(ValueError, match=r"categorical_feature must be 'auto' or a list of .*; got "):
        make_lgb().fit(frame, LABELS, categorical_feature=wrong)


def test_masked_values_are_refused():
    """LightGBM and CatBoost would read what is hidden."""
    X = np.arange(120.0).reshape(60, 2)
    y = np.arange(60) % 3
    hidden, labels = np.ma.masked_less(X, 9.0), np.ma.masked_equal(y, 2)
    lgb_model, cb_model = (
        olgbm.train({"verbosity": -1}, lightgbm.Dataset(X, y), 2),
        ocb.train((X, y), {"iterations": 2}),
    )
    asked = {
        "train_set": lambda: olgbm.train({}, lightgbm.Dataset(hidden, y), 2),
        "label of train_set": lambda: olgbm.train({}, lightgbm.Dataset(X, labels), 2),
        "weight of train_set": lambda: olgbm.train({}, lightgbm.Dataset(X, y, weight=labels), 2),
        "features of .*": lambda: ocb.train((hidden, y), {"iterations": 2}),
        "labels of .*": lambda: ocb.train((X, labels), {"iterations": 2}),
        "data": lambda: olgbm.predict_proba(lgb_model, hidden),
        "data ": lambda: ocb.predict_proba(cb_model, hidden),
    }
    for name, ask in asked.items():
        with pytest.raises(ValueError, match=f"^{name.strip()} is a masked array"):
            ask()


def test_catboost_reads_fields_of_records():
    X, records = np.arange(60.0).reshape(30, 2) % 7, np.zeros((30, 2), [("tag", "i1"), ("x", "f8")])
    records["x"] = X
    expected, model = (ocb.train((rows, X[:, 0] // 3), {"iterations": 3}) for rows in (X, records["x"]))
    np.testing.assert_array_equal(ocb.predict_proba(model, records["x"]), ocb.predict_proba(expected, X))


def test_predictions_add_up_entries_stored_twice():
    twice = csr_matrix((np.ones(120), np.zeros(120, int), np.arange(0, 121, 2)), shape=(60, 2))
    model = olgbm.train({"verbosity": -1}, lightgbm.Dataset(twice.toarray(), np.arange(60) % 3), 2)
    np.testing.assert_array_equal(olgbm.predict_proba(model, twice), olgbm.predict_proba(model, twice.toarray()))
