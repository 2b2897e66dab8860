"""XGBoost on a Dask cluster: the thresholds of one machine, on every worker."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
import xgboost

from ordinal_objectives.adapters import xgb as oxgb

pytest.importorskip("distributed")

import dask.array as da
import distributed
import xgboost.dask

from ordinal_objectives.adapters.collective import Collective
from ordinal_objectives.adapters.xgb import dask as oxgb_dask

pytestmark = pytest.mark.slow

PARAMS = {"max_depth": 4, "eta": 0.3, "nthread": 1, "tree_method": "hist", "min_child_weight": 0.1}
N_CLASSES = 5
UPDATES = [
    {"threshold_update": "newton"},
    {"threshold_update": "schur"},
    {"threshold_update": "joint"},
    {"proportional": False},
    {"threshold_update": "newton", "loss": "cumulative_link"},
]


def name_of(update):
    return "-".join(str(value) for value in update.values())


def addresses(client):
    # nthreads asks the scheduler; scheduler_info may answer from a cache that names no workers.
    return sorted(client.nthreads())


def data(n=1500, *, n_values=25, seed=0):
    """Return features of few values, some missing, class codes from low to high blocks, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, size=(n, 4)).astype(np.float64) / n_values
    y = np.digitize(3 * X[:, 0] + X[:, 1] + rng.logistic(size=n), [0.5, 1.5, 2.5, 4.0])
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y, rng.uniform(0.5, 2.0, size=n)


def on_workers(client, arrays, chunks, workers):
    """Return Dask arrays whose i-th chunk lies on the i-th worker; floats of the second are of another type."""
    found = []
    for array in arrays:
        blocks, start = [], 0
        for rows, worker in zip(chunks, workers, strict=True):
            part = array[start : start + rows]
            part = part.astype(np.float32) if len(blocks) == 1 and part.dtype == np.float64 else part
            start += rows
            future = client.scatter(part, workers=[worker], hash=False)
            blocks.append(da.from_delayed(future, part.shape, array.dtype))
        found.append(da.concatenate(blocks))
    return found


def dask_matrix(client, X, y, w=None, *, chunks, workers, kind=xgboost.dask.DaskDMatrix, **options):
    for _ in range(5):  # on a busy machine Dask may move the rows of one worker to another that is idle
        arrays = on_workers(client, [X, y] + ([] if w is None else [w]), chunks, workers)
        matrix = kind(client, *arrays[:2], weight=None if w is None else arrays[2], **options)
        if set(matrix.worker_map) == set(workers):
            break
    return matrix


def farthest(one, other):
    """Return the largest difference of two records' thresholds."""
    assert one.n_iterations == other.n_iterations
    return max(np.abs(a - b).max() for a, b in zip(one.thresholds, other.thresholds, strict=True))


class Remember(xgboost.callback.TrainingCallback):
    """Leaves on each worker what its booster carries."""

    def after_training(self, model):
        distributed.get_worker().remembered = model.attr(oxgb.ATTRIBUTE)
        return model


@pytest.mark.parametrize(("update", "n_workers"), [*((update, 2) for update in UPDATES), (UPDATES[2], 3)], ids=str)
def test_thresholds_are_those_of_one_machine_and_the_same_on_all_workers(client, update, n_workers):
    X, y, w = data()
    order = np.argsort(y, kind="stable")  # so that no worker has all classes
    X, y, w = X[order], y[order], w[order]
    workers = addresses(client)[:n_workers]
    chunks = [400, 1100] if n_workers == 2 else [400, 500, 600]
    matrix = dask_matrix(client, X, y, w, chunks=chunks, workers=workers)
    found = oxgb_dask.train(
        client, PARAMS, matrix, 12, evals=[(matrix, "train")], verbose_eval=False, callbacks=[Remember()], **update
    )
    whole = xgboost.DMatrix(X, y, weight=w)
    expected = oxgb.train(PARAMS, whole, 12, **update)
    record, alone = oxgb.threshold_record(found["booster"]), oxgb.threshold_record(expected)
    assert farthest(record, alone) < 1e-6
    np.testing.assert_allclose(record.training_loss, alone.training_loss, rtol=1e-6)
    (history,) = found["history"]["train"].values()
    np.testing.assert_allclose(history, record.training_loss[1:], rtol=1e-5)  # XGBoost writes six digits
    proba = oxgb.predict_proba(found["booster"], whole)
    np.testing.assert_allclose(proba, oxgb.predict_proba(expected, whole), atol=1e-5)
    kept = client.run(lambda dask_worker: dask_worker.remembered, workers=workers)
    assert len(set(kept.values())) == 1
    assert len(kept) == n_workers


class Count(xgboost.callback.TrainingCallback):
    """Leaves on each worker how many vectors of which lengths it sent in the rounds after the first."""

    def before_training(self, model):
        self.sent, self.plain = [], Collective._reduce

        def counted(values, how):
            self.sent.append(np.size(values))
            return self.plain(values, how)

        Collective._reduce = staticmethod(counted)
        return model

    def after_iteration(self, model, epoch, evals_log):
        if epoch == 0:
            self.sent.clear()
        return False

    def after_training(self, model):
        Collective._reduce = staticmethod(self.plain)
        distributed.get_worker().counted = self.sent
        return model


def test_newton_sends_one_vector_a_round_and_a_watched_loss_one_more(client):
    X, y, _ = data()
    workers = addresses(client)[:2]
    matrix = dask_matrix(client, X, y, chunks=[700, 800], workers=workers)

    def sent(**options):
        options |= {"threshold_update": "newton", "verbose_eval": False, "callbacks": [Count()]}
        oxgb_dask.train(client, PARAMS, matrix, 6, **options)
        counted = client.run(lambda dask_worker: dask_worker.counted, workers=workers)
        (lengths,) = {tuple(found) for found in counted.values()}
        return list(lengths)

    own = 3 * N_CLASSES - 1
    # Each step brings the loss of the round before; the record brings the last one.
    assert sent() == [2 * own] * 5 + [own]
    assert sent(evals=[(matrix, "train")]) == [own, own] * 5


@pytest.mark.parametrize("update", [UPDATES[0], UPDATES[2], UPDATES[3]], ids=name_of)
def test_a_worker_without_rows_and_early_stopping(client, update):
    """One worker has rows to evaluate alone; the loss that stops early is that of all rows."""
    (X, y, w), (V, v, u) = data(), data(600, seed=7)
    params = PARAMS | {"eta": 0.5}
    workers = addresses(client)
    matrix = dask_matrix(client, X, y, w, chunks=[300, 1200], workers=workers[:2])
    valid = dask_matrix(client, V, v, u, chunks=[100, 500], workers=workers[1:])
    options = {"n_classes": N_CLASSES, "early_stopping_rounds": 4, "verbose_eval": False} | update
    found = oxgb_dask.train(client, params, matrix, 60, evals=[(valid, "valid")], **options)
    booster, history = found["booster"], {}
    alone = oxgb.train(
        params,
        xgboost.DMatrix(X, y, weight=w),
        60,
        evals=[(xgboost.DMatrix(V, v, weight=u), "valid")],
        evals_result=history,
        **options,
    )
    assert 1 < booster.best_iteration < 50
    assert booster.best_iteration == alone.best_iteration
    assert farthest(oxgb.threshold_record(booster), oxgb.threshold_record(alone)) < 1e-6
    (one,), (other,) = found["history"]["valid"].values(), history["valid"].values()
    np.testing.assert_allclose(one, other, rtol=1e-5)


def test_a_worker_without_rows_grows_on_the_scores_that_others_do(client):
    """Where dart drops trees, workers with rows see it in their scores; all must pass over their rows alike."""
    X, y, _ = data()
    params = PARAMS | {"booster": "dart", "rate_drop": 0.5, "skip_drop": 0.0, "seed": 3}
    workers = addresses(client)
    matrix = dask_matrix(client, X, y, chunks=[700, 800], workers=workers[:2])
    evals = [(dask_matrix(client, X, y, chunks=[1500], workers=workers[2:]), "all")]
    options = {"threshold_update": "newton", "verbose_eval": False}
    found = oxgb_dask.train(client, params, matrix, 12, evals=evals, **options)["booster"]
    alone = oxgb.train(params, xgboost.DMatrix(X, y), 12, **options)
    assert farthest(oxgb.threshold_record(found), oxgb.threshold_record(alone)) < 1e-5


def test_quantile_matrices_start_scores_and_continuing(client):
    X, y, _ = data()
    workers = addresses(client)[:2]
    margin = np.where(X[:, 1] > 0.5, 3.0, -1.0)
    kind = xgboost.dask.DaskQuantileDMatrix
    X_, y_, margin_ = on_workers(client, [X, y, margin], [700, 800], workers)
    matrix, whole = kind(client, X_, y_, base_margin=margin_), xgboost.QuantileDMatrix(X, y, base_margin=margin)
    first = oxgb_dask.train(client, PARAMS, matrix, 4)["booster"]
    alone = oxgb.train(PARAMS, whole, 4)
    assert farthest(oxgb.threshold_record(first), oxgb.threshold_record(alone)) < 1e-6
    more = oxgb_dask.train(client, PARAMS, matrix, 4, xgb_model=first)["booster"]
    more_alone = oxgb.train(PARAMS, whole, 4, xgb_model=alone)
    assert farthest(oxgb.threshold_record(more), oxgb.threshold_record(more_alone)) < 1e-6


@pytest.mark.parametrize("update", [UPDATES[0], UPDATES[2], UPDATES[3]], ids=name_of)
def test_checkpoints_of_the_first_worker_predict_and_go_on(client, tmp_path, update):
    X, y, _ = data(300)
    dtrain = xgboost.dask.DaskDMatrix(client, da.from_array(X, chunks=(150, 4)), da.from_array(y, chunks=150))
    checkpoints = xgboost.callback.TrainingCheckPoint(tmp_path, interval=2)
    whole = oxgb_dask.train(client, PARAMS, dtrain, 5, callbacks=[checkpoints], **update)["booster"]
    rows = xgboost.DMatrix(X)
    for file, n in {"model_2.ubj": 3, "model_4.ubj": 5}.items():
        booster = xgboost.Booster(model_file=tmp_path / file)
        np.testing.assert_array_equal(oxgb.predict_proba(booster, rows), oxgb.predict_proba(whole, rows, (0, n)))
    early = xgboost.Booster(model_file=tmp_path / "model_2.ubj")
    rest = oxgb_dask.train(client, PARAMS, dtrain, 2, xgb_model=early, **update)["booster"]
    np.testing.assert_allclose(oxgb.predict_proba(rest, rows), oxgb.predict_proba(whole, rows), atol=1e-6)


def test_an_error_of_one_worker_is_that_of_the_training(client):
    X, y, _ = data()
    workers = addresses(client)[:2]
    y[-1] = 7
    matrix = dask_matrix(client, X, y, chunks=[700, 800], workers=workers)
    begun = time.monotonic()
    with pytest.raises(ValueError, match=r"outside the declared classes 0\.\.4; got 7"):
        oxgb_dask.train(client, PARAMS, matrix, 3, n_classes=N_CLASSES)
    matrix = dask_matrix(client, X, y + 1, chunks=[700, 800], workers=workers)
    with pytest.raises(ValueError, match=r"start at 0; got 1\.\.8"):
        oxgb_dask.train(client, PARAMS, matrix, 3)
    assert time.monotonic() - begun < 20
    host = {"proportional": False, "shift_method": "host", "n_classes": 9}
    with pytest.raises(ValueError, match="shift_method='host' is not allowed on several workers"):
        oxgb_dask.train(client, PARAMS, matrix, 3, **host)
    with pytest.raises(ValueError, match="base_score"):
        oxgb_dask.train(client, PARAMS | {"base_score": 0.5}, matrix, 3)


@pytest.mark.parametrize(
    ("spoiled", "value", "message"),
    [
        ("y", np.nan, "labels of the training set must be finite; got nan"),
        ("y", np.inf, "labels of the training set must be finite; got inf"),
        ("w", np.nan, "weights of the training set must be finite and non-negative; got nan"),
        ("w", -1.0, "weights of the training set must be finite and non-negative; got -1.0"),
        ("margin", np.nan, "base_margin of the training set must be finite; got nan"),
    ],
)
def test_what_one_worker_may_not_hold_is_named(client, spoiled, value, message):
    """XGBoost refuses it on that worker alone, and the others say that an allreduce failed."""
    X, y, w = data(300)
    arrays = {"y": y.astype(float), "w": w, "margin": np.zeros(300)}
    arrays[spoiled][150] = value
    X_, y_, w_, margin_ = on_workers(client, [X, *arrays.values()], [100, 100, 100], addresses(client))
    matrix = xgboost.dask.DaskDMatrix(client, X_, y_, weight=w_, base_margin=margin_)
    with pytest.raises(ValueError, match=f"^{message}$"):
        oxgb_dask.train(client, PARAMS, matrix, 1, n_classes=N_CLASSES)
    good = dask_matrix(client, X, y, chunks=[100, 200], workers=addresses(client)[:2])
    with pytest.raises(ValueError, match=f"^{message.replace('the training set', 'valid')}$"):
        oxgb_dask.train(client, PARAMS, good, 1, n_classes=N_CLASSES, evals=[(matrix, "valid")])


class KillOne(xgboost.callback.TrainingCallback):
    """Kills the process of one worker in the third round."""

    def __init__(self, address):
        super().__init__()
        self.address = address

    def before_iteration(self, model, epoch, evals_log):
        if epoch == 2 and distributed.get_worker().address == self.address:
            os._exit(1)
        return False


def test_a_killed_worker_is_an_error_and_a_second_run_succeeds(client):
    X, y, _ = data()
    workers = addresses(client)
    matrix = dask_matrix(client, X, y, chunks=[500, 500, 500], workers=workers)
    begun = time.monotonic()
    for callbacks in ([KillOne(workers[0])], []):  # and without the worker that the matrix names
        with pytest.raises(RuntimeError, match=f"worker {workers[0]} has left the training"):
            oxgb_dask.train(client, PARAMS, matrix, 2000, callbacks=callbacks)
    assert time.monotonic() - begun < 60
    # The others may wait in XGBoost's allreduce for ever: it does not notice that a connection has ended.
    client.restart(timeout=60)
    client.wait_for_workers(len(workers), timeout=30)
    again = dask_matrix(client, X, y, chunks=[500, 500, 500], workers=addresses(client))
    record = oxgb.threshold_record(oxgb_dask.train(client, PARAMS, again, 5)["booster"])
    assert farthest(record, oxgb.threshold_record(oxgb.train(PARAMS, xgboost.DMatrix(X, y), 5))) < 1e-6
