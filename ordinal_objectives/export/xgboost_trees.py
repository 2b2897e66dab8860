"""The trees of an XGBoost booster."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray

from ordinal_objectives.adapters.xgb.booster import check_all_rounds, threshold_record
from ordinal_objectives.adapters.xgb.estimator import XGBOrdinalClassifier
from ordinal_objectives.export.scoring_model import Scorer, ScoringTree
from ordinal_objectives.threads import one_thread_after_fork
from ordinal_objectives.threshold_solver.record import ThresholdRecord


@one_thread_after_fork()
def read(model: XGBOrdinalClassifier, n_iter: int, by_value: Sequence[int]) -> Scorer:
    """Return the scorer of a fitted classifier's first rounds; the booster knows which columns are ``by_value``."""
    booster, record = model.booster_, threshold_record(model.booster_)
    check_all_rounds(booster, record, n_iter)
    content = BoosterContent(booster, n_iter)
    trees = [
        as_scoring_tree(tree, _leaf_values(tree, record, number) * weight)
        for number, (tree, weight) in enumerate(zip(content.trees, content.weights, strict=True))
    ]
    mixed, offset = _as_scores(record, n_iter, trees, content.base)
    missing = np.nan if model.missing is None else model.missing
    return Scorer(mixed, len(offset), offset, reads_float32=True, missing=missing, levels=content.levels())


class BoosterContent:
    """What a booster's JSON holds of its first rounds.

    Attributes
    ----------
    trees : list of dict
        As XGBoost writes them.
    weights : list of float
        What each tree is multiplied by.
    outputs : list of int
        To which output each tree adds, where its leaves have one value.
    base : ndarray of float64, shape (n_outputs,) or (1,)
        What is added to the trees.
    """

    def __init__(self, booster: xgboost.Booster, n_iter: int) -> None:
        learner = json.loads(bytes(booster.save_raw("json")))["learner"]
        boosting = learner["gradient_booster"]
        if boosting["name"] == "gblinear":
            raise ValueError("model must have trees; booster='gblinear' has none")
        of_trees = boosting.get("gbtree", boosting)["model"]
        stop = of_trees["iteration_indptr"][n_iter]
        weights = boosting.get("weight_drop") or of_trees.get("weight_drop") or [1.0] * stop
        self.trees, self.weights, self.outputs = of_trees["trees"][:stop], weights[:stop], of_trees["tree_info"][:stop]
        self.base = np.array(json.loads(learner["learner_model_param"]["base_score"]), dtype=np.float64).ravel()
        self._cats, self._names = of_trees["cats"], learner["feature_names"]

    def levels(self) -> dict[int, list[Any]]:
        """Return the levels of the columns of categories by value."""
        found = {place: one for place, one in enumerate(self._cats["enc"]) if one["values"]}
        return {place: _level_values(one, place, self._names) for place, one in found.items()}


def values_of_leaves(tree: dict[str, Any]) -> NDArray[np.float64]:
    """Return what the leaves of a tree hold, (n_leaves, n_values), in the order of its nodes."""
    width = int(tree["tree_param"]["size_leaf_vector"])
    if width > 1:
        return np.array(tree["leaf_weights"], dtype=np.float64).reshape(-1, width)
    leaves = np.array(tree["left_children"]) == -1
    return np.array(tree["split_conditions"], dtype=np.float64)[leaves, np.newaxis]


def _leaf_values(tree: dict[str, Any], record: ThresholdRecord, number: int) -> NDArray[np.float64]:
    """Return what each leaf of a tree adds, (n_leaves, n_values), in the order of its nodes."""
    values = values_of_leaves(tree)
    if values.shape[1] > 1 or record.shifts is None or record.outputs is not None:
        return values
    vectors = record.leaf_vectors[number]
    return vectors.astype(np.float64) if len(vectors) else np.repeat(values, record.n_classes - 1, axis=1)


def as_scoring_tree(tree: dict[str, Any], of_leaves: NDArray[np.float64]) -> ScoringTree:
    """Return a tree of XGBoost's JSON whose leaves have these values, (n_leaves, n_outputs)."""
    left, right = (np.array(tree[f"{side}_children"], dtype=np.int32) for side in ("left", "right"))
    inner, missing_left = left != -1, np.array(tree["default_left"], dtype=bool)
    segments = zip(tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True)
    codes = np.array(tree["categories"], dtype=np.int64)
    categories = {node: codes[start : start + size] for node, start, size in segments}
    for node in categories:  # XGBoost's sets go right
        left[node], right[node], missing_left[node] = right[node], left[node], not missing_left[node]
    # XGBoost sends x < c to the left, in float32.
    below = np.nextafter(np.array(tree["split_conditions"], dtype=np.float32), np.float32(-np.inf))
    by_number = inner & ~np.isin(np.arange(len(left)), list(categories))
    value = np.zeros((len(left), of_leaves.shape[1]))
    value[~inner] = of_leaves
    return ScoringTree(
        feature=np.where(inner, tree["split_indices"], -1).astype(np.int32),
        threshold=np.where(by_number, below, 0.0).astype(np.float64),
        left=left,
        right=np.where(inner, right, -1).astype(np.int32),
        missing_left=missing_left & inner,
        value=value,
        count=np.array(tree["sum_hessian"], dtype=np.float64),
        categories=categories,
    )


def _as_scores(
    record: ThresholdRecord, n_iter: int, trees: list[ScoringTree], base: NDArray[np.float64]
) -> tuple[list[ScoringTree], NDArray[np.float64]]:
    """Return trees that add up to scores, and what is added to them, whatever XGBoost's outputs are."""
    if record.outputs is None:
        return trees, np.repeat(base, 1 if record.shifts is None else record.n_classes - 1)
    mixing = record.outputs.mixing
    outputs = np.broadcast_to(base, len(mixing))
    offset = record.outputs.offset(n_iter) - record.outputs.offset(0)
    return [replace(tree, value=tree.value @ mixing.T) for tree in trees], outputs @ mixing.T - offset


def _level_values(column: dict[str, Any], place: int, names: list[str]) -> list[Any]:
    if "type" in column:
        return list(column["values"])
    text = np.array(column["values"], dtype=np.int8).tobytes()
    if not text.isascii():  # XGBoost cuts such names off, since it counts letters for bytes
        name = repr(names[place]) if names else place
        raise ValueError(f"column {name} must have categories in ASCII: XGBoost's file does not hold others whole")
    ends = column["offsets"]
    return [text[start:stop].decode() for start, stop in pairwise(ends)]
