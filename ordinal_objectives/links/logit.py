"""The logistic link."""

from __future__ import annotations

import numpy as np
from scipy import special

from ordinal_objectives.links.base import FloatArray, IntervalTerms, Link


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
        below, below_1, below_2 = self.below(upper)
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
