"""What the pages promise of recorded losses: a saved model gives them again, and lower ones where margins cross."""

from __future__ import annotations

import numpy as np
import pytest

from ordinal_objectives import (
    AllThreshold,
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    XGBOrdinalClassifier,
)

ROUNDS = 12
LONG_STEPS = {"proportional": False, "learning_rate": 1.0, "shift_l2": 0.1}
KINDS = {
    "engine": (HistGradientBoostingOrdinalClassifier, {"max_iter": ROUNDS, "early_stopping": False}),
    "xgboost": (XGBOrdinalClassifier, {"n_estimators": ROUNDS, "max_depth": 3}),
    "host": (XGBOrdinalClassifier, {"n_estimators": ROUNDS, "max_depth": 3, "shift_method": "host"}),
    "lightgbm": (LGBMOrdinalClassifier, {"n_estimators": ROUNDS}),
}


def rows(n_classes=8):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    latent = X[:, 0] + rng.logistic(size=300)
    return X, np.searchsorted(np.quantile(latent, np.arange(1, n_classes) / n_classes), latent)


def loss_of_proba(proba, y):
    """Return the all-threshold loss: that of every event y <= k, added up."""
    at_most = proba.cumsum(axis=1)[:, :-1]
    happened = y[:, np.newaxis] <= np.arange(at_most.shape[1])
    return -np.log(np.where(happened, at_most, 1.0 - at_most)).sum(axis=1).mean()


def recorded_losses(model):
    if isinstance(model, HistGradientBoostingOrdinalClassifier):
        return model.evals_result_["training"]
    return model._record.training_loss


@pytest.mark.parametrize("kind", KINDS)
def test_replayed_losses_are_the_recorded_ones_and_lower_where_margins_cross(kind, tmp_path):
    X, y = rows()
    make, options = KINDS[kind]
    model = make(**options, **LONG_STEPS, n_jobs=1, random_state=0).fit(X, y, eval_set=[(X, y)])
    model.save_model(tmp_path / "model.ubj")
    loaded = make(n_jobs=1).load_model(tmp_path / "model.ubj")
    recorded = np.array(recorded_losses(loaded)[1:])
    replayed = np.array([loss_of_proba(proba, y) for proba in loaded.staged_predict_proba(X)])
    assert (replayed <= recorded * (1 + 1e-6)).all()
    thresholds = loaded.threshold_history_ if kind == "engine" else loaded._record.thresholds
    crossed, data = np.zeros(ROUNDS, bool), loaded._prediction_data(X)
    for t in range(1, ROUNDS + 1):
        margins = thresholds[t] - loaded._score(data, 0, t)
        crossed[t - 1] = (np.diff(margins, axis=1) < 0).any()
        unsorted = AllThreshold().margin_derivatives(margins, y, "exact").value.mean()
        assert unsorted == pytest.approx(recorded[t - 1], rel=1e-5)
    assert crossed.any()
    np.testing.assert_allclose(replayed[~crossed], recorded[~crossed], rtol=1e-5)
    assert (replayed / recorded).min() < 1 - 1e-4
    # The same rows as an evaluation set are measured as predictions are.
    (watched,) = (losses for name, losses in model.evals_result_.items() if name != "training")
    watched = np.array(watched["all_threshold"] if isinstance(watched, dict) else watched[1:])
    np.testing.assert_allclose(watched, replayed, rtol=1e-5)
