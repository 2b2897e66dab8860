"""Classifiers that are saved in a callback of their own fit: the model of the round, or refused by name."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import xgboost
from sklearn.exceptions import NotFittedError

from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    XGBOrdinalClassifier,
)

ENGINE: dict[str, dict[str, object]] = {
    "plain": {},
    "shifts": {"proportional": False},
    "newton": {"threshold_update": "newton", "proportional": True},
    "linear": {"linear": True},
    "high order": {"order": 3},
    "early stopping": {"early_stopping": True, "n_iter_no_change": 2, "learning_rate": 0.6},
    "searched": {"max_iter": "auto", "learning_rate": 0.6},
    "mode": {"decision_rule": "mode"},
}


@pytest.fixture
def data(ordinal_data):
    X, y = ordinal_data(120, 4)
    return X, 10 * y


@pytest.mark.parametrize("refit", [False, True])
@pytest.mark.parametrize("name", ENGINE)
def test_the_engine_saves_the_model_of_each_round(data, tmp_path, name, refit):
    X, y = data
    options = {"max_iter": 6, "max_leaf_nodes": 5, "n_jobs": 1, "random_state": 0, **ENGINE[name]}
    model = HistGradientBoostingOrdinalClassifier(**options)
    if refit:
        model.fit(X[:60], np.where(y[:60] > 10, 7, 3))
    seen = {}

    def save(iteration, evals):
        model.save_model(tmp_path / str(iteration))
        seen[iteration] = model.predict_proba(X), pickle.dumps(model), model.n_iter_

    model.fit(X, y, callback=save)
    stages = list(model.staged_predict_proba(X))
    assert len(seen) >= len(stages) > 0
    for iteration, (proba, pickled, n_iter) in seen.items():
        loaded = HistGradientBoostingOrdinalClassifier().load_model(tmp_path / str(iteration))
        assert loaded.n_iter_ == n_iter == iteration
        for again in (loaded, pickle.loads(pickled)):
            np.testing.assert_array_equal(again.predict_proba(X), proba)
        if iteration <= len(stages):  # early stopping drops later ones
            np.testing.assert_allclose(proba, stages[iteration - 1], atol=1e-12)


def test_a_saved_round_goes_on_as_the_training_did(data, tmp_path):
    X, y = data
    model = HistGradientBoostingOrdinalClassifier(max_iter=6, proportional=True, n_jobs=1, random_state=0)
    model.fit(X, y, callback=lambda iteration, evals: model.save_model(tmp_path / str(iteration)))
    rest = HistGradientBoostingOrdinalClassifier().load_model(tmp_path / "2").set_params(warm_start=True)
    np.testing.assert_array_equal(rest.fit(X, y).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("refit", [False, True])
def test_a_forest_has_no_rounds_to_save(data, tmp_path, refit):
    X, y = data
    model = HistGradientBoostingOrdinalClassifier(max_iter=3, n_jobs=1, random_state=0, boosting_type="rf")
    if refit:
        model.fit(X, y)
    with pytest.raises(ValueError, match="a random forest has no stages"):
        model.fit(X, y, callback=lambda iteration, evals: model.save_model(tmp_path / "model"))
    assert not list(tmp_path.iterdir())
    assert hasattr(model, "thresholds_") is refit


class Call(xgboost.callback.TrainingCallback):
    """Calls a function after each round."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def after_iteration(self, model, epoch, evals_log):
        self.function()
        return False


def xgboosts(function):
    model = XGBOrdinalClassifier(n_estimators=2, n_jobs=1)
    return model, lambda X, y: model.set_params(callbacks=[Call(lambda: function(model))]).fit(X, y)


def lightgbms(function):
    model = LGBMOrdinalClassifier(n_estimators=2, n_jobs=1, verbose=-1)
    return model, lambda X, y: model.fit(X, y, callbacks=[lambda env: function(model)])


@pytest.mark.parametrize("refit", [False, True])
@pytest.mark.parametrize("kind", [xgboosts, lightgbms])
def test_the_hosts_classifiers_name_the_booster_instead(data, tmp_path, kind, refit):
    X, y = data
    model, fit = kind(lambda model: model.save_model(tmp_path / "model.json"))
    if refit:
        model.fit(X, y)
    with pytest.raises(ValueError, match="save the booster that the callback is given"):
        fit(X, y)
    assert not list(tmp_path.iterdir())
    model, fit = kind(lambda model: model.predict_proba(X))
    if refit:
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        fit(X, y)
    assert hasattr(model, "thresholds_") is refit
