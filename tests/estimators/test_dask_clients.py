"""Clients of a Dask cluster: several at once, each with the model of its own rows, and one that is interrupted."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("distributed")

import dask.array as da
import distributed

from ordinal_objectives import (
    DaskLGBMOrdinalClassifier,
    DaskXGBOrdinalClassifier,
    LGBMOrdinalClassifier,
    XGBOrdinalClassifier,
)

pytestmark = pytest.mark.slow

KINDS = {
    "xgboost": (DaskXGBOrdinalClassifier, XGBOrdinalClassifier),
    "lightgbm": (DaskLGBMOrdinalClassifier, LGBMOrdinalClassifier),
}
OPTIONS = {"n_estimators": 3, "n_jobs": 1, "subsample": 1.0, "min_child_weight": 5.0, "proportional": True}


@pytest.mark.parametrize("library", KINDS)
def test_fits_of_several_clients_at_once_are_those_of_one_machine(library, client):
    on_dask, alone = KINDS[library]
    options = OPTIONS | ({"min_child_samples": 1, "subsample_freq": 0} if library == "lightgbm" else {})

    def drawn(seed):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 8, size=(300, 2)) / 4.0
        return X, np.digitize(2 * X[:, 0] - X[:, 1] + rng.logistic(size=300), [0.0, 1.0, 2.0])

    def fitted(one):
        X, y = drawn(one[0])
        model = on_dask(**options)
        model.client = one[1]
        return model.fit(da.from_array(X, chunks=(100, 2)), da.from_array(y, chunks=100)).predict_proba(X)

    clients = [distributed.Client(client.cluster) for _ in range(4)]  # the last one is the current one
    try:
        with ThreadPoolExecutor(4) as threads:
            found = list(threads.map(fitted, enumerate(clients), timeout=100))
    finally:
        for one in clients:
            one.close()
    for seed, proba in enumerate(found):
        X, y = drawn(seed)
        np.testing.assert_allclose(proba, alone(**options).fit(X, y).predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("library", KINDS)
def test_an_interrupted_fit_ends_on_the_workers(library, client, divided):
    X = np.random.default_rng(0).normal(size=(600, 2))
    data = divided(X[:, :1], np.digitize(X[:, 0] + X[:, 1], [-1.0, 1.0]))

    def running():
        keys = {worker: [str(key) for key in tasks] for worker, tasks in client.processing().items()}
        return [worker for worker in keys if any(key.startswith(("fn-", "_train_here")) for key in keys[worker])]

    def n_executing():
        return sum(client.run(lambda dask_worker: dask_worker.state.executing_count).values())

    def interrupt():
        while len(running()) < 3 or n_executing() < 3:
            time.sleep(0.05)
        time.sleep(0.5)  # in the rounds
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            KINDS[library][0](n_estimators=1_000_000, n_jobs=1).fit(*data)
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)
    deadline = time.monotonic() + 20
    while n_executing():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not running()
    assert KINDS[library][0](n_estimators=2, n_jobs=1).fit(*data).n_iter_ == 2
