"""Losses that are sums over thresholds of the binary loss of "label above the threshold"."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from scipy import special

from ordinal_objectives.links import FloatArray, Link
from ordinal_objectives.losses.base import OrdinalLoss, beside_label, sum_of_higher
from ordinal_objectives.losses.formulas import CodeArray
from ordinal_objectives.losses.initial_thresholds import ClassWeights, InitialThresholds, from_neighbours
from ordinal_objectives.losses.quantities import Curvatures, RowDerivatives
from ordinal_objectives.utils.shared_docs import documented


class ThresholdSum(OrdinalLoss):
    """Base of the losses l_i = sum_k w_ik times -log G(theta_k - f_i) if y_i <= k, else -log[1 - G(theta_k - f_i)]."""

    takes_shifts = True

    @abstractmethod
    def _weights(self, y: CodeArray, n_thresholds: int) -> FloatArray:
        """How much each threshold counts in the sum of each row, (n_samples, n_thresholds)."""

    def _row_derivatives(self, f: FloatArray, y: CodeArray, thresholds: FloatArray) -> RowDerivatives:
        return self._of_margins(thresholds - f[:, None], y)

    def _of_margins(self, x: FloatArray, y: CodeArray) -> RowDerivatives:
        weights = self._weights(y, x.shape[1])
        counted = weights > 0.0
        above = y[:, None] > np.arange(x.shape[1])
        terms = np.zeros((3, *x.shape))
        for side, function in ((counted & ~above, self.link.below), (counted & above, self.link.upper)):
            terms[:, side] = function(x[side])
        value, slope, curvature = terms * weights
        return RowDerivatives(
            value=value.sum(axis=1),
            gradient=-slope.sum(axis=1),
            threshold_gradient=slope,
            curvature=curvature,
            curvature_next=np.zeros((len(x), x.shape[1] - 1)),
            cross=-curvature,
        )

    def _majorized(self, f: FloatArray, y: CodeArray, thresholds: FloatArray) -> Curvatures:
        return self._majorized_of_margins(thresholds - f[:, None], y)

    def _majorized_of_margins(self, x: FloatArray, y: CodeArray) -> Curvatures:
        return _diagonal(self._weights(y, x.shape[1]) * self.link.sharp_curvature(-x))

    def _floored(self, rows: RowDerivatives, y: CodeArray) -> tuple[Curvatures, int]:
        floor = self.curvature_floor * self._weights(y, rows.curvature.shape[1])
        low = rows.curvature < floor
        return _diagonal(np.where(low, floor, rows.curvature)), int(low.sum())

    def _majorizes(self, link: Link) -> bool:
        return link.curvature_bound is not None

    @property
    def highest_order(self) -> int:
        """That of the link."""
        return self.link.highest_order

    def higher(self, f: FloatArray, y: CodeArray, thresholds: FloatArray) -> FloatArray:
        """Third and fourth derivatives in the score, (n_samples, 2)."""
        return sum_of_higher(self.link, thresholds - f[:, None], y, self._weights(y, len(thresholds)))


@documented
class AllThreshold(ThresholdSum):
    """Sum over all thresholds of the binary loss of "label above the threshold" [1]_.

    l_i = sum_k psi(s_ik (f_i - theta_k)) with s_ik = 1 if y_i > k, else -1, and psi = -log G for a symmetric
    link. With two classes and the logit it is the logistic loss. Fisher consistent for the absolute
    error [2]_.

    Parameters
    ----------
    <<link>>

    References
    ----------
    .. [1] J. Rennie and N. Srebro, "Loss functions for preference levels: regression with discrete ordered
       labels", IJCAI Multidisciplinary Workshop on Advances in Preference Handling (2005).
    .. [2] F. Pedregosa, F. Bach and A. Gramfort, "On the consistency of ordinal regression methods", JMLR 18
       (2017), 55:1-35.

    Examples
    --------
    >>> AllThreshold().value([0.0], [1], [-1.0, 1.0]).round(4)
    array([0.6265])
    """

    name = "all_threshold"
    ordered = True

    def _weights(self, y: CodeArray, n_thresholds: int) -> FloatArray:
        return np.ones((len(y), n_thresholds))


@documented
class ImmediateThreshold(ThresholdSum):
    """The all-threshold loss restricted to the two thresholds next to the label [1]_.

    It models adjacent categories, P(y = k + 1) / P(y = k) = [1 - G(theta_k - f)] / G(theta_k - f), not a
    cumulative probability. Its thresholds need no order.

    Parameters
    ----------
    <<link>>

    References
    ----------
    .. [1] J. Rennie and N. Srebro, "Loss functions for preference levels: regression with discrete ordered
       labels", IJCAI Multidisciplinary Workshop on Advances in Preference Handling (2005).

    Examples
    --------
    >>> ImmediateThreshold().predict_proba([0.0], [0.0, 0.0]).round(4)
    array([[0.3333, 0.3333, 0.3333]])
    """

    name = "immediate_threshold"
    ordered = False

    def start(self, classes: ClassWeights) -> InitialThresholds:
        """Thresholds before the first tree, those of each class and the next."""
        return from_neighbours(self.link, classes)

    def _weights(self, y: CodeArray, n_thresholds: int) -> FloatArray:
        return beside_label(y, n_thresholds).astype(np.float64)

    def _proba(self, x: FloatArray) -> FloatArray:
        """P(y = k): products of adjacent odds, normalised."""
        log_odds = self.link.log_complement(x) - self.link.log_inverse(x)
        return np.asarray(special.softmax(_log_products(log_odds), axis=1))

    def _cumulative_proba(self, x: FloatArray) -> FloatArray:
        return np.minimum(np.cumsum(self._proba(x), axis=1)[:, :-1], 1.0)


def _log_products(log_odds: FloatArray) -> FloatArray:
    """Logarithms of the products of the first 0, 1, ... odds, relative to the largest product of each row.

    Summed from the largest outwards: log-odds reach 1e17 and more, and a sum from one end that is so large would lose
    the digits of the odds between the likely classes.
    """
    # Twice the largest double is infinite, and the difference of infinities is no number.
    steps = np.clip(log_odds.T, -1e300, 1e300)
    n_products = len(steps) + 1
    log = np.zeros((n_products, steps.shape[1]))
    largest = np.zeros(steps.shape[1], dtype=np.intp)
    for j in range(1, n_products):
        log[j] = log[j - 1] + steps[j - 1]
        higher = log[j] > 0.0
        log[j, higher], largest[higher] = 0.0, j
    for j in range(n_products - 2, -1, -1):
        log[j] = np.where(j < largest, log[j + 1] - steps[j], log[j])
    return log.T


def _diagonal(curvature: FloatArray) -> Curvatures:
    """Curvatures of a sum of functions of one threshold each."""
    n_samples, n_thresholds = curvature.shape
    return Curvatures(curvature.sum(axis=1), curvature, np.zeros((n_samples, n_thresholds - 1)))
