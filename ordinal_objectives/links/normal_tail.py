"""Tails of the normal distribution without cancellation, for the probit link."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from ordinal_objectives.links.base import FloatArray

LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_CONTINUED_FRACTION_FROM = 5.0
_CERTAIN = 37.0


def mills_ratio(t: FloatArray) -> FloatArray:
    """R(t) = Phi(-t) / phi(t); inf below t = -37.6, where double precision ends."""
    with np.errstate(over="ignore"):
        return np.asarray(np.sqrt(np.pi / 2) * special.erfcx(t / np.sqrt(2)))


def hazard_excess(t: FloatArray) -> FloatArray:
    """1 / R(t) - t: positive, and about 1 / t for large t, where the difference would cancel."""
    far = np.maximum(t, _CONTINUED_FRACTION_FROM)
    fraction = far
    for level in range(30, 1, -1):
        fraction = far + level / fraction
    near = np.minimum(t, _CONTINUED_FRACTION_FROM)
    return np.where(t > _CONTINUED_FRACTION_FROM, 1 / fraction, 1 / mills_ratio(near) - near)


def interval_terms(lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, ...]:
    """-log[Phi(b) - Phi(a)] and its derivatives, in the order of `IntervalTerms`.

    For X normal and restricted to (a, b), the derivative along the shift is E[X], and the mixed ones are
    phi(a)/P (E[X] - a) and phi(b)/P (b - E[X]).

    Parameters
    ----------
    lower, upper : ndarray of float64, finite, lower < upper
    """
    # Reflected so that the midpoint is not positive: the left tail is the one with small numbers.
    flip = lower + upper > 0
    a, b = np.where(flip, -upper, lower), np.where(flip, -lower, upper)
    narrow = (b - a) * np.maximum(1.0, -(a + b) / 2) <= 2
    terms = np.empty((6, *lower.shape))
    terms[:, narrow] = _narrow(a[narrow], b[narrow])
    terms[:, ~narrow] = _wide(a[~narrow], b[~narrow])
    value, d_a, d_b, d_shift, d_a_shift, d_b_shift = terms
    return (
        value,
        np.where(flip, -d_b, d_a),
        np.where(flip, -d_a, d_b),
        np.where(flip, -d_shift, d_shift),
        np.where(flip, d_b_shift, d_a_shift),
        np.where(flip, d_a_shift, d_b_shift),
    )


def _narrow(a: FloatArray, b: FloatArray) -> tuple[FloatArray, ...]:
    """Gauss-Legendre sums of the density over (a, b): all terms positive, so close ends keep all digits."""
    middle, half = (a + b) / 2, (b - a) / 2
    step = half[:, None] * _NODES
    weight = _WEIGHTS * np.exp(-middle[:, None] * step - 0.5 * step**2)
    mass = weight.sum(axis=1)
    mean = weight @ _NODES / mass
    log_scale = -0.5 * half**2 - np.log(half * mass)
    rate_a, rate_b = np.exp(middle * half + log_scale), np.exp(-middle * half + log_scale)
    value = 0.5 * middle**2 + LOG_SQRT_2PI - np.log(half * mass)
    return (
        value,
        rate_a,
        -rate_b,
        middle + half * mean,
        rate_a * half * (1 + mean),
        rate_b * half * (1 - mean),
    )


def _wide(a: FloatArray, b: FloatArray) -> tuple[FloatArray, ...]:
    """Mills ratios, scaled by phi(b); b is clipped to 37, where Phi(b) is 1 to 300 digits."""
    b = np.minimum(b, _CERTAIN)
    exponent = (b - a) * (a + b) / 2
    decay = np.exp(exponent)
    ratio_a, ratio_b = mills_ratio(-a), mills_ratio(-b)
    excess_a, excess_b = hazard_excess(-a), hazard_excess(-b)
    mass = ratio_b - decay * ratio_a
    # Divides first: the ratios reach 1e297, and their products with a large b - a would overflow.
    share_a, share_b = decay * ratio_a / mass, ratio_b / mass
    a_term = share_b * ((b - a) - excess_b) + share_a * excess_a
    b_term = share_b * excess_b - share_a * (excess_a + (b - a))
    outside = special.ndtr(a) + special.ndtr(-np.maximum(b, 0.0))
    value = np.where(b > 0, -np.log1p(-outside), 0.5 * b * b + LOG_SQRT_2PI - np.log(mass))
    return value, decay / mass, -1 / mass, np.expm1(exponent) / mass, decay / mass * a_term, b_term / mass
