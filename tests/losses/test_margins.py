"""Losses of margins that are given one by one, and third and fourth derivatives."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st

from ordinal_objectives import AllThreshold, CumulativeLink, ImmediateThreshold
from ordinal_objectives.links import LINKS
from ordinal_objectives.losses import LOSSES, check_order, get_loss, higher_derivatives

OF_MARGINS = (AllThreshold, ImmediateThreshold)


def problem(seed, n_classes, n=40, scale=3.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, n_classes - 1)) * scale, rng.integers(0, n_classes, n)


@pytest.mark.parametrize("make", OF_MARGINS)
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("n_classes", [2, 5])
def test_derivatives_of_margins_are_finite_differences(make, link, n_classes):
    loss = make(link)
    margins, y = problem(0, n_classes, scale=1.0)
    found = loss.margin_derivatives(margins, y, "exact")
    step = 1e-5
    for k in range(n_classes - 1):
        moved = np.zeros(n_classes - 1)
        moved[k] = step  # of f + v_k, so the margin falls
        down, up = (loss.margin_derivatives(margins - sign * moved, y, "exact") for sign in (-1, 1))
        np.testing.assert_allclose(found.gradient[:, k], (up.value - down.value) / (2 * step), atol=1e-7)
        slope = (up.gradient[:, k] - down.gradient[:, k]) / (2 * step)
        counted = found.hessian[:, k] > 0.0
        floor = np.maximum(slope, loss.link.curvature_floor)[counted]
        np.testing.assert_allclose(found.hessian[counted, k], floor, atol=1e-6)


@pytest.mark.parametrize("make", OF_MARGINS)
@pytest.mark.parametrize("hessian", ["exact", "majorized"])
def test_margins_of_one_score_give_the_proportional_loss(make, hessian):
    loss, theta = make(), np.array([-1.0, 0.2, 1.5])
    rng = np.random.default_rng(1)
    f, y = rng.normal(size=50), rng.integers(0, 4, 50)
    rows, margins = loss.round_statistics(f, y, theta, hessian=hessian), theta - f[:, None]
    found = loss.margin_derivatives(margins, y, hessian)
    np.testing.assert_allclose(found.value.sum(), rows.loss)
    np.testing.assert_allclose(found.gradient.sum(axis=1), rows.gradient)
    np.testing.assert_allclose(found.hessian.sum(axis=1), rows.hessian)
    np.testing.assert_allclose(found.gradient.sum(axis=0), -rows.threshold_gradient)
    np.testing.assert_array_equal(loss.margin_proba(margins), loss.predict_proba(f, theta))
    np.testing.assert_array_equal(loss.margin_cumulative_proba(margins), loss.cumulative_proba(f, theta))


@pytest.mark.parametrize("link", LINKS)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 9), scale=st.sampled_from([0.1, 3.0, 30.0]))
def test_sorting_the_margins_of_a_row_never_raises_its_loss(link, seed, n_classes, scale):
    loss = AllThreshold(link)
    margins, y = problem(seed, n_classes, 20, scale)
    given_order = loss.margin_derivatives(margins, y, "exact").value
    in_order = loss.margin_derivatives(np.sort(margins, axis=1), y, "exact").value
    assert (in_order <= given_order + 1e-9 * (1 + given_order)).all()


def test_sorting_can_raise_the_immediate_threshold_loss():
    margins, y = problem(0, 5, 400)
    loss = ImmediateThreshold()
    before = loss.margin_derivatives(margins, y).value
    assert (loss.margin_derivatives(np.sort(margins, axis=1), y).value > before + 1e-6).mean() > 0.2


@pytest.mark.parametrize("make", OF_MARGINS)
@pytest.mark.parametrize("link", LINKS)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 9), scale=st.sampled_from([0.1, 3.0, 1e3]))
def test_probabilities_of_any_margins_are_probabilities(make, link, seed, n_classes, scale):
    margins, _ = problem(seed, n_classes, 20, scale)
    proba = make(link).margin_proba(margins)
    assert proba.shape == (20, n_classes)
    assert (proba >= 0.0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
    cumulative = make(link).margin_cumulative_proba(margins)
    np.testing.assert_allclose(cumulative, proba.cumsum(axis=1)[:, :-1], atol=1e-12)


def test_the_cumulative_link_refuses_margins_that_cross():
    margins, link = np.array([[0.0, 1.0]]), CumulativeLink()
    np.testing.assert_allclose(link.margin_proba(margins), link.predict_proba([0.0], [0.0, 1.0]))
    for call in (CumulativeLink().margin_proba, CumulativeLink().margin_cumulative_proba):
        with pytest.raises(ValueError, match=r"cumulative_link.*proportional=False"):
            call([[1.0, 0.0]])
    with pytest.raises(ValueError, match=r"cumulative_link.*proportional=False"):
        CumulativeLink().margin_derivatives([[0.0, 1.0]], [1])


@pytest.mark.parametrize("margins", [[0.0, 1.0], [[np.nan, 1.0]], np.empty((3, 0))])
def test_margins_are_checked(margins):
    with pytest.raises(ValueError, match="margins"):
        AllThreshold().margin_proba(margins)


# Third and fourth derivatives of the logit's losses against finite differences and mpmath


each_loss = pytest.mark.parametrize("loss", LOSSES)


def scores_and_codes(n_classes=4, n_rows=60):
    rng = np.random.default_rng(n_classes)
    thresholds = np.cumsum(rng.uniform(0.2, 1.5, n_classes - 1)) - 1.0
    return 3.0 * rng.normal(size=n_rows), rng.integers(0, n_classes, n_rows), thresholds


@each_loss
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_they_are_differences_of_the_hessian(loss, n_classes):
    loss, (f, y, thresholds), step = get_loss(loss), scores_and_codes(n_classes), 1e-3

    def central(function):
        """Fourth-order difference."""
        near, far = (function(f + k * step) - function(f - k * step) for k in (1, 2))
        return (8 * near - far) / (12 * step)

    third, fourth = higher_derivatives(loss, f, y, thresholds).T
    np.testing.assert_allclose(central(lambda x: loss.hessian(x, y, thresholds)), third, atol=1e-10)
    np.testing.assert_allclose(central(lambda x: higher_derivatives(loss, x, y, thresholds)[:, 0]), fourth, atol=1e-10)


def cumulative_loss(f, y, thresholds):
    below = mpmath.mpf(1) if y == len(thresholds) else 1 / (1 + mpmath.exp(f - mpmath.mpf(thresholds[y])))
    above = mpmath.mpf(0) if y == 0 else 1 / (1 + mpmath.exp(f - mpmath.mpf(thresholds[y - 1])))
    return -mpmath.log(below - above)


def all_threshold_loss(f, y, thresholds):
    return sum(mpmath.log1p(mpmath.exp((1 if y <= k else -1) * (f - mpmath.mpf(t)))) for k, t in enumerate(thresholds))


@pytest.mark.parametrize(
    ("loss", "by_definition"), [("all_threshold", all_threshold_loss), ("cumulative_link", cumulative_loss)]
)
def test_they_are_derivatives_of_the_loss_itself(loss, by_definition):
    """Also where the rows are sure: 30 digits are left of a fourth derivative of 80 digits."""
    thresholds = [-1.0, 0.25, 1.5]
    f = np.array([-30.0, -4.0, -1.0, 0.3, 2.0, 12.0, 30.0])
    y = np.array([0, 2, 1, 3, 1, 2, 3])
    found = higher_derivatives(get_loss(loss), f, y, thresholds)
    with mpmath.workdps(80):
        for i in range(len(f)):
            for order in (3, 4):
                expected = mpmath.diff(lambda x, i=i: by_definition(x, int(y[i]), thresholds), f[i], order)
                assert found[i, order - 3] == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize(
    ("loss", "hessian", "order", "message"),
    [
        (("all_threshold", "logit"), "majorized", 3, "order=3 needs hessian='exact'"),
        (("all_threshold", "probit"), "exact", 4, "order=4 .*probit"),
        (("cumulative_link", "cauchit"), "exact", 3, "order=3 .*cauchit"),
    ],
)
def test_what_has_no_such_derivatives_is_refused(loss, hessian, order, message):
    with pytest.raises(ValueError, match=message):
        check_order(get_loss(*loss), hessian, order)
    check_order(get_loss(*loss), hessian, 2)


def test_rows_are_checked():
    with pytest.raises(ValueError, match="y holds labels outside the declared classes"):
        higher_derivatives(get_loss("all_threshold"), [0.0], [2], [0.0])
