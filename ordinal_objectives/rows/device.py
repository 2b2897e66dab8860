"""Devices that hold the rows of a training: what a pass over rows and a device offer, and the CPU.

A pass returns two kinds of results. Arrays over rows stay on the device of the rows: a tree is grown on them there.
Sums of parts of the rows can be added (`RoundSums`, `LeafSums`, both with ``+``); a part is a block of a file, or the
rows of a device or a worker. Thresholds depend on the sums only.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from ordinal_objectives import _core
from ordinal_objectives.aliases import ArrayLike, FloatArray, IndexArray, IntArray, NDArray, RealArray
from ordinal_objectives.losses import LeafSums, OrdinalLoss, RoundStatistics
from ordinal_objectives.rows import native, reference, soft_rows
from ordinal_objectives.threads import effective_n_threads

# An array over rows on its device: of NumPy or CuPy.
Array: TypeAlias = Any
# Multiplications in one product: BLAS starts threads for larger ones, which go on spinning beside the framework's.
_BLOCK = 1 << 17


class _Rows(Protocol):
    """Labels and weights of some rows.

    Attributes
    ----------
    y : ndarray of int32, shape (n_samples,)
        Class codes of these rows.
    n_classes : int
    class_weights : ndarray of float64, shape (n_classes,)
        Sum of the weights of each class: a sum over all rows, where rows are distributed.
    total_weight : float
    loss_precision : float
        Relative rounding of the loss sum.
    """

    y: IntArray
    n_classes: int
    class_weights: FloatArray
    total_weight: float
    loss_precision: float

    def highest_loss(self, loss: float, rounding: float = 1.0) -> float:
        """Return the largest loss sum that may still be `loss`, at a multiple of the usual rounding."""


class RowPass(_Rows, Protocol):
    """A pass over rows with one score each; :meth:`CPU.row_pass` returns one."""

    def __call__(
        self, raw_prediction: ArrayLike, thresholds: ArrayLike, hessian: str = "majorized", *, want_loss: bool = True
    ) -> RoundStatistics:
        """Return arrays over these rows, and the sums over all rows, at a score and a set of thresholds."""

    def leaf_sums(self, leaves: Array, n_leaves: int) -> LeafSums:
        """Return the sums of the latest call over the leaves of a tree."""


class MarginPass(_Rows, Protocol):
    """A pass over rows with a score for each threshold; :meth:`CPU.margin_pass` returns one.

    Attributes
    ----------
    scores_dtype : type
        float32 or float64: of the scores that it is given.
    shares_scores : bool
        Whether it takes ``score_of``: neighbouring thresholds may have one score then.
    """

    scores_dtype: type
    shares_scores: bool

    @property
    def sample_weight(self) -> RealArray | None:
        """Weights of these rows, (n_samples,), or None where all are 1."""

    def __call__(
        self,
        scores: Array,
        thresholds: ArrayLike,
        hessian: str = "majorized",
        *,
        want_loss: bool = True,
        want_rows: bool = True,
        columns: Array = None,
    ) -> RoundStatistics:
        """Return arrays over these rows, and the sums over all rows, at scores and thresholds.

        ``columns``, (n_samples, 2 (n_classes - 1) or more), is filled with the gradients of every threshold, then the
        Hessians.
        """

    def leaf_sums(self, leaves: Array, n_leaves: int) -> tuple[FloatArray, FloatArray]:
        """Return G and H of every leaf and threshold at the latest call."""

    def leaf_weights(self, leaves: Array, n_leaves: int) -> FloatArray:
        """Return the sum of the weights of each leaf's rows."""

    def loss_of_prediction(self, scores: Array, thresholds: ArrayLike) -> float:
        """Return the loss of the margins as predictions use them: sorted in each row, if the loss has an order."""


# One of the two.
Pass = TypeVar("Pass", bound=RowPass | MarginPass)


class CPU:
    """The memory and the processors of the machine: the native passes, and those of NumPy for a loss of one's own.

    Leaf values, thresholds and sums are NumPy arrays on every device.

    Parameters
    ----------
    n_threads : int or None, default=None
        See :func:`ordinal_objectives.threads.effective_n_threads`.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = effective_n_threads(n_threads)

    def row_pass(self, loss: OrdinalLoss, *args: Any, **options: Any) -> RowPass:
        """Return the pass over rows with one score each: :class:`.native.RowStatistics`, or that of NumPy."""
        kind = reference.ReferenceRows if loss.codes is None else native.RowStatistics
        found: RowPass = soft_rows.pass_over(kind, loss, *args, n_threads=self.n_threads, **options)
        return found

    def margin_pass(self, loss: OrdinalLoss, *args: Any, **options: Any) -> MarginPass:
        """Return the pass over rows with a score for each threshold: :class:`.native.MarginStatistics`, or NumPy's."""
        kind = reference.ReferenceMargins if loss.codes is None else native.MarginStatistics
        found: MarginPass = soft_rows.pass_over(kind, loss, *args, n_threads=self.n_threads, **options)
        return found

    def copy(self, array: Array, dtype: Any = None, out: Array = None) -> Array:
        """Return a copy of an array of any device on this one, its order in memory kept; in ``out`` if it is given."""
        if out is None:
            return np.array(on_cpu(array), dtype=dtype)
        np.copyto(out, on_cpu(array))
        return out

    def columns(self, n_samples: int, n_columns: int) -> Array:
        """Return a new array of float32, (n_samples, n_columns), in the order that a pass fills quickly."""
        return np.empty((n_samples, n_columns), np.float32)

    def times(self, rows: Array, matrix: NDArray[np.float32]) -> Array:
        """Return ``rows @ matrix`` of many rows and a small matrix, float32 (n_samples, n_columns)."""
        product = np.empty((len(rows), matrix.shape[1]), np.float32)
        step = max(1, _BLOCK // matrix.size)
        for first in range(0, len(rows), step):
            np.matmul(rows[first : first + step], matrix, out=product[first : first + step])
        return product

    def weighted_sum(self, weights: Array, rows: Array) -> FloatArray:
        """Return ``weights @ rows``, (n_columns,), of weights of this device and rows of any."""
        return np.einsum("i,ij->j", weights, rows).astype(np.float64)

    def scores_of(self, outputs: Array, matrix: NDArray[np.float32], offset: NDArray[np.float32]) -> Array:
        """Return ``outputs @ matrix - offset`` as the scores of a margin pass, (n_samples, n_thresholds)."""
        scores = self.times(outputs, matrix)
        scores -= offset
        return np.asfortranarray(scores)

    def middle(self, scores: Array) -> tuple[int, float]:
        """Return how many scores of a device are not 0, and the median of all."""
        here = on_cpu(scores)
        n_not_zero = int(np.count_nonzero(here))
        return n_not_zero, float(np.median(here)) if n_not_zero else 0.0

    def match_leaves(
        self, before: Array, after: Array, values: FloatArray, order: IntArray
    ) -> tuple[Array, float, float]:
        """Return the leaf whose value is closest to the change of each row's score.

        Beside the leaves, int32 (n_samples,), are the largest difference between a change and the value of its leaf,
        and the largest score.

        Parameters
        ----------
        before, after : array, shape (n_samples,)
            Scores without and with the newest tree.
        values : ndarray of float64, shape (n_leaves,)
            Ascending.
        order : ndarray of int32, shape (n_leaves,)
            Number of the leaf that has each of them.
        """
        leaves = np.empty(after.shape[0], np.int32)
        after = np.ascontiguousarray(after, dtype=before.dtype)
        error, largest = _core.match_leaves(before, after, values, order, leaves, self.n_threads)
        return leaves, error, largest

    def renumbered(self, leaves: Array, numbers: IndexArray) -> Array:
        """Return ``numbers[leaves]``, int32 (n_samples,)."""
        return numbers[leaves].astype(np.int32)

    def add_leaf_values(self, score: Array, leaves: Array, values: FloatArray, out: Array = None) -> Array:
        """Return a score with a tree more, float64 (n_samples,); its memory may be that of ``out``, an earlier one."""
        total: FloatArray = np.empty_like(score) if out is None else out
        _core.add_leaf_values(score, leaves, values, total, self.n_threads)
        return total

    def add_leaf_vectors(self, scores: Array, leaves: Array, vectors: NDArray[np.float32], out: Array = None) -> Array:
        """Return scores for each threshold with a tree more, (n_samples, n_thresholds); ``out`` as above."""
        return native.add_leaf_vectors(scores, leaves, vectors, self.n_threads, out)


def on_cpu(array: Array) -> RealArray:
    """Return an array of any device as one of NumPy's; CuPy makes no such copy unless it is asked for one."""
    get = getattr(array, "get", None)
    return np.asarray(array if get is None else get())
