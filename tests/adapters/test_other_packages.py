"""Trainings that other packages, or the frameworks themselves, do as well: the same model."""

from __future__ import annotations

import json

import lightgbm
import numpy as np
import pytest
import xgboost

from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def one_feature():
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, 4000)
    y = np.digitize(1.2 * x + rng.logistic(size=4000), [-1.0, 0.3, 1.5])
    return x[:, None].astype(float), y


def train_xgboost(X, y, loss, link, hessian):
    objective = oxgb.OrdinalObjective(4, loss=loss, link=link, hessian=hessian)
    params = {"base_score": 0.0, "disable_default_eval_metric": 1, "max_depth": 1, "eta": 0.5}
    params |= {"min_child_weight": 0, "lambda": 0}
    dtrain = xgboost.DMatrix(X, y)
    booster = xgboost.train(params, dtrain, 300, obj=objective, callbacks=[objective.callback])
    low, high = booster.predict(xgboost.DMatrix([[0.0], [1.0]]), output_margin=True).astype(float)
    return objective.thresholds_ - low, high - low


def train_lightgbm(X, y, loss, link, hessian):
    objective = olgbm.OrdinalObjective(4, loss=loss, link=link, hessian=hessian)
    params = {"objective": objective, "num_leaves": 2, "learning_rate": 0.5, "verbosity": -1}
    params |= {"min_sum_hessian_in_leaf": 0, "min_data_in_leaf": 1}
    booster = lightgbm.train(params, lightgbm.Dataset(X, y), 300, callbacks=[objective.callback])
    low, high = booster.predict([[0.0], [1.0]], raw_score=True)
    return objective.thresholds_ - low, high - low


TRAINERS = pytest.mark.parametrize("train", [train_xgboost, train_lightgbm])


@TRAINERS
@pytest.mark.parametrize(("link", "distribution"), [("logit", "logit"), ("probit", "probit")])
def test_cumulative_link_is_statsmodels_ordered_model(one_feature, train, link, distribution):
    from statsmodels.miscmodels.ordinal_model import OrderedModel  # takes a second, of every worker

    X, y = one_feature
    fit = OrderedModel(y, X, distr=distribution).fit(method="bfgs", disp=False, gtol=1e-8)
    thresholds, slope = train(X, y, "cumulative_link", link, "exact")
    expected = OrderedModel(y, X, distr=distribution).transform_threshold_params(fit.params[1:])[1:-1]
    np.testing.assert_allclose(slope, fit.params[0], atol=1e-3)
    np.testing.assert_allclose(thresholds, expected, atol=1e-3)


# mord passes an option to L-BFGS-B that SciPy deprecated in 1.16 and has since forgotten.
@pytest.mark.filterwarnings("ignore:Unknown solver options. disp", "ignore:scipy.optimize. The `disp`")
@TRAINERS
@pytest.mark.parametrize("hessian", ["majorized", "exact"])
def test_all_threshold_is_mord_logistic_at(one_feature, train, hessian):
    import mord

    X, y = one_feature
    fit = mord.LogisticAT(alpha=1e-10).fit(X, y)
    thresholds, slope = train(X, y, "all_threshold", "logit", hessian)
    np.testing.assert_allclose(slope, fit.coef_[0], atol=1e-3)
    np.testing.assert_allclose(thresholds, fit.theta_, atol=1e-3)


# Two classes, exact Hessian, fixed threshold: the frameworks' own logistic objective, tree for tree


ROUNDS = 300


@pytest.fixture(scope="module")
def binary_data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(3000, 6))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.logistic(size=3000) > 1.0
    return X, y.astype(int)


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
    objective.attach(ours, dtrain)
    np.testing.assert_allclose(objective.predict_proba(ours, dtrain)[:, 1], theirs, atol=1e-5)


def _xgboost_trees(booster):
    model = json.loads(booster.save_raw("json"))
    trees = model["learner"]["gradient_booster"]["model"]["trees"]
    assert len(trees) == ROUNDS
    return trees


def test_lightgbm_binary(binary_data):
    X, y = binary_data
    params = {"num_leaves": 8, "learning_rate": 0.1, "verbosity": -1, "num_threads": 1, "deterministic": True}
    data = lightgbm.Dataset(X, y, free_raw_data=False)
    builtin = lightgbm.train({**params, "objective": "binary", "boost_from_average": True}, data, ROUNDS)
    objective = olgbm.OrdinalObjective(2, hessian="exact", threshold_update="fixed", n_threads=1)
    params["objective"] = objective
    ours = lightgbm.train(params, lightgbm.Dataset(X, y), ROUNDS, callbacks=[objective.callback])
    intercept = np.log(y.mean() / (1 - y.mean()))
    assert ours.num_trees() == builtin.num_trees() == ROUNDS
    for t in range(ROUNDS):
        # Trees are compared by the leaf value of each training row: where a bin holds no row of a node, the
        # cuts on its two sides are the same split, and rounding decides which of them is written down.
        mine, theirs = (b.predict(X, raw_score=True, start_iteration=t, num_iteration=1) for b in (ours, builtin))
        # LightGBM adds the intercept to the leaves of its first tree.
        np.testing.assert_allclose(mine, theirs - (intercept if t == 0 else 0.0), atol=1e-5)
    np.testing.assert_allclose(objective.predict_proba(ours, X)[:, 1], builtin.predict(X), atol=1e-5)
