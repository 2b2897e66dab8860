"""Every loss and link trains through both frameworks, and learned thresholds never raise the loss."""

from __future__ import annotations

import gc
import weakref

import lightgbm
import numpy as np
import pytest
import xgboost
from hypothesis import given, settings, strategies as st

from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from ordinal_objectives.adapters.run import TrainingRun
from ordinal_objectives.adapters.updates import NewtonUpdate
from ordinal_objectives.links import LINKS
from ordinal_objectives.losses import LOSSES, get_loss
from ordinal_objectives.spec import OrdinalSpec
from pairs import each_pair

pytestmark = pytest.mark.slow

XGB_PARAMS = {"base_score": 0.0, "disable_default_eval_metric": 1, "max_depth": 3, "min_child_weight": 0}
LGB_PARAMS = {"num_leaves": 8, "verbosity": -1, "metric": "None", "min_data_in_leaf": 5}
ALL = [(loss, link) for loss in LOSSES for link in LINKS]


def train(library, objective, X, y, rounds):
    if library == "xgboost":
        dtrain = xgboost.DMatrix(X, y)
        booster = xgboost.train(XGB_PARAMS, dtrain, rounds, obj=objective, callbacks=[objective.callback])
        return oxgb.threshold_record(booster), objective.predict_proba(booster, dtrain)
    booster = lightgbm.train(
        {**LGB_PARAMS, "objective": objective}, lightgbm.Dataset(X, y), rounds, callbacks=[objective.callback]
    )
    return olgbm.threshold_record(booster), objective.predict_proba(booster, X)


@each_pair({"library": ["xgboost", "lightgbm"], "loss": LOSSES, "link": LINKS})
def test_every_loss_and_link_learns(ordinal_data, library, loss, link):
    X, y = ordinal_data(400, 4)
    hessian = "majorized" if get_loss(loss, link).supports("majorized") else "exact"
    module = oxgb if library == "xgboost" else olgbm
    moving, fixed = (
        train(
            library,
            module.OrdinalObjective(4, loss=loss, link=link, hessian=hessian, threshold_update=update),
            X,
            y,
            30,
        )
        for update in ("newton", "fixed")
    )
    record, proba = moving
    # With quadratic costs the best thresholds hardly move.
    assert record.training_loss[-1] < (1.01 if loss == "cost_weighted" else 1.0) * fixed[0].training_loss[-1]
    assert record.training_loss[-1] < 0.87 * record.training_loss[0]
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert proba.min() >= 0.0
    if record.ordinal_loss().ordered:
        assert all((np.diff(thresholds) >= 0).all() for thresholds in record.thresholds)


@settings(max_examples=60)
@given(
    st.sampled_from(ALL),
    st.sampled_from(["majorized", "exact"]),
    st.integers(2, 6),
    st.integers(0, 10**6),
    st.floats(0.1, 30.0),
)
def test_threshold_step_never_raises_the_loss(loss_link, hessian, n_classes, seed, spread):
    loss = get_loss(*loss_link)
    if not loss.supports(hessian):
        hessian = "exact"
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, 80)
    y[:2] = 0, n_classes - 1
    score = np.clip(spread * (y - n_classes / 2 + rng.normal(size=80)) / n_classes, -40, 40)
    weights = rng.uniform(0, 2, 80) + 1e-3
    run = TrainingRun(OrdinalSpec(loss, hessian), y, n_classes, weights, update=NewtonUpdate())
    run.advance(np.zeros(80), 0)
    for t in range(1, 6):
        before = loss.value(score, y, run.thresholds)
        run.advance(score, t)
        after = loss.value(score, y, run.thresholds)
        assert np.average(after, weights=weights) <= np.average(before, weights=weights) * (1 + 2e-7)
        if loss.ordered:
            assert (np.diff(run.thresholds) >= 0).all()


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
@pytest.mark.parametrize("update", ["newton", "fixed", "schur"])
def test_rounds_that_raise_the_loss_are_counted(ordinal_data, library, update):
    """A framework's tree on a sample may raise the loss of all rows, and its leaves are not ours to halve."""
    X, y = ordinal_data(300, 4)
    if library == "xgboost":
        objective = oxgb.OrdinalObjective(4, hessian="majorized", threshold_update=update)
        params = {**XGB_PARAMS, "eta": 1.0, "subsample": 0.3, "seed": 0}
        booster = xgboost.train(params, xgboost.DMatrix(X, y), 60, obj=objective, callbacks=[objective.callback])
        record = oxgb.threshold_record(booster)
    else:
        objective = olgbm.OrdinalObjective(4, hessian="majorized", threshold_update=update)
        params = {
            **LGB_PARAMS,
            "objective": objective,
            "learning_rate": 1.0,
            "bagging_fraction": 0.3,
            "bagging_freq": 1,
        }
        booster = lightgbm.train(params, lightgbm.Dataset(X, y), 60, callbacks=[objective.callback])
        record = olgbm.threshold_record(booster)
    rises = np.diff(record.training_loss) > 1e-7 * np.maximum(record.training_loss[:-1], 1.0)
    assert rises.any()
    assert record.diagnostics["n_raised"] == objective.diagnostics_["n_raised"] == rises.sum()


@pytest.mark.parametrize("update", ["newton", "schur"])
@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_an_objective_that_nobody_holds_is_freed(library, update, ordinal_data):
    """With "schur" and "joint" the objective and its rows had stayed for as long as the process."""
    objective = (oxgb if library == "xgboost" else olgbm).OrdinalObjective(4, threshold_update=update)
    X, y = ordinal_data(200, 4)
    train(library, objective, X, y, 3)
    gone = weakref.ref(objective)
    del objective
    gc.collect()
    assert gone() is None
