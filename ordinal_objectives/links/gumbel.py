"""The complementary log-log link and its mirror, the log-log link: the two extreme value distributions."""

from __future__ import annotations

import numpy as np
from scipy import special

from ordinal_objectives.links.base import FloatArray, IntervalTerms, Link


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
