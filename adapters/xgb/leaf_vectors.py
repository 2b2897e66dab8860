"""Scores of a booster whose leaves shift single thresholds: f + v_k for every threshold of a row.

XGBoost itself predicts f, the mean over the thresholds. The vectors of the leaves are in the threshold record.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import xgboost
from numpy.typing import NDArray

from ordinal_objectives import _core
from ordinal_objectives.adapters.xgb import raw_trees
from ordinal_objectives.adapters.xgb.raw_trees import leaf_nodes
from ordinal_objectives.adapters.xgb.trees import categories_of, rounds_of
from ordinal_objectives.predictions import without_mean
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.trees import Tree, TreeEnsemble

# Numbers that a block of rows, or of leaf numbers, holds at a time.
_BLOCK = 1 << 24


class _TakenOver(NamedTuple):
    """Trees of a booster, read once.

    Attributes
    ----------
    n_rounds : int
    checksums : list of int or None
        Of the trees, as the record has them: a booster may have become another model since.
    categories : dict or None
        Those of the training, for slices; see :func:`.trees.rounds_of`.
    ensemble : TreeEnsemble or None
        None where a split is categorical: XGBoost then finds the leaves.
    of_node : list of ndarray of float64, shape (n_nodes, n_thresholds)
        What every leaf adds, by XGBoost's numbers of nodes.
    """

    n_rounds: int
    checksums: list[int] | None
    categories: dict[str, Any] | None
    ensemble: TreeEnsemble | None
    of_node: list[NDArray[np.float64]]


_taken: weakref.WeakKeyDictionary[xgboost.Booster, _TakenOver] = weakref.WeakKeyDictionary()


def leaf_scores(
    booster: xgboost.Booster,
    record: ThresholdRecord,
    data: xgboost.DMatrix | NDArray[Any],
    start: int,
    stop: int,
    missing: float = np.nan,
    n_threads: int | None = None,
) -> NDArray[np.float64]:
    """Return what rounds ``start`` to ``stop - 1`` add to the scores, (n_samples, n_classes - 1).

    Parameters
    ----------
    booster : xgboost.Booster
    record : ThresholdRecord
        The booster's, with shifts.
    data : xgboost.DMatrix, or ndarray of shape (n_samples, n_features)
    start, stop : int
    missing : float, default=nan
        What stands for a missing value in an array.
    n_threads : int or None
    """
    taken = _take_over(booster, record)
    n_threads = effective_n_threads(n_threads)
    if isinstance(data, np.ndarray):
        if taken.ensemble is not None:
            scores = np.zeros((len(data), record.n_classes - 1))
            taken.ensemble.add_to(scores, _without(data, missing), start, stop, n_threads)
            return scores
        types = booster.feature_types
        data = xgboost.DMatrix(data, missing=missing, feature_types=types, enable_categorical=True)
    scores = np.zeros((data.num_row(), record.n_classes - 1))
    if start == stop or not len(scores):
        return scores
    if taken.ensemble is None or type(data) is not xgboost.DMatrix:
        _add_by_leaves(booster, taken, data, scores, start, stop, n_threads)
        return scores
    if data.num_col() < taken.ensemble.n_features:
        raise ValueError(f"data must have {taken.ensemble.n_features} columns; got {data.num_col()}")
    rows = data.get_data()  # what the matrix does not hold is missing
    step = max(1, _BLOCK // max(rows.shape[1], 1))
    for first in range(0, rows.shape[0], step):
        taken.ensemble.add_to(scores[first : first + step], _dense(rows, first, first + step), start, stop, n_threads)
    return scores


def start_scores(data: xgboost.DMatrix) -> NDArray[np.float64]:
    """Return the base_margin of a matrix, or zeros, (n_samples,)."""
    margin = data.get_base_margin()
    return margin.astype(np.float64) if margin.size else np.zeros(data.num_row())


def shifts_before(
    model: xgboost.Booster, record: ThresholdRecord | None
) -> Callable[[xgboost.DMatrix], NDArray[np.float64]] | None:
    """Return a function that gives the shifts of a matrix by a model that is continued; None if it has none."""
    if record is None or record.shifts is None or record.outputs is not None:
        return None
    # The model grows on from here: its trees of today are kept.
    rounds = model.num_boosted_rounds()
    before = rounds_of(model, 0, rounds)

    def shifts(data: xgboost.DMatrix) -> NDArray[np.float64]:
        return without_mean(leaf_scores(before, record, data, 0, rounds))

    return shifts


def _without(data: NDArray[Any], missing: float) -> NDArray[np.float32]:
    """Return an array as XGBoost reads it: in float32, missing values as NaN."""
    X = np.asarray(data, dtype=np.float32)
    return X if np.isnan(missing) else np.where(np.float32(missing) == X, np.float32(np.nan), X)


def _dense(rows: Any, first: int, stop: int) -> NDArray[np.float32]:
    part = rows[first:stop]
    if part.nnz == part.shape[0] * part.shape[1]:
        full: NDArray[np.float32] = part.data.reshape(part.shape)
        return full
    block = np.full(part.shape, np.nan, dtype=np.float32)
    block[np.repeat(np.arange(part.shape[0]), np.diff(part.indptr)), part.indices] = part.data
    return block


def _add_by_leaves(
    booster: xgboost.Booster,
    taken: _TakenOver,
    data: xgboost.DMatrix,
    scores: NDArray[np.float64],
    start: int,
    stop: int,
    n_threads: int,
) -> None:
    """Let XGBoost find the leaves, some rounds at a time."""
    step = max(1, _BLOCK // len(scores))
    for first in range(start, stop, step):
        last = min(first + step, stop)
        # Leaves are found from the first tree on alone.
        part = booster if (first, last) == (0, taken.n_rounds) else rounds_of(booster, first, last, taken.categories)
        nodes = part.predict(data, pred_leaf=True).reshape(len(scores), -1)
        tables = taken.of_node[first:last]
        offsets = np.cumsum([0, *map(len, tables)], dtype=np.int64)
        _core.add_tree_vectors(
            np.ascontiguousarray(nodes, dtype=np.int32), offsets, np.concatenate(tables), scores, n_threads
        )


def check_leaves(booster: xgboost.Booster, record: ThresholdRecord) -> None:
    """Raise ValueError unless a record has vectors for the leaves of the booster's trees."""
    if record.shifts is not None and record.outputs is None:
        _take_over(booster, record)


def _take_over(booster: xgboost.Booster, record: ThresholdRecord) -> _TakenOver:
    known = _taken.get(booster)
    rounds = booster.num_boosted_rounds()
    if known is None or (known.n_rounds, known.checksums) != (rounds, record.trees):
        trees = raw_trees.trees(booster.save_raw("ubj"))[: record.n_iterations]
        pairs = list(zip(trees, record.leaf_vectors[: len(trees)], strict=True))
        record.check_leaves(len(leaf_nodes(tree["left_children"])) for tree in trees)
        of_node = [_by_node(tree, vectors, record.n_classes - 1) for tree, vectors in pairs]
        ensemble = None
        if not any(tree["categories_nodes"].size for tree in trees):
            ours = [_as_tree(*both) for both in zip(trees, of_node, strict=True)]
            ensemble = TreeEnsemble(ours, booster.num_features())
        known = _taken[booster] = _TakenOver(rounds, record.trees, categories_of(booster), ensemble, of_node)
    return known


def _by_node(tree: dict[str, Any], vectors: NDArray[np.float32], n_thresholds: int) -> NDArray[np.float64]:
    """Return what each node of a tree adds; a tree without vectors adds its leaf values to all thresholds alike."""
    leaves = leaf_nodes(tree["left_children"])
    table = np.zeros((len(tree["left_children"]), n_thresholds))
    if len(vectors):
        table[leaves] = vectors
    else:
        table[leaves] = np.asarray(tree["split_conditions"], dtype=np.float32)[leaves, np.newaxis]
    return table


def _as_tree(tree: dict[str, Any], of_node: NDArray[np.float64]) -> Tree:
    """Return a tree of XGBoost as one of ours, its nodes renumbered so that children are next to each other."""
    left = np.asarray(tree["left_children"], dtype=np.int32)
    right = np.asarray(tree["right_children"], dtype=np.int32)
    order, position = [0], np.zeros(len(left), dtype=np.int32)
    for node in order:
        position[node] = len(order)  # of its left child, for now
        if left[node] >= 0:
            order += [int(left[node]), int(right[node])]
    nodes = np.asarray(order)
    inner = left[nodes] >= 0
    # XGBoost sends x < c to the left, in float32.
    below = np.nextafter(np.asarray(tree["split_conditions"], dtype=np.float32)[nodes], np.float32(-np.inf))
    return Tree(
        feature=np.where(inner, np.asarray(tree["split_indices"])[nodes], -1).astype(np.int32),
        threshold=np.where(inner, below, 0.0).astype(np.float64),
        left=np.where(inner, position[nodes], -1).astype(np.int32),
        missing_left=np.where(inner, np.asarray(tree["default_left"])[nodes], 0).astype(np.uint8),
        value=np.where(inner[:, np.newaxis], 0.0, of_node[nodes]),
        gain=np.zeros(len(nodes)),
        count=np.zeros(len(nodes), dtype=np.int64),
    )
