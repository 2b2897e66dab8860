"""The joint step inside the frameworks: equal to the NumPy step, never uphill, and what the model predicts."""

from __future__ import annotations

import json

import lightgbm
import numpy as np
import pytest
import xgboost
from hypothesis import given, settings, strategies as st

from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from ordinal_objectives.losses import get_loss


def train_xgb(X, y, rounds, weight=None, eta=0.3, reg_lambda=1.0, **options):
    params = {"max_depth": 3, "eta": eta, "lambda": reg_lambda, "min_child_weight": 0.1, "nthread": 1}
    return oxgb.train(params, xgboost.DMatrix(X, y, weight=weight), rounds, **options)


def train_lgb(X, y, rounds, weight=None, eta=0.3, reg_lambda=0.0, **options):
    params = {"num_leaves": 7, "learning_rate": eta, "lambda_l2": reg_lambda, "min_data_in_leaf": 3, "verbosity": -1}
    params |= {"num_threads": 1, "min_sum_hessian_in_leaf": 1e-3}
    return olgbm.train(params, lightgbm.Dataset(X, y, weight=weight), rounds, **options)


def xgb_trees(booster, X):
    """Return leaf values and the leaf of every row, tree by tree."""
    content = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]["model"]["trees"]
    reached = booster.predict(xgboost.DMatrix(X), pred_leaf=True).astype(int).reshape(len(X), -1)
    for t, tree in enumerate(content):
        nodes = np.flatnonzero(np.array(tree["left_children"]) == -1)
        yield np.array(tree["split_conditions"])[nodes], np.searchsorted(nodes, reached[:, t])


def lgb_trees(booster, X):
    reached = booster.predict(X, pred_leaf=True).astype(int).reshape(len(X), -1)
    for t in range(reached.shape[1]):
        n_leaves = reached[:, t].max() + 1
        yield np.array([booster.get_leaf_output(t, j) for j in range(n_leaves)]), reached[:, t]


FRAMEWORKS = pytest.mark.parametrize(
    ("train", "trees", "record"),
    [(train_xgb, xgb_trees, oxgb.threshold_record), (train_lgb, lgb_trees, olgbm.threshold_record)],
    ids=["xgboost", "lightgbm"],
)


def numpy_joint_step(loss, f, y, thresholds, weight, leaves, n_leaves, hessian, reg_lambda):
    """Solve the whole system of leaves and thresholds at once, with the shortest threshold step."""
    statistics = loss.round_statistics(f, y, thresholds, weight, hessian)
    member = np.equal.outer(np.arange(n_leaves), leaves).astype(float)
    V = np.diag(statistics.threshold_hessian)
    if loss.name == "cumulative_link":
        V += np.diag(statistics.threshold_hessian_off, 1) + np.diag(statistics.threshold_hessian_off, -1)
    L = member @ statistics.cross
    system = np.block([[np.diag(member @ statistics.hessian + reg_lambda), L], [L.T, V]])
    right = -np.concatenate([member @ statistics.gradient, statistics.threshold_gradient])
    shift = np.concatenate([np.ones(n_leaves), np.ones(len(thresholds))])
    if np.abs(system @ shift).max() < 1e-9 * np.trace(V):
        gauge = np.concatenate([np.zeros(n_leaves), np.ones(len(thresholds))])
        system = system + np.trace(V) * np.outer(gauge, gauge)
    step = np.linalg.solve(system, right)
    return step[:n_leaves], step[n_leaves:]


@FRAMEWORKS
@pytest.mark.parametrize("reg_lambda", [1.0, 0.0])
@pytest.mark.parametrize(
    ("loss", "link", "hessian"),
    [
        ("all_threshold", "logit", "majorized"),
        ("all_threshold", "logit", "exact"),
        ("all_threshold", "probit", "exact"),
        ("immediate_threshold", "logit", "exact"),
        ("cumulative_link", "logit", "exact"),
        ("cumulative_link", "probit", "exact"),
    ],
)
def test_equals_the_numpy_step(ordinal_data, train, trees, record, loss, link, hessian, reg_lambda):
    X, y = ordinal_data(800, 5)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, len(y)).astype(np.float32)
    booster = train(X, y, 6, weight, reg_lambda=reg_lambda, loss=loss, link=link, hessian=hessian)
    thresholds = record(booster).thresholds
    loss = get_loss(loss, link)
    f = np.zeros(len(y))
    assert record(booster).diagnostics["n_halved"] == 0
    for t, (values, leaves) in enumerate(trees(booster, X)):
        w, delta = numpy_joint_step(
            loss, f, y, thresholds[t], weight, leaves, len(values), hessian, np.float32(reg_lambda)
        )
        scale = 0.3 * np.abs(w).max()
        np.testing.assert_allclose(values, 0.3 * w, rtol=1e-6, atol=1e-6 * scale)
        np.testing.assert_allclose(thresholds[t + 1] - thresholds[t], 0.3 * delta, rtol=1e-6, atol=1e-6 * scale)
        f = f + values[leaves]


@pytest.mark.slow
@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**16),
    n_classes=st.integers(2, 6),
    n_rows=st.integers(20, 300),
    noise=st.sampled_from([0.0, 0.3, 2.0]),
    reg_lambda=st.sampled_from([0.0, 1e-3, 1.0]),
)
def test_majorised_full_step_never_raises_the_loss(seed, n_classes, n_rows, noise, reg_lambda):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    score = X[:, 0] + np.sin(3 * X[:, 1]) + noise * rng.logistic(size=n_rows)
    y = np.searchsorted(np.sort(rng.choice(score, n_classes - 1)), score)
    y[:2] = 0, n_classes - 1
    weight = rng.uniform(0.1, 4.0, n_rows).astype(np.float32)
    loss = get_loss("all_threshold")
    for train, trees, record in (
        (train_xgb, xgb_trees, oxgb.threshold_record),
        (train_lgb, lgb_trees, olgbm.threshold_record),
    ):
        booster = train(X, y, 8, weight, eta=1.0, reg_lambda=reg_lambda, n_classes=n_classes, hessian="majorized")
        f = np.zeros(n_rows)
        thresholds = record(booster).thresholds
        losses = [weight @ loss.value(f, y, thresholds[0])]
        for t, (values, leaves) in enumerate(trees(booster, X)):
            f += values[leaves]
            losses.append(weight @ loss.value(f, y, thresholds[t + 1]))
        # Gradients of float32 rows leave the minimum of the bound by so much that only this can be asked.
        assert np.all(np.diff(losses) <= 1e-9 * losses[0] + 1e-6), losses
        assert record(booster).diagnostics["n_halved"] == 0


@FRAMEWORKS
@pytest.mark.parametrize(
    ("hessian", "link", "eta"), [("exact", "logit", 1.0), ("majorized", "logit", 8.0), ("majorized", "probit", 8.0)]
)
def test_steps_are_halved_rather_than_uphill(ordinal_data, train, trees, record, hessian, link, eta):
    """Nothing bounds the loss after an exact step, nor after a majorised one at a learning rate above 1."""
    X, y = ordinal_data(300, 4)
    booster = train(X, y, 30, eta=eta, hessian=hessian, link=link, reg_lambda=0.0, thresholds=[3.0, 4.0, 5.0])
    losses = np.array(record(booster).training_loss)
    assert np.all(np.diff(losses) <= 1e-6 * losses[:-1])
    assert record(booster).diagnostics["n_halved"] > 0
    assert record(booster).diagnostics["n_raised"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [400, 3000])
def test_the_model_predicts_its_own_score(ordinal_data, n_rows):
    X, y = ordinal_data(n_rows)
    Xv, yv = ordinal_data(300, seed=5)
    seen: dict = {}
    dtrain, dvalid = xgboost.DMatrix(X, y), xgboost.DMatrix(Xv, yv)
    booster = oxgb.train(
        {"max_depth": 6, "nthread": 1},
        dtrain,
        60,
        evals=[(dvalid, "v"), (dtrain, "t")],
        evals_result=seen,
        verbose_eval=False,
    )
    loss = get_loss("all_threshold")
    thresholds = oxgb.threshold_record(booster).at(60)
    for name, rows, labels in (("v", dvalid, yv), ("t", dtrain, y)):
        replayed = loss.value(booster.predict(rows, output_margin=True).astype(float), labels, thresholds).mean()
        assert seen[name]["all_threshold"][-1] == pytest.approx(replayed, rel=1e-5)
        fresh = booster.predict(xgboost.DMatrix(Xv if name == "v" else X), output_margin=True)
        np.testing.assert_array_equal(booster.predict(rows, output_margin=True), fresh)


@pytest.mark.parametrize("free_raw_data", [True, False])
def test_leaves_of_one_value(free_raw_data):
    # Two features split the same rows apart; pure leaves of one class have one value in the first round.
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(400, 2)).astype(float)
    y = np.isin(X[:, 0] + 4 * X[:, 1], [0, 3, 5, 6, 9, 10, 12, 15]).astype(int)
    data = lightgbm.Dataset(X, y, free_raw_data=free_raw_data)
    params = {"num_leaves": 16, "min_data_in_leaf": 1, "verbosity": -1, "learning_rate": 0.5}
    booster = olgbm.train(params, data, 10, hessian="majorized")
    record = olgbm.threshold_record(booster)
    assert (record.diagnostics["n_merged_leaves"] > 0) == free_raw_data
    replayed = get_loss("all_threshold").value(booster.predict(X, raw_score=True), y, record.at(10)).mean()
    assert replayed == pytest.approx(record.training_loss[-1], rel=1e-6)

    booster = oxgb.train({"max_depth": 4, "eta": 0.5, "nthread": 1}, xgboost.DMatrix(X, y), 10, hessian="majorized")
    record = oxgb.threshold_record(booster)
    score = booster.predict(xgboost.DMatrix(X), output_margin=True).astype(float)
    replayed = get_loss("all_threshold").value(score, y, record.at(10)).mean()
    assert replayed == pytest.approx(record.training_loss[-1], rel=1e-6)
