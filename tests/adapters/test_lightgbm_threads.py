"""Predictions of one LightGBM model from several threads."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import threading

import lightgbm
import numpy as np
import pytest

from ordinal_objectives import LGBMOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shared():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6))
    y = np.digitize(X[:, 0] * 2 + rng.logistic(size=3000), [-2, 0, 2])
    return X, LGBMOrdinalClassifier(n_estimators=15, n_jobs=1).fit(X, y)


def in_threads(work, n_threads=8):
    found = []
    threads = [threading.Thread(target=lambda i=i: found.append(work(i))) for i in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert len(found) == n_threads
    return found


@pytest.mark.parametrize("twin", [lambda m: m, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_predictions_of_one_model_from_several_threads(shared, twin):
    X, model = shared
    model = twin(model)
    staged, whole = list(model.staged_predict_proba(X)), model.predict_proba(X)
    few = olgbm.predict_proba(model.booster_, X, 3)

    def work(i):
        if i % 4 == 0:
            return sum(not np.array_equal(model.predict_proba(X), whole) for _ in range(20))
        if i % 4 == 1:
            return sum(not np.array_equal(olgbm.predict_proba(model.booster_, X, 3), few) for _ in range(20))
        return sum(not np.array_equal(list(model.staged_predict_proba(X)), staged) for _ in range(10))

    assert sum(in_threads(work)) == 0


def test_predictions_of_the_same_iterations_do_not_wait_for_each_other(shared, monkeypatch):
    X, model = shared
    together = threading.Barrier(3, timeout=30)
    predict = lightgbm.Booster.predict

    def meet(self, *args, **kwargs):
        together.wait()
        return predict(self, *args, **kwargs)

    monkeypatch.setattr(lightgbm.Booster, "predict", meet)
    in_threads(lambda _: model.predict_proba(X[:10]), 3)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_during_a_prediction_leaves_no_lock_behind(shared, monkeypatch):
    X, model = shared
    inside, done = threading.Event(), threading.Event()
    predict = lightgbm.Booster.predict

    def wait(self, *args, **kwargs):
        inside.set()
        done.wait(30)
        return predict(self, *args, **kwargs)

    monkeypatch.setattr(lightgbm.Booster, "predict", wait)
    thread = threading.Thread(target=model.predict_proba, args=(X[:10],))
    thread.start()
    assert inside.wait(30)
    monkeypatch.undo()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        # Other iterations than those that the parent's thread is predicting with.
        os._exit(0 if len(list(model.staged_predict_proba(X[:10]))) == 15 else 1)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
