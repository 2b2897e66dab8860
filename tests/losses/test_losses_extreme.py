"""Links and losses against 50 digits and more, where double precision formulas usually break."""

from __future__ import annotations

from functools import cache

import mpmath as mp
import numpy as np
import pytest

from ordinal_objectives.links import LINKS
from ordinal_objectives.losses import LOSSES, get_loss

pytestmark = pytest.mark.slow

RTOL = 1e-9
# Below it a double has no digits left to compare.
TINY = 1e-290

POINTS = [0.0, 1e-8, 1e-3, 0.25, 0.5, 1.5, 3.0, 4.9, 5.1, 6.0, 20.0, 37.0, 37.67, 40.0, 100.0, 300.0, 700.0]
POINTS = sorted({*POINTS, *(-x for x in POINTS)})
INTERVALS = [
    (center - gap / 2, center + gap / 2)
    for center in (0.0, 0.25, -3.0, 30.0, -600.0)
    for gap in (1e-8, 1e-2, 1.0, 1.99, 10.0)
]

# Ends on both sides of 0, and as far from each other as the probability of 1/2 and the link's formulas change.
STRADDLING = [(-2.0 - d, b) for d in (1e-3, 0.1, 1.0, 38.0) for b in (1e-9, 0.02, 1.9)]
STRADDLING += [(-b, -a) for a, b in STRADDLING[::2]] + [(-2.1, -1e-9), (-2.1, 0.0), (-300.0, 40.0), (-40.0, 300.0)]
INTERVALS += STRADDLING

each_link = pytest.mark.parametrize("link", LINKS)


def inverse(link, x):
    """G(x), which the difference quotients ask for at the same points again."""
    return inverse_of(link, x, mp.mp.prec)


@cache
def inverse_of(link, x, _precision):
    if link == "logit":
        return 1 / (1 + mp.exp(-x))
    if link == "probit":
        return mp.erfc(-x / mp.sqrt(2)) / 2
    if link == "cloglog":
        return -mp.expm1(-mp.exp(x))
    if link == "loglog":
        return mp.exp(-mp.exp(-x))
    if link == "cauchit":
        return mp.atan2(1, -x) / mp.pi
    raise NotImplementedError(f"G of the link {link!r} is to be written here, in high precision")


def minus_log_inverse(link, x):
    """-log G(x), with G close to 1 taken from its small complement."""
    if link == "loglog":
        return mp.exp(-x)
    if x > 0:
        return -mp.log1p(-inverse(LINKS[link].mirror, -x))
    return -mp.log(inverse(link, x))


def minus_log_interval(link, a, b):
    """-log[G(b) - G(a)], subtracted in the lighter tail."""
    if link == "loglog":
        return minus_log_interval("cloglog", -b, -a)
    if link == "cloglog":
        return mp.exp(a) - mp.log(-mp.expm1(-(mp.exp(b) - mp.exp(a))))
    if a + b > 0:
        return minus_log_interval(link, -b, -a)
    return -mp.log(inverse(link, b) - inverse(link, a))


def digits(link, *ends):
    # G of the probit falls like exp(-x^2 / 2): only relative digits count there, and they are expensive.
    return mp.workdps(60 if link == "probit" or max(map(abs, ends)) < 50 else 340)


@cache
def exact_pair(link, x):
    """-log G and its first two derivatives."""
    with digits(link, x):
        return tuple(float(mp.diff(lambda z: minus_log_inverse(link, z), mp.mpf(x), order)) for order in range(3))


@cache
def exact_interval(link, a, b):
    """-log[G(b) - G(a)] and its derivatives, by difference quotients that have digits to spare."""
    with digits(link, a, b):
        a, b = mp.mpf(a), mp.mpf(b)
        h = (b - a) * mp.mpf(10) ** -25
        orders = {"value": (0, 0), "a": (1, 0), "b": (0, 1), "aa": (2, 0), "bb": (0, 2), "ab": (1, 1)}
        with mp.extradps(100):
            d = {key: mp.diff(lambda p, q: minus_log_interval(link, p, q), (a, b), n, h=h) for key, n in orders.items()}
            d |= {"shift": d["a"] + d["b"], "a_shift": d["aa"] + d["ab"], "b_shift": d["bb"] + d["ab"]}
        return {key: float(value) for key, value in d.items()}


def assert_close(got, expected, scale=0.0, rtol=RTOL):
    """`scale` is the size of what was added up: at a zero of the sum no relative digits are left."""
    expected = np.asarray(expected)
    assert np.isfinite(got).all()
    tolerance = rtol * np.abs(expected) + 1e-14 * np.abs(scale) + TINY
    wrong = np.abs(got - expected) > tolerance
    assert not wrong.any(), f"got {np.asarray(got)[wrong]}, expected {expected[wrong]}"


@each_link
def test_pair_losses(link):
    for side, sign in (("lower", 1), ("upper", -1)):
        name = link if side == "lower" else LINKS[link].mirror
        value, d1, d2 = getattr(LINKS[link], side)(np.array(POINTS))
        expected = np.array([exact_pair(name, sign * x) for x in POINTS])
        assert_close(value, expected[:, 0], rtol=1e-12)
        assert_close(d1, sign * expected[:, 1], rtol=1e-12)
        assert_close(d2, expected[:, 2], rtol=1e-12)


@each_link
def test_intervals(link):
    a, b = np.array(INTERVALS).T
    terms = LINKS[link].interval(a, b)
    exact = [exact_interval(link, *ends) for ends in INTERVALS]
    names = {
        "value": "value",
        "d_lower": "a",
        "d_upper": "b",
        "d_lower2": "aa",
        "d_upper2": "bb",
        "d_cross": "ab",
        "d_lower_shift": "a_shift",
        "d_upper_shift": "b_shift",
    }
    for attribute, key in names.items():
        assert_close(getattr(terms, attribute), [one[key] for one in exact], rtol=1e-11)
    # The gradient in the score passes through zero between the thresholds.
    assert_close(terms.d_shift, [one["shift"] for one in exact], scale=1.0, rtol=1e-11)


THRESHOLDS = (-0.75, 0.5)
SCORES = (-699.25, -300.0, -40.0, -1.0, 0.0, 0.125, 2.0, 40.0, 300.0, 699.0)


def exact_row(loss, link, f, y):
    """Value, gradient, Hessian, threshold gradients, and the sizes of what the gradient adds up."""
    x = [theta - f for theta in THRESHOLDS]
    mirror = LINKS[link].mirror
    if loss == "cumulative_link" and y == 1:
        d = exact_interval(link, *x)
        return d["value"], -d["shift"], d["a_shift"] + d["b_shift"], [d["a"], d["b"]], 1 + abs(d["shift"])
    value = gradient = hessian = size = 0.0
    slopes = [0.0, 0.0]
    for k in (0, 1):
        if loss not in ("all_threshold", "cost_weighted") and y not in (k, k + 1):
            continue
        # Quadratic costs of three classes: 1, 3 / 1, 1 / 3, 1, divided by their mean.
        weight = ((1, 3), (1, 1), (3, 1))[y][k] * 0.6 if loss == "cost_weighted" else 1.0
        if y > k:
            pair = exact_pair(mirror, -x[k])
            slopes[k] = -weight * pair[1]
        else:
            pair = exact_pair(link, x[k])
            slopes[k] = weight * pair[1]
        value += weight * pair[0]
        gradient -= slopes[k]
        hessian += weight * pair[2]
        size += abs(slopes[k])
    return value, gradient, hessian, slopes, size


@each_link
@pytest.mark.parametrize("loss", LOSSES)
def test_losses(loss, link):
    cases = [(f, y) for f in SCORES for y in range(3)]
    f, y = np.array([case[0] for case in cases]), np.array([case[1] for case in cases])
    rows = get_loss(loss, link).row_derivatives(f, y, THRESHOLDS)
    value, gradient, hessian, slopes, size = map(
        np.array, zip(*(exact_row(loss, link, *case) for case in cases), strict=True)
    )
    assert_close(rows.value, value)
    assert_close(rows.gradient, gradient, size)
    assert_close(rows.hessian, hessian, size if link == "cauchit" else 0.0)
    assert_close(rows.threshold_gradient, slopes)
    assert all(np.isfinite(array).all() for array in vars(rows).values())


@each_link
@pytest.mark.parametrize("loss", LOSSES)
def test_beyond_double_precision(loss, link):
    # exp(701) is about 1e304: held there and counted, and nothing overflows.
    loss = get_loss(loss, link)
    f, y = np.tile([-1e5, -701.0, 0.0, 701.0, 1e5], 3), np.repeat([0, 1, 2], 5)
    for hessian in filter(loss.supports, ("exact", "majorized")):
        statistics = loss.round_statistics(f, y, THRESHOLDS, hessian=hessian)
        assert statistics.n_clipped == (12 if link in ("cloglog", "loglog") else 0)
        for name, quantity in {**vars(statistics), **vars(statistics.sums)}.items():
            if name != "sums":
                assert np.isfinite(quantity).all(), name
