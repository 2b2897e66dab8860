"""The links of this package, each accurate in its tails and between close thresholds."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from ordinal_objectives.aliases import FloatArray
from ordinal_objectives.links.base import IntervalTerms, Link

_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_CONTINUED_FRACTION_FROM = 5.0
_CERTAIN = 37.0


class Logit(Link):
    """G(x) = 1 / (1 + exp(-x)); -log G has curvature G (1 - G) <= 1/4.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.links import Logit
    >>> Logit().inverse(np.array([-1.0, 0.0, 1.0])).round(3)
    array([0.269, 0.5  , 0.731])
    """

    name = "logit"
    mirror = "logit"
    curvature_bound = 0.25
    highest_order = 4

    def inverse(self, x: FloatArray) -> FloatArray:
        """G(x)."""
        return np.asarray(special.expit(x))

    def log_inverse(self, x: FloatArray) -> FloatArray:
        """Log G(x)."""
        return np.asarray(special.log_expit(x))

    def density(self, x: FloatArray) -> FloatArray:
        """G (1 - G)."""
        return self.inverse(x) * self.inverse(-x)

    def density_derivative(self, x: FloatArray) -> FloatArray:
        """G (1 - G) (1 - 2 G)."""
        return -self.density(x) * np.tanh(0.5 * x)

    def lower(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """-log G, G - 1, G (1 - G)."""
        return -self.log_inverse(x), -self.inverse(-x), self.density(x)

    def higher(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """E (1 - 2 G) and e (1 - 6 e), with e = G (1 - G)."""
        e = self.density(x)
        return self.density_derivative(x), e * (1.0 - 6.0 * e)

    def _link(self, p: FloatArray) -> FloatArray:
        return np.asarray(special.logit(p))

    def _interval(self, lower: FloatArray, upper: FloatArray) -> IntervalTerms:
        # G(b) - G(a) = G(b) (1 - G(a)) (1 - exp(a - b)): two thresholds and a gap that no shift changes.
        share = -np.expm1(lower - upper)
        pull = np.exp(lower - upper) / share
        below, below_1, below_2 = self.lower(upper)
        above, above_1, above_2 = self.upper(lower)
        return IntervalTerms(
            value=below + above - np.log(share),
            d_lower=above_1 + pull,
            d_upper=below_1 - pull,
            d_shift=above_1 + below_1,
            d_lower_shift=above_2,
            d_upper_shift=below_2,
        )

    def sharp_curvature(self, d: FloatArray) -> FloatArray:
        """Tanh(d / 2) / (2 d), and 1/4 at 0: even in d, so that the side of the label drops out."""
        d = np.asarray(d, dtype=np.float64)
        near = np.abs(d) < 0.01
        d2 = np.where(near, d, 0.0) ** 2
        series = 0.25 - d2 / 48 + d2**2 / 480
        safe = np.where(near, 1.0, d)
        return np.where(near, series, np.tanh(0.5 * safe) / (2 * safe))


class Probit(Link):
    """G(x) = Phi(x), the standard normal distribution; -log G has curvature below 1.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.links import Probit
    >>> Probit().inverse(np.array([-1.0, 0.0, 1.0])).round(3)
    array([0.159, 0.5  , 0.841])
    """

    name = "probit"
    mirror = "probit"
    curvature_bound = 1.0

    def inverse(self, x: FloatArray) -> FloatArray:
        """G(x)."""
        return np.asarray(special.ndtr(x))

    def log_inverse(self, x: FloatArray) -> FloatArray:
        """Log G(x)."""
        return np.asarray(special.log_ndtr(x))

    def density(self, x: FloatArray) -> FloatArray:
        """Phi(x)' = exp(-x^2 / 2) / sqrt(2 pi)."""
        return np.exp(-0.5 * x * x - _LOG_SQRT_2PI)

    def density_derivative(self, x: FloatArray) -> FloatArray:
        """-x phi(x)."""
        return -x * self.density(x)

    def lower(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """-log Phi, -m and m (m + x), with the hazard m = phi / Phi."""
        hazard = 1 / _mills_ratio(-x)
        return -self.log_inverse(x), -hazard, hazard * _hazard_excess(-x)

    def _link(self, p: FloatArray) -> FloatArray:
        return np.asarray(special.ndtri(p))

    def _interval(self, lower: FloatArray, upper: FloatArray) -> IntervalTerms:
        return IntervalTerms(*_interval_terms(lower, upper))


def _mills_ratio(t: FloatArray) -> FloatArray:
    """R(t) = Phi(-t) / phi(t); inf below t = -37.6, where double precision ends."""
    with np.errstate(over="ignore"):
        return np.asarray(np.sqrt(np.pi / 2) * special.erfcx(t / np.sqrt(2)))


def _hazard_excess(t: FloatArray) -> FloatArray:
    """1 / R(t) - t: positive, and about 1 / t for large t, where the difference would cancel."""
    far = np.maximum(t, _CONTINUED_FRACTION_FROM)
    fraction = far
    for level in range(30, 1, -1):
        fraction = far + level / fraction
    near = np.minimum(t, _CONTINUED_FRACTION_FROM)
    return np.where(t > _CONTINUED_FRACTION_FROM, 1 / fraction, 1 / _mills_ratio(near) - near)


def _interval_terms(lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, ...]:
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
    value = 0.5 * middle**2 + _LOG_SQRT_2PI - np.log(half * mass)
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
    ratio_a, ratio_b = _mills_ratio(-a), _mills_ratio(-b)
    excess_a, excess_b = _hazard_excess(-a), _hazard_excess(-b)
    mass = ratio_b - decay * ratio_a
    # Divides first: the ratios reach 1e297, and their products with a large b - a would overflow.
    share_a, share_b = decay * ratio_a / mass, ratio_b / mass
    a_term = share_b * ((b - a) - excess_b) + share_a * excess_a
    b_term = share_b * excess_b - share_a * (excess_a + (b - a))
    outside = special.ndtr(a) + special.ndtr(-np.maximum(b, 0.0))
    value = np.where(b > 0, -np.log1p(-outside), 0.5 * b * b + _LOG_SQRT_2PI - np.log(mass))
    return value, decay / mass, -1 / mass, np.expm1(exponent) / mass, decay / mass * a_term, b_term / mass


class Cloglog(Link):
    """G(x) = 1 - exp(-exp(x)), the complementary log-log link (proportional hazards).

    The curvature of -log(1 - G) is exp(x): it has no bound, so no quadratic majoriser exists. Arguments of exp are
    clipped to 700.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.links import Cloglog
    >>> Cloglog().inverse(np.array([-1.0, 0.0, 1.0])).round(3)
    array([0.308, 0.632, 0.934])
    """

    name = "cloglog"
    mirror = "loglog"
    argument_limit = 700.0

    def _exp(self, x: FloatArray) -> FloatArray:
        return np.exp(np.minimum(x, self.argument_limit))

    def inverse(self, x: FloatArray) -> FloatArray:
        """G(x)."""
        return -np.expm1(-self._exp(x))

    def log_inverse(self, x: FloatArray) -> FloatArray:
        """Log G(x)."""
        u = self._exp(x)
        return np.where(x < 0, x + np.log(special.exprel(-u)), np.log1p(-np.exp(-np.maximum(u, 1.0))))

    def density(self, x: FloatArray) -> FloatArray:
        """exp(x - exp(x))."""
        return np.exp(x - self._exp(x))

    def density_derivative(self, x: FloatArray) -> FloatArray:
        """exp(x - exp(x)) (1 - exp(x))."""
        return -self.density(x) * np.expm1(np.minimum(x, self.argument_limit))

    def lower(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """-log G, -r and r (u + r - 1), with u = exp(x) and r = u / (exp(u) - 1)."""
        u = self._exp(x)
        ratio = 1 / special.exprel(u)
        return -self.log_inverse(x), -ratio, ratio * _excess_over_one(u)

    def _link(self, p: FloatArray) -> FloatArray:
        return np.log(-np.log1p(-p))

    def _interval(self, lower: FloatArray, upper: FloatArray) -> IntervalTerms:
        # With A = exp(a) and D = exp(b) - exp(a): -log P = A - log(1 - exp(-D)).
        gap = upper - lower
        start = self._exp(lower)
        share = -np.expm1(-gap)
        log_width = np.minimum(upper + np.log(share), self.argument_limit)
        width = np.exp(log_width)
        ratio = 1 / special.exprel(width)
        d_upper = -ratio / share
        d_lower = start + ratio * np.exp(-gap) / share
        short = np.log(special.exprel(-np.minimum(width, 1.0))) + log_width
        wide = np.log1p(-np.exp(-np.maximum(width, 1.0)))
        excess = _excess_over_one(width)
        return IntervalTerms(
            value=start - np.where(width < 1, short, wide),
            d_lower=d_lower,
            d_upper=d_upper,
            d_shift=start - ratio,
            d_lower_shift=d_lower * np.where(width < 0.25, width - excess, 1 - ratio),
            d_upper_shift=-d_upper * excess,
        )


class Loglog(Link):
    """G(x) = exp(-exp(-x)), the mirror of the complementary log-log link.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.links import Loglog
    >>> Loglog().inverse(np.array([-1.0, 0.0, 1.0])).round(3)
    array([0.066, 0.368, 0.692])
    """

    name = "loglog"
    mirror = "cloglog"
    argument_limit = Cloglog.argument_limit

    def _exp(self, x: FloatArray) -> FloatArray:
        return np.exp(-np.maximum(x, -self.argument_limit))

    def inverse(self, x: FloatArray) -> FloatArray:
        """G(x)."""
        return np.exp(-self._exp(x))

    def log_inverse(self, x: FloatArray) -> FloatArray:
        """Log G(x)."""
        return -self._exp(x)

    def density(self, x: FloatArray) -> FloatArray:
        """exp(-x - exp(-x))."""
        return self.mirror_link.density(-x)

    def density_derivative(self, x: FloatArray) -> FloatArray:
        """exp(-x - exp(-x)) (exp(-x) - 1)."""
        return -self.mirror_link.density_derivative(-x)

    def lower(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """exp(-x), -exp(-x), exp(-x)."""
        u = self._exp(x)
        return u, -u, u.copy()

    def _link(self, p: FloatArray) -> FloatArray:
        return -np.log(-np.log(p))

    def _interval(self, lower: FloatArray, upper: FloatArray) -> IntervalTerms:
        mirrored = self.mirror_link.interval(-upper, -lower)
        return IntervalTerms(
            value=mirrored.value,
            d_lower=-mirrored.d_upper,
            d_upper=-mirrored.d_lower,
            d_shift=-mirrored.d_shift,
            d_lower_shift=mirrored.d_upper_shift,
            d_upper_shift=mirrored.d_lower_shift,
        )


def _excess_over_one(u: FloatArray) -> FloatArray:
    """U / (1 - exp(-u)) - 1 for u >= 0; the Bernoulli series where the difference would cancel."""
    near = np.minimum(u, 0.25)
    square = near * near
    tail = 1 / 12 - square * (1 / 720 - square * (1 / 30240 - square * (1 / 1209600 - square / 47900160)))
    return np.where(u < 0.25, 0.5 * near + square * tail, u + 1 / special.exprel(u) - 1)


class Cauchit(Link):
    """G(x) = 1/2 + atan(x) / pi, with heavy tails; -log G is not convex.

    Its curvature lies in [-`curvature_floor`, `curvature_bound`], reached at -1.10278 and 0.28539.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.links import Cauchit
    >>> Cauchit().inverse(np.array([-1.0, 0.0, 1.0])).round(3)
    array([0.25, 0.5 , 0.75])
    """

    name = "cauchit"
    mirror = "cauchit"
    curvature_bound = 0.5141347958443855761
    curvature_floor = 0.2343941370007245618

    def inverse(self, x: FloatArray) -> FloatArray:
        """G(x)."""
        return np.arctan2(1.0, -x) / np.pi

    def log_inverse(self, x: FloatArray) -> FloatArray:
        """Log G(x)."""
        below = np.arctan2(1.0, -np.minimum(x, 0.0)) / np.pi
        above = np.arctan2(1.0, np.maximum(x, 0.0)) / np.pi
        return np.where(x > 0, np.log1p(-above), np.log(below))

    def density(self, x: FloatArray) -> FloatArray:
        """1 / (pi (1 + x^2))."""
        return np.hypot(1.0, x) ** -2 / np.pi

    def density_derivative(self, x: FloatArray) -> FloatArray:
        """-2 x / (pi (1 + x^2)^2)."""
        cosine = 1 / np.hypot(1.0, x)
        return -2 * (x * cosine) * cosine**3 / np.pi

    def lower(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """-log G, -r and r (r + 2 x / (1 + x^2)), with r = G' / G."""
        cosine = 1 / np.hypot(1.0, x)
        rate = cosine**2 / np.arctan2(1.0, -x)
        return -self.log_inverse(x), -rate, rate * (rate + 2 * (x * cosine) * cosine)

    def _link(self, p: FloatArray) -> FloatArray:
        middle = np.tan(np.pi * (p - 0.5))
        tail = np.minimum(p, 1 - p)
        return np.where(tail < 0.25, np.sign(p - 0.5) / np.tan(np.pi * tail), middle)

    def _interval(self, lower: FloatArray, upper: FloatArray) -> IntervalTerms:
        # Angles alpha = atan a, beta = atan b: everything is a function of beta - alpha and beta + alpha.
        cos_a, cos_b = 1 / np.hypot(1.0, lower), 1 / np.hypot(1.0, upper)
        product = (lower * cos_a) * (upper * cos_b)
        sin_gap = (upper - lower) * cos_b * cos_a
        cos_gap = cos_a * cos_b + product
        gap = np.arctan2(sin_gap, cos_gap)
        sin_sum = (lower * cos_a) * cos_b + (upper * cos_b) * cos_a
        cos_sum = cos_a * cos_b - product
        small = np.where(gap < 0.1, gap, 0.0) ** 2
        series = small / 3 - small**2 / 30 + small**3 / 840 - small**4 / 45360
        bend = np.where(gap < 0.1, series, sin_gap / gap - cos_gap)
        d_lower, d_upper = cos_a**2 / gap, -(cos_b**2) / gap
        outside = np.minimum(self.inverse(lower) + self.complement(upper), 0.5)
        return IntervalTerms(
            value=np.where(gap > np.pi / 2, -np.log1p(-outside), -np.log(gap / np.pi)),
            d_lower=d_lower,
            d_upper=d_upper,
            d_shift=sin_sum * (sin_gap / gap),
            d_lower_shift=d_lower * (sin_sum * bend + cos_sum * sin_gap),
            d_upper_shift=d_upper * (sin_sum * bend - cos_sum * sin_gap),
        )
