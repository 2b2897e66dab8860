"""Sums over leaves: the native pass against the reference, and how rows find their leaf."""

from __future__ import annotations

import numpy as np
import pytest

from ordinal_objectives import _core
from ordinal_objectives.links import LINKS
from ordinal_objectives.losses import LOSSES, get_loss
from ordinal_objectives.rows import RowStatistics
from pairs import each_pair

CASES = [
    (loss, link, hessian)
    for loss in LOSSES
    for link in LINKS
    for hessian in ("majorized", "exact")
    if get_loss(loss, link).supports(hessian)
]


def make_rows(n_classes, n_rows=2500, n_leaves=13, weighted=True):
    rng = np.random.default_rng(n_classes)
    f = 2 * rng.normal(size=n_rows)
    thresholds = np.cumsum(rng.uniform(0.2, 1.5, n_classes - 1)) - 0.5 * n_classes
    y = rng.integers(0, n_classes, n_rows)
    weight = rng.uniform(0.1, 3.0, n_rows) if weighted else None
    return f, y, thresholds, weight, rng.integers(0, n_leaves, n_rows).astype(np.int32), n_leaves


def reference_sums(loss, f, y, thresholds, weight, leaves, n_leaves, hessian):
    statistics = loss.round_statistics(f, y, thresholds, weight, hessian)
    member = np.equal.outer(np.arange(n_leaves), leaves).astype(float)
    return member @ statistics.gradient, member @ statistics.hessian, member @ statistics.cross


def assert_same(sums, expected, rtol):
    for got, want in zip((sums.gradient, sums.hessian, sums.cross), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * np.abs(want).max())


@pytest.mark.parametrize(("loss", "link", "hessian"), CASES)
def test_double_precision_equals_reference(loss, link, hessian):
    loss = get_loss(loss, link)
    f, y, thresholds, weight, leaves, n_leaves = make_rows(5)
    for precision, rtol in (("float64", 1e-12), ("float32", 1e-5)):
        rows = RowStatistics(loss, y, 5, weight, precision=precision)
        rows(f, thresholds, hessian)
        expected = reference_sums(loss, f, y, thresholds, weight, leaves, n_leaves, hessian)
        assert_same(rows.leaf_sums(leaves, n_leaves), expected, rtol)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_some_rows_are_those_of_a_pass_over_them(precision, weighted, dtype):
    f, y, thresholds, weight, leaves, n_leaves = make_rows(5, weighted=weighted)
    f, some = f.astype(dtype), np.flatnonzero(np.arange(len(f)) % 3).astype(np.uint32)
    rows = RowStatistics(get_loss("all_threshold"), y, 5, weight, precision=precision)
    rows(f, thresholds)
    alone = RowStatistics(rows.loss, y[some], 5, None if weight is None else weight[some], precision=precision)
    alone(f[some], thresholds)
    expected = alone.leaf_sums(leaves[some], n_leaves)
    sums = rows.leaf_sums(leaves, n_leaves, some)
    assert_same(sums, (expected.gradient, expected.hessian, expected.cross), 1e-6)


@each_pair(
    {"instruction_set": _core.instruction_sets(), "loss": LOSSES, "n_classes": [2, 3, 40], "weighted": [True, False]}
)
def test_float32_lanes_equal_reference(instruction_set, loss, n_classes, weighted):
    loss = get_loss(loss)
    f, y, thresholds, weight, leaves, n_leaves = make_rows(n_classes, weighted=weighted)
    rows = RowStatistics(loss, y, n_classes, weight)
    rows(f.astype(np.float32), thresholds)
    expected = reference_sums(loss, f, y, thresholds, weight, leaves, n_leaves, "majorized")
    assert_same(rows.leaf_sums(leaves, n_leaves), expected, 1e-5)


@pytest.mark.parametrize("n_rows", [1, 15, 511, 513, 8193, 70_000])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_any_number_of_rows_and_threads(n_rows, link):
    loss = get_loss("all_threshold", link)
    f, y, thresholds, weight, leaves, n_leaves = make_rows(4, n_rows)
    expected = reference_sums(loss, f, y, thresholds, weight, leaves, n_leaves, "majorized")
    results = []
    for n_threads in (1, 2, 7):
        rows = RowStatistics(loss, y, 4, weight, n_threads=n_threads)
        rows(f, thresholds)
        results.append(rows.leaf_sums(leaves, n_leaves))
    assert_same(results[0], expected, 1e-5)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].gradient, other.gradient)
        np.testing.assert_array_equal(results[0].hessian, other.hessian)
        np.testing.assert_array_equal(results[0].cross, other.cross)


def test_thresholds_far_apart_take_the_double_kernel():
    loss = get_loss("all_threshold")
    f, y, _, weight, leaves, n_leaves = make_rows(3)
    thresholds = np.array([-30.0, 25.0])
    rows = RowStatistics(loss, y, 3, weight)
    rows(10 * f, thresholds)
    expected = reference_sums(loss, 10 * f, y, thresholds, weight, leaves, n_leaves, "majorized")
    assert_same(rows.leaf_sums(leaves, n_leaves), expected, 1e-6)


def test_bad_leaves_are_refused():
    rows = RowStatistics(get_loss("all_threshold"), [0, 1, 2], 3)
    with pytest.raises(ValueError, match="call the object with these first"):
        rows.leaf_sums(np.zeros(3, np.int32), 1)
    rows(np.zeros(3), [0.0, 1.0])
    with pytest.raises(ValueError, match=r"leaves must have shape \(3,\).*got \(2,\)"):
        rows.leaf_sums(np.zeros(2, np.int32), 1)
    for wrong in (-1, 2):
        with pytest.raises(ValueError, match=r"leaves must be in 0\.\.1"):
            rows.leaf_sums(np.array([0, 1, wrong], np.int32), 2)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_leaves", [1, 2, 3, 64, 1000])
def test_rows_find_the_nearest_leaf_value(dtype, n_leaves):
    rng = np.random.default_rng(n_leaves)
    values = rng.standard_cauchy(n_leaves)  # most of them close together, some far out
    order = np.argsort(values).astype(np.int32)
    before = rng.normal(size=20_000).astype(dtype)
    after = (before + values[rng.integers(0, n_leaves, before.size)]).astype(dtype)
    after[:3] += np.array([1e6, -1e6, 0.0], dtype)
    step = after.astype(float) - before.astype(float)
    leaves = np.empty(before.size, np.int32)
    for n_threads in (1, 3):
        error, largest = _core.match_leaves(before, after, values[order], order, leaves, n_threads)
        distance = np.abs(step - values[leaves])
        best = np.min(np.abs(step[:, None] - values), axis=1)
        np.testing.assert_allclose(distance, best, rtol=1e-9, atol=1e-12)
        assert error == distance.max()
        assert largest == np.abs(after).max()
    after[5] = np.nan
    assert np.isnan(_core.match_leaves(before, after, values[order], order, leaves, 1)[0])


@pytest.mark.parametrize("n_samples", [1, 4_097, 300_000])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_leaf_weights_are_counts_or_sums(n_samples, n_threads):
    rng = np.random.default_rng(0)
    y, leaves = rng.integers(0, 3, n_samples), rng.integers(0, 7, n_samples).astype(np.int32)
    weight = rng.random(n_samples) + 0.1
    plain = RowStatistics(get_loss("all_threshold", "logit"), y, 3, n_threads=n_threads, part=True)
    np.testing.assert_array_equal(plain.leaf_weights(leaves, 9), np.bincount(leaves, minlength=9))
    weighted = RowStatistics(get_loss("all_threshold", "logit"), y, 3, weight, n_threads=n_threads, part=True)
    np.testing.assert_allclose(weighted.leaf_weights(leaves, 9), np.bincount(leaves, weight, minlength=9), rtol=1e-5)
    with pytest.raises(ValueError, match=r"leaves must be in 0\.\.2"):
        plain.leaf_weights(np.full(n_samples, 3, np.int32), 3)
