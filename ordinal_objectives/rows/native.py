"""The native passes over the rows: gradients, Hessians and the sums that the threshold step needs.

:class:`RowStatistics` has one score a row, :class:`MarginStatistics` one score f + v_k for every threshold k.
:mod:`ordinal_objectives.losses` holds the same quantities in readable NumPy; the tests compare the two.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ordinal_objectives import _core
from ordinal_objectives.aliases import ArrayLike, FloatArray, IntArray, NDArray, Params, RealArray
from ordinal_objectives.losses import HESSIANS, LeafSums, OrdinalLoss, RoundStatistics, RoundSums, check_order
from ordinal_objectives.rows.checked_rows import CheckedPass
from ordinal_objectives.utils.validation import check_shape, check_thresholds

# The lanes clip a score to within 80 of every threshold. Up to this spread of thresholds that changes nothing, since
# sigma is 0 or 1 in float32 from half of it on; wider thresholds, as on separable data, need float64.
_WIDEST = 40.0
# Their float32 scores are relative to the middle of the thresholds, which float32 rounds by at most 1/2 up to here.
_FARTHEST = 1e7
# float32 scores for each threshold are exact to 4e-6 up to here; rows that start farther away need float64.
_FARTHEST_MARGIN = 64.0
_COLUMNS = {"thresholds": 0, "score": 1, "cross": 2}
# What a margin pass fills beside its sums, by the kernel's names; None where it is not wanted.
_NO_OUTPUTS: Params = dict.fromkeys(("gradient", "hessian", "columns", "group", "leaves", "leaf_sums"))
_NO_OUTPUTS |= {"held": 0, "n_groups": 0}
_kernels: Any = _core


class _NativePass(CheckedPass):
    """Base of both passes: outputs that each call writes anew, and what the latest call was given."""

    _no_numbers: ClassVar[str]  # what is said of scores that are none

    def __init__(self, loss: OrdinalLoss, *args: Any, **options: Any) -> None:
        self._codes = loss.check_native()
        self._hessians = [kind for kind in HESSIANS if loss.supports(kind)]
        super().__init__(loss, *args, **options)
        self._gradient: RealArray = np.empty(self.y.shape[0], self._computed)
        self._hessian: RealArray = np.empty(self.y.shape[0], self._computed)

    def _result(
        self, sums: Params, gradient: RealArray, hessian: RealArray, cross: RealArray | None = None
    ) -> RoundStatistics:
        """Return what a pass computed. A NaN score makes the sum of every threshold NaN: no pass checks it."""
        arrays = {name: np.asarray(x) for name, x in sums.items() if isinstance(x, list)}
        found = RoundSums(**(sums | arrays))
        if not np.isfinite(found.threshold_gradient).all():
            raise ValueError(self._no_numbers)
        if gradient.dtype != self._dtype:
            self._check_derivatives(gradient, hessian)
        parts = gradient, hessian, np.empty((0, self.n_classes - 1)) if cross is None else cross
        gradient, hessian, cross = (array.astype(self._dtype, copy=False) for array in parts)
        return RoundStatistics(gradient, hessian, cross, found)


class RowStatistics(_NativePass):
    """One pass over a fixed set of rows, as often as needed: the kernel behind every adapter.

    For the losses and links of this package; :class:`.reference.ReferenceRowPass` is for others.

    Labels and weights are checked and stored once; each call costs one native pass. The arrays of the
    result are reused by the next call, so copy what must outlive it.

    Parameters
    ----------
    loss, y, n_classes, sample_weight, precision, n_threads, part
        See :class:`.checked_rows.CheckedPass`.
    """

    _no_numbers = "raw_prediction holds NaN, or overflows the link; scores must be numbers"

    def __call__(
        self,
        raw_prediction: ArrayLike,
        thresholds: ArrayLike,
        hessian: str = "majorized",
        *,
        want_loss: bool = True,
        want_cross: bool = False,
        side_by_side: NDArray[np.float32] | None = None,
        cross_of: IntArray | None = None,
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
            (:func:`ordinal_objectives.losses.higher_derivatives`). Logit link and exact Hessian only.

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
        if hessian not in self._hessians:
            self.loss.check_hessian(hessian)
        if higher is not None:
            check_order(self.loss, hessian, 4)
        theta = check_thresholds(thresholds, self.n_classes, ordered=self.loss.ordered)
        self.loss.check_gaps(theta, self.class_weights)
        raw = self._check_scores(raw_prediction)
        if self._lanes and _too_wide(theta):
            self._latest = None
            wide = self._in_double(raw, theta, hessian, want_loss=want_loss, want_cross=want_cross, higher=higher)
            narrow = {name: getattr(wide, name).astype(np.float32) for name in ("gradient", "hessian", "cross")}
            return self._written(replace(wide, **narrow), side_by_side, cross_of)
        # The lanes write what is wanted in place, other kernels all columns in their own type.
        beside = side_by_side if self._lanes else None
        places, n_columns = None, self.n_classes - 1
        if cross_of is not None and self._lanes:
            n_columns = len(cross_of)
            places = np.full(self.n_classes - 1, -1, np.int32)
            places[cross_of] = np.arange(n_columns)
        if beside is not None and want_cross:
            cross: RealArray = beside[:, 2 : 2 + n_columns]
        else:
            cross = np.empty((self.y.shape[0] if want_cross else 0, n_columns), self._computed)
        derivatives = higher if higher is None or self._lanes else np.empty(higher.shape)
        majorized = hessian == "majorized"
        rows = raw, self.y, theta, self._weight
        outputs = self._gradient, self._hessian, cross if want_cross else None
        asked = majorized, want_loss, self._limit, self.n_threads
        others = None if beside is None else beside[:, :2], places, derivatives, self._costs
        kernel = _kernels.logit_statistics if self._lanes else _kernels.link_statistics
        sums = kernel(*rows, *outputs, *self._codes, *asked, *others)
        if higher is not None and derivatives is not higher:
            higher[:] = derivatives
        self._latest = (raw, theta, majorized)
        result = self._result(sums, self._gradient, self._hessian, cross)
        return result if self._lanes else self._written(result, side_by_side, cross_of)

    def sums_of(
        self,
        rows: NDArray[np.uint32],
        raw_prediction: NDArray[Any],
        thresholds: FloatArray,
        hessian: str,
        light: NDArray[np.uint8] | None = None,
        factor: float = 1.0,
    ) -> RoundStatistics:
        """Return the sums over thresholds of some rows, without anything of the rows themselves.

        Parameters
        ----------
        rows : ndarray of uint32, shape (n_some,)
        raw_prediction : ndarray, shape (n_samples,)
            Of all rows.
        thresholds : ndarray of float64, shape (n_classes - 1,)
        hessian : {"majorized", "exact"}
        light : ndarray of uint8, shape (n_some,), or None
            Which of them count by the factor.
        factor : float
        """
        in_lanes = self._lanes and not _too_wide(thresholds)
        of_rows = self if in_lanes or not self._lanes else self._in_double
        nothing: NDArray[Any] = np.empty(0, of_rows._computed)
        given, outputs = (raw_prediction, self.y, thresholds, of_rows._weight), (nothing, nothing, None)
        asked = hessian == "majorized", False, of_rows._limit, self.n_threads
        counted: Params = {"costs": of_rows._costs, "rows": rows, "light": light, "factor": factor}
        kernel = _kernels.logit_statistics if in_lanes else _kernels.link_statistics
        sums = kernel(*given, *outputs, *self._codes, *asked, **counted)
        return self._result(sums, nothing.astype(self._dtype), nothing.astype(self._dtype))

    @staticmethod
    def _written(
        statistics: RoundStatistics, side_by_side: NDArray[np.float32] | None, cross_of: IntArray | None
    ) -> RoundStatistics:
        """Return statistics with the cross terms that are wanted, written into columns as well."""
        if cross_of is not None:
            statistics = replace(statistics, cross=statistics.cross[:, cross_of])
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

    def leaf_sums(self, leaves: IntArray, n_leaves: int, rows: NDArray[np.uint32] | None = None) -> LeafSums:
        """Return the sums of the latest call over the leaves of a tree, added up in float64.

        The score that was passed to that call must not have changed since.

        Parameters
        ----------
        leaves : ndarray of int32, shape (n_samples,)
            Leaf of each row, 0..n_leaves - 1.
        n_leaves : int
        rows : ndarray of uint32, shape (n_some,), or None, default=None
            Rows that are added up, None for all.

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
            return self._in_double.leaf_sums(leaves, n_leaves, rows)
        raw, theta, majorized = self._latest_of("a score")
        leaves = np.ascontiguousarray(leaves, dtype=np.int32)
        self.check_leaves(leaves, n_leaves)
        sums = np.zeros((n_leaves, self.n_classes + 1))
        if leaves.size:  # a worker may have no rows
            given = raw, self.y, theta, self._weight, self._gradient, self._hessian, leaves, sums
            _kernels.leaf_sums(*given, *self._codes, majorized, self._limit, self.n_threads, self._costs, rows)
        return LeafSums(sums[:, 0], sums[:, 1], sums[:, 2:])

    def _check_scores(self, raw_prediction: ArrayLike) -> RealArray:
        raw = np.asarray(raw_prediction)
        if raw.dtype not in (np.float32, np.float64):
            raw = raw.astype(np.float64)
        check_shape("raw_prediction", raw, self.y.shape)
        return np.require(raw, requirements=["C", "A"])


def _too_wide(thresholds: FloatArray) -> bool:
    """Tell whether thresholds lie too far apart, or too far from 0, for the lanes."""
    return bool(np.ptp(thresholds) > _WIDEST or np.abs(thresholds).max() > _FARTHEST)


class MarginStatistics(_NativePass):
    r"""One pass over a fixed set of rows with the scores f(x_i) + v_k(x_i), k = 0..n_classes - 2.

    A row's margins are :math:`\theta_k - f(x_i) - v_k(x_i)`. Where all shifts v are 0 the results are those of
    :class:`RowStatistics`. Scores are arrays (n_samples, n_classes - 1) that hold one threshold after the
    other in memory; :meth:`spread` and :meth:`moved` make them.

    Parameters
    ----------
    loss : OrdinalLoss
        All-threshold or immediate-threshold.
    y, n_classes, sample_weight, precision, n_threads, part
        See :class:`.checked_rows.CheckedPass`.
    in_doubles : bool, default=False
        Whether scores are kept, and computed with, in float64: for rows that start far from 0, see :func:`is_far`.
    score_of : ndarray of int32, shape (n_classes - 1,), or None
        Which score each threshold has, where neighbours share one (:func:`.leaves.vector.shared`): there are as many
        columns of scores then. None: each has its own.

    Attributes
    ----------
    scores_dtype : type
        float32 or float64.
    first : ndarray of int, shape (n_scores,)
        The first threshold of each score.

    Raises
    ------
    ValueError
        If an argument is out of range, or the loss does not exist for such thresholds.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import AllThreshold
    >>> from ordinal_objectives.rows import MarginStatistics
    >>> rows = MarginStatistics(AllThreshold(), [0, 2], 3)
    >>> scores = rows.spread(np.array([0.0, 0.5]))
    >>> rows(scores, [-1.0, 1.0]).threshold_gradient.round(4)
    array([-0.5486,  0.3535])
    """

    shares_scores = True
    _no_numbers = "the scores hold NaN, or overflow the link; they must be numbers"

    def __init__(
        self, loss: OrdinalLoss, *args: Any, in_doubles: bool = False, score_of: IntArray | None = None, **options: Any
    ) -> None:
        loss.check_shifts()
        super().__init__(loss, *args, lanes=not in_doubles, **options)
        self.scores_dtype, self.score_of = self._computed, score_of
        each = np.arange(self.n_classes - 1)
        self.first = each if score_of is None else np.flatnonzero(np.diff(score_of, prepend=-1))

    def spread(self, raw_prediction: ArrayLike) -> RealArray:
        """Return scores in the order and the type of a pass, (n_samples, n_scores).

        They are given in any order and type, one for each threshold, or as f, (n_samples,), of rows without shifts.
        """
        f = np.asarray(raw_prediction)
        if f.ndim == 2:
            return self._check_scores(f[:, self.first]).T
        check_shape("raw_prediction", f, self.y.shape)
        return np.tile(f.astype(self._computed), (len(self.first), 1)).T

    def moved(self, scores: RealArray, leaves: IntArray, steps: FloatArray, out: RealArray | None = None) -> RealArray:
        """Return the scores with a tree more.

        Parameters
        ----------
        scores : ndarray, shape (n_samples, n_scores)
        leaves : ndarray of int32, shape (n_samples,)
            Leaf of each row.
        steps : ndarray of float64, shape (n_leaves, n_classes - 1)
            What each leaf adds to the score of each threshold, the same where they share it.
        out : ndarray, shape (n_samples, n_scores), or None
            Where to put them, not `scores`; None makes a new array.
        """
        raw = self._check_scores(scores)
        leaves = np.ascontiguousarray(leaves, dtype=np.int32)
        self.check_leaves(leaves, len(steps))
        return add_leaf_vectors(raw.T, leaves, steps[:, self.first], self.n_threads, out)

    def __call__(
        self,
        scores: RealArray,
        thresholds: ArrayLike,
        hessian: str = "majorized",
        *,
        want_loss: bool = True,
        want_rows: bool = True,
        columns: NDArray[np.float32] | None = None,
        columns_hold: str = "thresholds",
        groups: IntArray | None = None,
    ) -> RoundStatistics:
        """Return the statistics of the rows at scores and thresholds.

        Parameters
        ----------
        scores : ndarray, shape (n_samples, n_scores)
        thresholds : array-like of float, shape (n_classes - 1,)
            In any order.
        hessian : {"majorized", "exact"}, default="majorized"
        want_loss, want_rows : bool
            Whether to compute the loss sum (0 otherwise), and gradient and Hessian of the rows (empty otherwise).
        columns : ndarray of float32, shape (n_samples, n_columns or more), or None
            Rows to be filled with numbers side by side; other columns stay.
        columns_hold : {"thresholds", "score", "cross"}
            Which: the gradients of every score, then the Hessians (2 n_scores columns); gradient and
            Hessian in f (2); or these and the cross terms of f and every score, their Hessians with the sign
            changed (n_scores + 2). The last two need `want_rows`.
        groups : ndarray of int32, shape (n_classes - 1,), or None
            Thresholds of the same number, from 0 on, share columns, which hold their sums; those below 0 have none.
            Those that share a score are of the same number. None: each score has its own.

        Returns
        -------
        RoundStatistics
            Gradient and Hessian in f, summed over the thresholds; its cross terms are empty. All are weighted, and
            reused by the next call.

        Raises
        ------
        ValueError
            If shapes disagree, a score is not finite, or the loss and link have no such Hessian.
        """
        if hessian not in self._hessians:
            self.loss.check_hessian(hessian)
        theta = check_thresholds(thresholds, self.n_classes, ordered=False)
        raw = self._check_scores(scores)
        majorized = hessian == "majorized"
        outputs: Params = {"columns": columns, "held": _COLUMNS[columns_hold]}
        if groups is not None:
            outputs |= {"group": groups[self.first], "n_groups": int(groups.max()) + 1}
        if want_rows:
            outputs |= {"gradient": self._gradient, "hessian": self._hessian}
        sums = self._pass(raw, theta, majorized, want_loss=want_loss, **outputs)
        self._latest = (raw, theta, majorized)
        none = self._gradient[:0]
        return self._result(sums, *((self._gradient, self._hessian) if want_rows else (none, none)))

    def leaf_sums(self, leaves: IntArray, n_leaves: int) -> tuple[FloatArray, FloatArray]:
        """Return G and H of every leaf and threshold at the latest call, float64 (n_leaves, n_classes - 1) each.

        Thresholds that share a score have equal parts of its sums. The scores that were passed to that call must not
        have changed since.

        Raises
        ------
        ValueError
            If there was no call yet, or `leaves` has the wrong shape or holds other numbers.
        """
        latest: tuple[RealArray, FloatArray, bool] = self._latest_of("scores")
        leaves = np.ascontiguousarray(leaves, dtype=np.int32)
        self.check_leaves(leaves, n_leaves)
        n_scores = len(self.first)
        sums = np.zeros((n_leaves, 2 * n_scores))
        if leaves.size:  # a worker may have no rows
            self._pass(*latest, want_loss=False, leaves=leaves, leaf_sums=sums)
        if self.score_of is None:
            return sums[:, :n_scores], sums[:, n_scores:]
        part = 1.0 / np.bincount(self.score_of)[self.score_of]
        return part * sums[:, self.score_of], part * sums[:, n_scores + self.score_of]

    def loss_of_prediction(self, scores: RealArray, thresholds: ArrayLike) -> float:
        """Return the loss of the margins as predictions use them: sorted in each row, if the loss has an order."""
        theta = check_thresholds(thresholds, self.n_classes, ordered=False)
        majorized, none = "majorized" in self._hessians, self._gradient[:0]
        sums = self._pass(self._check_scores(scores), theta, majorized, in_order=self.loss.ordered)
        return self._result(sums, none, none).sums.loss

    def _pass(
        self,
        raw: RealArray,
        theta: FloatArray,
        majorized: bool,
        *,
        want_loss: bool = True,
        in_order: bool = False,
        **outputs: object,
    ) -> Params:
        given = raw, self.score_of, self.y, theta, self._weight
        asked: Params = {"majorized": majorized, "want_loss": want_loss, "sorted": in_order, "costs": self._costs}
        asked |= {"limit": self._limit, "n_threads": self.n_threads}
        loss, link = self._codes
        sums: Params = _kernels.margin_statistics(*given, loss=loss, link=link, **asked, **(_NO_OUTPUTS | outputs))
        return sums

    def _check_scores(self, scores: ArrayLike) -> RealArray:
        """Return the scores one after the other, (n_scores, n_samples)."""
        raw = np.asarray(scores)
        check_shape("scores", raw, (self.y.shape[0], len(self.first)))
        return np.ascontiguousarray(raw.T, dtype=self._computed)


def is_far(scores: RealArray) -> bool:
    """Tell whether rows start so far from 0 that their scores need float64."""
    return bool(max(scores.max(initial=0.0), -scores.min(initial=0.0)) > _FARTHEST_MARGIN)


def add_leaf_vectors(
    scores: RealArray, leaves: IntArray, steps: RealArray, n_threads: int, out: RealArray | None = None
) -> RealArray:
    """Return scores with a tree more, (n_samples, n_thresholds); leaves are known to be those of ``steps``.

    Parameters
    ----------
    scores, out : ndarray, shape (n_samples, n_thresholds)
        One threshold after the other in memory.
    leaves : ndarray of int32, shape (n_samples,)
    steps : ndarray, shape (n_leaves, n_thresholds)
    n_threads : int
    """
    before = scores.T
    total = np.empty_like(before) if out is None else out.T
    values: RealArray = np.ascontiguousarray(steps.T, dtype=before.dtype)
    _kernels.add_leaf_vectors(before, leaves, values, total, n_threads)
    return total.T
