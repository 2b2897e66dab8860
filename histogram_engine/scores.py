"""Scores of the rows, one number or one for each threshold: the pass over the rows, and the step of a tree."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives import _core
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.rows import RowStatistics
from ordinal_objectives.rows.native import MarginStatistics, is_far
from ordinal_objectives.threads import effective_n_threads

FloatArray = NDArray[np.float64]


class Scores(Protocol):
    """Base of the two kinds of score; holds what does not depend on the rows."""

    def n_values(self, n_classes: int) -> int | None:
        """Return how many values a leaf has; None for one that is no vector."""
        ...

    def row_pass(
        self, y: NDArray[np.int32], n_classes: int, sample_weight: FloatArray | None, score: NDArray[np.floating]
    ) -> Any:
        """Return the pass over some rows that stand at a score."""
        ...

    def spread(self, row_pass: Any, score: FloatArray) -> NDArray[Any]:
        """Return a score in the order and the type of the pass."""
        ...

    def move(
        self, row_pass: Any, score: NDArray[Any], leaf_of_row: NDArray[np.int32], values: FloatArray, out: NDArray[Any]
    ) -> None:
        """Fill `out` with the score after a tree whose nodes have these values."""
        ...


class OneScore:
    """One score a row, which the same thresholds cut everywhere."""

    def __init__(self, loss: OrdinalLoss, n_threads: int | None) -> None:
        self._loss, self._n_threads = loss, n_threads

    def n_values(self, n_classes: int) -> None:
        """Return None: a leaf has one value."""
        return

    def row_pass(
        self, y: NDArray[np.int32], n_classes: int, sample_weight: FloatArray | None, score: NDArray[np.floating]
    ) -> RowStatistics:
        """Return the pass over some rows."""
        return RowStatistics(self._loss, y, n_classes, sample_weight, n_threads=self._n_threads)

    def spread(self, row_pass: RowStatistics, score: FloatArray) -> NDArray[Any]:
        """Return the score as it is."""
        return score

    def move(
        self,
        row_pass: RowStatistics,
        score: NDArray[Any],
        leaf_of_row: NDArray[np.int32],
        values: FloatArray,
        out: NDArray[Any],
    ) -> None:
        """Fill `out` with the score after a tree."""
        _core.add_leaf_values(score, leaf_of_row, values, out, effective_n_threads(self._n_threads))


class ShiftedScores:
    """Scores R_k = f + v_k, one for every threshold, threshold by threshold in memory."""

    def __init__(self, loss: OrdinalLoss, n_threads: int | None) -> None:
        self._loss, self._n_threads = loss, n_threads

    def n_values(self, n_classes: int) -> int:
        """Return one for each threshold."""
        return n_classes - 1

    def row_pass(
        self, y: NDArray[np.int32], n_classes: int, sample_weight: FloatArray | None, score: NDArray[np.floating]
    ) -> MarginStatistics:
        """Return the pass over some rows: in doubles where their score is far from 0."""
        far, n_threads = is_far(score), self._n_threads
        return MarginStatistics(self._loss, y, n_classes, sample_weight, in_doubles=far, n_threads=n_threads)

    def spread(self, row_pass: MarginStatistics, score: FloatArray) -> NDArray[Any]:
        """Return the scores of the thresholds."""
        return row_pass.spread(score)

    def move(
        self,
        row_pass: MarginStatistics,
        score: NDArray[Any],
        leaf_of_row: NDArray[np.int32],
        values: FloatArray,
        out: NDArray[Any],
    ) -> None:
        """Fill `out` with the scores after a tree."""
        row_pass.moved(score, leaf_of_row, values, out=out)
