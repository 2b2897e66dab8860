"""The trees of a LightGBM booster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.adapters.lgbm.booster import check_all_rounds, threshold_record
from ordinal_objectives.adapters.lgbm.estimator import LGBMOrdinalClassifier
from ordinal_objectives.export.scoring_model import Scorer, ScoringTree
from ordinal_objectives.threads import one_thread_after_fork

ValuesOf = Callable[[int, dict[str, Any]], NDArray[np.float64]]
# What LightGBM's JSON has for infinity.
_INFINITE = 1e300


@one_thread_after_fork()
def read(model: LGBMOrdinalClassifier, n_iter: int, by_value: Sequence[int]) -> Scorer:
    """Return the scorer of a fitted classifier's first iterations; columns ``by_value`` are of a category type."""
    booster, record = model.booster_, threshold_record(model.booster_)
    check_all_rounds(booster, record, n_iter)
    content = booster.dump_model(num_iteration=n_iter, start_iteration=0) if n_iter else {"tree_info": []}
    n_outputs = 1 if record.shifts is None else record.n_classes - 1

    def values_of(number: int, leaf: dict[str, Any]) -> NDArray[np.float64]:
        vectors = record.leaf_vectors[number] if record.shifts is not None else ()
        if not len(vectors):
            return np.full(n_outputs, leaf["leaf_value"])
        return np.asarray(vectors[leaf.get("leaf_index", 0)], dtype=np.float64)

    return as_scorer(content["tree_info"], n_outputs, values_of, booster.pandas_categorical or [], by_value)


def as_scorer(
    trees: list[dict[str, Any]], n_outputs: int, values_of: ValuesOf, levels: list[Any], by_value: Sequence[int]
) -> Scorer:
    """Return the scorer of trees in LightGBM's JSON.

    Parameters
    ----------
    trees : list of dict
    n_outputs : int
    values_of : callable
        What a leaf of a tree, given by its number, adds to each output.
    levels : list of list
        Of the columns of a category type, in their order.
    by_value : sequence of int
        Those columns of the rows that are to be predicted.
    """
    if by_value and len(by_value) != len(levels):
        raise ValueError(
            f"X_example must have the {len(levels)} column(s) of a category type that the training had; it has "
            f"{len(by_value)}"
        )
    zero_is_missing = set[int]()
    return Scorer(
        [_Reading(number, n_outputs, values_of, zero_is_missing).tree(tree) for number, tree in enumerate(trees)],
        n_outputs,
        np.zeros(n_outputs),
        zero_is_missing=np.array(sorted(zero_is_missing), dtype=np.intp),
        levels=dict(zip(by_value, map(list, levels), strict=False)),
    )


class _Reading:
    """One tree while it is read."""

    def __init__(self, number: int, n_outputs: int, values_of: ValuesOf, zero_is_missing: set[int]) -> None:
        self._number, self._n_outputs, self._values_of = number, n_outputs, values_of
        self._zero_is_missing = zero_is_missing
        self._categories: dict[int, NDArray[np.int64]] = {}

    def tree(self, content: dict[str, Any]) -> ScoringTree:
        """Return a tree of LightGBM's JSON."""
        nodes, children = [content["tree_structure"]], []
        for node in nodes:
            inner = "left_child" in node
            children.append((len(nodes), len(nodes) + 1) if inner else (-1, -1))
            nodes += [node["left_child"], node["right_child"]] if inner else []
        rules = np.array([self._rule(number, node) for number, node in enumerate(nodes)])
        left, right = np.array(children, dtype=np.int32).T
        return ScoringTree(
            feature=np.array([node.get("split_feature", -1) for node in nodes], dtype=np.int32),
            threshold=rules[:, 0],
            left=left,
            right=right,
            missing_left=rules[:, 1].astype(bool),
            value=np.array([self._value(node) for node in nodes]).reshape(len(nodes), self._n_outputs),
            count=np.array([node.get("internal_count", node.get("leaf_count", 0)) for node in nodes], dtype=np.float64),
            categories=self._categories,
        )

    def _rule(self, number: int, node: dict[str, Any]) -> tuple[float, bool]:
        """Return the threshold of a node, and whether missing values go left."""
        if "left_child" not in node:
            return 0.0, False
        if node["decision_type"] == "==":  # sets go left, all else goes right
            self._categories[number] = np.array([int(code) for code in node["threshold"].split("||")], dtype=np.int64)
            return 0.0, False
        if node["missing_type"] == "Zero":
            self._zero_is_missing.add(int(node["split_feature"]))
        threshold = node["threshold"] if node["threshold"] < _INFINITE else np.inf  # all numbers go left
        if node["missing_type"] == "None":  # where the training had none, one counts as 0
            return threshold, threshold >= 0.0
        return threshold, node["default_left"]

    def _value(self, node: dict[str, Any]) -> NDArray[np.float64]:
        if "left_child" in node:
            return np.zeros(self._n_outputs)
        if node.get("leaf_coeff"):
            raise ValueError("model must have leaves of one value; with linear_tree=True they are linear models")
        return self._values_of(self._number, node)
