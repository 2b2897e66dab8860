"""LightGBM's rounds without a split add no tree: rounds are one number, iterations and thresholds another."""

from __future__ import annotations

import pickle

import lightgbm
import numpy as np
import pytest

from ordinal_objectives.adapters import lgbm as olgbm

PARAMS = {
    "extra_trees": True, "min_data_in_leaf": 20, "max_bin": 8, "learning_rate": 0.5, "num_threads": 1,
    "verbosity": -1,
}  # fmt: skip


def stopped_early(seed, *, ours):
    """Return a booster that was stopped early, the rows it was stopped by, and their losses after every round."""
    rng = np.random.default_rng(seed)
    X, Xv = rng.normal(size=(60, 2)), rng.normal(size=(40, 2))
    y = np.digitize(X[:, 0] + rng.logistic(size=60), [-1, 0, 1])
    y[:4], yv = [0, 1, 2, 3], np.random.default_rng(seed + 1).integers(0, 4, 40)
    data, losses = lightgbm.Dataset(X, y), {}
    valid, params = data.create_valid(Xv, yv), {**PARAMS, "seed": seed}
    callbacks = [lightgbm.record_evaluation(losses), lightgbm.early_stopping(4, verbose=False)]
    if ours:
        booster = olgbm.train(params, data, 12, [valid], n_classes=4, threshold_update="newton", callbacks=callbacks)
    else:
        objective = olgbm.OrdinalObjective(4)
        params |= {"objective": objective, "metric": "None"}
        callbacks = [objective.callback, *callbacks]
        booster = lightgbm.train(params, data, 12, [valid], feval=objective.metric, callbacks=callbacks)
    return booster, Xv, yv, losses["valid_0"]["all_threshold"]


def loss_of(proba, y):
    """All-threshold loss of the probabilities P(y <= k) = sigma(theta_k - f)."""
    below = np.cumsum(proba, axis=1)[:, :-1]
    above = y[:, None] > np.arange(below.shape[1])
    return -np.log(np.where(above, 1 - below, below)).sum(axis=1).mean()


@pytest.mark.parametrize("seed", [9, 14, 28, 115])
@pytest.mark.parametrize("ours", [True, False], ids=["olgbm.train", "lightgbm.train"])
def test_predictions_and_files_keep_the_best_loss_of_an_early_stop(seed, ours, tmp_path):
    """LightGBM numbers the best round, and takes that number for one of trees: too many, or more than there are."""
    booster, Xv, yv, losses = stopped_early(seed, ours=ours)
    olgbm.save_model(booster, tmp_path / "model.txt")
    loaded = olgbm.load_model(tmp_path / "model.txt")
    for model in (booster, pickle.loads(pickle.dumps(booster)), loaded):
        assert loss_of(olgbm.predict_proba(model, Xv), yv) == pytest.approx(min(losses), rel=1e-6)
    assert len(losses) >= len(olgbm.threshold_record(booster).trees)
    if ours:
        assert booster.best_iteration == loaded.current_iteration()
