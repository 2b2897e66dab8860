"""Third and fourth derivatives of the logit's losses against finite differences and mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from ordinal_objectives.losses import LOSSES, check_order, get_loss, higher_derivatives

each_loss = pytest.mark.parametrize("loss", LOSSES)


def problem(n_classes=4, n_rows=60):
    rng = np.random.default_rng(n_classes)
    thresholds = np.cumsum(rng.uniform(0.2, 1.5, n_classes - 1)) - 1.0
    return 3.0 * rng.normal(size=n_rows), rng.integers(0, n_classes, n_rows), thresholds


@each_loss
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_they_are_differences_of_the_hessian(loss, n_classes):
    loss, (f, y, thresholds), step = get_loss(loss), problem(n_classes), 1e-3

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
        (("all_threshold", "logit"), "majorized", 3, "order=3 .* needs hessian='exact'; got 'majorized'"),
        (("all_threshold", "probit"), "exact", 4, "order=4 needs link='logit'; got 'probit'"),
        (("cumulative_link", "cauchit"), "exact", 3, "order=3 needs link='logit'; got 'cauchit'"),
    ],
)
def test_what_has_no_such_derivatives_is_refused(loss, hessian, order, message):
    with pytest.raises(ValueError, match=message):
        check_order(get_loss(*loss), hessian, order)
    check_order(get_loss(*loss), hessian, 2)


def test_rows_are_checked():
    with pytest.raises(ValueError, match="y holds labels outside the declared classes"):
        higher_derivatives(get_loss("all_threshold"), [0.0], [2], [0.0])
