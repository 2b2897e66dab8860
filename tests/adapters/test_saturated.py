"""One binary feature, trained to convergence: the classical models with one coefficient."""

from __future__ import annotations

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
