"""What `fit` of the native engine's estimators refuses before the first tree."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import polars as pl
import pytest

from makers import make_engine
from ordinal_objectives import HistGradientBoostingMultiOutputClassifier, HistGradientBoostingMultiOutputRegressor

X = np.random.default_rng(0).normal(size=(60, 2))
Y = np.arange(60) % 3


def make_classifier():
    return HistGradientBoostingMultiOutputClassifier(max_iter=3, n_jobs=1)


def make_regressor():
    return HistGradientBoostingMultiOutputRegressor(max_iter=3, n_jobs=1)


EACH = pytest.mark.parametrize("make", [make_engine, make_classifier, make_regressor])


@EACH
def test_whatever_can_be_called_is_a_callback(make):
    seen = []

    def note(scale, iteration, evals):
        seen.append(scale * iteration)

    for callback in (functools.partial(note, 2), lambda *both: seen.append(both[0])):
        make().set_params(max_iter=3).fit(X, Y, callback=callback)
    assert seen == [2, 4, 6, 1, 2, 3]


TEXT = [f"{label}.5" for label in Y]
NO_NUMBERS = {
    "text": (np.array(TEXT), "an array of type <U3"),
    "a list of text": (TEXT, "an array of type <U3"),
    "objects": (np.array(TEXT, dtype=object), "the value '0.5'"),
    "bytes": (np.array(TEXT, dtype="S"), r"an array of type \|S3"),
    "dates": (Y.astype("M8[D]"), r"an array of type datetime64\[D\]"),
    "durations": (Y.astype("m8[s]"), r"an array of type timedelta64\[s\]"),
    "a series of text": (pd.Series(TEXT, name="y", dtype=object), "column 'values' of type object"),
    "a series of dates": (pd.Series(Y.astype("M8[ns]")), r"column 'values' of type datetime64\[ns\]"),
    "a category": (pd.Series(pd.Categorical(Y)), "column 'values' of type category"),
    "a frame with text": (pd.DataFrame({"a": Y, "b": pd.Series(TEXT, dtype=object)}), "column 'b' of type object"),
    "a series of polars": (pl.Series(TEXT), "column 'values' of type String"),
    "a frame of polars": (pl.DataFrame({"a": Y, "b": TEXT}), "column 'b' of type String"),
}


@pytest.mark.parametrize("kind", NO_NUMBERS)
def test_targets_of_a_regressor_are_numbers(kind):
    """NumPy reads digits, ticks of dates and labels of categories as numbers."""
    targets, got = NO_NUMBERS[kind]
    allowed = "must hold numbers, booleans and missing values"
    with pytest.raises(ValueError, match=f"^y {allowed}; got {got}. A regressor's targets are numbers"):
        make_regressor().fit(X, targets)
    if targets is not TEXT and getattr(targets, "ndim", 1) == 1:
        with pytest.raises(ValueError, match=f"^y of an evaluation set {allowed}; got {got}"):
            make_regressor().fit(X, Y, X_val=X, y_val=targets)


@pytest.mark.parametrize(
    "targets",
    [Y > 1, Y.astype(object), Y.tolist(), pd.Series(Y, dtype="Int64"), pd.DataFrame({"y": Y}), pl.Series(Y)],
    ids=lambda targets: type(targets).__name__,
)
def test_numbers_of_any_container_are_targets(targets):
    expected = make_regressor().fit(X, np.asarray(targets, float)).predict(X)
    np.testing.assert_array_equal(make_regressor().fit(X, targets).predict(X), expected)


@EACH
@pytest.mark.parametrize(("said", "n_trees"), [(True, 1), (np.True_, 1), (1, 3), (None, 3), (np.False_, 3)])
def test_a_callback_ends_a_training_by_a_true_of_any_kind(make, said, n_trees):
    assert make().set_params(max_iter=3).fit(X, Y, callback=lambda *both: said).n_iter_ == n_trees
