"""LightGBM's rounds that leave the score as it was: leaves below its rounding, and features without a split."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest

from ordinal_objectives import LGBMOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm

PARAMS = {"verbosity": -1, "num_leaves": 4, "num_threads": 1}
TINY = {**PARAMS, "learning_rate": 1e-300}
UPDATES = pytest.mark.parametrize("update", ["fixed", "newton", "schur", "joint"])
SHIFTS = pytest.mark.parametrize("proportional", [True, False], ids=["one score", "shifts"])


@pytest.fixture
def separable():
    X = np.random.default_rng(0).normal(size=(300, 3))
    return X, np.digitize(X[:, 0], [-0.7, 0.0, 0.7])


# Leaves too small to change the score


def by_olgbm(data, update):
    return olgbm.train(TINY, data, 5, n_classes=4, threshold_update=update)


def by_lightgbm(data, update):
    objective = olgbm.OrdinalObjective(4, threshold_update=update)
    params = {**TINY, "objective": objective, "metric": "None"}
    return lightgbm.train(params, data, 5, callbacks=[objective.callback])


@pytest.mark.parametrize(
    ("train", "update"),
    [
        *((by_olgbm, update) for update in ("fixed", "newton", "schur", "joint")),
        *((by_lightgbm, update) for update in ("fixed", "newton", "schur")),
    ],
)
def test_steps_below_the_rounding_of_the_score_are_counted(separable, train, update):
    X, y = separable
    booster = train(lightgbm.Dataset(X, y, free_raw_data=False), update)
    record = olgbm.threshold_record(booster)
    assert booster.current_iteration() == record.n_iterations == 5
    losses = record.training_loss[1:]  # a first tree that leaves the score as it was stands in front of the training
    np.testing.assert_allclose(losses, losses[0], rtol=1e-6)
    shares = np.bincount(y) / len(y)
    np.testing.assert_allclose(olgbm.predict_proba(booster, X), np.tile(shares, (300, 1)), atol=1e-7)


@SHIFTS
@pytest.mark.parametrize("start", [0.0, 1e6])
def test_the_classifier_ends_with_a_model(separable, proportional, start):
    X, y = separable
    model = LGBMOrdinalClassifier(n_estimators=5, learning_rate=1e-12, proportional=proportional, n_jobs=1)
    model.fit(X, y, init_score=np.full(300, start))
    assert model.n_iter_ == 5
    np.testing.assert_allclose(
        model.predict_proba(X, init_score=np.full(300, start)).mean(axis=0), np.bincount(y) / 300, atol=1e-6
    )


@UPDATES
def test_a_rollback_of_such_a_step_is_still_refused(separable, update):
    def rollback(env):
        if env.iteration == 2:
            env.model.rollback_one_iter()

    data = lightgbm.Dataset(*separable, free_raw_data=False)
    with pytest.raises(ValueError, match="rollback_one_iter"):
        olgbm.train(TINY, data, 5, n_classes=4, threshold_update=update, callbacks=[rollback])


def test_folds_with_small_steps_are_cross_validated(separable):
    X, y = separable
    params = {**TINY, "feature_pre_filter": False}
    history = olgbm.cv(params, lightgbm.Dataset(X, y, free_raw_data=False), 4, n_classes=4, nfold=3)
    assert np.ptp(history["valid all_threshold-mean"]) < 1e-6
    assert len(history["valid all_threshold-mean"]) == 4


# Features without a split


@pytest.mark.parametrize(
    ("update", "proportional"),
    [*((update, True) for update in ("fixed", "newton", "schur", "joint")), ("newton", False), ("joint", False)],
)
def test_constant_features_forecast_the_shares_of_the_classes(update, proportional):
    X, y = np.zeros((300, 2)), np.repeat([0, 1, 2], [150, 100, 50])
    data = lightgbm.Dataset(X, y, free_raw_data=False)
    valid = data.create_valid(X[:30], y[:30])
    options = {"n_classes": 3, "threshold_update": update, "proportional": proportional}
    booster = olgbm.train(PARAMS, data, 4, [valid], **options)
    assert booster.num_feature() == 2
    np.testing.assert_allclose(olgbm.predict_proba(booster, X[:1]), [[1 / 2, 1 / 3, 1 / 6]], atol=1e-6)


@pytest.mark.filterwarnings("ignore:no tree has a split")
def test_the_classifier_takes_constant_features(tmp_path):
    X, y = np.zeros((300, 2)), np.arange(300) % 3
    model = LGBMOrdinalClassifier(n_jobs=1, n_estimators=3).fit(X, y, eval_set=[(X[:60], y[:60])])
    np.testing.assert_allclose(model.predict_proba(X[:2]), np.full((2, 3), 1 / 3), atol=1e-6)
    assert model.feature_importances_.tolist() == [0, 0]
    model.save_model(tmp_path / "model.txt")
    loaded = LGBMOrdinalClassifier().load_model(tmp_path / "model.txt")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    again = LGBMOrdinalClassifier(n_jobs=1, n_estimators=3).fit(X, y, init_model=model)
    np.testing.assert_allclose(again.predict_proba(X[:2]), np.full((2, 3), 1 / 3), atol=1e-6)


def test_features_that_the_least_rows_of_a_leaf_rule_out():
    """LightGBM drops them before the training unless feature_pre_filter is False."""
    X, y = np.zeros((300, 1)), np.arange(300) % 3
    X[:5] = 1.0
    booster = olgbm.train(PARAMS, lightgbm.Dataset(X, y), 3, n_classes=3)
    np.testing.assert_allclose(olgbm.predict_proba(booster, X[:1]), [[1 / 3, 1 / 3, 1 / 3]], atol=1e-6)


def test_constant_features_are_cross_validated():
    y = np.arange(300) % 3
    history = olgbm.cv(PARAMS, lightgbm.Dataset(np.zeros((300, 2)), y), 3, n_classes=3, nfold=3)
    assert len(history["valid all_threshold-mean"]) == 3
