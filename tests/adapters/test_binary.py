"""Two classes, exact Hessian, fixed threshold: the frameworks' own logistic objective, tree for tree."""

from __future__ import annotations

import json

import lightgbm
import numpy as np
import pytest
import xgboost

from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb

ROUNDS = 300


@pytest.fixture(scope="module")
def binary_data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(3000, 6))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.logistic(size=3000) > 1.0
    return X, y.astype(int)


@pytest.mark.slow
def test_xgboost_binary_logistic(binary_data):
    X, y = binary_data
    dtrain = xgboost.DMatrix(X, y)
    params = {"max_depth": 3, "eta": 0.1, "tree_method": "hist", "nthread": 1}
    builtin = xgboost.train({**params, "objective": "binary:logistic", "base_score": y.mean()}, dtrain, ROUNDS)
    objective = oxgb.OrdinalObjective(2, hessian="exact", threshold_update="fixed", n_threads=1)
    ours = xgboost.train({**params, "base_score": 0.0, "disable_default_eval_metric": 1}, dtrain, ROUNDS, obj=objective)
    for mine, theirs in zip(_xgboost_trees(ours), _xgboost_trees(builtin), strict=True):
        for key in ("left_children", "right_children", "split_indices"):
            assert mine[key] == theirs[key]
        np.testing.assert_allclose(mine["split_conditions"], theirs["split_conditions"], rtol=1e-5, atol=1e-5)
    theirs = builtin.predict(dtrain)
    np.testing.assert_allclose(objective.predict_proba(ours, dtrain)[:, 1], theirs, atol=1e-5)


def _xgboost_trees(booster):
    model = json.loads(booster.save_raw("json"))
    trees = model["learner"]["gradient_booster"]["model"]["trees"]
    assert len(trees) == ROUNDS
    return trees


@pytest.mark.slow
def test_lightgbm_binary(binary_data):
    X, y = binary_data
    params = {"num_leaves": 8, "learning_rate": 0.1, "verbosity": -1, "num_threads": 1, "deterministic": True}
    data = lightgbm.Dataset(X, y, free_raw_data=False)
    builtin = lightgbm.train({**params, "objective": "binary", "boost_from_average": True}, data, ROUNDS)
    objective = olgbm.OrdinalObjective(2, hessian="exact", threshold_update="fixed", n_threads=1)
    ours = lightgbm.train({**params, "objective": objective}, lightgbm.Dataset(X, y), ROUNDS)
    objective.attach(ours, X)
    intercept = np.log(y.mean() / (1 - y.mean()))
    assert ours.num_trees() == builtin.num_trees() == ROUNDS
    for t in range(ROUNDS):
        # Trees are compared by the leaf value of each training row: where a bin holds no row of a node, the
        # cuts on its two sides are the same split, and rounding decides which of them is written down.
        mine, theirs = (b.predict(X, raw_score=True, start_iteration=t, num_iteration=1) for b in (ours, builtin))
        # LightGBM adds the intercept to the leaves of its first tree.
        np.testing.assert_allclose(mine, theirs - (intercept if t == 0 else 0.0), atol=1e-5)
    np.testing.assert_allclose(objective.predict_proba(ours, X)[:, 1], builtin.predict(X), atol=1e-5)
