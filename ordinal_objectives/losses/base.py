"""Base class of the ordinal losses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.links import FloatArray, Link, get_link
from ordinal_objectives.losses.formulas import CodeArray
from ordinal_objectives.losses.margins import MarginFunctions
from ordinal_objectives.losses.quantities import Curvatures, RoundStatistics, RoundSums, RowDerivatives
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import (
    as_floats,
    check_codes,
    check_number,
    check_sample_weight,
    check_thresholds,
)


@documented
class OrdinalLoss(MarginFunctions):
    """Loss of ordered labels y in 0..n_classes - 1, given a score f and n_classes - 1 thresholds theta.

    Parameters
    ----------
    <<link>>

    Attributes
    ----------
    name : str
    link : Link
    ordered : bool
        Whether the thresholds must not decrease, for the class probabilities to exist.
    strictly_ordered : bool
        Whether a class that has rows must lie between different thresholds, for its loss to be finite.
    takes_shifts : bool
        Whether the loss exists where thresholds move with x.
    highest_order : int
        Of the derivatives in the score: 2, or 4 with :meth:`higher`.
    curvature_floor : float
        Exact curvatures below it are raised to it; by default that of the link.

    Notes
    -----
    A loss of one's own needs `name`, `ordered` and ``_row_derivatives``: see docs/how_to/add_a_loss.md. Without a
    majoriser of its own, steps on the thresholds alone use its exact curvatures, and are halved where they raise the
    loss; those of the all-threshold loss are majorised wherever its link allows it, whatever ``hessian`` is.

    Methods take ``raw_prediction`` of shape (n_samples,), class codes ``y`` of that shape and ``thresholds``
    of shape (n_classes - 1,), and compute in float64. They raise ValueError where a length is wrong, a
    label is out of range, a value is not finite or a weight is negative.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.losses import AllThreshold
    >>> f, y, thresholds = np.array([-1.0, 0.2, 2.0]), np.array([0, 1, 2]), np.array([-0.5, 1.0])
    >>> loss = AllThreshold("logit")
    >>> loss.ordered, loss.takes_shifts
    (True, True)
    >>> loss.value(f, y, thresholds).round(3)
    array([0.601, 0.774, 0.392])
    """

    def __init__(self, link: str | Link = "logit") -> None:
        self.link = get_link(link)
        check_number("curvature_floor of a link", self.link.curvature_floor, at_least=0.0)

    def threshold_costs(self, n_classes: int) -> FloatArray | None:
        """Return what each threshold weighs for a row of each class, (n_classes, n_classes - 1); None for 1."""
        return None

    def check_decision(self, rule: str, cost_matrix: ArrayLike | None) -> None:
        """Raise ValueError unless a rule, or a matrix of costs, may decide by this loss's class probabilities."""

    def as_parameters(self) -> dict[str, Any]:
        """Return ``loss``, ``link`` and ``training_cost``, from which :func:`.get_loss` makes it again."""
        return {"loss": self.identity, "link": self.link.identity, "training_cost": "absolute"}

    def check_gaps(self, thresholds: FloatArray, class_weights: FloatArray) -> None:
        """Raise if a strictly ordered loss has rows of a class whose two thresholds are equal.

        Parameters
        ----------
        thresholds : ndarray of shape (n_classes - 1,)
            Lowest first.
        class_weights : ndarray of shape (n_classes,)
            Weight, or number, of the rows of each class.

        Raises
        ------
        ValueError
            Naming the class.
        """
        crowded = 1 + np.flatnonzero((np.diff(thresholds) <= 0) & (class_weights[1:-1] > 0))
        if self.strictly_ordered and crowded.size:
            raise ValueError(
                f"thresholds must increase strictly around every class that has rows for loss {self.name!r}; "
                f"got {thresholds.tolist()} with rows of class {crowded[0]}"
            )

    def row_derivatives(self, raw_prediction: ArrayLike, y: ArrayLike, thresholds: ArrayLike) -> RowDerivatives:
        """Loss of each row and its exact derivatives, unweighted.

        Examples
        --------
        >>> from ordinal_objectives import AllThreshold
        >>> AllThreshold().row_derivatives([0.0, 0.5], [0, 2], [-1.0, 1.0]).gradient.round(4)
        array([ 1.    , -0.8049])
        """
        return self.rows_of(*_check_rows(raw_prediction, y, thresholds))

    def value(self, raw_prediction: ArrayLike, y: ArrayLike, thresholds: ArrayLike) -> FloatArray:
        """l_i, shape (n_samples,)."""
        return self.row_derivatives(raw_prediction, y, thresholds).value

    def gradient(self, raw_prediction: ArrayLike, y: ArrayLike, thresholds: ArrayLike) -> FloatArray:
        """g_i = dl_i/df_i, shape (n_samples,)."""
        return self.row_derivatives(raw_prediction, y, thresholds).gradient

    def hessian(
        self, raw_prediction: ArrayLike, y: ArrayLike, thresholds: ArrayLike, kind: str = "exact"
    ) -> FloatArray:
        """h_i, shape (n_samples,): d2l_i/df_i2 without a floor ("exact"), or its majoriser ("majorized")."""
        return self._curvatures(*_check_rows(raw_prediction, y, thresholds), kind).hessian

    def cross_terms(self, raw_prediction: ArrayLike, y: ArrayLike, thresholds: ArrayLike) -> FloatArray:
        """d2l_i/df_i dtheta_k, shape (n_samples, n_classes - 1)."""
        return self.row_derivatives(raw_prediction, y, thresholds).cross

    def threshold_gradient(
        self, raw_prediction: ArrayLike, y: ArrayLike, thresholds: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> FloatArray:
        """u, shape (n_classes - 1,): the weighted sum of dl_i/dtheta_k."""
        rows = self.row_derivatives(raw_prediction, y, thresholds)
        return _weights(sample_weight, len(rows.value)) @ rows.threshold_gradient

    def threshold_hessian(
        self,
        raw_prediction: ArrayLike,
        y: ArrayLike,
        thresholds: ArrayLike,
        sample_weight: ArrayLike | None = None,
        kind: str = "exact",
    ) -> tuple[FloatArray, FloatArray]:
        """V: its diagonal (n_classes - 1,) and the entries beside it (n_classes - 2,), without a floor."""
        f, y, thresholds = _check_rows(raw_prediction, y, thresholds)
        weight = _weights(sample_weight, len(f))
        curvatures = self._curvatures(f, y, thresholds, kind)
        return weight @ curvatures.diagonal, weight @ curvatures.off_diagonal

    def round_statistics(
        self,
        raw_prediction: ArrayLike,
        y: ArrayLike,
        thresholds: ArrayLike,
        sample_weight: ArrayLike | None = None,
        hessian: str = "majorized",
    ) -> RoundStatistics:
        """All statistics of one round, weighted: the reference of the native kernels.

        Parameters
        ----------
        raw_prediction : array-like of shape (n_samples,)
            Scores f(x).
        y : array-like of int of shape (n_samples,)
            Class codes 0..n_classes - 1.
        thresholds : array-like of shape (n_classes - 1,)
            Lowest first, on the scale of the scores.
        sample_weight : array-like of shape (n_samples,), default=None
            Not negative; None weighs every row 1.
        hessian : {"majorized", "exact"}, default="majorized"
            With "exact", curvatures below the link's `curvature_floor` are raised to it and counted.

        Returns
        -------
        RoundStatistics

        Raises
        ------
        ValueError
            If the loss has no such Hessian with its link (see `check_hessian`).

        Examples
        --------
        >>> from ordinal_objectives import AllThreshold
        >>> statistics = AllThreshold().round_statistics([0.0, 0.5], [0, 2], [-1.0, 1.0])
        >>> statistics.threshold_gradient.round(4), round(statistics.loss, 4)
        (array([-0.5486,  0.3535]), 2.802)
        """
        f, y, thresholds = _check_rows(raw_prediction, y, thresholds)
        weight = _weights(sample_weight, len(f))
        self.check_hessian(hessian)
        return self.statistics_of(f, y, thresholds, weight, hessian)

    def rows_of(self, f: FloatArray, y: CodeArray, thresholds: FloatArray) -> RowDerivatives:
        """Row derivatives of checked arrays, checked themselves; see :meth:`row_derivatives`."""
        rows = self._looked_at((len(f), len(thresholds)), self._row_derivatives, f, y, thresholds)
        if np.isinf(rows.value).any():
            self._check_near(rows.value, thresholds - f[:, None], y)
        return rows

    def curvatures_of(
        self, rows: RowDerivatives, f: FloatArray, y: CodeArray, thresholds: FloatArray, hessian: str
    ) -> tuple[Curvatures, int]:
        """Curvatures of a step, majorised or exact and floored, and how many were raised to the floor."""
        return self._curvatures_of(rows, y, hessian, self._majorized, f, y, thresholds)

    def statistics_of(
        self, f: FloatArray, y: CodeArray, thresholds: FloatArray, weight: FloatArray, hessian: str
    ) -> RoundStatistics:
        """Statistics of checked arrays, of which there may be none; see :meth:`round_statistics`."""
        rows = self.rows_of(f, y, thresholds)
        curvatures, n_floored = self.curvatures_of(rows, f, y, thresholds, hessian)
        beyond = np.abs(f[:, None] - thresholds) > self.link.argument_limit
        return RoundStatistics(
            gradient=weight * rows.gradient,
            hessian=weight * curvatures.hessian,
            cross=weight[:, None] * rows.cross,
            sums=RoundSums(
                loss=float(weight @ rows.value),
                threshold_gradient=weight @ rows.threshold_gradient,
                threshold_hessian=weight @ curvatures.diagonal,
                threshold_hessian_off=weight @ curvatures.off_diagonal,
                n_floored=n_floored,
                n_clipped=int(beyond.any(axis=1).sum()),
            ),
        )

    def cumulative_proba(self, raw_prediction: ArrayLike, thresholds: ArrayLike) -> FloatArray:
        """P(y <= k), shape (n_samples, n_classes - 1).

        Raises
        ------
        ValueError
            If the thresholds decrease somewhere and the loss needs them in order.
        """
        return self._said(self._cumulative_proba, self._distances(raw_prediction, thresholds))

    def predict_proba(self, raw_prediction: ArrayLike, thresholds: ArrayLike) -> FloatArray:
        """P(y = k), shape (n_samples, n_classes); never negative, and each row sums to one.

        Raises
        ------
        ValueError
            If the thresholds decrease somewhere and the loss needs them in order.

        Examples
        --------
        >>> from ordinal_objectives import CumulativeLink
        >>> CumulativeLink().predict_proba([0.0], [-1.0, 1.0]).round(4)
        array([[0.2689, 0.4621, 0.2689]])
        """
        return self._said(self._proba, self._distances(raw_prediction, thresholds))

    def _distances(self, raw_prediction: ArrayLike, thresholds: ArrayLike) -> FloatArray:
        """Return theta_k - f_i, shape (n_samples, n_classes - 1)."""
        thresholds = check_thresholds(thresholds, ordered=self.ordered)
        return thresholds - _check_scores(raw_prediction)[:, None]

    def _curvatures(self, f: FloatArray, y: CodeArray, thresholds: FloatArray, kind: str) -> Curvatures:
        self.check_hessian(kind)
        rows = self.rows_of(f, y, thresholds)
        if kind == "majorized":
            return self.curvatures_of(rows, f, y, thresholds, kind)[0]
        return Curvatures(rows.hessian, rows.curvature, rows.curvature_next)


def beside_label(y: CodeArray, n_thresholds: int) -> NDArray[np.bool_]:
    """Which thresholds lie next to each label, shape (n_samples, n_thresholds)."""
    k = np.arange(n_thresholds)
    return np.asarray((y[:, None] == k) | (y[:, None] == k + 1))


def _check_scores(raw_prediction: ArrayLike) -> FloatArray:
    f = as_floats(raw_prediction, name="raw_prediction")
    if f.ndim != 1:
        raise ValueError(f"raw_prediction must have shape (n_samples,); got {f.shape}")
    if not np.isfinite(f).all():
        raise ValueError("raw_prediction holds NaN or infinite values; scores must be finite")
    return f


def _check_rows(
    raw_prediction: ArrayLike, y: ArrayLike, thresholds: ArrayLike
) -> tuple[FloatArray, CodeArray, FloatArray]:
    # The loss after a partial step must be computable although thresholds may be out of order: order is not checked.
    theta = check_thresholds(thresholds, ordered=False)
    f, codes = _check_scores(raw_prediction), check_codes(y, len(theta) + 1)
    if f.shape != codes.shape:
        raise ValueError(f"raw_prediction must have shape {codes.shape}, one score a label; got {f.shape}")
    return f, codes, theta


def _weights(sample_weight: ArrayLike | None, n_samples: int) -> FloatArray:
    weight = check_sample_weight(sample_weight, n_samples)
    return np.ones(n_samples) if weight is None else weight


def sum_of_higher(link: Link, x: FloatArray, y: CodeArray, weights: NDArray[Any]) -> FloatArray:
    """Third and fourth derivatives in the score of a weighted sum over the thresholds, at margins x."""
    above = y[:, None] > np.arange(x.shape[1])
    third, fourth = np.where(above, link.mirror_link.higher(-x), link.higher(x))
    terms = np.where(weights > 0, (np.where(above, third, -third), fourth), 0.0) * weights
    return np.asarray(terms.sum(axis=2).T)
