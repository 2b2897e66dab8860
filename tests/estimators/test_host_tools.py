"""What users of XGBClassifier and LGBMClassifier look for: methods of the same name, plots, explanations."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
import shap
import xgboost

from ordinal_objectives import LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.adapters import xgb as oxgb

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 4)), columns=["age", "dose", "size", "noise"])
    y = np.digitize(2 * X["age"] + np.sin(2 * X["dose"]) + rng.logistic(size=600), [-1, 0, 1])
    return X, y


def fit(kind, data, **params):
    X, y = data
    small = {"n_estimators": 200, "learning_rate": 0.3, "n_jobs": 1, **params}
    return kind(**small).fit(X[:400], y[:400], eval_set=[(X[400:], y[400:])])


@pytest.fixture(scope="module")
def stopped(data):
    return {
        "xgboost": fit(XGBOrdinalClassifier, data, max_depth=3, early_stopping_rounds=3),
        "lightgbm": fit(LGBMOrdinalClassifier, data, num_leaves=6, early_stopping_round=3),
    }


def test_methods_of_xgbclassifier(data, stopped, tmp_path):
    X, y = data
    model = stopped["xgboost"]
    host = xgboost.XGBClassifier(n_estimators=200, max_depth=3, early_stopping_rounds=3, n_jobs=1)
    host.fit(X[:400], y[:400], eval_set=[(X[400:], y[400:])], verbose=False)
    assert model.get_booster() is model.booster_
    assert model.evals_result() is model.evals_result_
    assert model.evals_result().keys() == host.evals_result().keys()
    losses = model.evals_result()["validation_0"]["all_threshold"]
    assert model.best_score == pytest.approx(min(losses))
    assert type(model.best_score) is type(host.best_score)
    assert model.best_iteration == model.best_iteration_ == np.argmin(losses) < len(losses) - 1
    leaves = model.apply(X)
    assert leaves.shape == (600, model.n_iter_)
    # Rows in the same leaves have the same score.
    one_of_each = pd.DataFrame(leaves).assign(raw=model.predict_raw(X)).groupby(list(range(model.n_iter_)))["raw"]
    assert (one_of_each.max() - one_of_each.min()).max() < 1e-6
    model.save_model(tmp_path / "model.json")
    loaded = XGBOrdinalClassifier().load_model(tmp_path / "model.json")
    assert loaded.evals_result() == {}
    assert loaded.best_score == model.best_score
    np.testing.assert_array_equal(loaded.apply(X), leaves)


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, partial(np.asarray, dtype=np.float32)])
def test_predictions_of_an_array_are_those_of_a_matrix(kind, data):
    """XGBoost reads an array where it lies."""
    X, y = kind(data[0]).copy(), data[1]
    X[X > 1.5] = np.nan
    for model in (XGBOrdinalClassifier(n_estimators=6), XGBOrdinalClassifier(n_estimators=6, missing=0.0)):
        model.set_params(max_depth=3, n_jobs=1).fit(X, y)
        matrix = xgboost.DMatrix(X, missing=model.missing)
        np.testing.assert_array_equal(model.predict_proba(X), oxgb.predict_proba(model.booster_, matrix))
        for count, proba in enumerate(model.staged_predict_proba(X), 1):
            expected = oxgb.predict_proba(model.booster_, matrix, iteration_range=(0, count))
            np.testing.assert_allclose(proba, expected, atol=1e-6)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_shap_values_of_the_booster_sum_to_the_score(library, data, stopped):
    """Also after an early stop: explanations stop where predictions do."""
    X, _ = data
    model = stopped[library]
    explained = shap.TreeExplainer(model.booster_)(X)
    raw = model.predict_raw(X)
    np.testing.assert_allclose(explained.values.sum(axis=1) + explained.base_values, raw, atol=1e-5)
    if library == "xgboost":
        ours = model.booster_.predict(xgboost.DMatrix(X), pred_contribs=True, iteration_range=(0, model.n_iter_))
    else:
        ours = model.booster_.predict(X, pred_contrib=True)
    np.testing.assert_allclose(ours.sum(axis=1), raw, atol=1e-5)
    np.testing.assert_allclose(ours[:, :-1], explained.values, atol=1e-5)
