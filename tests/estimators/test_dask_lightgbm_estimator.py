"""The LightGBM classifier on a Dask cluster: the thresholds of one machine, whatever the workers hold."""

from __future__ import annotations

import os
import pickle
import signal
import time

import lightgbm
import numpy as np
import pytest

pytest.importorskip("distributed")

import dask.array as da
import dask.dataframe as dd
import distributed
import pandas as pd
from dask import delayed

from ordinal_objectives import DaskLGBMOrdinalClassifier, LGBMOrdinalClassifier
from ordinal_objectives.adapters import dask as on_dask, lgbm as olgbm
from ordinal_objectives.adapters.collective import Collective

pytestmark = pytest.mark.slow

NAMES = np.array(["none", "mild", "fair", "bad", "worst"])
# Leaves are bounded by their Hessian, and bins are large: on several machines LightGBM estimates numbers of rows.
OPTIONS = {
    "n_estimators": 12,
    "num_leaves": 7,
    "subsample_freq": 0,
    "min_child_samples": 1,
    "min_child_weight": 5.0,
    "n_jobs": 1,
    "classes": NAMES,
}
UPDATES = [
    {"threshold_update": "newton", "proportional": True},
    {"threshold_update": "schur", "proportional": True},
    {"threshold_update": "joint", "proportional": True},
    {"proportional": False},
    {"threshold_update": "joint", "proportional": True, "loss": "cumulative_link"},
]


@pytest.fixture(scope="module")
def data():
    """Return features of few values, some missing, labels from low to high blocks, and weights."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, size=(1500, 4)) / 4 - 1.5
    y = NAMES[np.digitize(2 * X[:, 0] + X[:, 1] + rng.logistic(size=1500), [-3.0, -1.0, 1.0, 3.0])]
    X[rng.random(X.shape) < 0.05] = np.nan
    order = np.argsort(np.searchsorted(NAMES, y, sorter=np.argsort(NAMES)), kind="stable")
    return X[order], y[order], rng.uniform(0.5, 2.0, size=1500)


def parted(*arrays, rows=(400, 0, 1100)):
    return [da.from_array(array, chunks=(rows, *array.shape[1:])) for array in arrays]


def assert_same(model, alone, X):
    np.testing.assert_allclose(model.threshold_history_, alone.threshold_history_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(model.training_loss_, alone.training_loss_, rtol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("update", UPDATES, ids=str)
def test_thresholds_are_those_of_one_machine(client, data, update):
    X, y, w = data
    X_, y_, w_ = parted(X, y, w)  # no part has all classes, and one is empty
    model = DaskLGBMOrdinalClassifier(**OPTIONS, **update).fit(X_, y_, sample_weight=w_)
    alone = LGBMOrdinalClassifier(**OPTIONS, **update).fit(X, y, sample_weight=w)
    assert_same(model, alone, X)
    np.testing.assert_allclose(model.predict_proba(X_).compute(), model.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X_).compute(), model.predict(X))
    assert "machines" not in model.booster_.params
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


class Remember:
    """Leaves on each worker what its booster carries, and how many vectors of which lengths it has sent."""

    order = 100

    def __call__(self, env):
        worker = distributed.get_worker()
        if env.iteration == 0:
            worker.sent, plain = [], Collective._reduce

            def counted(values, how):
                worker.sent.append(np.size(values))
                return plain(values, how)

            Collective._reduce = staticmethod(counted)
        worker.thresholds = olgbm.threshold_record(env.model).thresholds[-1].tobytes()


def test_workers_have_the_same_thresholds_and_newton_sends_one_vector_a_round(client, data):
    X, y, _ = data
    options = OPTIONS | {"threshold_update": "newton", "proportional": True}
    model = DaskLGBMOrdinalClassifier(**options).fit(*parted(X, y), callbacks=[Remember()])
    kept = client.run(lambda dask_worker: getattr(dask_worker, "thresholds", None))
    assert set(kept.values()) - {None} == {model.thresholds_.tobytes()}
    sent = [sizes for sizes in client.run(lambda dask_worker: getattr(dask_worker, "sent", None)).values() if sizes]
    assert all(len(sizes) == 12 for sizes in sent)  # 11 rounds after the first, and the last loss
    assert max(map(max, sent)) == 2 * (3 * 5 - 1)


def test_early_stopping_continuing_and_weights_of_classes(client, data):
    X, y, w = data
    order = np.random.default_rng(1).permutation(1500)
    fit, held = order[:1000], order[1000:]
    options = OPTIONS | {"n_estimators": 200, "class_weight": "balanced", "early_stopping_round": 5}
    parts = parted(X[fit], y[fit], w[fit], rows=(300, 500, 200))
    held_parts = parted(X[held], y[held], w[held], rows=(500,))  # one worker has them all
    model = DaskLGBMOrdinalClassifier(**options)
    given = {"eval_set": [tuple(held_parts[:2])], "eval_sample_weight": held_parts[2:]}
    model.fit(*parts[:2], sample_weight=parts[2], **given)
    alone = LGBMOrdinalClassifier(**options)
    alone.fit(X[fit], y[fit], sample_weight=w[fit], eval_set=[(X[held], y[held])], eval_sample_weight=[w[held]])
    assert 5 < model.n_iter_ == alone.n_iter_ < 150
    assert_same(model, alone, X)
    (one,), (other,) = (tuple(one.evals_result_["valid_0"].values()) for one in (model, alone))
    np.testing.assert_allclose(one, other, rtol=1e-6)
    more = OPTIONS | {"n_estimators": 3}
    longer = DaskLGBMOrdinalClassifier(**more).fit(*parts[:2], init_model=model)
    assert_same(longer, LGBMOrdinalClassifier(**more).fit(X[fit], y[fit], init_model=alone), X)


def test_what_one_part_has_is_named(client, data):
    X, y, w = data
    X_, y_ = parted(X, y)
    model = DaskLGBMOrdinalClassifier(**OPTIONS)
    negative = parted(np.where(np.arange(1500) < 1400, w, -1.0))[0]
    with pytest.raises(ValueError, match="weights of X must be finite and non-negative; got -1"):
        model.fit(X_, y_, sample_weight=negative)
    with pytest.raises(ValueError, match=r"labels.* of X must be partitioned as X is"):
        model.fit(X_, y_.rechunk(750))
    with pytest.raises(ValueError, match="outside the classes"):
        DaskLGBMOrdinalClassifier(**OPTIONS | {"classes": NAMES[:4]}).fit(X_, y_)
    with pytest.raises(ValueError, match=r"tree_learner'\] must be 'data' or 'voting'"):
        DaskLGBMOrdinalClassifier(**OPTIONS, tree_learner="serial").fit(X_, y_)
    with pytest.raises(ValueError, match=r"validation_fraction must be None on a cluster; got 0\.1; pass eval_set"):
        DaskLGBMOrdinalClassifier(**OPTIONS, validation_fraction=0.1).fit(X_, y_)
    for name in ("min_child_samples", "min_data_in_leaf"):
        with pytest.raises(ValueError, match="min_child_samples"):
            DaskLGBMOrdinalClassifier(**{**OPTIONS, "min_child_samples": "auto", name: 0}).fit(X_, y_)
    frame = pd.DataFrame(X, columns=list("abcd"))
    parts = [delayed(frame[:400]), delayed(frame[400:][list("bacd")])]
    table = dd.from_delayed(parts, meta=frame[:0], verify_meta=False)
    with pytest.raises(
        ValueError, match="each part of X must have the model's 4 feature names, in their order; got 'b'"
    ):
        model.fit(table, *parted(y, rows=(400, 1100)))
    assert not hasattr(model, "booster_")


def test_the_booster_itself_reads_the_categories_of_frames(client, data):
    X, y, _ = data
    frame = pd.DataFrame(X[:, :1], columns=["a"]).assign(kind=pd.Categorical(y, NAMES)).sample(frac=1.0, random_state=0)
    model = DaskLGBMOrdinalClassifier(**OPTIONS).fit(
        dd.from_pandas(frame, npartitions=2, sort=False), *parted(frame["kind"].to_numpy(str), rows=(750, 750))
    )
    other = frame.assign(kind=frame["kind"].cat.reorder_categories(NAMES[::-1]))
    alone = LGBMOrdinalClassifier(**OPTIONS).fit(frame, frame["kind"].to_numpy(str))
    assert model.booster_.pandas_categorical == alone.booster_.pandas_categorical
    np.testing.assert_array_equal(model.booster_.predict(other), model.booster_.predict(frame))
    np.testing.assert_allclose(model.booster_.predict(other), model.predict_raw(frame), rtol=1e-12)


def nodes(model, tree, rows):
    """Return the nodes of a tree by the way to them, each with the numbers of the rows that come there."""
    table = model.booster_.trees_to_dataframe().set_index("node_index")
    found, waiting = {}, [("", f"{tree}-S0", np.arange(len(rows)))]
    while waiting:
        way, name, here = waiting.pop()
        node = found[way] = table.loc[name].to_dict() | {"order": int(name.partition("-")[2][1:]), "rows": here}
        if not isinstance(node["split_feature"], str):
            continue
        node["feature"] = rows[here, int(node["split_feature"].rpartition("_")[2])]
        is_missing = np.isnan(node["feature"]) & (node["missing_direction"] == "left")
        node["goes_left"] = is_missing | (node["feature"] <= node["threshold"])
        for side in ("left", "right"):
            waiting.append((way + side, node[f"{side}_child"], here[node["goes_left"] == (side == "left")]))
    return found


def test_the_first_split_that_a_cluster_lacks_counts_as_one_without_rows(divided):
    """As docs/scaling.md says: LightGBM estimates the rows of each bin from its Hessian and the node's estimate."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 25, size=(8000, 4)) / 25
    y = np.digitize(3 * X[:, 0] + X[:, 1] + rng.logistic(size=8000), [0.5, 1.5, 2.5, 4.0])
    X[rng.random(X.shape) < 0.05] = np.nan
    options = {"num_leaves": 31, "subsample_freq": 0, "min_child_samples": 1, "min_child_weight": 1.0, "n_jobs": 1}
    options |= {"n_estimators": 20, "proportional": True}
    model = DaskLGBMOrdinalClassifier(**options).fit(*divided(X, y, n_parts=2))
    alone = LGBMOrdinalClassifier(**options).fit(X, y)
    for tree in range(20):
        there, here = (nodes(one, tree, X) for one in (model, alone))
        lacks = [way for way, node in here.items() if not np.array_equal(node["rows"], there.get(way, {}).get("rows"))]
        if lacks:
            break
    way = min((way.removesuffix("left") for way in lacks if way.endswith("left")), key=lambda way: here[way]["order"])
    split, n_rows = here[way], there[way]["count"]
    below = np.cumsum(alone.predict_proba_ordered(X[split["rows"]], num_iteration=tree), axis=1)[:, :-1]
    hessian, feature = np.sum(below * (1 - below), axis=1), split["feature"]
    is_right = ~split["goes_left"]
    bins = [is_right & (feature == value) for value in np.unique(feature[is_right])]
    bins.append(is_right & np.isnan(feature))
    n_right = sum(np.floor(hessian[rows].sum() * n_rows / hessian.sum() + 0.5) for rows in bins)
    assert n_rows - n_right <= 0 < np.sum(split["goes_left"])


class EndsOne:
    """Ends the process of one worker in the third round."""

    order = 100

    def __init__(self, address):
        self.address = address

    def __call__(self, env):
        if env.iteration == 2 and distributed.get_worker().address == self.address:
            os.kill(os.getpid(), signal.SIGKILL)


def test_a_training_that_fails_leaves_no_worker_in_its_network(client, data):
    """Else the next data set of that worker waits for the others for ever."""
    X, y, w = data
    (X_, y_, w_), options = parted(X, y, w), OPTIONS | {"threshold_update": "fixed"}
    with pytest.raises(ValueError, match="the score does not start at zero"):
        DaskLGBMOrdinalClassifier(**options).fit(X_, y_, init_score=w_)

    def rows_of_a_new_set():
        return lightgbm.Dataset(np.arange(100.0).reshape(50, 2), np.zeros(50)).construct().num_data()

    for worker in client.nthreads():
        assert client.submit(rows_of_a_new_set, workers=[worker], pure=False).result(timeout=20) == 50


def test_a_worker_that_is_lost_is_an_error_within_a_minute(client, divided, data, monkeypatch):
    monkeypatch.setattr(on_dask, "_NOTICED", 2)  # seconds for which a failure waits for a worker to be missed
    X, y, _ = data
    options = OPTIONS | {"n_estimators": 2000}
    workers = sorted(client.nthreads())
    begun = time.monotonic()
    with pytest.raises(RuntimeError, match="has left the training"):
        DaskLGBMOrdinalClassifier(**options).fit(*divided(X, y), callbacks=[EndsOne(workers[1])])
    assert time.monotonic() - begun < 60
    client.restart(timeout=60)
    client.wait_for_workers(3, timeout=30)
    model = DaskLGBMOrdinalClassifier(**OPTIONS).fit(*parted(X, y))
    assert_same(model, LGBMOrdinalClassifier(**OPTIONS).fit(X, y), X)
