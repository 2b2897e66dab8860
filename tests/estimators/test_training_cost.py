"""Classifiers that are trained by what errors cost."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from makers import make_engine, make_lgb, make_xgb
from ordinal_objectives import OrdinalCalibratedClassifier
from ordinal_objectives.scorers import get_scorer

DEAR_LOW = [[0, 1, 2, 3], [9, 0, 1, 2], [18, 9, 0, 1], [27, 18, 9, 0]]
makes = pytest.mark.parametrize("make", [make_xgb, make_lgb, make_engine])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1600, 4))
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.8 * rng.logistic(size=1600), [-1.0, 0.5, 2.0])
    return X[:800], y[:800], X[800:], y[800:]


def cost(costs, y, predicted):
    return np.asarray(costs, float)[y, predicted].mean()


@makes
@pytest.mark.parametrize("proportional", [True, False])
def test_the_cost_that_training_names_falls(data, make, proportional):
    X, y, X_test, y_test = data
    plain = make(proportional=proportional).fit(X, y)
    dear = make(proportional=proportional, training_cost=DEAR_LOW).fit(X, y)
    assert cost(DEAR_LOW, y_test, dear.predict(X_test)) < 0.6 * cost(DEAR_LOW, y_test, plain.predict(X_test))
    squares = np.subtract.outer(np.arange(4), np.arange(4)) ** 2
    named = make(proportional=proportional, training_cost="quadratic").fit(X, y)
    given = make(proportional=proportional, training_cost=squares).fit(X, y)
    assert_array_equal(named.predict_proba(X_test), given.predict_proba(X_test))
    assert cost(squares, y_test, named.predict(X_test)) < 1.02 * cost(squares, y_test, plain.predict(X_test))


@makes
def test_absolute_is_the_model_without_costs(data, make):
    X, y, X_test, _ = data
    plain, named = make().fit(X, y), make(training_cost="absolute").fit(X, y)
    assert_array_equal(named.predict_proba(X_test), plain.predict_proba(X_test))
    given = make(training_cost=np.abs(np.subtract.outer(np.arange(4), np.arange(4)))).fit(X, y)
    assert_allclose(given.predict_proba(X_test), plain.predict_proba(X_test), atol=1e-4)


@makes
@pytest.mark.parametrize("costs", ["quadratic", DEAR_LOW])
def test_files_and_clones_keep_the_costs(data, make, costs, tmp_path):
    X, y, X_test, _ = data
    model = make(training_cost=costs).fit(X, y)
    model.save_model(tmp_path / "model.txt" if make is make_lgb else tmp_path / "model.json")
    loaded = type(model)().load_model(next(tmp_path.iterdir()))
    assert_array_equal(loaded.predict_proba(X_test), model.predict_proba(X_test))
    assert loaded.loss == "all_threshold"
    assert loaded.training_cost == costs
    assert_array_equal(clone(loaded).fit(X, y).predict_proba(X_test), model.predict_proba(X_test))
    with pytest.raises(ValueError, match="with a training_cost the decision is"):
        loaded.set_params(decision_rule="mode").predict(X_test)


@makes
def test_costs_of_other_losses_and_classes_are_refused(data, make):
    X, y, *_ = data
    with pytest.raises(ValueError, match=r"training_cost must have shape \(4, 4\).*got \(2, 2\)"):
        make(training_cost=[[0, 1], [2, 0]]).fit(X, y)
    with pytest.raises(ValueError, match="training_cost belongs to loss 'all_threshold'"):
        make(loss="cumulative_link", training_cost="quadratic").fit(X, y)
    with pytest.raises(ValueError, match="training_cost must be one of"):
        make(training_cost="cubic").fit(X, y)


@makes
def test_costs_whose_steps_do_not_grow_are_trained_without_rows_of_an_inner_class(make):
    distance = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    for seed, unit in enumerate([0.1, 0.7, 12.34]):
        rng = np.random.default_rng(seed)
        y = rng.choice([0, 1, 3, 4], size=100)
        X = rng.normal(size=(100, 2)) + y[:, None]
        given = {"classes": range(5), "random_state": 0}
        model = make(**given, training_cost=unit * distance).fit(X, y)
        assert (np.diff(model.thresholds_) >= 0.0).all()
        assert_allclose(model.predict_proba(X), make(**given).fit(X, y).predict_proba(X), atol=0.05)


@pytest.mark.parametrize("make", [make_xgb, make_lgb])
def test_metrics_of_probabilities_warn(data, make):
    X, y, X_test, y_test = data
    how = {"eval_metric": ["mae", "rps"]}
    of_model, of_fit = (how, {}) if make is make_xgb else ({}, how)
    with pytest.warns(UserWarning, match="rps judges probabilities, and those of a model with a training_cost"):
        make(training_cost="quadratic", **of_model).fit(X, y, eval_set=[(X_test, y_test)], **of_fit)


def test_scorers_of_probabilities_warn(data):
    X, y, X_test, y_test = data
    model = make_pipeline(StandardScaler(), make_xgb(training_cost="quadratic")).fit(X, y)
    with pytest.warns(UserWarning, match="ranked_probability_score judges probabilities") as told:
        get_scorer("neg_rps")(model, X_test, y_test)
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        get_scorer("neg_mae")(model, X_test, y_test)
        calibrated = OrdinalCalibratedClassifier(make_xgb(training_cost=DEAR_LOW), cv=2).fit(X, y)
        calibrated_rps = get_scorer("neg_rps")(calibrated, X_test, y_test)
    with pytest.warns(UserWarning, match="judges probabilities"):
        assert get_scorer("neg_rps")(make_xgb(training_cost=DEAR_LOW).fit(X, y), X_test, y_test) < calibrated_rps


def test_a_warm_start_refuses_other_costs(data):
    X, y, *_ = data
    model = make_engine(training_cost="quadratic", warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="warm_start continues a model of loss="):
        model.set_params(training_cost=DEAR_LOW, max_iter=20).fit(X, y)
    model.set_params(training_cost="quadratic").fit(X, y)
    assert model.n_iter_ == 20
