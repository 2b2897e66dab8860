"""The columns of a linear part: numbers of one scale, levels of categories, and what adds nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest

from ordinal_objectives import AllThreshold, LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.estimators.held_out import Rows
from ordinal_objectives.estimators.linear import LinearPart

RNG = np.random.default_rng(0)
N = 400
X = RNG.normal(size=(N, 3)) * [1.0, 5.0, 0.1] + [0.0, 3.0, -2.0]
Y = np.digitize(X[:, 0] + 0.4 * X[:, 1] + RNG.logistic(size=N), [-1.0, 1.0, 3.0]).astype(np.int32)


def fitted(X=X):
    return LinearPart.fit(Rows(X, Y), 4, AllThreshold(), 5.0)


def table():
    colour = RNG.choice(["red", "green", "blue"], size=N)
    frame = pd.DataFrame({"a": X[:, 0], "colour": pd.Categorical(colour), "b": X[:, 1] > 3.0})
    frame.loc[3, "a"], frame.loc[4, "colour"] = np.nan, None
    return frame


def test_tables_may_have_no_numbers():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"g": pd.Categorical(rng.choice(["a", "b", "c"], 90))})
    y, expected = np.clip(frame["g"].cat.codes + rng.integers(0, 2, 90), 0, 2), None
    for X in (frame, polars.from_pandas(frame), pyarrow.Table.from_pandas(frame, preserve_index=False)):
        model = XGBOrdinalClassifier(n_estimators=2, linear=True, random_state=0).fit(X, y)
        expected = model.predict_raw(X) if expected is None else expected
        np.testing.assert_allclose(model.predict_raw(X), expected, atol=1e-6)


def test_contributions_add_up_and_what_is_missing_adds_nothing():
    frame = table()
    model = XGBOrdinalClassifier(n_estimators=2, linear=True, random_state=0).fit(frame, Y)
    part = model.linear_
    of_features = part.contributions(frame)
    np.testing.assert_allclose(of_features.sum(axis=1), part.scores(frame), atol=1e-12)
    assert of_features[3, 0] == of_features[4, 1] == 0.0
    unknown = frame.astype({"colour": object}).assign(colour="black").astype({"colour": "category"})
    assert not part.contributions(unknown)[:, 1].any()


def test_numbers_beyond_the_training_count_as_its_ends():
    part = fitted()
    far, ends = X[:2].copy(), X[:2].copy()
    far[:, 0], ends[:, 0] = [1e9, -np.inf], [X[:, 0].max(), X[:, 0].min()]
    np.testing.assert_array_equal(part.scores(far), part.scores(ends))


@pytest.mark.parametrize("kind", ["xgb", "lgbm"])
def test_numbers_that_are_declared_categories_have_a_weight_each(kind):
    coded = np.column_stack([X[:, 0], RNG.integers(0, 3, size=N)])
    if kind == "xgb":
        model = XGBOrdinalClassifier(n_estimators=2, linear=True, feature_types=["q", "c"]).fit(coded, Y)
    else:
        model = LGBMOrdinalClassifier(n_estimators=2, linear=True).fit(coded, Y, categorical_feature=[1])
    assert model.linear_.levels == {1: [0.0, 1.0, 2.0]}


@pytest.mark.parametrize("kind", [XGBOrdinalClassifier, LGBMOrdinalClassifier])
def test_levels_in_an_order_have_a_weight_each(kind):
    sizes = pd.Categorical.from_codes(np.digitize(X[:, 1], [0.0, 5.0]), ["small", "medium", "large"], ordered=True)
    model = kind(n_estimators=2, linear=True, random_state=0).fit(pd.DataFrame({"a": X[:, 0], "size": sizes}), Y)
    assert model.linear_.levels == {1: [0.0, 1.0, 2.0]}


def test_a_number_that_means_missing_adds_nothing():
    marked = X.copy()
    marked[::4, 0] = -99.0
    model = XGBOrdinalClassifier(n_estimators=2, linear=True, missing=-99.0).fit(marked, Y)
    assert model.linear_.low[0] > -90.0
    assert not model.linear_.contributions(marked)[::4, 0].any()


@pytest.mark.parametrize(("missing", "given"), [(-99.9, np.float32), (-99.9, np.float64), (np.float32(-99.9), float)])
def test_a_number_that_means_missing_is_the_one_that_xgboost_reads(missing, given):
    """XGBoost compares in float32, whatever type the rows have: -99.9 is another number there."""
    code = np.where(RNG.random(N) < 0.3, np.nan, X[:, 0])
    bare, marked = (
        np.column_stack([column, X[:, 1]]).astype(given) for column in (code, np.nan_to_num(code, nan=-99.9))
    )
    expected = XGBOrdinalClassifier(n_estimators=2, linear=True).fit(bare, Y)
    model = XGBOrdinalClassifier(n_estimators=2, linear=True, missing=missing).fit(marked, Y)
    np.testing.assert_array_equal(model.predict_proba(marked), expected.predict_proba(bare))


@pytest.mark.parametrize("as_table", [np.asarray, pd.DataFrame], ids=["array", "frame"])
def test_a_code_that_means_missing_adds_nothing(as_table):
    code = np.where(RNG.random(N) < 0.3, np.nan, RNG.integers(0, 3, size=N))
    bare, marked = (as_table(np.column_stack([X[:, 0], column])) for column in (code, np.nan_to_num(code, nan=-1.0)))
    options = {"n_estimators": 2, "linear": True, "feature_types": ["q", "c"], "random_state": 0}
    expected = XGBOrdinalClassifier(**options).fit(bare, Y)
    model = XGBOrdinalClassifier(**options, missing=-1).fit(marked, Y)
    assert model.linear_.levels == expected.linear_.levels == {1: [0.0, 1.0, 2.0]}
    for rows in (bare, marked):
        np.testing.assert_allclose(model.predict_proba(rows), expected.predict_proba(bare), atol=1e-7)


def test_a_level_that_has_the_value_of_missing_stays_one():
    levels = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(RNG.choice([-1, 5, 7], size=N))})
    model = XGBOrdinalClassifier(n_estimators=2, linear=True, missing=-1).fit(levels, Y)
    assert model.columns_.levels == {1: [-1, 5, 7]}
    assert model.linear_.levels == {1: [0.0, 1.0, 2.0]}


def test_missing_none_is_nan(tmp_path):
    marked = X.copy()
    marked[::4, 0] = np.nan
    options = {"n_estimators": 2, "linear": True, "random_state": 0}
    expected = XGBOrdinalClassifier(**options).fit(marked, Y).predict_proba(marked)
    model = XGBOrdinalClassifier(**options, missing=None).fit(marked, Y)
    model.save_model(tmp_path / "model.json")
    for one in (model, XGBOrdinalClassifier().load_model(tmp_path / "model.json")):
        np.testing.assert_array_equal(one.predict_proba(marked), expected)
