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
