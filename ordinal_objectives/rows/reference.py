"""The passes over rows in NumPy, for losses and links that the native kernels do not know: slow, and for any of them.

The methods of the loss compute everything in float64; gradient and Hessian of the rows are returned as float32.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ordinal_objectives.aliases import ArrayLike, FloatArray, IntArray, NDArray
from ordinal_objectives.losses import LeafSums, OrdinalLoss, RoundStatistics, RoundSums
from ordinal_objectives.rows.checked_rows import CheckedPass
from ordinal_objectives.utils.validation import as_floats, check_finite, check_shape, check_thresholds


class _Reference(CheckedPass):
    """Base of both passes, which take one thread; parameters are those of :class:`.checked_rows.CheckedPass`."""

    def __init__(self, loss: OrdinalLoss, *args: Any, **options: Any) -> None:
        super().__init__(loss, *args, lanes=False, **options)
        loss.check_own(self.n_classes)
        self._weights = np.ones(len(self.y)) if self._weight is None else self._weight.astype(np.float64, copy=False)

    def _checked(self, scores: ArrayLike, shape: tuple[int, ...], name: str) -> FloatArray:
        scores = as_floats(scores, name=name)
        check_shape(name, scores, shape)
        check_finite(scores, name, "scores must be finite numbers")
        return scores

    def _in_float32(self, statistics: RoundStatistics) -> RoundStatistics:
        """Return statistics whose arrays over rows are float32.

        Formulas of a user's own are checked once, near the thresholds: far away a loss may be infinite, but not NaN.
        """
        sums = statistics.sums
        if not sums.loss > -np.inf:
            raise ValueError(f"value of {self.loss.owner} must be finite at finite scores; got {sums.loss}")
        parts = statistics.gradient, statistics.hessian, sums.threshold_gradient, sums.threshold_hessian
        if not all(np.isfinite(part).all() for part in parts):
            raise ValueError(f"derivatives of {self.loss.owner} must be finite at finite scores")
        if statistics.gradient.dtype != self._dtype:
            self._check_derivatives(statistics.gradient, statistics.hessian)
        return replace(
            statistics,
            gradient=statistics.gradient.astype(self._dtype),
            hessian=statistics.hessian.astype(self._dtype),
            cross=np.empty((0, self.n_classes - 1), self._dtype),
        )

    def _by_leaf(self, leaves: IntArray, n_leaves: int, *of_rows: FloatArray) -> list[Any]:
        """Return the sums of arrays over the rows of each leaf."""
        leaves = np.ascontiguousarray(leaves, dtype=np.int32)
        self.check_leaves(leaves, n_leaves)
        sums = [np.zeros((n_leaves, *array.shape[1:])) for array in of_rows]
        for total, array in zip(sums, of_rows, strict=True):
            np.add.at(total, leaves, array)
        return sums


class ReferenceRowPass(_Reference):
    """One pass over rows with one score each: :class:`.native.RowStatistics` for any loss and link.

    Examples
    --------
    >>> from ordinal_objectives import AllThreshold
    >>> from ordinal_objectives.rows.reference import ReferenceRowPass
    >>> rows = ReferenceRowPass(AllThreshold(), [0, 2], 3)
    >>> rows([0.0, 0.5], [-1.0, 1.0]).threshold_gradient.round(4)
    array([-0.5486,  0.3535])
    """

    def __call__(
        self, raw_prediction: ArrayLike, thresholds: ArrayLike, hessian: str = "majorized", *, want_loss: bool = True
    ) -> RoundStatistics:
        """Return the statistics of the rows at a score and a set of thresholds; the loss comes with them anyway."""
        self.loss.check_hessian(hessian)
        theta = check_thresholds(thresholds, self.n_classes, ordered=self.loss.ordered)
        self.loss.check_gaps(theta, self.class_weights)
        f = self._checked(raw_prediction, self.y.shape, "raw_prediction")
        self._latest = self.loss.statistics_of(f, self.y, theta, self._weights, hessian)
        return self._in_float32(self._latest)

    def leaf_sums(self, leaves: IntArray, n_leaves: int) -> LeafSums:
        """Return the sums of the latest call over the leaves of a tree."""
        now: RoundStatistics = self._latest_of("a score")
        return LeafSums(*self._by_leaf(leaves, n_leaves, now.gradient, now.hessian, now.cross))


class ReferenceMarginPass(_Reference):
    """One pass over rows with a score for each threshold: :class:`.native.MarginStatistics` for any loss and link.

    Parameters
    ----------
    in_doubles : bool, default=False
        Scores are float64 anyway.

    Attributes
    ----------
    scores_dtype : type
        float64.
    """

    scores_dtype: type = np.float64
    shares_scores = False

    def __init__(self, loss: OrdinalLoss, *args: object, in_doubles: bool = False, **options: object) -> None:
        loss.check_shifts()
        super().__init__(loss, *args, **options)

    def __call__(
        self,
        scores: ArrayLike,
        thresholds: ArrayLike,
        hessian: str = "majorized",
        *,
        want_loss: bool = True,
        want_rows: bool = True,
        columns: NDArray[np.float32] | None = None,
    ) -> RoundStatistics:
        """Return the statistics of the rows at scores and thresholds; loss and derivatives come with them anyway.

        ``columns``, (n_samples, 2 (n_classes - 1) or more), is filled with the gradients of every threshold, then the
        Hessians.
        """
        self.loss.check_hessian(hessian)
        theta = check_thresholds(thresholds, self.n_classes, ordered=False)
        margins = self._margins(scores, theta)
        found = self.loss.margins_of(margins, self.y, hessian)
        weights = self._weights[:, np.newaxis]
        gradient, curvature = weights * found.gradient, weights * found.hessian
        self._latest = gradient, curvature
        if columns is not None:
            columns[:, : len(theta)], columns[:, len(theta) : 2 * len(theta)] = gradient, curvature
        beyond = np.abs(margins) > self.loss.link.argument_limit
        sums = RoundSums(
            loss=float(self._weights @ found.value),
            threshold_gradient=-gradient.sum(axis=0),
            threshold_hessian=curvature.sum(axis=0),
            threshold_hessian_off=np.zeros(len(theta) - 1),
            n_floored=found.n_floored,
            n_clipped=int(beyond.any(axis=1).sum()),
        )
        return self._in_float32(RoundStatistics(gradient.sum(axis=1), curvature.sum(axis=1), gradient[:0], sums))

    def leaf_sums(self, leaves: IntArray, n_leaves: int) -> tuple[FloatArray, FloatArray]:
        """Return G and H of every leaf and threshold at the latest call, float64 (n_leaves, n_classes - 1) each."""
        gradient, hessian = self._by_leaf(leaves, n_leaves, *self._latest_of("scores"))
        return gradient, hessian

    def loss_of_prediction(self, scores: ArrayLike, thresholds: ArrayLike) -> float:
        """Return the loss of the margins as predictions use them: sorted in each row, if the loss has an order."""
        margins = self._margins(scores, check_thresholds(thresholds, self.n_classes, ordered=False))
        if self.loss.ordered:
            margins = np.sort(margins, axis=1)
        return float(self._weights @ self.loss.margins_of(margins, self.y, "exact").value)

    def _margins(self, scores: ArrayLike, theta: FloatArray) -> FloatArray:
        return theta - self._checked(scores, (len(self.y), len(theta)), "scores")
