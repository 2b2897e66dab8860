"""The Cauchy link."""

from __future__ import annotations

import numpy as np

from ordinal_objectives.links.base import FloatArray, IntervalTerms, Link


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
        bend = np.where(
            gap < 0.1, small / 3 - small**2 / 30 + small**3 / 840 - small**4 / 45360, sin_gap / gap - cos_gap
        )
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
