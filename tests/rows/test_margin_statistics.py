"""The native pass over margins against the NumPy reference."""

from __future__ import annotations

import numpy as np
import pytest

from ordinal_objectives import AllThreshold, CumulativeLink, ImmediateThreshold, _core
from ordinal_objectives.leaves.vector import shared
from ordinal_objectives.links import LINKS
from ordinal_objectives.rows import MarginStatistics, RowStatistics
from pairs import each_pair

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


@each_pair(
    {
        "instruction_set": _core.instruction_sets(),
        "make, link, hessian": CASES,
        "n, n_classes, weighted": [(2, 2, True), (700, 3, False), (1301, 9, True)],
    }
)
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


@pytest.mark.parametrize("n", [21, 700])
@pytest.mark.parametrize("make", [AllThreshold, ImmediateThreshold])
@pytest.mark.parametrize("hessian", ["exact", "majorized"])
def test_every_instruction_set_gives_the_same_bytes(instruction_set, make, hessian, n):
    y, theta, scores, weight = problem(n, 5)
    rows = MarginStatistics(make(), y, 5, weight, n_threads=1)
    scores = np.asfortranarray(scores, dtype=np.float32)
    columns = [np.zeros((n, 10), np.float32) for _ in range(2)]
    found = rows(scores, theta, hessian, columns=columns[0])
    _core.select_instruction_set(_core.instruction_sets()[0])
    expected = rows(scores, theta, hessian, columns=columns[1])
    np.testing.assert_array_equal(columns[0], columns[1])
    for name in ("gradient", "hessian", "threshold_gradient", "threshold_hessian", "loss"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


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


# The majorised curvature of margins that the lanes clip is that of the clipped ones.
@pytest.mark.parametrize(
    ("make", "link", "hessian", "spread"),
    [(*case, 1.0) for case in CASES] + [(*case, 60.0) for case in CASES if case[1:] == ("logit", "exact")],
)
def test_shared_scores_are_those_of_each_threshold(instruction_set, make, link, hessian, spread):
    """Neighbouring thresholds with one score: one number for each group, the sums of the pass with all scores."""
    loss, n, n_classes = make(link), 701, 14
    y, theta, _, weight = problem(n, n_classes)
    theta, score_of = spread * theta, shared(n_classes - 1, 4)
    scores = spread * np.random.default_rng(2).normal(size=(n, 4))
    groups = np.array([0, 0, 1, -1], np.int32)[score_of]
    columns = np.zeros((2, n, 4), np.float32)
    leaves = np.random.default_rng(1).integers(0, 5, n).astype(np.int32)
    few = MarginStatistics(loss, y, n_classes, weight, score_of=score_of, n_threads=2)
    each = MarginStatistics(loss, y, n_classes, weight, in_doubles=True)
    of_few, of_each = few.spread(scores[:, score_of]), each.spread(scores[:, score_of])
    assert of_few.shape == (n, 4)
    found = few(of_few, theta, hessian, columns=columns[0], groups=groups)
    expected = each(of_each, theta, hessian, columns=columns[1], groups=groups)
    close = {"rtol": 2e-5, "atol": 3e-5}
    np.testing.assert_allclose(columns[0], columns[1], **close)
    np.testing.assert_allclose(found.gradient, expected.gradient, **close)
    np.testing.assert_allclose(found.hessian, expected.hessian, **close)
    np.testing.assert_allclose(found.threshold_gradient, expected.threshold_gradient, rtol=2e-6, atol=1e-3)
    np.testing.assert_allclose(found.threshold_hessian, expected.threshold_hessian, rtol=2e-6, atol=1e-3)
    np.testing.assert_allclose(found.loss, expected.loss, rtol=1e-6)
    np.testing.assert_allclose(
        few.loss_of_prediction(of_few, theta), each.loss_of_prediction(of_each, theta), rtol=1e-6
    )
    for of_leaves, exact in zip(few.leaf_sums(leaves, 5), each.leaf_sums(leaves, 5), strict=True):
        np.testing.assert_allclose(of_leaves.sum(axis=1), exact.sum(axis=1), rtol=2e-5, atol=1e-3)
        np.testing.assert_allclose(of_leaves[:, :4].sum(axis=1), exact[:, :4].sum(axis=1), rtol=2e-5, atol=1e-3)
        np.testing.assert_array_equal(of_leaves[:, 0], of_leaves[:, 3])
    steps = np.random.default_rng(3).normal(size=(5, 4))[:, score_of]
    np.testing.assert_allclose(few.moved(of_few, leaves, steps), of_few + steps[leaves][:, few.first], atol=1e-5)


def test_derivatives_of_shared_scores_are_differences_of_the_loss():
    loss, n, n_classes, step = AllThreshold("probit"), 40, 9, 1e-5
    y, theta, _, weight = problem(n, n_classes)
    rows = MarginStatistics(loss, y, n_classes, weight, score_of=shared(n_classes - 1, 3))
    scores = np.asfortranarray(np.random.default_rng(4).normal(size=(n, 3)))
    columns = np.zeros((n, 6), np.float32)
    rows(scores, theta, "exact", columns=columns)
    for j in range(3):
        moved = [rows(scores + sign * step * np.eye(3)[j], theta, "exact").loss for sign in (1, -1)]
        assert (moved[0] - moved[1]) / (2 * step) == pytest.approx(columns[:, j].sum(), rel=1e-5)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_shared_scores_are_numbers(bad):
    y, theta, _, _ = problem(50, 5)
    rows = MarginStatistics(AllThreshold(), y, 5, score_of=shared(4, 2))
    scores = np.zeros((50, 2))
    scores[3, 1] = bad
    with pytest.raises(ValueError, match="NaN"):
        rows(scores, theta)
