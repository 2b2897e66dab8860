"""Scores of a booster whose leaves shift single thresholds: f + v_k for every threshold of a row.

LightGBM itself predicts f, the mean over the thresholds. The vectors of the leaves are in the threshold record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray

from ordinal_objectives import _core
from ordinal_objectives.predictions import without_mean
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
    text = booster.model_to_string(num_iteration=1, start_iteration=tree)
    line = next(line for line in text.splitlines() if line.startswith("leaf_value="))
    values = np.array(line.removeprefix("leaf_value=").split(), dtype=np.float64)
    return np.repeat(values[:, np.newaxis], record.n_classes - 1, axis=1)


def shifts_of(booster: lightgbm.Booster, record: ThresholdRecord, data: Any) -> NDArray[np.float64]:
    """Return the shifts of some rows by all iterations of a booster, (n_samples, n_classes - 1).

    Raises
    ------
    ValueError
        If the rows are no longer there.
    """
    if data is None:
        raise ValueError(
            "a model with thresholds that move with x is continued on its raw rows: pass Datasets that still hold them "
            "(free_raw_data=False, or new ones)"
        )
    rounds = booster.current_iteration()

    def find_leaves(first: int, last: int) -> NDArray[np.int32]:
        leaves = booster.predict(data, pred_leaf=True, start_iteration=first, num_iteration=last - first)
        return np.asarray(leaves).reshape(-1, last - first)

    n_samples = len(find_leaves(0, 1)) if rounds else data.shape[0]
    scores = leaf_scores(booster, record, find_leaves, n_samples, 0, rounds)
    return without_mean(scores)
