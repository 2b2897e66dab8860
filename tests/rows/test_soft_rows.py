"""Passes over rows with several classes: sums over these, and of intervals the likelihood that one of them is true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from ordinal_objectives import AllThreshold, OrdinalLabels
from ordinal_objectives.leaves.vector import shared
from ordinal_objectives.links import LINKS
from ordinal_objectives.losses import LOSSES, get_loss, higher_derivatives
from ordinal_objectives.rows import CPU, MarginStatistics, RowStatistics
from ordinal_objectives.rows.reference import ReferenceMarginPass, ReferenceRowPass
from ordinal_objectives.rows.soft_rows import SoftLabelPass, pass_over

K = 5
THRESHOLDS = np.array([-1.2, -0.3, 0.4, 1.5])
N = 200


def shares(seed=0):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 3, (N, K)).astype(float)
    table[:, 0] += table.sum(axis=1) == 0.0
    return table


def intervals(seed=0):
    rng = np.random.default_rng(seed)
    lower = rng.integers(0, K, N)
    upper = np.minimum(lower + rng.integers(0, 3, N), K - 1)
    upper[rng.random(N) < 0.2] = K - 1
    return OrdinalLabels.from_intervals(lower, upper, classes=range(K))


def scores(seed=1):
    return 0.7 * np.random.default_rng(seed).normal(size=N)


def over_classes(loss, quantity, f, weights):
    """Return the sum over the classes of a quantity of each row and class."""
    return sum(
        weights[:, k].reshape(-1, *[1] * (np.ndim(q) - 1)) * q
        for k in range(K)
        for q in [quantity(loss, f, np.full(N, k))]
    )


@pytest.mark.parametrize("kind", [RowStatistics, ReferenceRowPass])
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("loss", LOSSES)
def test_counts_add_up_the_losses_of_the_classes(loss, link, kind):
    loss, table, f = get_loss(loss, link), shares(), scores()
    weight = np.random.default_rng(2).uniform(0.5, 2.0, N)
    options = {"precision": "float64"}
    rows = pass_over(kind, loss, OrdinalLabels.from_counts(table), K, weight, **options)
    found = rows(f, THRESHOLDS, "exact")
    parts = [loss.round_statistics(f, np.full(N, k), THRESHOLDS, weight * table[:, k], "exact") for k in range(K)]
    for name in ("gradient", "hessian", "threshold_gradient", "threshold_hessian", "threshold_hessian_off", "loss"):
        expected = sum(getattr(part, name) for part in parts)
        np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(rows.class_weights, weight @ table)
    leaves = np.random.default_rng(3).integers(0, 4, N).astype(np.int32)
    np.testing.assert_allclose(rows.leaf_sums(leaves, 4).gradient, np.bincount(leaves, found.gradient), rtol=1e-6)
    np.testing.assert_allclose(rows.leaf_weights(leaves, 4), np.bincount(leaves, weight * table.sum(axis=1)))


@pytest.mark.parametrize("kind", [MarginStatistics, ReferenceMarginPass])
def test_margins_without_shifts_are_the_scores(kind):
    loss, labels, f = get_loss("all_threshold", "logit"), OrdinalLabels.from_counts(shares()), scores()
    margins = pass_over(kind, loss, labels, K, None, precision="float64", in_doubles=True)
    one = pass_over(RowStatistics, loss, labels, K, None, precision="float64")(f, THRESHOLDS, "exact")
    spread = np.asfortranarray(np.tile(f[:, np.newaxis], K - 1))
    columns = np.zeros((N, 2 * (K - 1) + 1), np.float32)
    columns[:, -1] = 7.0
    found = margins(spread, THRESHOLDS, "exact", columns=columns)
    np.testing.assert_allclose(found.gradient, one.gradient, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(columns[:, : K - 1].sum(axis=1), one.gradient, rtol=1e-4, atol=1e-5)
    assert (columns[:, -1] == 7.0).all()
    assert margins.loss_of_prediction(spread, THRESHOLDS) == pytest.approx(one.loss)


def observed(link, f, thresholds, labels):
    """Return -log[G(theta_hi - f) - G(theta_(lo-1) - f)] of each row."""
    of_rows = labels.patterns[labels.codes] > 0
    lower, upper = of_rows.argmax(axis=1), K - 1 - of_rows[:, ::-1].argmax(axis=1)
    below = np.hstack([np.zeros((N, 1)), link.inverse(thresholds - f[:, np.newaxis]), np.ones((N, 1))])
    rows = np.arange(N)
    return -np.log(below[rows, upper + 1] - below[rows, lower])


@pytest.mark.parametrize("link", LINKS)
def test_intervals_of_the_cumulative_link_have_their_likelihood(link):
    loss, labels, f = get_loss("cumulative_link", link), intervals(), scores()
    rows = CPU(1).row_pass(loss, labels, K, None, precision="float64")
    found = rows(f, THRESHOLDS, "exact")
    assert found.loss == pytest.approx(observed(loss.link, f, THRESHOLDS, labels).sum(), rel=1e-6)
    assert found.loss <= rows.highest_loss(found.loss) <= found.loss * (1 + 1e-6)
    step = 1e-4
    up, down = (observed(loss.link, f + sign * step, THRESHOLDS, labels) for sign in (1, -1))
    np.testing.assert_allclose(found.gradient, (up - down) / (2 * step), rtol=1e-3, atol=1e-5)
    bend = (up + down - 2 * observed(loss.link, f, THRESHOLDS, labels)) / step**2
    near = observed(loss.link, f, THRESHOLDS, labels) < 5.0  # where differences are exact
    assert (found.hessian >= bend - 1e-3)[near].all()
    for k in range(K - 1):
        moved = [observed(loss.link, f, THRESHOLDS + sign * step * np.eye(K - 1)[k], labels).sum() for sign in (1, -1)]
        assert found.threshold_gradient[k] == pytest.approx((moved[0] - moved[1]) / (2 * step), rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("loss", LOSSES)
def test_em_by_the_loss_never_raises_the_observed_loss(loss, link):
    loss, f, theta = get_loss(loss, link), np.zeros(N), THRESHOLDS.copy()
    inside = intervals().patterns[intervals().codes] > 0
    leaves = np.random.default_rng(3).integers(0, 6, (25, N))
    shares_of_step = [*0.5 ** np.arange(40), 0.0]
    hessian = "majorized" if loss.supports("majorized") else "exact"

    def losses(f, theta):
        of_classes = np.stack([loss.value(f, np.full(N, k), theta) for k in range(K)], axis=1)
        return np.where(inside, of_classes, np.inf)

    observed = []
    for of_rows in leaves:
        of_classes = losses(f, theta)
        observed.append(-logsumexp(-of_classes, axis=1).sum())
        q = softmax(-of_classes, axis=1)

        def bound(f, theta, q=q):
            return (q * np.where(inside, losses(f, theta), 0.0)).sum()

        parts = [loss.round_statistics(f, np.full(N, k), theta, q[:, k], hessian) for k in range(K)]
        gradient, curvature = (sum(getattr(part, name) for part in parts) for name in ("gradient", "hessian"))
        step = -(np.bincount(of_rows, gradient) / np.bincount(of_rows, curvature))[of_rows]
        of_theta = -sum(part.threshold_gradient for part in parts) / sum(part.threshold_hessian for part in parts)
        # The longest share of each step that does not raise the sum at these weights.
        ways = (f + s * step for s in shares_of_step)
        f = next(way for way in ways if bound(way, theta) <= bound(f, theta))
        ways = (theta + s * of_theta for s in shares_of_step)
        theta = next(way for way in ways if (np.diff(way) > 0.0).all() and bound(f, way) <= bound(f, theta))
    assert (np.diff(observed) <= 1e-9).all()
    assert observed[-1] < observed[0] - 1.0


@pytest.mark.parametrize("loss", ["all_threshold", "cumulative_link"])
def test_intervals_weigh_their_classes_by_the_model(loss):
    loss, labels, f = get_loss(loss, "logit"), intervals(), scores()
    found = CPU(1).row_pass(loss, labels, K, None, precision="float64")(f, THRESHOLDS, "exact")
    q = loss.predict_proba(f, THRESHOLDS) * (labels.patterns[labels.codes] > 0)
    q /= q.sum(axis=1, keepdims=True)
    gradient = over_classes(loss, lambda loss, f, y: loss.gradient(f, y, THRESHOLDS), f, q)
    value = over_classes(loss, lambda loss, f, y: loss.value(f, y, THRESHOLDS), f, q)
    np.testing.assert_allclose(found.gradient, gradient, rtol=1e-9, atol=1e-9)
    assert found.loss == pytest.approx(value.sum() + (q * np.log(np.maximum(q, 1e-300))).sum())


@pytest.mark.parametrize("weight", [None, np.random.default_rng(4).uniform(0.5, 2.0, N)])
def test_a_class_that_an_interval_covers_in_part_counts_by_that_part(weight):
    loss, f, of_rows = get_loss("cumulative_link", "logit"), scores(), intervals()
    parts = of_rows.patterns[of_rows.codes] * np.random.default_rng(5).uniform(0.1, 1.0, (N, K))
    each = np.ones(N) if weight is None else weight

    def observed(f, thresholds):
        within = (loss.predict_proba(f, thresholds) * parts / parts.max(axis=1, keepdims=True)).sum(axis=1)
        return -(each * parts.max(axis=1)) * np.log(within)

    labels = OrdinalLabels(parts, np.arange(N), range(K), between=True)
    rows: Any = CPU(1).row_pass(loss, labels, K, weight, precision="float64")
    found, step = rows(f, THRESHOLDS, "exact"), 1e-4
    assert found.loss == pytest.approx(observed(f, THRESHOLDS).sum(), rel=1e-6)
    assert rows.loss_of_prediction(f, THRESHOLDS) == pytest.approx(found.loss, rel=1e-6)
    assert found.loss <= rows.highest_loss(found.loss) <= found.loss * (1 + 1e-6)
    up, down = (observed(f + sign * step, THRESHOLDS) for sign in (1, -1))
    np.testing.assert_allclose(found.gradient, (up - down) / (2 * step), rtol=1e-3, atol=1e-5)
    for k in range(K - 1):
        moved = [observed(f, THRESHOLDS + sign * step * np.eye(K - 1)[k]).sum() for sign in (1, -1)]
        assert found.threshold_gradient[k] == pytest.approx((moved[0] - moved[1]) / (2 * step), rel=1e-3, abs=1e-4)


def test_columns_and_parts_of_the_rows_follow():
    loss, labels, f = get_loss("all_threshold", "logit"), OrdinalLabels.from_counts(shares()), scores()
    rows = pass_over(RowStatistics, loss, labels, K, None)
    columns, higher = np.zeros((N, 2 + K - 1), np.float32), np.zeros((N, 2), np.float32)
    found = rows(f, THRESHOLDS, "exact", want_cross=True, side_by_side=columns, higher=higher)
    np.testing.assert_allclose(columns[:, 0], found.gradient)
    np.testing.assert_allclose(found.cross.sum(axis=1), -found.hessian, rtol=1e-4)
    table = shares()
    expected = over_classes(loss, lambda loss, f, y: higher_derivatives(loss, f, y, THRESHOLDS), f, table)
    np.testing.assert_allclose(higher, expected, rtol=1e-3, atol=1e-4)
    some = np.arange(0, N, 3).astype(np.uint32)
    light = np.arange(len(some)).astype(np.uint8) % 2
    part = rows.sums_of(some, f, THRESHOLDS, "exact", light, 3.0)
    weight = np.where(light, 3.0, 1.0)
    alone = pass_over(RowStatistics, loss, labels[some], K, weight)(f[some], THRESHOLDS, "exact")
    np.testing.assert_allclose(part.threshold_gradient, alone.threshold_gradient, rtol=1e-4, atol=1e-4)


def test_one_class_a_row_is_a_plain_pass():
    y = np.random.default_rng(0).integers(0, K, N)
    for labels in (OrdinalLabels.from_intervals(y, y, classes=range(K)), OrdinalLabels.from_shares(np.eye(K)[y])):
        rows = pass_over(RowStatistics, get_loss("all_threshold", "logit"), labels, K)
        assert type(rows) is RowStatistics
        assert rows.sample_weight is None
    assert isinstance(pass_over(RowStatistics, get_loss("all_threshold", "logit"), intervals(), K), SoftLabelPass)


@pytest.mark.parametrize("loss", ["immediate_threshold", "cost_weighted"])
def test_losses_without_a_likelihood_refuse_intervals(loss):
    with pytest.raises(ValueError, match="no likelihood of intervals"):
        pass_over(RowStatistics, get_loss(loss, "logit"), intervals(), K)


def test_rows_without_a_label_count_nothing():
    given = intervals()
    codes = np.where(np.arange(N) % 4 == 0, len(given.patterns), given.codes)
    labels = OrdinalLabels(np.vstack([given.patterns, np.zeros(K)]), codes, range(K), between=True)
    loss, f, known = get_loss("cumulative_link", "logit"), scores(), labels.labelled
    found = pass_over(RowStatistics, loss, labels, K, None)(f, THRESHOLDS, "exact")
    alone = pass_over(RowStatistics, loss, given[known], K, None)(f[known], THRESHOLDS, "exact")
    assert found.loss == pytest.approx(alone.loss)
    np.testing.assert_array_equal(found.gradient[known], alone.gradient)
    assert (found.gradient[~known] == 0.0).all()


def test_intervals_are_weighed_at_shared_scores():
    of_thresholds = shared(K - 1, 2)
    f = 0.7 * np.random.default_rng(1).normal(size=(N, 2))
    few = pass_over(MarginStatistics, AllThreshold(), intervals(), K, score_of=of_thresholds)
    each = pass_over(MarginStatistics, AllThreshold(), intervals(), K)
    found, expected = few(f, THRESHOLDS), each(f[:, of_thresholds], THRESHOLDS)
    assert found.loss == pytest.approx(expected.loss, rel=1e-6)
    np.testing.assert_allclose(found.threshold_gradient, expected.threshold_gradient, rtol=1e-5, atol=1e-5)
    told = each.loss_of_prediction(f[:, of_thresholds], THRESHOLDS)
    assert few.loss_of_prediction(f, THRESHOLDS) == pytest.approx(told, rel=1e-6)
