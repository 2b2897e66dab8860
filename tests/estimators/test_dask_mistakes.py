"""What is wrong with rows on one worker is told by the argument's name, and nothing is misread."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("distributed")

import dask.array as da
import dask.dataframe as dd
import pandas as pd
import xgboost.dask
from distributed import Client, LocalCluster

from ordinal_objectives import DaskXGBOrdinalClassifier, OrdinalLabels
from ordinal_objectives.adapters.xgb import dask as oxgb_dask

pytestmark = pytest.mark.slow

X = np.random.default_rng(0).normal(size=(200, 3))
Y = np.digitize(X[:, 0], [-1.0, 0.0, 1.0])
ONES = np.ones(200)
HALF = np.arange(200) < 100


@pytest.fixture(scope="module", autouse=True)
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**options, silence_logs=50) as cluster, Client(cluster) as client:
        yield client


def parted(values, rows=100):
    return da.from_array(values, chunks=(rows, *values.shape[1:]))


def fit(X=X, y=Y, weight=None, margin=None, eval_set=None, model=None, **options):
    given = {"sample_weight": weight, "base_margin": margin}
    rows = {name: value if value is None or hasattr(value, "dask") else parted(value) for name, value in given.items()}
    rows |= {"eval_set": eval_set, "xgb_model": model}
    X, y = (value if hasattr(value, "dask") else parted(value) for value in (X, y))
    return DaskXGBOrdinalClassifier(n_estimators=2, max_depth=2, n_jobs=1, **options).fit(X, y, **rows)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.where(HALF, "1", "a"), "must hold numbers, booleans and missing values; got an array of type <U1"),
        (np.where(HALF, 1.0, 1e39), r"must be finite.*; got [0-9.]+e\+39, which float32 cannot hold"),
        (np.where(HALF, 1.0, 1.0j), "must be an array of numbers"),
        (np.full(200, np.datetime64("2020-01-01")), "must hold numbers.* got an array of type datetime64"),
        (np.array([None] * 200), "must be finite.*; got nan"),
        (np.ma.masked_array(ONES, ~HALF), "is a masked array"),
    ],
    ids=["text", "large", "complex", "dates", "None", "masked"],
)
def test_weights_and_start_scores_that_are_no_numbers(values, message):
    for word, name in (("weights", "weight"), ("base_margin", "margin")):
        with pytest.raises(ValueError, match=f"{word} of the training set {message}"):
            fit(**{name: values})
    with pytest.raises(ValueError, match=f"weights of the training set {message}"):
        fit(weight=values, class_weight="balanced")


def test_a_series_of_text():
    frame, text = pd.DataFrame(X, columns=list("abc")), pd.Series(np.where(HALF, "1", "a"))
    parts = [dd.from_pandas(one, npartitions=2) for one in (frame, pd.Series(Y), text)]
    with pytest.raises(ValueError, match="weights of the training set must hold numbers"):
        fit(parts[0], parts[1], weight=parts[2])


def test_numbers_of_every_kind_are_taken():
    expected = fit(weight=ONES).predict_proba(X)
    for weight in (ONES.astype(object), ONES.astype(int), ONES > 0, np.ma.masked_array(ONES, ONES < 0)):
        # Which worker adds up which rows differs from time to time.
        np.testing.assert_allclose(fit(weight=weight).predict_proba(X), expected, atol=1e-6)


def test_what_lies_behind_a_mask_is_not_read():
    with pytest.raises(ValueError, match="X of the training set is a masked array"):
        fit(np.ma.masked_less(X, -1.0))
    with pytest.raises(ValueError, match="y contains missing labels"):
        fit(y=np.ma.masked_array(Y, ~HALF))
    with pytest.raises(ValueError, match="y of an evaluation set contains missing labels"):
        fit(eval_set=[(parted(X), parted(np.ma.masked_array(Y, ~HALF)))])
    assert fit(y=np.ma.masked_array(Y, np.zeros(200, bool))).n_iter_ == 2


def test_text_among_objects():
    values = X.astype(object)
    values[150, 1] = "a"
    with pytest.raises(ValueError, match=r"X of the training set must hold numbers.*; got the value 'a'"):
        fit(values)


def test_other_parts_than_those_of_the_rows():
    for word, given in (
        ("labels", {"y": parted(Y, 50)}),
        ("weights", {"weight": parted(ONES, 50)}),
        ("base_margin", {"margin": parted(ONES, 50)}),
    ):
        with pytest.raises(
            ValueError, match=f"{word} of the training set must be partitioned as X is; got 4 parts for 2"
        ):
            fit(**given)
    with pytest.raises(ValueError, match="labels of validation_0 must be partitioned as X is; got 4 parts for 2"):
        fit(eval_set=[(parted(X), parted(Y, 50))])


@pytest.mark.parametrize("turned", [[1], [0, 1]])
def test_parts_whose_columns_have_another_order(turned):
    """As those of CSV files may: XGBoost would read columns by their place."""
    frame = pd.DataFrame(X, columns=["a", "b", "c"])

    def table(turned):
        halves = [frame[:100], frame[100:]]
        return dd.from_map(lambda i: halves[i].iloc[:, ::-1] if i in turned else halves[i], [0, 1], meta=frame[:0])

    message = "must have the model's 3 feature names, in their order; got 'c' for 'a' in column 0"
    with pytest.raises(ValueError, match=f"each part of X.* {message}"):
        fit(table(turned))
    with pytest.raises(ValueError, match=f"each part of X of validation_0 {message}"):
        fit(table([]), eval_set=[(table([1]), parted(Y))])


def test_evaluation_sets_of_other_columns():
    frame, labels = pd.DataFrame(X, columns=list("abc")), dd.from_pandas(pd.Series(Y), npartitions=2)
    rows = {"X": dd.from_pandas(frame, npartitions=2), "y": labels}
    for other, got in (
        (frame.set_axis(list("abd"), axis=1), "'d' for 'c' in column 2"),
        (frame[["c", "a", "b"]], "'c' for 'a' in column 0, 'a' for 'b' in column 1"),
    ):
        with pytest.raises(ValueError, match=f"X of validation_0 must have the model's 3 feature names.*; got {got}"):
            fit(**rows, eval_set=[(dd.from_pandas(other, npartitions=2), labels)])
    numbers = [xgboost.dask.DaskDMatrix(None, parted(values), parted(Y)) for values in (X, X[:, :2])]
    with pytest.raises(ValueError, match=r"X of valid must have the model's 3 feature names, in their order; got 2"):
        oxgb_dask.train(None, {}, numbers[0], 2, evals=[(numbers[1], "valid")])


def test_a_model_of_other_columns():
    with pytest.raises(ValueError, match="xgb_model was trained on 3 columns; here X has 2"):
        fit(X[:, :2], model=fit())


def test_callbacks_that_are_none():
    with pytest.raises(TypeError, match="callbacks must be a list of"):
        fit(callbacks=[3])


def test_labels_of_several_answers_are_refused_by_name():
    model, labels = DaskXGBOrdinalClassifier(n_estimators=2), OrdinalLabels.from_counts(np.eye(4)[Y] + 0.1)
    with pytest.raises(TypeError, match="y must be a Dask array or data frame; got OrdinalLabels"):
        model.fit(parted(X), labels)
    with pytest.raises(TypeError, match="y of an evaluation set must be a Dask array or data frame; got OrdinalLabels"):
        fit(eval_set=[(parted(X), labels)])
