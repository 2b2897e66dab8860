"""Scores of a booster whose leaves shift single thresholds: f + v_k for every threshold of a row.

LightGBM itself predicts f, the mean over the thresholds. The vectors of the leaves are in the threshold record.
"""

from __future__ import annotations

from collections.abc import Callable

import lightgbm
import numpy as np
from numpy.typing import NDArray

from ordinal_objectives import _core
from ordinal_objectives.adapters.lgbm.trees import leaf_values_in
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.threshold_solver.record import ThresholdRecord

# Leaf numbers that are held at a time.
_BLOCK = 1 << 25


def leaf_scores(
    booster: lightgbm.Booster,
    record: ThresholdRecord,
    find_leaves: Callable[[int, int], NDArray[np.int32]],
    n_samples: int,
    start: int,
    stop: int,
) -> NDArray[np.float64]:
    """Return what iterations ``start`` to ``stop - 1`` add to the scores, (n_samples, n_classes - 1).

    Parameters
    ----------
    booster : lightgbm.Booster
    record : ThresholdRecord
        The booster's, with shifts.
    find_leaves : callable
        ``find_leaves(first, last)`` returns the leaf of every row in iterations ``first`` to ``last - 1``.
    n_samples, start, stop : int
    """
    scores = np.zeros((n_samples, record.n_classes - 1))
    step = max(1, _BLOCK // max(n_samples, 1))
    for first in range(start, stop, step):
        last = min(first + step, stop)
        tables = [_vectors_of(booster, record, tree) for tree in range(first, last)]
        leaves = np.ascontiguousarray(find_leaves(first, last), dtype=np.int32).reshape(n_samples, last - first)
        offsets = np.cumsum([0, *map(len, tables)], dtype=np.int64)
        _core.add_tree_vectors(leaves, offsets, np.concatenate(tables), scores, effective_n_threads(None))
    return scores


def _vectors_of(booster: lightgbm.Booster, record: ThresholdRecord, tree: int) -> NDArray[np.float64]:
    """Return what each leaf of a tree adds; a tree without vectors adds its values to all thresholds alike."""
    vectors = record.leaf_vectors[tree]
    if len(vectors):
        return vectors.astype(np.float64)
    values = leaf_values_in(booster.model_to_string(num_iteration=1, start_iteration=tree))
    return np.repeat(values[:, np.newaxis], record.n_classes - 1, axis=1)
