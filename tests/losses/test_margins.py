"""Losses of margins that are given one by one: thresholds that move with x."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinal_objectives import AllThreshold, CumulativeLink, ImmediateThreshold
from ordinal_objectives.links import LINKS

LOSSES = (AllThreshold, ImmediateThreshold)


def problem(seed, n_classes, n=40, scale=3.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, n_classes - 1)) * scale, rng.integers(0, n_classes, n)


@pytest.mark.parametrize("make", LOSSES)
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


@pytest.mark.parametrize("make", LOSSES)
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


@pytest.mark.parametrize("make", LOSSES)
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


def test_the_cumulative_link_refuses_shifts():
    for call in (CumulativeLink().margin_proba, CumulativeLink().margin_cumulative_proba):
        with pytest.raises(ValueError, match=r"cumulative_link.*proportional=False"):
            call([[0.0, 1.0]])
    with pytest.raises(ValueError, match=r"cumulative_link.*proportional=False"):
        CumulativeLink().margin_derivatives([[0.0, 1.0]], [1])


@pytest.mark.parametrize("margins", [[0.0, 1.0], [[np.nan, 1.0]], np.empty((3, 0))])
def test_margins_are_checked(margins):
    with pytest.raises(ValueError, match="margins"):
        AllThreshold().margin_proba(margins)
