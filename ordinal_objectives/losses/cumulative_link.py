"""The likelihood of the cumulative link model, proportional odds with the logit."""

from __future__ import annotations

import numpy as np

from ordinal_objectives.links import FloatArray, IntervalTerms, Link, Logit
from ordinal_objectives.losses.base import OrdinalLoss, beside_label, sum_of_higher
from ordinal_objectives.losses.formulas import CodeArray
from ordinal_objectives.losses.quantities import Curvatures, RowDerivatives
from ordinal_objectives.utils.shared_docs import documented


@documented
class CumulativeLink(OrdinalLoss):
    """Negative log-likelihood of P(y <= k) = G(theta_k - f) [1]_.

    l_i = -log[G(theta_y - f_i) - G(theta_{y-1} - f_i)] with theta_{-1} = -inf and theta_{K-1} = inf. Its
    Hessian in the thresholds is tridiagonal. With the logit it is the immediate-threshold loss minus
    log[1 - exp(-(theta_y - theta_{y-1}))], a term free of f; the majorised Hessian replaces the curvature
    of the first part alone.

    Parameters
    ----------
    <<link>>

    References
    ----------
    .. [1] P. McCullagh, "Regression models for ordinal data", JRSS B 42 (1980), 109-142.

    Examples
    --------
    >>> CumulativeLink().value([0.0], [1], [-1.0, 1.0]).round(4)
    array([0.7719])
    """

    name = "cumulative_link"
    ordered = True
    strictly_ordered = True
    _why_no_shifts = "rows whose thresholds cross have no likelihood"

    def _row_derivatives(self, f: FloatArray, y: CodeArray, thresholds: FloatArray) -> RowDerivatives:
        terms = self._interval(f, y, thresholds)
        below, above = np.flatnonzero(y > 0), np.flatnonzero(y < len(thresholds))
        inner = np.intersect1d(below, above)
        threshold_gradient, curvature, cross = np.zeros((3, len(f), len(thresholds)))
        curvature_next = np.zeros((len(f), len(thresholds) - 1))
        threshold_gradient[below, y[below] - 1] = terms.d_lower[below]
        threshold_gradient[above, y[above]] = terms.d_upper[above]
        curvature[below, y[below] - 1] = terms.d_lower2[below]
        curvature[above, y[above]] = terms.d_upper2[above]
        curvature_next[inner, y[inner] - 1] = terms.d_cross[inner]
        cross[below, y[below] - 1] = -terms.d_lower_shift[below]
        cross[above, y[above]] = -terms.d_upper_shift[above]
        return RowDerivatives(terms.value, -terms.d_shift, threshold_gradient, curvature, curvature_next, cross)

    def _interval(self, f: FloatArray, y: CodeArray, thresholds: FloatArray) -> IntervalTerms:
        self.check_gaps(thresholds, np.bincount(y, minlength=len(thresholds) + 1).astype(np.float64))
        ends = np.concatenate([[-np.inf], thresholds, [np.inf]])
        lower, upper = ends[y] - f, ends[y + 1] - f
        # Far from the score, a narrow gap can round to 0 although the thresholds differ.
        return self.link.interval(lower, np.maximum(upper, np.nextafter(lower, np.inf)))

    def _majorized(self, f: FloatArray, y: CodeArray, thresholds: FloatArray) -> Curvatures:
        sides = np.where(beside_label(y, len(thresholds)), self.link.sharp_curvature(f[:, None] - thresholds), 0.0)
        off_diagonal = self._row_derivatives(f, y, thresholds).curvature_next
        diagonal = sides.copy()
        diagonal[:, 1:] -= off_diagonal
        diagonal[:, :-1] -= off_diagonal
        return Curvatures(sides.sum(axis=1), diagonal, off_diagonal)

    def _floored(self, rows: RowDerivatives, y: CodeArray) -> tuple[Curvatures, int]:
        floor = self.curvature_floor
        low = rows.hessian < floor
        low_diagonal = beside_label(y, rows.curvature.shape[1]) & (rows.curvature < floor)
        curvatures = Curvatures(
            np.where(low, floor, rows.hessian),
            np.where(low_diagonal, floor, rows.curvature),
            rows.curvature_next,
        )
        return curvatures, int(low.sum() + low_diagonal.sum())

    def _majorizes(self, link: Link) -> bool:
        return type(link) is Logit

    @property
    def highest_order(self) -> int:
        """4 with the logit, where the loss is a sum over thresholds plus a term free of the score."""
        return 4 if type(self.link) is Logit else 2

    def higher(self, f: FloatArray, y: CodeArray, thresholds: FloatArray) -> FloatArray:
        """Third and fourth derivatives in the score, (n_samples, 2)."""
        return sum_of_higher(self.link, thresholds - f[:, None], y, beside_label(y, len(thresholds)))
