"""Devices that hold the rows of a training, and operations on arrays over rows beside the pass itself."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives import _core
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.rows.margins import MarginStatistics, add_leaf_vectors
from ordinal_objectives.rows.native import RowStatistics
from ordinal_objectives.rows.protocol import MarginPass, RowPass
from ordinal_objectives.rows.reference import ReferenceMargins, ReferenceRows
from ordinal_objectives.threads import effective_n_threads

# Multiplications in one product: BLAS starts threads for larger ones, which go on spinning beside the framework's.
_BLOCK = 1 << 17


class LeafMatch(NamedTuple):
    """Leaf of every row, found from two scores.

    Attributes
    ----------
    leaves : array of int32, shape (n_samples,)
    worst_error : float
        Largest difference between the change of a score and the value of its leaf.
    largest_score : float
    """

    leaves: Any
    worst_error: float
    largest_score: float


class Middle(NamedTuple):
    """Where scores lie.

    Attributes
    ----------
    n_not_zero : int
        How many are not 0.
    median : float
        0 if none is.
    """

    n_not_zero: int
    median: float


class Device(Protocol):
    """Holds arrays over rows and computes with them: :class:`CPU`, or :class:`.gpu.GPU`.

    Leaf values, thresholds and sums are NumPy arrays everywhere.
    """

    def row_pass(
        self,
        loss: OrdinalLoss,
        y: ArrayLike,
        n_classes: int,
        sample_weight: ArrayLike | None = None,
        *,
        part: bool = False,
    ) -> RowPass:
        """Return the pass over rows with one score each; see :class:`.native.RowStatistics`."""
        ...

    def margin_pass(
        self,
        loss: OrdinalLoss,
        y: ArrayLike,
        n_classes: int,
        sample_weight: ArrayLike | None = None,
        *,
        in_doubles: bool = False,
        part: bool = False,
    ) -> MarginPass:
        """Return the pass over rows with a score for each threshold; see :class:`.margins.MarginStatistics`."""
        ...

    def copy(self, array: Any, dtype: Any = None, out: Any = None) -> Any:
        """Return a copy of an array of any device on this one, its order in memory kept; in ``out`` if it is given."""
        ...

    def columns(self, n_samples: int, n_columns: int) -> Any:
        """Return a new array of float32, (n_samples, n_columns), in the order that a pass fills quickly."""
        ...

    def times(self, rows: Any, matrix: NDArray[np.float32]) -> Any:
        """Return ``rows @ matrix`` of many rows and a small matrix, float32 (n_samples, n_columns)."""
        ...

    def weighted_sum(self, weights: Any, rows: Any) -> NDArray[np.float64]:
        """Return ``weights @ rows``, (n_columns,), of weights of this device and rows of any."""
        ...

    def scores_of(self, outputs: Any, matrix: NDArray[np.float32], offset: NDArray[np.float32]) -> Any:
        """Return ``outputs @ matrix - offset`` as the scores of a margin pass, (n_samples, n_thresholds)."""
        ...

    def middle(self, scores: Any) -> Middle:
        """Return how many scores of a device are not 0, and the median of all."""
        ...

    def match_leaves(self, before: Any, after: Any, values: NDArray[np.float64], order: NDArray[np.int32]) -> LeafMatch:
        """Return the leaf whose value is closest to the change of each row's score.

        Parameters
        ----------
        before, after : array, shape (n_samples,)
            Scores without and with the newest tree.
        values : ndarray of float64, shape (n_leaves,)
            Ascending.
        order : ndarray of int32, shape (n_leaves,)
            Number of the leaf that has each of them.
        """
        ...

    def renumbered(self, leaves: Any, numbers: NDArray[np.intp]) -> Any:
        """Return ``numbers[leaves]``, int32 (n_samples,)."""
        ...

    def add_leaf_values(self, score: Any, leaves: Any, values: NDArray[np.float64], out: Any = None) -> Any:
        """Return a score with a tree more, float64 (n_samples,); its memory may be that of ``out``, an earlier one."""
        ...

    def add_leaf_vectors(self, scores: Any, leaves: Any, vectors: NDArray[np.float32], out: Any = None) -> Any:
        """Return scores for each threshold with a tree more, (n_samples, n_thresholds); ``out`` as above."""
        ...


class CPU:
    """The memory and the processors of the machine: the native passes, and those of NumPy for a loss of one's own.

    Parameters
    ----------
    n_threads : int or None, default=None
        See :func:`ordinal_objectives.threads.effective_n_threads`.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = n_threads

    def row_pass(self, loss: OrdinalLoss, *args: Any, **options: Any) -> RowPass:
        """Return :class:`.native.RowStatistics`, or :class:`.reference.ReferenceRows`."""
        kind = ReferenceRows if loss.codes is None else RowStatistics
        return kind(loss, *args, n_threads=self.n_threads, **options)

    def margin_pass(self, loss: OrdinalLoss, *args: Any, **options: Any) -> MarginPass:
        """Return :class:`.margins.MarginStatistics`, or :class:`.reference.ReferenceMargins`."""
        kind = ReferenceMargins if loss.codes is None else MarginStatistics
        return kind(loss, *args, n_threads=self.n_threads, **options)

    def copy(self, array: Any, dtype: Any = None, out: Any = None) -> NDArray[Any]:
        """Return a copy."""
        if out is None:
            return np.array(on_cpu(array), dtype=dtype)
        np.copyto(out, on_cpu(array))
        copied: NDArray[Any] = out
        return copied

    def columns(self, n_samples: int, n_columns: int) -> NDArray[np.float32]:
        """Return columns side by side."""
        return np.empty((n_samples, n_columns), np.float32)

    def times(self, rows: NDArray[np.float32], matrix: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the product, block by block."""
        product = np.empty((len(rows), matrix.shape[1]), np.float32)
        step = max(1, _BLOCK // matrix.size)
        for first in range(0, len(rows), step):
            np.matmul(rows[first : first + step], matrix, out=product[first : first + step])
        return product

    def weighted_sum(self, weights: NDArray[np.float32], rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the sums of the columns."""
        total: NDArray[np.float64] = np.einsum("i,ij->j", weights, rows).astype(np.float64)
        return total

    def scores_of(
        self, outputs: NDArray[np.float32], matrix: NDArray[np.float32], offset: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return scores, one threshold after the other in memory."""
        scores = self.times(outputs, matrix)
        scores -= offset
        return np.asfortranarray(scores)

    def middle(self, scores: Any) -> Middle:
        """Return how many scores are not 0, and the median of all."""
        here = on_cpu(scores)
        n_not_zero = int(np.count_nonzero(here))
        return Middle(n_not_zero, float(np.median(here)) if n_not_zero else 0.0)

    def match_leaves(self, before: Any, after: Any, values: NDArray[np.float64], order: NDArray[np.int32]) -> LeafMatch:
        """Return the leaf of every row."""
        leaves = np.empty(after.shape[0], np.int32)
        after = np.ascontiguousarray(after, dtype=before.dtype)
        error, largest = _core.match_leaves(before, after, values, order, leaves, effective_n_threads(self.n_threads))
        return LeafMatch(leaves, error, largest)

    def renumbered(self, leaves: NDArray[np.int32], numbers: NDArray[np.intp]) -> NDArray[np.int32]:
        """Return other numbers of leaves."""
        return numbers[leaves].astype(np.int32)

    def add_leaf_values(
        self, score: NDArray[np.float64], leaves: NDArray[np.int32], values: NDArray[np.float64], out: Any = None
    ) -> NDArray[np.float64]:
        """Return a score with a tree more."""
        total: NDArray[np.float64] = np.empty_like(score) if out is None else out
        _core.add_leaf_values(score, leaves, values, total, effective_n_threads(self.n_threads))
        return total

    def add_leaf_vectors(
        self, scores: NDArray[Any], leaves: NDArray[np.int32], vectors: NDArray[np.float32], out: Any = None
    ) -> NDArray[Any]:
        """Return scores with a tree more."""
        return add_leaf_vectors(scores, leaves, vectors, self.n_threads, out)


def on_cpu(array: Any) -> NDArray[Any]:
    """Return an array of any device as one of NumPy's; CuPy makes no such copy unless it is asked for one."""
    get = getattr(array, "get", None)
    return np.asarray(array if get is None else get())
