"""Trainings on many rows keep threads for their passes, and give them back."""

from __future__ import annotations

import os
import time
from pathlib import Path

import lightgbm
import numpy as np
import pytest
import xgboost

from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb

TASKS = Path("/proc/self/task")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(50_000, 2)).astype(np.float32)
Y = np.digitize(X[:, 0] + RNG.logistic(size=50_000), [-1.0, 0.0, 1.0])

pytestmark = pytest.mark.skipif(not TASKS.exists(), reason="counts threads in /proc")


def tasks() -> set[str]:
    """Return this process's threads; another library's may come to an end at any time, so they are not counted."""
    return set(os.listdir(TASKS))


def all_ended(threads: set[str]) -> bool:
    """Wait for threads that were joined: the kernel lists one a moment longer."""
    end = time.monotonic() + 10
    while threads & tasks() and time.monotonic() < end:
        time.sleep(0.001)
    return not threads & tasks()


@pytest.mark.parametrize("options", [{"threshold_update": "newton"}, {"proportional": False}], ids=["newton", "shifts"])
@pytest.mark.parametrize("host", ["xgb", "lgbm"])
def test_trainings_keep_them_and_learn_the_same(host, options):
    def thresholds(n_threads):
        seen = []

        def metric(proba, data):
            seen.append(tasks())
            return ("n", 0.0) if host == "xgb" else ("n", 0.0, False)

        if host == "xgb":
            data = xgboost.DMatrix(X, Y, nthread=n_threads)
            sets = {"evals": [(data, "t")], "verbose_eval": False, "custom_metric": metric}
            booster = oxgb.train({"max_depth": 2, "nthread": n_threads}, data, 2, n_classes=4, **options, **sets)
            return oxgb.threshold_record(booster).thresholds, seen
        params = {"num_leaves": 4, "num_threads": n_threads, "verbosity": -1, "deterministic": True}
        data = lightgbm.Dataset(X, Y)
        booster = olgbm.train(params, data, 2, valid_sets=[data], feval=metric, n_classes=4, **options)
        return olgbm.threshold_record(booster).thresholds, seen

    thresholds(3)  # starts the host's own threads
    idle = tasks()
    found, seen = thresholds(3)
    (helpers,) = {frozenset(now - idle) for now in seen}
    assert len(helpers) == 2
    assert all_ended(set(helpers))
    np.testing.assert_allclose(found, thresholds(1)[0], rtol=1e-6)
