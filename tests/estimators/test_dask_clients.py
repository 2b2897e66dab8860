"""Several clients of one Dask cluster, each in a thread of its own: every model is that of its own rows."""

from __future__ import annotations

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
