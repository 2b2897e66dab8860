"""Grown trees, as arrays over their nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives import _core
from ordinal_objectives.histogram_engine.held_out import reached

# The arrays of a tree, in the types that files keep.
NODE_ARRAYS = {
    "feature": "<i4",
    "threshold": "<f8",
    "left": "<i4",
    "missing_left": "|u1",
    "value": "<f8",
    "gain": "<f8",
    "count": "<i8",
}


@dataclass
class Tree:
    """One tree; children come after their parent and next to each other.

    Attributes
    ----------
    feature : ndarray of int32, shape (n_nodes,)
        -1 in a leaf.
    threshold : ndarray of float64, shape (n_nodes,)
        Values up to it go left; infinity where only missing values go right.
    left : ndarray of int32, shape (n_nodes,)
        Left child; the right one is ``left + 1``. -1 in a leaf.
    missing_left : ndarray of uint8, shape (n_nodes,)
        Whether missing values go left.
    value : ndarray of float64, shape (n_nodes,)
        What a leaf adds to the score, shrinkage included; 0 in other nodes.
    gain : ndarray of float64, shape (n_nodes,)
        Joint gain of the split; 0 in a leaf.
    count : ndarray of int64, shape (n_nodes,)
        Training rows of the sample that the tree was grown on.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    missing_left: NDArray[np.uint8]
    value: NDArray[np.float64]
    gain: NDArray[np.float64]
    count: NDArray[np.int64]

    @classmethod
    def from_engine(cls, grown: dict[str, Any], cuts: list[NDArray[np.float64]]) -> Tree:
        """Return the tree that the engine grew on bins, with thresholds on the features' own scales."""
        feature = grown["feature"]
        threshold = np.zeros(len(feature))
        for node in np.flatnonzero(feature >= 0):
            ends = cuts[feature[node]]
            bin_ = grown["bin"][node]
            threshold[node] = ends[bin_] if bin_ < len(ends) else np.inf
        return cls(
            feature,
            threshold,
            grown["left"],
            grown["missing_left"],
            np.zeros(len(feature)),
            grown["gain"],
            grown["count"],
        )

    def pruned(self, left: NDArray[np.int32]) -> tuple[Tree, NDArray[np.int32]]:
        """Return the tree without the nodes that ``left`` no longer reaches, and each old node's new number.

        The number of a removed node is that of its ancestor that has become a leaf.
        """
        kept = np.flatnonzero(reached(left))
        position = np.cumsum(reached(left)) - 1
        is_leaf = left < 0
        number = np.where(reached(left), position, -1).astype(np.int32)
        for node in np.flatnonzero(self.left >= 0):
            if number[self.left[node]] < 0:
                number[self.left[node] : self.left[node] + 2] = number[node]
        tree = Tree(
            np.where(is_leaf, -1, self.feature)[kept].astype(np.int32),
            np.where(is_leaf, 0.0, self.threshold)[kept],
            np.where(is_leaf, -1, position[left])[kept].astype(np.int32),
            np.where(is_leaf, 0, self.missing_left)[kept].astype(np.uint8),
            self.value[kept],
            np.where(is_leaf, 0.0, self.gain)[kept],
            self.count[kept],
        )
        return tree, number

    def check(self, n_features: int) -> None:
        """Raise ValueError unless every walk from the root stays in the tree and ends in a leaf."""
        n = len(self.left)
        for name, stored in NODE_ARRAYS.items():
            array, dtype = getattr(self, name), np.dtype(stored).newbyteorder("=")
            if not isinstance(array, np.ndarray) or array.shape != (n,) or array.dtype != dtype:
                raise ValueError(f"{name} of its nodes must be an array of {dtype}, shape ({n},)")
        inner = self.feature >= 0
        left = self.left[inner].astype(np.int64)
        # Children after their parent, each node the child of one.
        children = np.sort(np.concatenate([left, left + 1]))
        if (
            n == 0
            or (self.feature < -1).any()
            or (self.feature >= n_features).any()
            or (left <= np.flatnonzero(inner)).any()
            or not np.array_equal(children, np.arange(1, n))
        ):
            raise ValueError("its nodes are not those of a tree")
        if np.isnan(self.threshold).any() or not (np.isfinite(self.value) & np.isfinite(self.gain)).all():
            raise ValueError("it holds NaN or infinite values")

    @property
    def leaves(self) -> NDArray[np.intp]:
        """Nodes without children."""
        return np.flatnonzero(self.feature < 0)


@dataclass
class TreeEnsemble:
    """Trees in the order they were grown.

    Parameters
    ----------
    trees : list of Tree
    n_features : int
    """

    trees: list[Tree] = field(default_factory=list)
    n_features: int = 0

    def __len__(self) -> int:
        return len(self.trees)

    def __getstate__(self) -> dict[str, Any]:
        return {"trees": self.trees, "n_features": self.n_features}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.trees, self.n_features = state["trees"], state["n_features"]
        self.check()

    def check(self) -> None:
        """Raise ValueError if a tree from a file or a pickle is none, or the score would overflow."""
        for t, tree in enumerate(self.trees):
            try:
                tree.check(self.n_features)
            except ValueError as error:
                raise ValueError(f"tree {t} is not a tree: {error}") from None
        largest = [float(np.abs(tree.value).max()) for tree in self.trees]
        if not np.isfinite(sum(largest)):
            raise ValueError("the values of its leaves overflow the score")

    @cached_property
    def _packed(self) -> tuple[Any, ...]:
        first_node = np.cumsum([0, *(len(tree.feature) for tree in self.trees)], dtype=np.int64)
        names = ("feature", "threshold", "left", "missing_left", "value")
        dtypes = (np.int32, np.float64, np.int32, np.uint8, np.float64)
        joined = tuple(
            np.concatenate([getattr(tree, name) for tree in self.trees] or [np.zeros(0)]).astype(dtype, copy=False)
            for name, dtype in zip(names, dtypes, strict=True)
        )
        return (first_node, *joined)

    def add_to(
        self, scores: NDArray[np.float64], X: NDArray[np.floating], first: int, last: int, n_threads: int
    ) -> None:
        """Add the trees first..last-1 to ``scores`` (n_samples,), in that order."""
        self._run(X, scores, None, first, last, n_threads)

    def apply(self, X: NDArray[np.floating], n_threads: int) -> NDArray[np.int32]:
        """Return the node that each row reaches in each tree, (n_samples, n_trees)."""
        leaves = np.zeros((X.shape[0], len(self)), np.int32)
        self._run(X, np.zeros(X.shape[0]), leaves, 0, len(self), n_threads)
        return leaves

    def _run(
        self, X: NDArray[np.floating], scores: NDArray[np.float64], leaves: Any, first: int, last: int, n_threads: int
    ) -> None:
        first_node, feature, threshold, left, missing_left, value = self._packed
        _core.predict(
            X, first_node[first : last + 1], feature, threshold, left, missing_left, value, scores, leaves, n_threads
        )

    def importances(self, kind: str) -> NDArray[np.float64]:
        """Return the sum of gains ("gain") or the number of splits ("split") of each feature."""
        total = np.zeros(self.n_features)
        for tree in self.trees:
            inner = tree.feature >= 0
            np.add.at(total, tree.feature[inner], tree.gain[inner] if kind == "gain" else 1.0)
        return total
