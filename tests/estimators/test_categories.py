"""Categories that a table lists otherwise than the training's: the same rows have the same predictions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xgboost

from makers import make_engine, make_lgb, make_xgb, watching
from ordinal_objectives import LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.adapters import xgb as oxgb

KINDS = [
    pytest.param(XGBOrdinalClassifier, {"early_stopping_rounds": 3}, id="XGBoost"),
    pytest.param(LGBMOrdinalClassifier, {"early_stopping_round": 3, "verbose": -1}, id="LightGBM"),
]
LETTERS = list("abcd")


@pytest.fixture
def table():
    """Return rows with a letter that the class depends on, the same with the letters listed backwards, and labels."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, 600)
    y = np.clip(codes + rng.integers(-1, 2, 600), 0, 3)
    X = pd.DataFrame({"letter": pd.Categorical.from_codes(codes, LETTERS), "noise": rng.normal(size=600)})
    return X, X.assign(letter=X["letter"].cat.set_categories(LETTERS[::-1])), y


def matrix(X, y, **options):
    return xgboost.DMatrix(X, y, enable_categorical=True, nthread=1, **options)


@pytest.mark.parametrize("proportional", [True, False])
@pytest.mark.parametrize(("kind", "stops"), KINDS)
def test_models_cut_short_and_every_stage_read_them_alike(kind, stops, proportional, table):
    X, other, y = table
    model = kind(n_estimators=100, proportional=proportional, n_jobs=1, learning_rate=0.3, **stops)
    model.fit(X[:300], y[:300], **watching(model, other[300:], y[300:]))
    assert model.n_iter_ < 97
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(X))
    for ours, theirs in zip(model.staged_predict_proba(other), model.staged_predict_proba(X), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    rest = X["letter"] != "a"
    fewer = X[rest].assign(letter=X["letter"][rest].cat.remove_unused_categories())
    np.testing.assert_array_equal(model.predict_proba(fewer), model.predict_proba(X[rest]))


@pytest.mark.parametrize("proportional", [True, False])
def test_a_continued_training_follows_them(table, proportional):
    X, other, y = table
    options = {"n_classes": 4, "proportional": proportional, "verbose_eval": False}
    half = oxgb.train({"nthread": 1}, matrix(X, y), 5, **options)
    found = {}
    sets = [(matrix(X, y, feature_types=half.get_categories()), "same"), (matrix(other, y), "other")]
    oxgb.train({"nthread": 1}, sets[0][0], 5, xgb_model=half, evals=sets, evals_result=found, **options)
    same, reordered = (next(iter(found[name].values())) for name in ("same", "other"))
    np.testing.assert_allclose(reordered, same, rtol=1e-5)


def test_categories_stand_where_they_stood_in_fit(ordinal_data, tmp_path):
    """XGBoost reads a category where it learned numbers as its codes, and numbers as codes of categories."""
    X, y = ordinal_data(200, 4)
    numbers = pd.DataFrame(X, columns=list("abcd"))
    categories = numbers.assign(a=pd.Categorical(np.where(X[:, 0] > 0, "u", "v")))
    for fitted, other, words in (
        (numbers, categories, "X must have numbers .* column 'a'"),
        (categories, numbers, "column 'a' holds categories that are numbers"),
    ):
        model = XGBOrdinalClassifier(n_estimators=4, n_jobs=1, enable_categorical=True).fit(fitted, y)
        model.save_model(tmp_path / "model.json")
        for one in (model, XGBOrdinalClassifier(enable_categorical=True).load_model(tmp_path / "model.json")):
            assert one.predict(fitted).shape == (200,)
            with pytest.raises(ValueError, match=words):
                one.predict_proba(other)
        with pytest.raises(ValueError, match=words):
            model.fit(fitted, y, eval_set=[(other, y)])


@pytest.mark.parametrize("missing", [0, 3.0, 4])
def test_missing_is_no_code_of_a_level(missing, table):
    """XGBoost compares missing with the codes of categories too, which have none where the rows do not."""
    X, other, y = table
    model = XGBOrdinalClassifier(n_estimators=2, n_jobs=1, missing=missing, random_state=0).fit(X, y)
    expected = XGBOrdinalClassifier(n_estimators=2, n_jobs=1, random_state=0).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(other), expected)
    np.testing.assert_array_equal(model.set_params(missing=1).predict_proba(X), expected)  # it is that of the fit


@pytest.mark.parametrize("make", [make_xgb, make_lgb, make_engine])
def test_levels_that_their_type_of_floats_rounds_are_refused(make, table):
    X, _, y = table
    numbers = 2.0**24 + X["letter"].cat.codes.to_numpy()
    for kind, rounds in ((np.float32, True), (np.float64, False), (np.int64, False)):
        of_type = X.assign(letter=pd.Categorical(numbers.astype(kind)), noise=0.0)
        if rounds:
            with pytest.raises(
                ValueError, match="column 'letter' holds levels of 16777216 and more, which float32 rounds"
            ):
                make().fit(of_type, y)
        else:
            assert len(np.unique(make().fit(of_type, y).predict_proba(of_type), axis=0)) == 4


@pytest.mark.parametrize("missing", [-1e30, -(2.0**24), -3.4e38])
@pytest.mark.parametrize("floats", [np.float32, np.float64])
def test_a_large_number_may_stand_for_a_missing_code(missing, floats):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 4, 300), rng.normal(size=300)])
    y, gaps = (X[:, 0] > 1).astype(int), rng.random(300) < 0.2
    marked, empty = X.astype(floats), X.copy()
    marked[gaps, 0], empty[gaps, 0] = missing, np.nan
    options = {"feature_types": ["c", "q"], "linear": True}
    proba = make_xgb(missing=missing, **options).fit(marked, y).predict_proba(marked)
    same = make_xgb(**options).fit(empty.astype(floats), y).predict_proba(empty.astype(floats))
    np.testing.assert_allclose(proba, same, atol=1e-6)
