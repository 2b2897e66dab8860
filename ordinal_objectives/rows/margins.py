"""The native pass over rows whose thresholds move with x: one score f + v_k for every threshold k."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives import _core
from ordinal_objectives.losses import OrdinalLoss, RoundStatistics, RoundSums
from ordinal_objectives.rows.checked_rows import CheckedRows, as_round_sums
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.utils.validation import check_thresholds

# float32 scores are exact to 4e-6 up to here; rows that start farther away need float64.
_FARTHEST = 64.0
_COLUMNS = {"thresholds": 0, "score": 1, "cross": 2}


def is_far(scores: NDArray[np.floating]) -> bool:
    """Tell whether rows start so far from 0 that their scores need float64."""
    return bool(np.abs(scores).max(initial=0.0) > _FARTHEST)


def add_leaf_vectors(
    scores: NDArray[Any],
    leaves: NDArray[np.int32],
    steps: NDArray[np.floating],
    n_threads: int | None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Return scores with a tree more, (n_samples, n_thresholds); leaves are known to be those of ``steps``.

    Parameters
    ----------
    scores, out : ndarray, shape (n_samples, n_thresholds)
        One threshold after the other in memory.
    leaves : ndarray of int32, shape (n_samples,)
    steps : ndarray, shape (n_leaves, n_thresholds)
    n_threads : int or None
    """
    before = scores.T
    total = np.empty_like(before) if out is None else out.T
    values: NDArray[Any] = np.ascontiguousarray(steps.T, dtype=before.dtype)
    add: Any = _core.add_leaf_vectors
    add(before, leaves, values, total, effective_n_threads(n_threads))
    return total.T


class _Written(NamedTuple):
    """Outputs of a pass beside its sums: numbers of rows, or sums of leaves; None for those not wanted."""

    gradient: NDArray[Any] | None = None
    hessian: NDArray[Any] | None = None
    columns: NDArray[np.float32] | None = None
    held: int = 0
    groups: NDArray[np.int32] | None = None
    leaves: NDArray[np.int32] | None = None
    leaf_sums: NDArray[np.float64] | None = None


class MarginStatistics(CheckedRows):
    r"""One pass over a fixed set of rows with the scores f(x_i) + v_k(x_i), k = 0..n_classes - 2.

    A row's margins are :math:`\theta_k - f(x_i) - v_k(x_i)`. Where all shifts v are 0 the results are those of
    :class:`.native.RowStatistics`. Scores are arrays (n_samples, n_classes - 1) that hold one threshold after the
    other in memory; :meth:`spread` and :meth:`moved` make them.

    Parameters
    ----------
    loss : OrdinalLoss
        All-threshold or immediate-threshold.
    y, n_classes, sample_weight, precision, n_threads, part
        See :class:`.checked_rows.CheckedRows`.
    in_doubles : bool, default=False
        Whether scores are kept, and computed with, in float64: for rows whose scores `is_far` says are far from 0.

    Attributes
    ----------
    scores_dtype : type
        float32 or float64.

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

    def __init__(
        self,
        loss: OrdinalLoss,
        y: ArrayLike,
        n_classes: int,
        sample_weight: ArrayLike | None = None,
        *,
        in_doubles: bool = False,
        precision: str = "float32",
        n_threads: int | None = None,
        part: bool = False,
    ) -> None:
        loss.check_shifts()
        self._codes = loss.check_native()
        lanes = not in_doubles
        super().__init__(
            loss, y, n_classes, sample_weight, precision=precision, n_threads=n_threads, lanes=lanes, part=part
        )
        self.scores_dtype = self._computed
        self._gradient: NDArray[Any] = np.empty(self.y.shape[0], self._computed)
        self._hessian: NDArray[Any] = np.empty(self.y.shape[0], self._computed)
        self._latest: tuple[NDArray[Any], NDArray[np.float64], bool] | None = None

    def spread(self, raw_prediction: ArrayLike) -> NDArray[Any]:
        """Return scores in the order and the type of a pass, (n_samples, n_classes - 1).

        They are given in any order and type, or as f, (n_samples,), of rows without shifts.
        """
        f = np.asarray(raw_prediction)
        if f.ndim == 2:
            return self._check_scores(f).T
        if f.shape != self.y.shape:
            raise ValueError(f"raw_prediction must have shape {self.y.shape}, one score a row; got {f.shape}")
        return np.tile(f.astype(self._computed), (self.n_classes - 1, 1)).T

    def moved(
        self,
        scores: NDArray[Any],
        leaves: NDArray[np.int32],
        steps: NDArray[np.float64],
        out: NDArray[Any] | None = None,
    ) -> NDArray[Any]:
        """Return the scores with a tree more.

        Parameters
        ----------
        scores : ndarray, shape (n_samples, n_classes - 1)
        leaves : ndarray of int32, shape (n_samples,)
            Leaf of each row.
        steps : ndarray of float64, shape (n_leaves, n_classes - 1)
            What each leaf adds to the scores.
        out : ndarray, shape (n_samples, n_classes - 1), or None
            Where to put them, not `scores`; None makes a new array.
        """
        raw = self._check_scores(scores)
        return add_leaf_vectors(raw.T, self.check_leaves(leaves, len(steps)), steps, self.n_threads, out)

    def __call__(
        self,
        scores: NDArray[Any],
        thresholds: ArrayLike,
        hessian: str = "majorized",
        *,
        want_loss: bool = True,
        want_rows: bool = True,
        columns: NDArray[np.float32] | None = None,
        columns_hold: str = "thresholds",
        groups: NDArray[np.int32] | None = None,
    ) -> RoundStatistics:
        """Return the statistics of the rows at scores and thresholds.

        Parameters
        ----------
        scores : ndarray, shape (n_samples, n_classes - 1)
        thresholds : array-like of float, shape (n_classes - 1,)
            In any order.
        hessian : {"majorized", "exact"}, default="majorized"
        want_loss, want_rows : bool
            Whether to compute the loss sum (0 otherwise), and gradient and Hessian of the rows (empty otherwise).
        columns : ndarray of float32, shape (n_samples, n_columns or more), or None
            Rows to be filled with numbers side by side; other columns stay.
        columns_hold : {"thresholds", "score", "cross"}
            Which: the gradients of every threshold, then the Hessians (2 (n_classes - 1) columns); gradient and
            Hessian in f (2); or these and the cross terms of f and every threshold, their Hessians with the sign
            changed (n_classes + 1). The last two need `want_rows`.
        groups : ndarray of int32, shape (n_classes - 1,), or None
            Thresholds of the same number, from 0 on, share columns, which hold their sums; those below 0 have none.
            None: each has its own.

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
        self.loss.check_hessian(hessian)
        theta = check_thresholds(thresholds, self.n_classes, ordered=False)
        raw = self._check_scores(scores)
        majorized = hessian == "majorized"
        gradient, hessian_of_rows = (self._gradient, self._hessian) if want_rows else (self._gradient[:0],) * 2
        written = _Written(
            gradient=gradient if want_rows else None,
            hessian=hessian_of_rows if want_rows else None,
            columns=columns,
            held=_COLUMNS[columns_hold],
            groups=groups,
        )
        sums = self._pass(raw, theta, majorized, written, want_loss=want_loss)
        self._latest = (raw, theta, majorized)
        if want_rows:
            self._check_derivatives(gradient, hessian_of_rows)
        return RoundStatistics(
            gradient=gradient.astype(self._dtype, copy=False),
            hessian=hessian_of_rows.astype(self._dtype, copy=False),
            cross=np.empty((0, self.n_classes - 1), self._dtype),
            sums=sums,
        )

    def leaf_sums(self, leaves: NDArray[np.int32], n_leaves: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return G and H of every leaf and threshold at the latest call, float64 (n_leaves, n_classes - 1) each.

        The scores that were passed to that call must not have changed since.

        Raises
        ------
        ValueError
            If there was no call yet, or `leaves` has the wrong shape or holds other numbers.
        """
        if self._latest is None:
            raise ValueError("leaf_sums belongs to scores and thresholds: call the object with these first")
        leaves = self.check_leaves(leaves, n_leaves)
        sums = np.zeros((n_leaves, 2 * (self.n_classes - 1)))
        if leaves.size:  # a worker may have no rows
            self._pass(*self._latest, _Written(leaves=leaves, leaf_sums=sums), want_loss=False)
        return sums[:, : self.n_classes - 1], sums[:, self.n_classes - 1 :]

    def loss_of_prediction(self, scores: NDArray[Any], thresholds: ArrayLike) -> float:
        """Return the loss of the margins as predictions use them: sorted in each row, if the loss has an order."""
        theta = check_thresholds(thresholds, self.n_classes, ordered=False)
        majorized = self.loss.supports("majorized")
        return self._pass(self._check_scores(scores), theta, majorized, _Written(), in_order=self.loss.ordered).loss

    def _pass(
        self,
        raw: NDArray[Any],
        theta: NDArray[np.float64],
        majorized: bool,
        written: _Written,
        *,
        want_loss: bool = True,
        in_order: bool = False,
    ) -> RoundSums:
        kernel: Any = _core.margin_statistics
        sums = as_round_sums(
            kernel(
                raw,
                self.y,
                theta,
                self._weight,
                *written[:5],
                0 if written.groups is None else int(written.groups.max()) + 1,
                written.leaves,
                written.leaf_sums,
                *self._codes,
                majorized,
                want_loss,
                in_order,
                self._limit,
                effective_n_threads(self.n_threads),
                self._costs,
            )
        )
        # A NaN makes every sum of its threshold NaN, but not always the loss.
        if not np.isfinite(sums.threshold_gradient).all():
            raise ValueError("the scores hold NaN, or overflow the link; they must be numbers")
        return sums

    def _check_scores(self, scores: ArrayLike) -> NDArray[Any]:
        """Return the scores threshold by threshold, (n_classes - 1, n_samples)."""
        raw = np.asarray(scores)
        expected = (self.y.shape[0], self.n_classes - 1)
        if raw.shape != expected:
            raise ValueError(f"scores must have shape {expected}, one for every row and threshold; got {raw.shape}")
        return np.ascontiguousarray(raw.T, dtype=self._computed)
