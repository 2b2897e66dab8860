"""The native pass over margins against the NumPy reference."""

from __future__ import annotations

import numpy as np
import pytest

from ordinal_objectives import AllThreshold, CumulativeLink, ImmediateThreshold, _core
from ordinal_objectives.links import LINKS
from ordinal_objectives.rows import MarginStatistics, RowStatistics

CASES = [
    (make, link, hessian)
    for make in (AllThreshold, ImmediateThreshold)
    for link in LINKS
    for hessian in ("exact", "majorized")
    if make(link).supports(hessian)
]


def problem(n, n_classes, *, weighted=True, scale=1.5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    theta = rng.normal(size=n_classes - 1)  # in no order
    scores = np.asfortranarray(rng.normal(size=(n, n_classes - 1)) * scale)
    return y, theta, scores, rng.gamma(1.0, size=n) if weighted else None


def expected_rows(loss, y, theta, scores, weight, hessian):
    found = loss.margin_derivatives(theta - scores, y, hessian)
    w = np.ones(len(y)) if weight is None else weight
    return w * found.value, w[:, None] * found.gradient, w[:, None] * found.hessian, found.n_floored


@pytest.mark.parametrize(("make", "link", "hessian"), CASES)
@pytest.mark.parametrize(("n", "n_classes", "weighted"), [(2, 2, True), (700, 3, False), (1301, 9, True)])
def test_statistics_are_those_of_the_reference(instruction_set, make, link, hessian, n, n_classes, weighted):
    loss = make(link)
    y, theta, scores, weight = problem(n, n_classes, weighted=weighted)
    value, g, h, n_floored = expected_rows(loss, y, theta, scores, weight, hessian)
    columns = np.full((n, 2 * n_classes), 7.0, np.float32)
    rows = MarginStatistics(loss, y, n_classes, weight, n_threads=2)
    found = rows(scores, theta, hessian, columns=columns)
    close = {"rtol": 2e-5, "atol": 3e-6}
    np.testing.assert_allclose(found.gradient, g.sum(axis=1), **close)
    np.testing.assert_allclose(found.hessian, h.sum(axis=1), **close)
    np.testing.assert_allclose(columns[:, : n_classes - 1], g, **close)
    np.testing.assert_allclose(columns[:, n_classes - 1 : -2], h, **close)
    assert (columns[:, -2:] == 7.0).all()
    np.testing.assert_allclose(found.threshold_gradient, -g.sum(axis=0), rtol=2e-6, atol=1e-4)
    np.testing.assert_allclose(found.threshold_hessian, h.sum(axis=0), rtol=2e-6, atol=1e-5)
    np.testing.assert_allclose(found.loss, value.sum(), rtol=1e-6)
    assert found.n_floored == n_floored
    leaves = np.random.default_rng(1).integers(0, 5, n).astype(np.int32)
    G, H = rows.leaf_sums(leaves, 5)
    for j in range(5):
        np.testing.assert_allclose(G[j], g[leaves == j].sum(axis=0), rtol=2e-5, atol=1e-4)
        np.testing.assert_allclose(H[j], h[leaves == j].sum(axis=0), rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("make", [AllThreshold, ImmediateThreshold])
@pytest.mark.parametrize("hessian", ["exact", "majorized"])
def test_without_shifts_they_are_those_of_one_score(instruction_set, make, hessian):
    y, theta, _, weight = problem(900, 6)
    theta.sort()
    f = np.random.default_rng(3).normal(size=900)
    one = RowStatistics(make(), y, 6, weight)(f, theta, hessian)
    rows = MarginStatistics(make(), y, 6, weight)
    found = rows(rows.spread(f), theta, hessian)
    np.testing.assert_allclose(found.gradient, one.gradient, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(found.hessian, one.hessian, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(found.threshold_hessian, one.threshold_hessian, rtol=1e-6)
    assert found.loss == pytest.approx(one.loss, rel=1e-6)


@pytest.mark.parametrize("make", [AllThreshold, ImmediateThreshold])
@pytest.mark.parametrize("scale", [1.0, 150.0])
def test_predictions_are_sorted_and_their_loss_with_them(instruction_set, make, scale):
    loss = make()
    y, theta, scores, weight = problem(600, 7, scale=scale)
    rows = MarginStatistics(loss, y, 7, weight)
    margins = theta - scores
    in_order = np.sort(margins, axis=1) if loss.ordered else margins
    expected = weight @ loss.margin_derivatives(in_order, y).value
    assert rows.loss_of_prediction(scores, theta) == pytest.approx(expected, rel=1e-6)
    as_given = weight @ loss.margin_derivatives(margins, y).value
    found = rows(scores, theta)
    assert found.loss == pytest.approx(as_given, rel=1e-6)
    assert found.n_clipped == int((np.abs(margins) > 80.0).any(axis=1).sum())
    assert (scale == 150.0) == (found.n_clipped > 0)


def test_a_tree_moves_the_scores_of_its_leaves():
    y, _, scores, _ = problem(500, 4, weighted=False)
    rows = MarginStatistics(AllThreshold(), y, 4)
    steps, leaves = np.random.default_rng(0).normal(size=(3, 3)), np.arange(500, dtype=np.int32) % 3
    moved = rows.moved(scores, leaves, steps)
    np.testing.assert_allclose(moved, scores + steps[leaves], rtol=1e-6, atol=1e-6)
    assert moved.T.flags.c_contiguous


def test_any_number_of_threads_gives_the_same_bytes(instruction_set):
    y, theta, scores, weight = problem(30_000, 5)
    leaves = np.arange(30_000, dtype=np.int32) % 7
    results = []
    for n_threads in (1, 2):
        rows = MarginStatistics(AllThreshold(), y, 5, weight, n_threads=n_threads)
        found = rows(scores, theta)
        results.append([found.gradient.copy(), found.threshold_gradient, found.loss, *rows.leaf_sums(leaves, 7)])
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


def test_scores_far_away_can_be_kept_in_doubles():
    y, theta, _, _ = problem(300, 4, weighted=False)
    start = np.full(300, 1e6)
    rows = MarginStatistics(AllThreshold(), y, 4, in_doubles=True)
    scores = rows.spread(start + np.linspace(-1, 1, 300))
    assert scores.dtype == np.float64
    found = rows(scores, theta + 1e6)
    assert found.gradient.dtype == np.float32
    expected = AllThreshold().margin_derivatives(theta + 1e6 - scores, y).gradient.sum(axis=1)
    np.testing.assert_allclose(found.gradient, expected, rtol=1e-6, atol=1e-7)
    assert MarginStatistics(AllThreshold(), y, 4).spread(start).dtype == np.float32


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_scores_that_are_no_numbers_are_refused(instruction_set, bad, link):
    y, theta, scores, _ = problem(300, 4, weighted=False)
    scores[211, 1] = bad
    rows = MarginStatistics(AllThreshold(link), y, 4)
    with pytest.raises(ValueError, match="scores hold NaN"):
        rows(scores, theta)
    with pytest.raises(ValueError, match="scores hold NaN"):
        rows.loss_of_prediction(scores, theta)


def test_arguments_are_checked():
    y, theta, scores, _ = problem(30, 4, weighted=False)
    rows = MarginStatistics(AllThreshold(), y, 4)
    with pytest.raises(ValueError, match="call the object"):
        rows.leaf_sums(np.zeros(30, np.int32), 1)
    with pytest.raises(ValueError, match=r"scores must have shape \(30, 3\)"):
        rows(scores[:, :2], theta)
    rows(scores, theta)
    with pytest.raises(ValueError, match=r"leaves must be in 0..0"):
        rows.leaf_sums(np.ones(30, np.int32), 1)
    with pytest.raises(ValueError, match="proportional=False"):
        MarginStatistics(CumulativeLink(), y, 4)


def test_more_thresholds_than_lanes_hold_are_computed_in_doubles():
    n_classes = _core.max_lane_classes + 2
    y, theta, scores, _ = problem(400, n_classes, weighted=False)
    found = MarginStatistics(AllThreshold(), y, n_classes)(scores, theta)
    assert found.loss == pytest.approx(AllThreshold().margin_derivatives(theta - scores, y).value.sum(), rel=1e-9)
