"""The same objective in threads and processes: equal thresholds, and no more threads than were asked for."""

from __future__ import annotations

import json
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cloudpickle
import joblib
import lightgbm
import numpy as np
import pytest
import xgboost

from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from ordinal_objectives.adapters.training import Plan
from ordinal_objectives.adapters.xgb.training import XGBoostTraining
from ordinal_objectives.spec import OrdinalSpec

PARAMS = {"max_depth": 3, "base_score": 0.0, "disable_default_eval_metric": 1, "nthread": 1}


def data(seed, n=400):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.digitize(2 * X[:, 0] + rng.logistic(size=n), [-2.0, 0.0, 2.0])


def xgboost_thresholds(seed, objective):
    booster = xgboost.train(PARAMS, xgboost.DMatrix(*data(seed)), 6, obj=objective, callbacks=[objective.callback])
    return np.array(oxgb.threshold_record(booster).thresholds)


def lightgbm_thresholds(seed, objective):
    params = {"objective": objective, "verbosity": -1, "num_threads": 1}
    booster = lightgbm.train(params, lightgbm.Dataset(*data(seed)), 6, callbacks=[objective.callback])
    return np.array(olgbm.threshold_record(booster).thresholds)


KINDS = {"xgboost": (xgboost_thresholds, oxgb), "lightgbm": (lightgbm_thresholds, olgbm)}


class Meet(xgboost.callback.TrainingCallback):
    """Waits in every round until the other training has got as far."""

    def __init__(self, barrier):
        super().__init__()
        self.barrier = barrier

    def before_iteration(self, model, epoch, evals_log):
        self.barrier.wait()
        return False

    def after_iteration(self, model, epoch, evals_log):
        self.barrier.wait()
        return False


@pytest.mark.slow
def test_each_thread_keeps_its_own_parameters_where_xgboost_fits_the_shifts():
    objective = oxgb.OrdinalObjective(4, proportional=False)
    barrier = threading.Barrier(2, timeout=30)

    def kept(least):
        params, callbacks = PARAMS | {"min_child_weight": least}, [objective.callback, Meet(barrier)]
        booster = xgboost.train(params, xgboost.DMatrix(*data(0)), 2, obj=objective, callbacks=callbacks)
        settings = json.loads(booster.save_config())["learner"]["gradient_booster"]["tree_train_param"]
        return float(settings["min_child_weight"])

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(kept, [0.5, 2.0])) == [0.5, 2.0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_one_objective_in_other_processes(kind):
    train, module = KINDS[kind]
    expected = [train(seed, module.OrdinalObjective(4)) for seed in range(3)]
    objective = module.OrdinalObjective(4)
    here = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(here)  # other processes cannot import the tests
    found = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(train)(seed, objective) for seed in range(3))
    cloudpickle.unregister_pickle_by_value(here)
    np.testing.assert_array_equal(found, expected)


def test_callbacks_travel_with_their_objective():
    """A framework that ships both to a worker pickles them together."""
    spec = OrdinalSpec.of("xgb.train", n_classes=4, threshold_update="schur")
    objective = oxgb.OrdinalObjective.of(XGBoostTraining(spec, plan=Plan(driven=True, stops_early="a rule")))
    for tool in (pickle, cloudpickle):
        callback, again = tool.loads(tool.dumps((objective.callback, objective)))
        assert callback is again.callback
        assert again.training.plan == objective.training.plan
        expected = xgboost_thresholds(0, oxgb.OrdinalObjective(4, threshold_update="schur"))
        np.testing.assert_array_equal(xgboost_thresholds(0, again), expected)


@pytest.mark.parametrize("own", [None, 3])
def test_passes_take_the_frameworks_threads(own):
    """A framework told to use one thread, as joblib and Dask tell it, is not joined by passes with all of them."""
    X, y = data(0)
    objective = oxgb.OrdinalObjective(4, n_threads=own)
    for asked in (1, 2):
        xgboost.train(
            PARAMS | {"nthread": asked}, xgboost.DMatrix(X, y), 2, obj=objective, callbacks=[objective.callback]
        )
        device: Any = objective.training.latest.placement.device
        assert device.n_threads == (own or asked)
    objective = olgbm.OrdinalObjective(4, n_threads=own)
    for name in ("num_threads", "n_jobs"):
        params = {"objective": objective, "verbosity": -1, name: 2}
        lightgbm.train(params, lightgbm.Dataset(X, y), 2, callbacks=[objective.callback])
        device = objective.training.latest.placement.device
        assert device.n_threads == (own or 2)
