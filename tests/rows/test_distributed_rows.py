"""Rows distributed over workers: sums are those of all rows, and an error of one is an error of all."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from ordinal_objectives import AllThreshold, CumulativeLink, ImmediateThreshold
from ordinal_objectives.adapters.run import RowPlacement, TrainingRun
from ordinal_objectives.adapters.updates import NewtonUpdate
from ordinal_objectives.rows import MarginStatistics, RowStatistics, distributed_pass, fail_together
from ordinal_objectives.spec import OrdinalSpec

N_CLASSES = 4


class ThreadWorkers:
    """Workers that are threads of one process."""

    def __init__(self, n_workers):
        self.barrier = threading.Barrier(n_workers, timeout=10)
        self.brought = [None] * n_workers
        self.cancelled = set()

    def as_rank(self, rank):
        return _Rank(self, rank)


class _Rank:
    def __init__(self, shared, rank):
        self.shared, self.rank = shared, rank

    def _all(self, value):
        self.shared.brought[self.rank] = value
        self.shared.barrier.wait()
        everyone = list(self.shared.brought)
        self.shared.barrier.wait()
        return everyone

    def sum(self, values):
        everyone = self._all(values)
        assert len({np.shape(one) for one in everyone}) == 1
        return np.sum(everyone, axis=0)

    def max(self, values):
        return np.max(self._all(values), axis=0)

    def broadcast(self, text, rank):
        return self._all(text)[rank]

    def check_wanted(self):
        if self.rank in self.shared.cancelled:
            raise RuntimeError("the training was cancelled")


def on_workers(function, n_workers=3):
    """Return what each worker's call returns or raises."""
    shared = ThreadWorkers(n_workers)

    def outcome(rank):
        try:
            return function(shared.as_rank(rank), rank)
        except Exception as error:
            return error

    with ThreadPoolExecutor(n_workers) as pool:
        return list(pool.map(outcome, range(n_workers)))


@pytest.fixture
def rows():
    rng, n = np.random.default_rng(0), 300
    y = np.sort(rng.integers(0, N_CLASSES, size=n))  # the first worker lacks the highest class
    y[-1] = 0
    score = rng.normal(size=(n, N_CLASSES - 1)).astype(np.float32)
    # The second worker's weights are all zero, and the third has no rows but the last 100.
    weight = rng.uniform(0.5, 2.0, size=n)
    weight[120:200] = 0.0
    leaves = rng.integers(0, 5, size=n).astype(np.int32)
    parts = [slice(0, 120), slice(120, 200), slice(200, 300), slice(300, 300)]
    return y, score, weight, leaves, parts


THETA = np.array([-1.0, 0.1, 1.2])


@pytest.mark.parametrize("loss", [AllThreshold(), CumulativeLink(), ImmediateThreshold(), AllThreshold("cloglog")])
def test_sums_are_those_of_all_rows(rows, loss):
    y, score, weight, leaves, parts = rows
    whole = RowStatistics(loss, y, N_CLASSES, weight)
    expected = whole(score[:, 0], THETA, "exact")
    in_leaves = whole.leaf_sums(leaves, 5)

    def of(workers, rank):
        part = parts[rank]
        one = distributed_pass(RowStatistics, workers, loss, y[part], N_CLASSES, weight[part])
        found = one(score[part, 0], THETA, "exact")
        np.testing.assert_array_equal(found.gradient, expected.gradient[part])
        return one, found.sums, one.leaf_sums(leaves[part], 5), one.leaf_weights(leaves[part], 5)

    outcomes = on_workers(of, 4)
    for one, sums, of_leaves, of_weights in outcomes:
        assert one.total_weight == pytest.approx(whole.total_weight)
        np.testing.assert_allclose(one.class_weights, whole.class_weights)
        assert sums.loss == pytest.approx(expected.loss, rel=1e-6)
        np.testing.assert_allclose(sums.threshold_gradient, expected.threshold_gradient, rtol=1e-6, atol=1e-5)
        np.testing.assert_allclose(sums.threshold_hessian, expected.threshold_hessian, rtol=1e-6)
        np.testing.assert_allclose(of_leaves.cross, in_leaves.cross, rtol=1e-6, atol=1e-5)
        np.testing.assert_allclose(of_weights, np.bincount(leaves, weight, 5), rtol=1e-6)
        assert sums.threshold_gradient.tobytes() == outcomes[0][1].threshold_gradient.tobytes()
        assert isinstance(sums.n_floored, int)
        assert one.highest_loss(1.0) == outcomes[0][0].highest_loss(1.0)


def test_sums_of_rows_whose_thresholds_move(rows):
    y, score, weight, leaves, parts = rows
    whole = MarginStatistics(AllThreshold(), y, N_CLASSES, weight)
    expected = whole(score, THETA, "exact")
    G, H = whole.leaf_sums(leaves, 5)

    def of(workers, rank):
        part = parts[rank]
        one = distributed_pass(MarginStatistics, workers, AllThreshold(), y[part], N_CLASSES, weight[part])
        sums = one(score[part], THETA, "exact").sums
        return sums, one.leaf_sums(leaves[part], 5), one.loss_of_prediction(score[part], THETA)

    for sums, (g, h), loss in on_workers(of, 4):
        np.testing.assert_allclose(sums.threshold_gradient, expected.threshold_gradient, rtol=1e-6, atol=1e-5)
        np.testing.assert_allclose(g, G, rtol=1e-6, atol=1e-5)
        np.testing.assert_allclose(h, H, rtol=1e-6)
        assert loss == pytest.approx(whole.loss_of_prediction(score, THETA), rel=1e-6)


def test_an_error_in_one_workers_labels_reaches_all(rows):
    y = rows[0]

    def of(workers, rank):
        return distributed_pass(RowStatistics, workers, AllThreshold(), y[:9] + (9 if rank == 1 else 0), N_CLASSES)

    outcomes = on_workers(of)
    assert all(
        isinstance(error, ValueError) and "outside the declared classes 0..3" in str(error) for error in outcomes
    )
    assert "worker 1" in str(outcomes[0])
    assert "worker" not in str(outcomes[1])


def test_an_error_in_one_workers_pass_reaches_all(rows):
    y, score, *_ = rows

    def of(workers, rank):
        one = distributed_pass(RowStatistics, workers, AllThreshold(), y, N_CLASSES)
        raw = score[:, 0].copy()
        raw[0] = np.nan if rank == 2 else 0.0
        return one(raw, THETA)

    for error in on_workers(of):
        assert isinstance(error, ValueError)
        assert "raw_prediction holds NaN" in str(error)


def test_a_training_that_is_cancelled_on_one_worker_ends_on_all(rows):
    y, score, *_ = rows

    def of(workers, rank):
        one = distributed_pass(RowStatistics, workers, AllThreshold(), y, N_CLASSES)
        one(score[:, 0], THETA)
        if rank == 1:
            workers.shared.cancelled.add(1)
        return one(score[:, 0], THETA)

    outcomes = on_workers(of)
    assert [type(error) for error in outcomes] == [ValueError, RuntimeError, ValueError]
    assert all("cancelled" in str(error) for error in outcomes)


def test_deferred_sums_travel_with_the_next_call(rows):
    y, score, weight, _, parts = rows
    whole = RowStatistics(AllThreshold(), y, N_CLASSES, weight)
    expected, gradient = whole(score[:, 0], THETA), whole(score[:, 0], THETA).gradient.copy()
    later = whole(score[:, 1], THETA)

    def of(workers, rank):
        part = parts[rank]
        one: Any = distributed_pass(RowStatistics, workers, AllThreshold(), y[part], N_CLASSES, weight[part])
        sent, arrived, plain = [], [], workers.sum

        def counted(values):
            sent.append(values.size)
            return plain(values)

        workers.sum = counted
        now = one.deferred(arrived.append, score[part, 0], THETA, "majorized")
        np.testing.assert_array_equal(now.gradient, gradient[part])
        assert not sent
        assert not arrived
        sums = one(score[part, 1], THETA).sums
        assert sent == [2 * (3 * N_CLASSES - 1)]
        one.deferred(arrived.append, score[part, 0], THETA, "majorized")
        one.collect()
        one.collect()
        assert sent == [2 * (3 * N_CLASSES - 1), 3 * N_CLASSES - 1]
        return sums, arrived

    for sums, arrived in on_workers(of, 4):
        assert sums.loss == pytest.approx(later.loss, rel=1e-6)
        assert len(arrived) == 2
        for found in arrived:
            assert found.loss == pytest.approx(expected.loss, rel=1e-6)
            np.testing.assert_allclose(found.threshold_gradient, expected.threshold_gradient, rtol=1e-6, atol=1e-5)


def test_an_error_in_the_call_that_brings_deferred_sums_reaches_all(rows):
    y, score, *_ = rows

    def of(workers, rank):
        one: Any = distributed_pass(RowStatistics, workers, AllThreshold(), y, N_CLASSES)
        arrived: list[Any] = []
        one.deferred(arrived.append, score[:, 0], THETA, "majorized")
        raw = score[:, 0].copy()
        raw[0] = np.nan if rank == 2 else 0.0
        with pytest.raises(ValueError, match="raw_prediction holds NaN"):
            one(raw, THETA)
        return arrived

    for (sums,) in on_workers(of):
        assert np.isfinite(sums.loss)


def test_first_scores_of_one_worker_that_are_no_numbers_stop_all(rows):
    y, score, *_ = rows
    spec = OrdinalSpec(AllThreshold(), thresholds=THETA)

    def of(workers, rank):
        run = TrainingRun(spec, y, N_CLASSES, update=NewtonUpdate(), placement=RowPlacement(workers=workers))
        run.advance(np.where(np.arange(len(y)) < (rank == 2), np.nan, score[:, 0]), 0)

    for error in on_workers(of):
        assert "raw_prediction holds NaN" in str(error)


def test_agreed_returns_where_nobody_fails():
    assert on_workers(lambda workers, rank: fail_together(workers, lambda: rank)) == [0, 1, 2]
    assert fail_together(None, lambda: 5) == 5
