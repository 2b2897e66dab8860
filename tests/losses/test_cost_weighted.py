"""The all-threshold loss weighted by what errors cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from ordinal_objectives.links import LINKS
from ordinal_objectives.losses import AllThreshold, CostWeighted, CumulativeLink, get_loss
from ordinal_objectives.rows import MarginStatistics, RowStatistics
from ordinal_objectives.threshold_solver import initial_thresholds

ASYMMETRIC = [[0, 1, 2, 3], [5, 0, 1, 2], [10, 5, 0, 1], [15, 10, 5, 0]]


@st.composite
def convex_costs(draw, most=6):
    """Matrices whose rows rise to both sides of the true class, by steps that do not shrink."""
    n = draw(st.integers(2, most))
    steps = np.array(draw(st.lists(st.lists(st.floats(0.0, 5.0), min_size=n, max_size=n), min_size=n, max_size=n)))
    costs = np.zeros((n, n))
    for code in range(n):
        rises = 0.1 + np.cumsum(steps[code])
        for k in range(n):
            costs[code, k] = rises[: abs(k - code)].sum()
    return costs


@given(convex_costs())
def test_weights_of_wrong_thresholds_add_up_to_the_cost(costs):
    n = len(costs)
    weights = CostWeighted("logit", costs).threshold_costs(n)
    assert_allclose(weights.mean(), 1.0)
    scale = np.abs(np.diff(costs, axis=1)).mean()
    for code in range(n):
        for predicted in range(n):
            wrong = (np.arange(n - 1) < predicted) != (np.arange(n - 1) < code)
            assert_allclose(scale * weights[code, wrong].sum(), costs[code, predicted], atol=1e-9)


@given(convex_costs(), st.integers(0, 2**32 - 1), st.sampled_from(sorted(LINKS)))
def test_sorting_margins_never_raises_the_loss(costs, seed, link):
    n = len(costs)
    margins = np.random.default_rng(seed).normal(scale=2.0, size=(n, n - 1))
    loss = CostWeighted(link, costs)
    value, in_order = (loss.margin_derivatives(x, np.arange(n), "exact").value for x in (margins, np.sort(margins)))
    assert (in_order <= value * (1 + 1e-9) + 1e-12).all()


@given(convex_costs(), st.integers(0, 2**32 - 1))
def test_training_starts_at_the_least_loss_with_thresholds_in_order(costs, seed):
    n = len(costs)
    counts = np.random.default_rng(seed).integers(1, 50, size=n).astype(float)
    loss = CostWeighted("logit", costs)
    start = initial_thresholds(counts, loss=loss)
    assert (np.diff(start.thresholds) >= -1e-12).all()
    assert start.active.all()
    assert not start.tied.any()
    slopes = loss.threshold_gradient(np.zeros(n), np.arange(n), start.thresholds, counts)
    assert_allclose(slopes, 0.0, atol=1e-9 * counts.sum() * n)


def test_a_class_without_rows_lies_between_its_thresholds():
    start = initial_thresholds([10.0, 0.0, 30.0, 5.0], loss=CostWeighted())
    assert (np.diff(start.thresholds) > 0.1).all()
    assert not start.tied.any()
    at_ends = initial_thresholds([0.0, 10.0, 30.0, 0.0], loss=CostWeighted())
    assert_array_equal(at_ends.active, [False, True, False])
    assert (np.diff(at_ends.thresholds) >= 0).all()
    cheap = CostWeighted("logit", [[0, 1, 2, 3], [0.001, 0, 0.001, 0.002], [2, 1, 0, 1], [3, 2, 1, 0]])
    below = initial_thresholds([0.0, 1.0, 1000.0, 1000.0], loss=cheap)
    assert (np.diff(below.thresholds) >= 0).all()


def test_the_best_score_decides_for_the_least_expected_cost():
    rng = np.random.default_rng(0)
    costs = np.array(ASYMMETRIC, float)
    loss = CostWeighted("logit", costs)
    for _ in range(20):
        p = rng.dirichlet(np.ones(4))

        def expected(theta, p=p):
            return sum(p[k] * loss.value([0.0], [k], theta)[0] for k in range(4))

        theta = minimize(expected, np.zeros(3), method="BFGS").x
        assert (np.diff(theta) > -1e-4).all()
        decided = int((theta < 0).sum())
        assert p @ costs[:, decided] <= (p @ costs).min() + 1e-6


def test_absolute_costs_are_the_all_threshold_loss():
    costs = 7.0 * np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    f, y, theta = np.linspace(-3, 3, 15), np.arange(15) % 5, [-1.0, 0.0, 0.5, 2.0]
    for kind in ("exact", "majorized"):
        ours, plain = (
            loss.round_statistics(f, y, theta, None, kind) for loss in (CostWeighted("logit", costs), AllThreshold())
        )
        assert_allclose(ours.gradient, plain.gradient, rtol=1e-14)
        assert_allclose(ours.hessian, plain.hessian, rtol=1e-14)
        assert_allclose(ours.sums.loss, plain.sums.loss, rtol=1e-14)
    assert type(get_loss("all_threshold", "probit", "absolute")) is AllThreshold
    assert_array_equal(CostWeighted("logit", "absolute").threshold_costs(4), np.ones((4, 3)))


@pytest.mark.parametrize("scores", ["one", "each"])
@pytest.mark.parametrize("hessian", ["exact", "majorized"])
def test_an_asymmetric_matrix_in_the_kernels(scores, hessian):
    rng = np.random.default_rng(1)
    n, loss = 700, CostWeighted("logit", ASYMMETRIC)
    f, y, weight = rng.normal(scale=3, size=n), rng.integers(4, size=n), rng.uniform(0, 2, n)
    # Beyond the lanes, on both sides of every class.
    f[:8], y[:8] = np.repeat([300.0, -300.0], 4), np.tile(np.arange(4), 2)
    theta = np.array([-1.0, 0.2, 1.4])
    expected = loss.round_statistics(f, y, theta, weight, hessian)
    if scores == "one":
        got = RowStatistics(loss, y, 4, weight)(f, theta, hessian)
    else:
        rows = MarginStatistics(loss, y, 4, weight)
        got = rows(rows.spread(f), theta, hessian)
    assert_allclose(got.gradient, expected.gradient, rtol=2e-5, atol=1e-5)
    assert_allclose(got.hessian[8:], expected.hessian[8:], rtol=2e-5, atol=1e-5)
    assert_allclose(got.loss, expected.sums.loss, rtol=1e-6)
    assert_allclose(got.threshold_gradient, expected.sums.threshold_gradient, rtol=1e-5)


def test_heavy_rows_with_heavy_costs_stay_within_float32():
    loss = CostWeighted("cloglog", [[0, 1, 2, 3], [99, 0, 1, 2], [198, 99, 0, 1], [297, 198, 99, 0]])
    y = np.arange(4)
    got = RowStatistics(loss, y, 4, np.full(4, 1e6))(np.full(4, -300.0), [-1.0, 0.0, 1.0], "exact")
    assert np.isfinite(got.gradient).all()
    assert np.abs(got.gradient).max() > 1e30


def test_identity_holds_the_costs():
    for loss in (
        CostWeighted("probit"),
        CostWeighted("cauchit", ASYMMETRIC),
        CostWeighted("logit", "absolute"),
        get_loss("all_threshold", "logit", ASYMMETRIC),
    ):
        again = get_loss(loss.identity, loss.link.identity)
        assert again == loss
        assert_array_equal(again.threshold_costs(4), loss.threshold_costs(4))
        assert get_loss(**loss.as_parameters()) == loss
    assert CostWeighted() == get_loss("cost_weighted") != CostWeighted("logit", ASYMMETRIC)
    assert repr(CostWeighted("logit", [[0, 1], [2, 0]])) == (
        "CostWeighted(link='logit', training_cost=[[0.0, 1.0], [2.0, 0.0]])"
    )


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ("cubic", "training_cost"),
        ([0, 1], "training_cost"),
        ([[0, 1, 2], [1, 0, 1]], "got shape .2, 3."),
        ([[0, np.nan], [1, 0]], "training_cost"),
        ([[0, 0], [1, 0]], "must be lowest where the prediction is right.*class 0 are .0.0, 0.0."),
        ([[0, 1, 2], [1, 0, 1], [1, 2, 0]], "must be lowest where the prediction is right.*class 2"),
        ([[0, 2, 3], [1, 0, 1], [2, 1, 0]], "be convex.*class 0 are .0.0, 2.0, 3.0."),
    ],
)
def test_costs_are_refused(costs, message):
    with pytest.raises(ValueError, match=message):
        CostWeighted("logit", costs)


def test_what_contradicts_is_refused():
    with pytest.raises(ValueError, match="training_cost must be one of 'absolute', 'quadratic'"):
        get_loss("all_threshold", training_cost="cubic")
    with pytest.raises(ValueError, match=r"training_cost belongs to loss 'all_threshold'.*CumulativeLink"):
        get_loss(CumulativeLink(), training_cost="quadratic")
    with pytest.raises(ValueError, match="training_cost belongs to loss 'all_threshold'"):
        get_loss(CostWeighted("logit", ASYMMETRIC), training_cost="quadratic")
    assert get_loss(CostWeighted(), training_cost="quadratic") == CostWeighted()
    with pytest.raises(ValueError, match=r"training_cost must have shape \(5, 5\).*got \(4, 4\)"):
        CostWeighted("logit", ASYMMETRIC).threshold_costs(5)
    for rule, matrix in (("mode", None), ("median", ASYMMETRIC)):
        with pytest.raises(ValueError, match="with a training_cost the decision is decision_rule='median'"):
            CostWeighted().check_decision(rule, matrix)
