"""The numbers behind the corrections in docs/theory.md."""

from __future__ import annotations

import numpy as np
import pytest

from ordinal_objectives.decision import decide
from ordinal_objectives.losses import AllThreshold


def logistic(d):
    """Return loss, slope, curvature and sharp majorising curvature of log(1 + exp(d))."""
    s = 1 / (1 + np.exp(-d))
    return np.log1p(np.exp(d)), s, s * (1 - s), np.tanh(d / 2) / (2 * d)


def test_the_printed_form_falls_below_the_loss():
    value, slope, e, c = logistic(3.0)
    x = -6.0  # from d to -d, half by the leaf and half by the threshold
    step = np.array([x / 2, -x / 2])
    below = value + slope * x + step @ np.array([[c, -e], [-e, c]]) @ step / 2
    touching = value + slope * x + c * x**2 / 2
    truth = logistic(-3.0)[0]
    assert below == pytest.approx(-0.903, abs=5e-4)
    assert touching == pytest.approx(truth, abs=1e-12)
    assert truth == pytest.approx(0.049, abs=5e-4)


def test_half_of_the_majoriser_bounds_the_printed_form():
    for d in np.linspace(0.01, 30.0, 200):
        _, _, e, c = logistic(d)
        difference = np.array([[c, -e], [-e, c]]) - np.array([[c, -c], [-c, c]]) / 2
        assert np.linalg.eigvalsh(difference).min() >= -1e-15
        assert e < c


def test_majorised_steps_converge_at_the_rate_that_the_curvatures_give():
    rng = np.random.default_rng(0)
    score = 3 * rng.normal(size=400)
    y = (score + rng.logistic(size=400) > 0.5).astype(np.int32)
    loss = AllThreshold()
    theta, path = np.zeros(1), []
    for _ in range(60):
        path.append(theta[0])
        # A threshold moves against the score.
        theta = theta + loss.gradient(score, y, theta).sum() / loss.hessian(score, y, theta, "majorized").sum()
    exact, majorised = (loss.hessian(score, y, theta, kind).sum() for kind in ("exact", "majorized"))
    factor = 1 - exact / majorised
    errors = np.abs(np.array(path) - theta[0])
    assert 0.1 < factor < 0.9
    settled = errors[4:12]
    np.testing.assert_allclose(settled[1:] / settled[:-1], factor, rtol=0.02)
    values = [loss.value(score, y, np.array([one])).sum() for one in path]
    assert (np.diff(values) <= 1e-9).all()


def test_a_score_at_a_threshold_belongs_to_the_lower_class():
    theta = np.array([-1.0, 0.5, 2.0])
    proba = AllThreshold().predict_proba(theta, theta)
    np.testing.assert_array_equal(decide(proba, "median"), [0, 1, 2])


def test_both_blocks_of_the_joint_hessian_have_the_sign_of_the_cross_terms():
    """Equation (3.8): a common shift of score and thresholds changes nothing, so with +L' the rows add up to 0."""
    rng = np.random.default_rng(1)
    n_rows, theta, leaf = 60, np.array([-1.0, 0.3, 1.5]), np.arange(60) % 3
    score, y = rng.normal(size=n_rows), rng.integers(0, 4, n_rows).astype(np.int32)
    loss = AllThreshold()
    of_leaves = np.equal.outer(leaf, np.arange(3)).astype(float)

    def value(beta):
        return loss.value(score + of_leaves @ beta[:3], y, theta + beta[3:]).sum()

    h, n = 1e-3, 6
    shifts = h * np.eye(n)
    corners = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    H = np.array(
        [[sum(s * t * value(s * a + t * b) for s, t in corners) / (4 * h * h) for b in shifts] for a in shifts]
    )
    L = of_leaves.T @ loss.cross_terms(score, y, theta)
    np.testing.assert_allclose(H[:3, 3:], L, atol=1e-4)
    np.testing.assert_allclose(H[3:, :3], L.T, atol=1e-4)
    np.testing.assert_allclose(H.sum(axis=1), 0.0, atol=1e-3)
    printed_with_a_minus = H.copy()
    printed_with_a_minus[3:, :3] *= -1
    assert np.abs(printed_with_a_minus.sum(axis=1)).max() > 1.0
