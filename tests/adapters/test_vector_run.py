"""Thresholds that move with x inside XGBoost and LightGBM."""

from __future__ import annotations

import numpy as np
import pytest
import xgboost

from ordinal_objectives import AllThreshold
from ordinal_objectives.adapters import xgb as oxgb
from ordinal_objectives.leaves import vector
from ordinal_objectives.losses import get_loss
from pairs import each_pair
from shifting import HOSTS, N_CLASSES, OnLightGBM, OnXGBoost, data, leaves_of, mean_loss


@each_pair(
    {
        "host": [OnXGBoost, OnLightGBM],
        "loss": ["all_threshold", "immediate_threshold"],
        "link, hessian": [("logit", "exact"), ("logit", "majorized"), ("cloglog", "exact")],
        "penalty": ["ridge", "smooth"],
    }
)
def test_every_round_takes_the_closed_form_step_and_is_recorded(host, loss, link, hessian, penalty):
    X, y = data()
    weight = np.random.default_rng(1).gamma(2.0, size=len(y)).astype(np.float32)
    options = {"loss": loss, "link": link, "hessian": hessian, "shift_l2": 3.0, "shift_penalty": penalty}
    booster = host.train(X, y, 6, weight=weight, n_classes=N_CLASSES, **options)
    record, own = host.record(booster), get_loss(loss, link)
    scores = np.zeros((len(y), N_CLASSES - 1))
    for t in range(6):
        theta = record.thresholds[t]
        assert record.training_loss[t] == pytest.approx(mean_loss(own, theta - scores, y, weight), rel=2e-6)
        leaves, vectors = leaves_of(host, booster, X, t), record.leaf_vectors[t]
        rows = own.margin_derivatives(theta - scores, y, hessian)
        G, H = (
            np.array([(weight[leaves == j, None] * part[leaves == j]).sum(axis=0) for j in range(len(vectors))])
            for part in (rows.gradient, rows.hessian)
        )
        steps = 0.3 * vector.steps(G, H, 1.0, 3.0, penalty)
        shifts = steps - steps.mean(axis=1, keepdims=True)
        steps = steps - np.average(shifts[leaves], axis=0, weights=weight)
        share = vectors.ravel() @ steps.ravel() / (steps.ravel() @ steps.ravel())
        assert np.log2(share) == pytest.approx(round(np.log2(share)), abs=1e-3)
        np.testing.assert_allclose(vectors, share * steps, atol=2e-5)
        scores += vectors[leaves]
        np.testing.assert_allclose(np.average(scores, axis=0, weights=weight).std(), 0.0, atol=1e-5)
    np.testing.assert_allclose(host.proba(booster, X), own.margin_proba(record.thresholds[6] - scores), atol=1e-6)
    np.testing.assert_allclose(host.score(booster, X), scores.mean(axis=1), atol=1e-6)


@HOSTS
def test_a_large_penalty_leaves_the_newton_model(host):
    X, y = data()
    free = host.train(X, y, 15, n_classes=N_CLASSES, shift_l2=1e10)
    plain = host.train(X, y, 15, n_classes=N_CLASSES, proportional=True, threshold_update="newton")
    np.testing.assert_allclose(host.record(free).thresholds[-1], host.record(plain).thresholds[-1], atol=1e-6)
    np.testing.assert_allclose(host.proba(free, X), host.proba(plain, X), atol=1e-6)


@pytest.mark.slow
@HOSTS
def test_effects_that_differ_by_threshold_are_found(host):
    X, y = data(4000)
    Xv, yv = data(4000, seed=1)
    free = host.train(X, y, 40, n_classes=N_CLASSES)
    plain = host.train(X, y, 40, n_classes=N_CLASSES, proportional=True)
    log_loss = [-np.log(host.proba(model, Xv)[np.arange(len(yv)), yv]).mean() for model in (free, plain)]
    assert log_loss[0] < log_loss[1] - 0.05


@pytest.mark.slow
@HOSTS
def test_the_training_loss_never_rises_and_shifts_do_not_drift_for_a_class_without_rows(host):
    X, y = data(800)
    y = np.where(y == 4, 3, y)  # the highest class is unseen, and one inside
    y = np.where(y == 2, 1, y)
    booster = host.train(X, y, 60, n_classes=N_CLASSES, shift_l2=0.5)
    record = host.record(booster)
    assert (np.diff(record.training_loss) <= 1e-7).all()
    scores = sum(record.leaf_vectors[t][leaves_of(host, booster, X, t)] for t in range(60))
    shifts = scores - scores.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(shifts[:, 3], 0.0, atol=1e-4)  # has rows on one side alone
    np.testing.assert_allclose(shifts[:, 1], shifts[:, 2], atol=1e-4)  # nothing lies between them
    proba = host.proba(booster, X)
    assert proba[:, [2, 4]].mean() < 0.01


@HOSTS
def test_probabilities_are_probabilities_after_any_truncation(host):
    X, y = data()
    booster = host.train(X, y, 20, n_classes=N_CLASSES, shift_l2=0.01)
    rng = np.random.default_rng(0)
    anywhere = rng.normal(size=(500, 4)) * 10
    crossed = False
    for t in (1, 7, 20):
        proba = host.proba(booster, anywhere, t)
        assert (proba >= 0.0).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
        crossed = crossed or bool((proba == 0.0).any())
    record = host.record(booster)
    scores = sum(record.leaf_vectors[t][leaves_of(host, booster, anywhere, t)] for t in range(20))
    assert (np.diff(record.thresholds[-1] - scores, axis=1) < 0).any(), "no row's margins cross: the case is too easy"


@HOSTS
def test_evaluation_is_that_of_the_predictions(host):
    (X, y), (Xv, yv) = data(), data(300, seed=3)
    kept = {}
    booster = host.train(X, y, 8, valid=[(Xv, yv)], evals_result=kept, n_classes=N_CLASSES, shift_l2=0.1)
    history = kept["valid_0"]["all_threshold"]
    record = host.record(booster)
    for t in range(1, 9):
        scores = sum(record.leaf_vectors[i][leaves_of(host, booster, Xv, i)] for i in range(t))
        margins = np.sort(record.thresholds[t] - scores, axis=1)
        assert history[t - 1] == pytest.approx(mean_loss(AllThreshold(), margins, yv), rel=1e-6)


@HOSTS
@pytest.mark.parametrize("first_is_proportional", [False, True])
def test_a_model_is_continued(host, first_is_proportional, tmp_path):
    (X, y), (Xv, yv) = data(), data(200, seed=3)
    whole = host.train(X, y, 12, n_classes=N_CLASSES)
    first = host.train(X, y, 7, n_classes=N_CLASSES, proportional=first_is_proportional)
    kept = {}
    more = host.train(
        X, y, 5, previous=host.reload(first, tmp_path), valid=[(Xv, yv)], evals_result=kept, n_classes=N_CLASSES
    )
    record = host.record(more)
    assert record.n_iterations == 12
    proba = host.proba(more, Xv)
    if not first_is_proportional:
        np.testing.assert_allclose(proba, host.proba(whole, Xv), atol=2e-4)
    np.testing.assert_allclose(host.proba(more, Xv, 7), host.proba(first, Xv), atol=1e-6)
    scores = host.score(first, Xv)[:, None] if first_is_proportional else 0.0
    for t in range(7 * first_is_proportional, 12):
        scores = scores + record.leaf_vectors[t][leaves_of(host, more, Xv, t)]
    loss = mean_loss(AllThreshold(), np.sort(record.thresholds[-1] - scores, axis=1), yv)
    assert kept["valid_0"]["all_threshold"][-1] == pytest.approx(loss, rel=1e-5)
    np.testing.assert_allclose(proba, AllThreshold().margin_proba(record.thresholds[-1] - scores), atol=1e-6)


@HOSTS
def test_a_proportional_training_does_not_continue_a_model_with_shifts(host):
    X, y = data()
    first = host.train(X, y, 3, n_classes=N_CLASSES)
    with pytest.raises(ValueError, match="proportional=False"):
        host.train(X, y, 3, previous=first, n_classes=N_CLASSES, proportional=True)


@HOSTS
@pytest.mark.parametrize("far", [0.0, 1e4])
def test_start_scores_add_to_all_thresholds(host, far):
    X, y = data()
    start = (X[:, 2] + far).astype(np.float64)
    booster = host.train(X, y, 6, start=start, n_classes=N_CLASSES)
    record = host.record(booster)
    scores = start[:, None] + sum(record.leaf_vectors[t][leaves_of(host, booster, X, t)] for t in range(6))
    loss = mean_loss(AllThreshold(), record.thresholds[-1] - scores, y)
    assert record.training_loss[-1] == pytest.approx(loss, rel=1e-4 if far else 1e-6)
    if host is OnXGBoost:
        expected = AllThreshold().margin_proba(record.thresholds[-1] - scores)
        np.testing.assert_allclose(host.proba(booster, X, start=start), expected, atol=1e-3 if far else 1e-5)


@HOSTS
def test_missing_values_and_categories_find_their_leaves(host):
    import pandas as pd

    X, y = data()
    X[np.random.default_rng(5).random(X.shape) < 0.2] = np.nan
    booster = host.train(X, y, 5, n_classes=N_CLASSES)
    record = host.record(booster)
    scores = sum(record.leaf_vectors[t][leaves_of(host, booster, X, t)] for t in range(5))
    np.testing.assert_allclose(
        host.proba(booster, X), AllThreshold().margin_proba(record.thresholds[-1] - scores), atol=1e-6
    )
    frame = pd.DataFrame({"kind": pd.Categorical(np.digitize(np.nan_to_num(X[:, 0]), [-1, 0, 1])), "x": X[:, 1]})
    if host is OnXGBoost:
        dtrain = xgboost.DMatrix(frame, y, enable_categorical=True)
        booster = oxgb.train(
            {"max_depth": 3, "max_cat_to_onehot": 2}, dtrain, 5, n_classes=N_CLASSES, proportional=False
        )
        proba = oxgb.predict_proba(booster, dtrain)
    else:
        booster = host.train(frame, y, 5, n_classes=N_CLASSES)
        proba = host.proba(booster, frame)
    record = host.record(booster)
    loss = -np.log(np.maximum(proba[np.arange(len(y)), y], 1e-12)).mean()
    start = -np.log(np.bincount(y) / len(y)) @ (np.bincount(y) / len(y))
    assert loss < start - 0.05
    assert record.training_loss[-1] < record.training_loss[0]
