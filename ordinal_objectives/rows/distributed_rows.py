"""A pass over rows that are distributed over workers: each keeps its own arrays, and all get the sums.

A step on the thresholds depends on sums only, so every worker takes the same one. The framework must be able to add up
a short vector over its workers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, replace
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from ordinal_objectives.aliases import ArrayLike, FloatArray, IntArray, RealArray
from ordinal_objectives.losses import RoundStatistics, RoundSums
from ordinal_objectives.rows.checked_rows import LossBounds
from ordinal_objectives.rows.device import Pass

Result = TypeVar("Result")


class Workers(Protocol):
    """The workers of a training. All of them must call the same methods in the same order."""

    @property
    def rank(self) -> int:
        """Number of this worker, from 0 on."""

    def sum(self, values: FloatArray) -> FloatArray:
        """Return the sums over all workers, with the same bytes on each; vectors of one length."""

    def max(self, values: FloatArray) -> FloatArray:
        """Return the largest of all workers, entry by entry."""

    def tell(self, text: str, rank: int) -> str:
        """Return the text of the worker with a rank."""


def fail_together(workers: Workers | None, function: Callable[[], Result]) -> Result:
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
        raise_error(workers, error)
        raise
    raise_error(workers, None)
    return result


def raise_error(workers: Workers, own: Exception | None) -> None:
    """Raise ValueError if another worker has an error and this one has none; called by all."""
    rank = int(workers.max(np.array([-1.0 if own is None else workers.rank]))[0])
    if rank >= 0:
        text = workers.tell("" if own is None else f"{type(own).__name__}: {own}", rank)
        if own is None:
            raise ValueError(f"worker {rank} met an error: {text}")


class DistributedRows(LossBounds):
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
            statistics: RoundStatistics = self._own(raw_prediction, thresholds, *args, **options)
        except Exception as error:
            self._sum(np.full(length, np.nan))  # the others stop too
            raise_error(self._workers, error)
            raise
        total = self._sum(_as_vector(statistics.sums))
        if np.isnan(total).any():
            raise_error(self._workers, None)
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


def distributed_pass(kind: Callable[..., Pass], workers: Workers | None, *args: object, **options: object) -> Pass:
    """Return a pass of a kind over some rows, with sums over those of all workers if there are any."""
    if workers is None:
        return kind(*args, **options)
    return cast(Pass, DistributedRows(lambda: kind(*args, part=True, **options), workers))


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
