"""train() of both adapters: what it refuses, callbacks, metrics, early stopping, continuation, cross-validation."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost

from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from ordinal_objectives.losses import get_loss

UPDATES = pytest.mark.parametrize("update", ["fixed", "newton", "schur", "joint"])
TREE_UPDATES = pytest.mark.parametrize("update", ["schur", "joint"])
QUIET = {"verbosity": -1, "num_leaves": 8, "min_data_in_leaf": 5}
HOSTS: dict[str, Any] = {"xgboost": (oxgb.train, xgboost.DMatrix), "lightgbm": (olgbm.train, lightgbm.Dataset)}


@pytest.fixture
def rows(ordinal_data):
    return *ordinal_data(500), *ordinal_data(300, seed=7)


@TREE_UPDATES
@pytest.mark.parametrize(
    ("host", "name", "value", "named"),
    [
        ("xgboost", "alpha", 0.5, "reg_alpha"),
        ("xgboost", "reg_alpha", 0.5, "reg_alpha"),
        ("xgboost", "max_delta_step", 1.0, "max_delta_step"),
        ("xgboost", "monotone_constraints", "(1,0,0,-1)", "monotone_constraints"),
        ("xgboost", "num_parallel_tree", 3, "num_parallel_tree"),
        # dart is a booster of its own in older versions, a gbtree that drops trees in newer ones.
        ("xgboost", "rate_drop", 0.1, "(rate_drop|booster)"),
        ("xgboost", "booster", "gblinear", "booster"),
        ("lightgbm", "reg_alpha", 0.5, "lambda_l1"),
        ("lightgbm", "max_delta_step", 1.0, "max_delta_step"),
        ("lightgbm", "path_smooth", 1.0, "path_smooth"),
        ("lightgbm", "monotone_constraints", [1, 0, 0, -1], "monotone_constraints"),
        ("lightgbm", "linear_tree", True, "linear_tree"),
    ],
)
def test_what_leaf_steps_cannot_follow_is_refused(rows, update, host, name, value, named):
    train, matrix = HOSTS[host]
    params = {name: value} | ({"verbosity": 0} if host == "xgboost" else QUIET)
    params |= {"booster": "dart"} if name == "rate_drop" else {}
    pattern = rf"params\['{named}'\] = .*threshold_update='{update}'.*threshold_update='newton' supports it"
    with pytest.raises(ValueError, match=pattern):
        train(params, matrix(*rows[:2]), 3, threshold_update=update)


@pytest.mark.parametrize(
    ("host", "name", "value"),
    [
        *(("xgboost", *pair) for pair in (("objective", "binary:logistic"), ("num_class", 5), ("base_score", 0.5))),
        ("xgboost", "eval_metric", "rmse"),
        *(("lightgbm", *pair) for pair in (("objective", "binary"), ("app", "l2"), ("num_classes", 5))),
        *(("lightgbm", *pair) for pair in (("metric", "auc"), ("boosting_type", "rf"))),
    ],
)
def test_a_second_objective_is_refused(rows, host, name, value):
    train, matrix = HOSTS[host]
    with pytest.raises(ValueError, match=rf"params\['{name}'\] = .* is not allowed beside an ordinal objective"):
        train({name: value}, matrix(*rows[:2]), 3)


def mean_loss(score, y, thresholds):
    return get_loss("all_threshold").value(np.asarray(score, dtype=float), y, thresholds).mean()


@pytest.mark.parametrize(
    ("update", "bare"),
    [("newton", True), ("newton", False), ("schur", True), ("schur", False), ("joint", False), ("fixed", True)],
)
@pytest.mark.parametrize("splits", [[0, 0, 0, 0], [0, 1, 1, 1], [0, 0, 1, 1], [1, 0, 1, 0]])
def test_lightgbm_rounds_without_a_split(rows, update, bare, splits, tmp_path):
    """LightGBM keeps a constant tree for the first round alone; thresholds stay with the trees they belong to."""
    X, y, _, _ = rows
    data = lightgbm.Dataset(X, y)
    callbacks = [lightgbm.reset_parameter(min_gain_to_split=[0.0 if split else 1e9 for split in splits])]
    if bare:
        objective = olgbm.OrdinalObjective(5, threshold_update=update)
        params = {**QUIET, "objective": objective, "metric": "None"}
        booster = lightgbm.train(params, data, 4, callbacks=[objective.callback, *callbacks])
    else:
        booster = olgbm.train(QUIET, data, 4, threshold_update=update, callbacks=callbacks)
    record = olgbm.threshold_record(booster)
    assert record.n_iterations == booster.current_iteration() == max(1, sum(splits) + (not splits[0]))
    assert np.isnan(record.training_loss).tolist() == [t == 0 and not splits[0] for t in range(record.n_iterations + 1)]
    for t in np.flatnonzero(np.isfinite(record.training_loss)):
        score = booster.predict(X, raw_score=True, num_iteration=t) if t else np.zeros(len(y))
        assert record.training_loss[t] == pytest.approx(mean_loss(score, y, record.at(t)), rel=1e-5)
    if not any(splits):
        shares = np.bincount(y) / len(y)
        np.testing.assert_allclose(olgbm.predict_proba(booster, X), np.tile(shares, (len(y), 1)), atol=1e-6)
    olgbm.save_model(booster, tmp_path / "model.txt")
    loaded = olgbm.load_model(tmp_path / "model.txt")
    np.testing.assert_array_equal(olgbm.predict_proba(loaded, X), olgbm.predict_proba(booster, X))


@UPDATES
def test_learning_rate_is_read_every_round(rows, update):
    X, y, _, _ = rows
    rates = [0.5, 0.4, 0.01, 0.3, 0.2]
    booster = oxgb.train(
        {}, xgboost.DMatrix(X, y), 5, threshold_update=update, callbacks=[xgboost.callback.LearningRateScheduler(rates)]
    )
    moved = np.abs(np.diff(booster_scores(booster, X), axis=0)).max(axis=1)
    assert moved.min() < 0.1 * np.sort(moved)[1]
    assert_thresholds_moved_as_little(moved, update, oxgb.threshold_record(booster))
    booster = olgbm.train(
        QUIET,
        lightgbm.Dataset(X, y),
        5,
        threshold_update=update,
        callbacks=[lightgbm.reset_parameter(learning_rate=rates)],
    )
    scores = [booster.predict(X, raw_score=True, num_iteration=t) for t in range(1, 6)]
    moved = np.abs(np.diff([np.zeros(len(y)), *scores], axis=0)).max(axis=1)
    assert moved.min() < 0.1 * np.sort(moved)[1]
    assert_thresholds_moved_as_little(moved, update, olgbm.threshold_record(booster))


def assert_thresholds_moved_as_little(moved, update, record):
    """Steps over the leaves are shrunk as the tree is; the conditional step is taken whole."""
    if update in ("schur", "joint"):
        slow = int(np.argmin(moved))
        steps = np.abs(np.diff(record.thresholds, axis=0)).max(axis=1)
        assert steps[slow] < 0.1 * steps[slow - 1]


def booster_scores(booster, X):
    matrix = xgboost.DMatrix(X)
    rounds = range(1, booster.num_boosted_rounds() + 1)
    scores = [booster.predict(matrix, output_margin=True, iteration_range=(0, t)) for t in rounds]
    return np.array([np.zeros(len(X)), *scores])


@UPDATES
def test_custom_metrics_see_the_probabilities_of_their_own_round(rows, update):
    X, y, Xv, yv = rows

    def brier(proba, matrix):
        label = matrix.get_label().astype(int)
        return "brier", float(((proba - np.eye(5)[label]) ** 2).sum(axis=1).mean())

    dvalid, seen = xgboost.DMatrix(Xv, yv), {}
    booster = oxgb.train(
        {},
        xgboost.DMatrix(X, y),
        6,
        threshold_update=update,
        evals=[(dvalid, "v")],
        custom_metric=brier,
        evals_result=seen,
        verbose_eval=False,
    )
    for t in range(1, 7):
        expected = brier(oxgb.predict_proba(booster, dvalid, (0, t)), dvalid)[1]
        assert seen["v"]["brier"][t - 1] == pytest.approx(expected, rel=1e-5)

    train = lightgbm.Dataset(X, y)
    booster = olgbm.train(
        QUIET,
        train,
        6,
        valid_sets=[train, lightgbm.Dataset(Xv, yv, reference=train)],
        valid_names=["t", "v"],
        feval=lambda proba, data: (*brier(proba, data), False),
        threshold_update=update,
        callbacks=[lightgbm.record_evaluation(seen)],
    )
    for name, features, labels in (("t", X, y), ("v", Xv, yv)):
        for t in range(1, 7):
            expected = brier(olgbm.predict_proba(booster, features, t), xgboost.DMatrix(features, labels))[1]
            assert seen[name]["brier"][t - 1] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("host", HOSTS)
def test_codes_of_two_classes_are_two(host, rows):
    train, matrix = HOSTS[host]
    X, y = rows[:2]
    booster = train({"verbosity": 0} if host == "xgboost" else QUIET, matrix(X, np.minimum(y, 1)), 2)
    assert (oxgb if host == "xgboost" else olgbm).threshold_record(booster).n_classes == 2
