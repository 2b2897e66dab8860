"""Where the rows of a training are: what a pass over rows and a device offer, the CPU, and several workers.

A pass returns two kinds of results. Arrays over rows stay on the device of the rows: a tree is grown on them there.
Sums of parts of the rows can be added (`RoundSums`, `LeafSums`, both with ``+``); a part is a block of a file, or the
rows of a device or a worker. Thresholds depend on the sums only, so every worker takes the same step. The framework
must be able to add up a short vector over its workers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, replace
from typing import Any, Protocol, cast

import numpy as np

from ordinal_objectives import _core
from ordinal_objectives.aliases import ArrayLike, FloatArray, IndexArray, IntArray, NDArray, RealArray
from ordinal_objectives.losses import LeafSums, OrdinalLoss, RoundStatistics, RoundSums
from ordinal_objectives.rows import native, reference, soft_rows
from ordinal_objectives.rows.checked_rows import LossBounds
from ordinal_objectives.threads import effective_n_threads

# An array over rows on its device: of NumPy or CuPy.
type Array = Any
# Multiplications in one product: BLAS starts threads for larger ones, which go on spinning beside the framework's.
_BLOCK = 1 << 17


class _Pass(Protocol):
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


class RowPass(_Pass, Protocol):
    """A pass over rows with one score each; :meth:`CPU.row_pass` returns one."""

    def __call__(
        self, raw_prediction: ArrayLike, thresholds: ArrayLike, hessian: str = "majorized", *, want_loss: bool = True
    ) -> RoundStatistics:
        """Return arrays over these rows, and the sums over all rows, at a score and a set of thresholds."""

    def leaf_sums(self, leaves: Array, n_leaves: int) -> LeafSums:
        """Return the sums of the latest call over the leaves of a tree."""


class MarginPass(_Pass, Protocol):
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
        kind = reference.ReferenceRowPass if loss.codes is None else native.RowStatistics
        found: RowPass = soft_rows.pass_over(kind, loss, *args, n_threads=self.n_threads, **options)
        return found

    def margin_pass(self, loss: OrdinalLoss, *args: Any, **options: Any) -> MarginPass:
        """Return the pass over rows with a score for each threshold: :class:`.native.MarginStatistics`, or NumPy's."""
        kind = reference.ReferenceMarginPass if loss.codes is None else native.MarginStatistics
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


class Workers(Protocol):
    """The workers of a training. All of them must call the same methods in the same order."""

    @property
    def rank(self) -> int:
        """Number of this worker, from 0 on."""

    def sum(self, values: FloatArray) -> FloatArray:
        """Return the sums over all workers, with the same bytes on each; vectors of one length."""

    def max(self, values: FloatArray) -> FloatArray:
        """Return the largest of all workers, entry by entry."""

    def broadcast(self, text: str, rank: int) -> str:
        """Return the text of the worker with a rank."""

    def check_wanted(self) -> None:
        """Raise RuntimeError if what this worker trains was cancelled; asked in every round, by each for itself."""


def fail_together[Result](workers: Workers | None, function: Callable[[], Result]) -> Result:
    """Call a function on each worker and return its result, unless it raises an error on one of them.

    Raises
    ------
    Exception
        What the function raised here, or ValueError with the text of the error of another worker. No worker waits for
        one that has failed.
    """
    if workers is None:
        return function()
    try:
        result = function()
    except Exception as error:
        _raise_error(workers, error)
        raise
    _raise_error(workers, None)
    return result


def _raise_error(workers: Workers, own: Exception | None) -> None:
    """Raise ValueError if another worker has an error and this one has none; called by all."""
    rank = int(workers.max(np.array([-1.0 if own is None else workers.rank]))[0])
    if rank >= 0:
        text = workers.broadcast("" if own is None else f"{type(own).__name__}: {own}", rank)
        if own is None:
            raise ValueError(f"worker {rank} met an error: {text}")


class _DistributedPass(LossBounds):
    """One worker's rows of a training or an evaluation set, with sums over the rows of all workers.

    Parameters
    ----------
    rows_of : callable
        ``rows_of()`` returns the pass over the worker's rows, of which there may be none.
    workers : Workers

    Attributes
    ----------
    class_weights : ndarray of float64, shape (n_classes,)
        Of all workers' rows, as is ``total_weight``.

    Notes
    -----
    Other attributes are those of the worker's own pass. Every call is one sum over workers, of a vector whose length
    does not depend on the number of rows. Sums that :meth:`deferred` has postponed are sent with the next call.
    """

    def __init__(self, rows_of: Callable[[], Any], workers: Workers) -> None:
        self._workers = workers
        self._own = fail_together(workers, rows_of)
        self.class_weights = workers.sum(self._own.class_weights)
        self.total_weight = float(self.class_weights.sum())
        self.loss_precision = float(workers.max(np.array([self._own.loss_precision]))[0])
        self._waiting: tuple[RoundSums, Callable[[RoundSums], None]] | None = None

    def __getattr__(self, name: str) -> Any:
        if name == "_own":  # asked for while a copy is made
            raise AttributeError(name)
        return getattr(self._own, name)

    def __call__(self, raw_prediction: ArrayLike, thresholds: ArrayLike, *args: Any, **options: Any) -> RoundStatistics:
        """Return arrays over the worker's rows, and the sums over all rows."""
        length = 3 * self.n_classes - 1
        try:
            self._workers.check_wanted()
            statistics: RoundStatistics = self._own(raw_prediction, thresholds, *args, **options)
        except Exception as error:
            self._sum(np.full(length, np.nan))  # the others stop too
            _raise_error(self._workers, error)
            raise
        total = self._sum(_as_vector(statistics.sums))
        if np.isnan(total).any():
            _raise_error(self._workers, None)
        return replace(statistics, sums=_from_vector(total, statistics.sums))

    def deferred(
        self, then: Callable[[RoundSums], None], raw_prediction: ArrayLike, thresholds: ArrayLike, *args: object
    ) -> RoundStatistics:
        """Return arrays over the worker's rows, with its own sums; ``then(sums)`` takes those over all rows later.

        They come with the next call, or with :meth:`collect`. The scores must be those of a call that met no error.
        """
        statistics: RoundStatistics = self._own(raw_prediction, thresholds, *args)
        self._waiting = statistics.sums, then
        return statistics

    def collect(self) -> None:
        """Add up the postponed sums now, if there are any; called by all."""
        if self._waiting is not None:
            self._sum(np.empty(0))

    def _sum(self, values: FloatArray) -> FloatArray:
        """Return sums over all workers; postponed sums are sent with them and passed to their functions."""
        if self._waiting is None:
            return self._workers.sum(values)
        (own, then), self._waiting = self._waiting, None
        total = self._workers.sum(np.concatenate([values, _as_vector(own)]))
        then(_from_vector(total[values.size :], own))
        return total[: values.size]

    def leaf_sums(self, leaves: IntArray, n_leaves: int) -> Any:
        """Return the sums of the latest call over the leaves of a tree, which all workers have."""
        own = self._own.leaf_sums(leaves, n_leaves)
        return _from_vector(self._workers.sum(_as_vector(own)), own)

    def leaf_weights(self, leaves: IntArray, n_leaves: int) -> FloatArray:
        """Return the weight of the rows of each leaf."""
        return self._workers.sum(self._own.leaf_weights(leaves, n_leaves))

    def loss_of_prediction(self, scores: RealArray, thresholds: ArrayLike) -> float:
        """Return the loss of margins as predictions use them."""
        return float(self._workers.sum(np.array([self._own.loss_of_prediction(scores, thresholds)]))[0])


def distributed_pass[Pass: RowPass | MarginPass](
    kind: Callable[..., Pass], workers: Workers | None, *args: object, **options: object
) -> Pass:
    """Return a pass of a kind over some rows, with sums over those of all workers if there are any."""
    if workers is None:
        return kind(*args, **options)
    return cast(Pass, _DistributedPass(lambda: kind(*args, part=True, **options), workers))


def _as_vector(sums: Any) -> FloatArray:
    """Return the numbers of a dataclass or tuple of sums, one after the other."""
    parts = sums if isinstance(sums, tuple) else astuple(sums)
    return np.concatenate([np.ravel(np.asarray(part, dtype=np.float64)) for part in parts])


def _from_vector(vector: FloatArray, like: Any) -> Any:
    """Return the numbers in the form of the sums that one worker has."""
    found, start = [], 0
    for part in like if isinstance(like, tuple) else astuple(like):
        numbers = vector[start : start + np.size(part)]
        start += np.size(part)
        found.append(numbers.reshape(part.shape) if isinstance(part, np.ndarray) else type(part)(numbers[0]))
    return tuple(found) if isinstance(like, tuple) else type(like)(*found)
