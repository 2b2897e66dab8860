"""The normal link."""

from __future__ import annotations

import numpy as np
from scipy import special

from ordinal_objectives.links import normal_tail
from ordinal_objectives.links.base import FloatArray, IntervalTerms, Link


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
        return np.exp(-0.5 * x * x - normal_tail.LOG_SQRT_2PI)

    def density_derivative(self, x: FloatArray) -> FloatArray:
        """-x phi(x)."""
        return -x * self.density(x)

    def lower(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """-log Phi, -m and m (m + x), with the hazard m = phi / Phi."""
        hazard = 1 / normal_tail.mills_ratio(-x)
        return -self.log_inverse(x), -hazard, hazard * normal_tail.hazard_excess(-x)

    def _link(self, p: FloatArray) -> FloatArray:
        return np.asarray(special.ndtri(p))

    def _interval(self, lower: FloatArray, upper: FloatArray) -> IntervalTerms:
        return IntervalTerms(*normal_tail.interval_terms(lower, upper))
