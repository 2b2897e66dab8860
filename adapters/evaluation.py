"""Rows of evaluation sets, prepared once and again only if their labels or weights change."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ordinal_objectives.rows import Workers, fail_together
from ordinal_objectives.utils.validation import check_codes, check_total_weight


class EvaluatedRows:
    """Rows of an evaluation set, and the labels and weights that they were read with.

    Parameters
    ----------
    label, weight : ndarray, shape (n_samples,)
        ``weight`` may be None.
    n_classes : int
    rows_of : callable
        ``rows_of(codes, n_classes, weight)`` returns the pass over the rows.
    workers : Workers or None
        The workers that hold parts of the rows.

    Raises
    ------
    ValueError
        If labels are no class codes, or the weights sum to 0.
    """

    def __init__(
        self, label: Any, weight: Any, n_classes: int, rows_of: Callable[..., Any], workers: Workers | None = None
    ) -> None:
        part, name = workers is not None, "an evaluation set"
        self._label = fail_together(workers, lambda: check_codes(np.array(label), n_classes, name=name, part=part))
        self._weight = None if weight is None else np.array(weight)
        if not part:
            check_total_weight(self._weight, name=f"the weight of {name}")
        self.rows = rows_of(self._label, n_classes, self._weight)
        if part:
            check_total_weight(self.rows.class_weights, name=f"the weight of {name}")

    def belong_to(self, label: Any, weight: Any) -> bool:
        """Tell whether these are the labels and weights that the rows were read with."""
        same_weight = np.array_equal(self._weight, weight) if self._weight is not None else weight is None
        return same_weight and np.array_equal(self._label, label)


class EvaluationSets:
    """Evaluation sets of one run, each read again only if its labels or weights change.

    Parameters
    ----------
    n_classes, rows_of, workers
        As for :class:`EvaluatedRows`.
    """

    def __init__(self, n_classes: int, rows_of: Callable[..., Any], workers: Workers | None) -> None:
        self._n_classes, self._rows_of, self._workers = n_classes, rows_of, workers
        self._known: weakref.WeakKeyDictionary[Any, EvaluatedRows] = weakref.WeakKeyDictionary()

    def rows(self, matrix: Any, label: Any, weight: Any) -> Any:
        """Return the pass over the rows of a matrix with these labels and weights."""
        kept = self._known.get(matrix)
        if kept is None or not kept.belong_to(label, weight):
            kept = EvaluatedRows(label, weight, self._n_classes, self._rows_of, self._workers)
            self._known[matrix] = kept
        return kept.rows
