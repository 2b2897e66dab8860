"""Rows and models of the Dask classifiers: parts are read once, predictions take start scores and hold one model."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("distributed")

import cloudpickle
import dask.array as da
import dask.dataframe as dd
import pandas as pd
from distributed import Client, LocalCluster

from ordinal_objectives import DaskLGBMOrdinalClassifier, DaskXGBOrdinalClassifier

pytestmark = pytest.mark.slow

NAMES = np.array(["bad", "fair", "good", "best"])


@pytest.fixture(scope="module", autouse=True)
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**options, silence_logs=50) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 20, size=(800, 3)) / 10.0
    y = NAMES[np.digitize(2 * X[:, 0] + rng.logistic(size=800), [0.5, 2.0, 3.5])]
    return X, y, rng.uniform(0.5, 2.0, size=800)


def parted(*arrays, rows=250):
    return [da.from_array(array, chunks=(rows, *array.shape[1:])) for array in arrays]


def read_once(array, folder, name):
    """Return a Dask array that is not in memory, and notes in a file each time that a part of it is read."""
    file = folder / name

    def read(part):
        with file.open("a", encoding="utf-8") as lines:
            lines.write("read\n")
        return part

    return parted(array)[0].map_blocks(read, meta=array[:0])


@pytest.mark.parametrize("make", [DaskXGBOrdinalClassifier, DaskLGBMOrdinalClassifier])
def test_each_part_is_read_once(data, tmp_path, make):
    X, y, w = data
    names = ("X", "y", "w", "X_valid", "y_valid")
    arrays = dict(zip(names, (X, y, w, X[:500], y[:500]), strict=True))
    X_, y_, w_, *valid = (read_once(array, tmp_path, name) for name, array in arrays.items())
    rounds = {"n_estimators": 2, "class_weight": "balanced", "classes": NAMES, "n_jobs": 1}
    make(**rounds).fit(X_, y_, sample_weight=w_, eval_set=[tuple(valid)])
    read = {name: len((tmp_path / name).read_text(encoding="utf-8").splitlines()) for name in names}
    assert read == {"X": 4, "y": 4, "w": 4, "X_valid": 2, "y_valid": 2}


@pytest.mark.parametrize("make", [DaskXGBOrdinalClassifier, DaskLGBMOrdinalClassifier])
@pytest.mark.parametrize("kind", ["arrays", "frames"])
def test_predictions_take_scores_to_start_from_and_a_graph_holds_the_model_once(data, make, kind):
    X, y, w = data
    X_, y_, w_ = parted(X, y, w)
    if kind == "frames":
        X_, X = dd.from_dask_array(X_, columns=list("abc")), pd.DataFrame(X, columns=list("abc"))
        y_ = dd.from_dask_array(y_)
    name = "base_margin" if make is DaskXGBOrdinalClassifier else "init_score"
    model = make(n_estimators=20, classes=NAMES, n_jobs=1).fit(X_, y_, **{name: w_})
    for method in ("predict", "predict_proba", "predict_raw"):
        found = getattr(model, method)(X_, **{name: w_})
        np.testing.assert_array_equal(found.compute(), getattr(model, method)(X, **{name: w}))
    many = model.predict_proba(
        X_.repartition(npartitions=4) if kind == "frames" else da.zeros((9_000, 3), chunks=(90, 3))
    )
    size = len(cloudpickle.dumps(dict(many.__dask_graph__())))
    assert size < 3 * len(cloudpickle.dumps(model))
    with pytest.raises(TypeError, match="margins"):
        model.predict(X_, margins=w_)
