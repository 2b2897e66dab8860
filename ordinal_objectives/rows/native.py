"""The native pass over the rows: gradients, Hessians and the sums that the threshold step needs.

:mod:`ordinal_objectives.losses` holds the same quantities in readable NumPy; the tests compare the two.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives import _core
from ordinal_objectives.losses import LeafSums, OrdinalLoss, RoundStatistics, check_order
from ordinal_objectives.rows.checked_rows import CheckedRows, as_round_sums
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.utils.validation import check_thresholds

# The lanes clip a score to within 80 of every threshold. Up to this spread of thresholds that changes nothing, since
# sigma is 0 or 1 in float32 from half of it on; wider thresholds, as on separable data, need float64.
_WIDEST = 40.0
# Their float32 scores are relative to the middle of the thresholds, which float32 rounds by at most 1/2 up to here.
_FARTHEST = 1e7


class RowStatistics(CheckedRows):
    """One pass over a fixed set of rows, as often as needed: the kernel behind every adapter.

    For the losses and links of this package; :class:`.reference.ReferenceRows` is for others.

    Labels and weights are checked and stored once; each call costs one native pass. The arrays of the
    result are reused by the next call, so copy what must outlive it.

    Parameters
    ----------
    loss, y, n_classes, sample_weight, precision, n_threads, part
        See :class:`.checked_rows.CheckedRows`.
    """

    def __init__(
        self,
        loss: OrdinalLoss,
        y: ArrayLike,
        n_classes: int,
        sample_weight: ArrayLike | None = None,
        *,
        precision: str = "float32",
        n_threads: int | None = None,
        part: bool = False,
    ) -> None:
        self._codes = loss.check_native()
        super().__init__(loss, y, n_classes, sample_weight, precision=precision, n_threads=n_threads, part=part)
        self._gradient: NDArray[Any] = np.empty(self.y.shape[0], self._computed)
        self._hessian: NDArray[Any] = np.empty(self.y.shape[0], self._computed)
        self._latest: tuple[NDArray[Any], NDArray[np.float64], bool] | None = None

    def __call__(
        self,
        raw_prediction: ArrayLike,
        thresholds: ArrayLike,
        hessian: str = "majorized",
        *,
        want_loss: bool = True,
        want_cross: bool = False,
        side_by_side: NDArray[np.float32] | None = None,
        cross_of: NDArray[np.int32] | None = None,
        higher: NDArray[np.float32] | None = None,
    ) -> RoundStatistics:
        """Return the statistics of the rows at a score and a set of thresholds.

        Parameters
        ----------
        raw_prediction : array-like of float32 or float64, shape (n_samples,)
            The score f.
        thresholds : array-like of float, shape (n_classes - 1,)
            Cut points theta, increasing unless the loss is immediate-threshold.
        hessian : {"majorized", "exact"}, default="majorized"
            Curvature in the rows' Hessian and in the thresholds'.
        want_loss, want_cross : bool
            Whether to compute the loss sum (0 otherwise), and the cross terms L row by row
            ((n_samples, n_classes - 1); an empty (0, n_classes - 1) array otherwise).
        side_by_side : ndarray of float32, shape (n_samples, at least 2 + number of cross terms), or None
            Rows to be filled with gradient, Hessian and, if wanted, cross terms; other columns stay as they
            are. The result's cross terms are then a view of it.
        cross_of : ndarray of int32, or None
            Thresholds whose cross terms are wanted, in the order of the result's columns; None for all.
        higher : ndarray of float32, shape (n_samples, 1 or 2), or None
            To be filled with the third, and the fourth, derivatives in the score, weighted
            (:func:`ordinal_objectives.losses.higher_derivatives`). Logit link and exact Hessian alone.

        Returns
        -------
        RoundStatistics
            All entries weighted. Gradient and Hessian are float32 with ``precision="float32"``.

        Raises
        ------
        ValueError
            If shapes disagree, a value is not finite, the thresholds are unordered where the loss needs
            order, or the loss and link have no such Hessian.
        """
        self.loss.check_hessian(hessian)
        check_order(self.loss, hessian, 2 if higher is None else 4)
        theta = check_thresholds(thresholds, self.n_classes, ordered=self.loss.ordered)
        self.loss.check_gaps(theta, self.class_weights)
        raw = self._check_scores(raw_prediction)
        if self._lanes and (np.ptp(theta) > _WIDEST or np.abs(theta).max() > _FARTHEST):
            self._latest = None
            wide = self._in_double(raw, theta, hessian, want_loss=want_loss, want_cross=want_cross, higher=higher)
            narrow = {name: getattr(wide, name).astype(np.float32) for name in ("gradient", "hessian", "cross")}
            return self._filled(self._chosen(replace(wide, **narrow), cross_of), side_by_side)
        n_columns = self.n_classes - 1 if cross_of is None or not self._lanes else len(cross_of)
        in_place = side_by_side is not None and self._lanes
        if in_place and want_cross:
            assert side_by_side is not None
            cross: NDArray[Any] = side_by_side[:, 2 : 2 + n_columns]
        else:
            cross = np.empty((self.y.shape[0] if want_cross else 0, n_columns), self._gradient.dtype)
        common = (
            raw,
            self.y,
            theta,
            self._weight,
            self._gradient,
            self._hessian,
            cross if want_cross else None,
        )
        majorized = hessian == "majorized"
        threads = effective_n_threads(self.n_threads)
        kernel: Any = _core.logit_statistics if self._lanes else _core.link_statistics
        beside = side_by_side[:, :2] if in_place and side_by_side is not None else None
        places = None
        if cross_of is not None and self._lanes:
            places = np.full(self.n_classes - 1, -1, np.int32)
            places[cross_of] = np.arange(len(cross_of))
        # The kernels write their own type.
        written = higher if higher is None or self._lanes else np.empty(higher.shape)
        outputs = beside, places, written
        sums = kernel(*common, *self._codes, majorized, want_loss, self._limit, threads, *outputs, self._costs)
        if higher is not None and written is not higher:
            higher[:] = written
        self._latest = (raw, theta, majorized)
        result = self._result(sums, cross)
        if places is None:
            result = self._chosen(result, cross_of)
        return self._filled(result, None if in_place else side_by_side)

    @staticmethod
    def _chosen(statistics: RoundStatistics, cross_of: NDArray[np.int32] | None) -> RoundStatistics:
        return statistics if cross_of is None else replace(statistics, cross=statistics.cross[:, cross_of])

    @staticmethod
    def _filled(statistics: RoundStatistics, side_by_side: NDArray[np.float32] | None) -> RoundStatistics:
        if side_by_side is not None:
            side_by_side[:, 0], side_by_side[:, 1] = statistics.gradient, statistics.hessian
            if len(statistics.cross):
                side_by_side[:, 2 : 2 + statistics.cross.shape[1]] = statistics.cross
        return statistics

    @cached_property
    def _in_double(self) -> RowStatistics:
        return RowStatistics(
            self.loss, self.y, self.n_classes, self._weight, precision="float64", n_threads=self.n_threads, part=True
        )

    def leaf_sums(self, leaves: NDArray[np.int32], n_leaves: int) -> LeafSums:
        """Return the sums of the latest call over the leaves of a tree, added up in float64.

        The score that was passed to that call must not have changed since.

        Parameters
        ----------
        leaves : ndarray of int32, shape (n_samples,)
            Leaf of each row, 0..n_leaves - 1.
        n_leaves : int

        Returns
        -------
        LeafSums
            The same bytes for any number of threads.

        Raises
        ------
        ValueError
            If there was no call yet, or `leaves` has the wrong shape or holds other numbers.
        """
        if self._latest is None and "_in_double" in vars(self):
            return self._in_double.leaf_sums(leaves, n_leaves)
        if self._latest is None:
            raise ValueError("leaf_sums belongs to a score and thresholds: call the object with these first")
        leaves = self.check_leaves(leaves, n_leaves)
        raw, theta, majorized = self._latest
        sums = np.zeros((n_leaves, self.n_classes + 1))
        if not leaves.size:  # a worker's, that has no rows
            return LeafSums(sums[:, 0], sums[:, 1], sums[:, 2:])
        kernel: Any = _core.leaf_sums
        kernel(
            raw,
            self.y,
            theta,
            self._weight,
            self._gradient,
            self._hessian,
            leaves,
            sums,
            *self._codes,
            majorized,
            self._limit,
            effective_n_threads(self.n_threads),
            self._costs,
        )
        return LeafSums(sums[:, 0], sums[:, 1], sums[:, 2:])

    def _check_scores(self, raw_prediction: ArrayLike) -> NDArray[Any]:
        raw = np.asarray(raw_prediction)
        if raw.dtype not in (np.float32, np.float64):
            raw = raw.astype(np.float64)
        if raw.shape != self.y.shape:
            raise ValueError(f"raw_prediction must have shape {self.y.shape}, one score a row; got {raw.shape}")
        return np.require(raw, requirements=["C", "A"])

    def _result(self, sums: dict[str, Any], cross: NDArray[Any]) -> RoundStatistics:
        of_all = as_round_sums(sums)
        if not np.isfinite(of_all.threshold_gradient).all():
            # A NaN score makes every threshold's sum NaN: checking the sums is free, checking the scores would cost a
            # pass.
            raise ValueError("raw_prediction holds NaN, or overflows the link; scores must be numbers")
        self._check_derivatives(self._gradient, self._hessian)
        return RoundStatistics(
            gradient=self._gradient.astype(self._dtype, copy=False),
            hessian=self._hessian.astype(self._dtype, copy=False),
            cross=cross.astype(self._dtype, copy=False),
            sums=of_all,
        )
