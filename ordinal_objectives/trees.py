"""Trees that belong to no trainer: arrays over nodes, leaves of one value or several, predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ordinal_objectives import _core
from ordinal_objectives.aliases import BoolArray, FloatArray, IndexArray, IntArray, NDArray, Params, RealArray
from ordinal_objectives.row_blocks import RowBlocks, blocks_of
from ordinal_objectives.utils import public_names

__all__ = ["NODE_ARRAYS", "SET_WORDS", "Tree", "TreeEnsemble", "add_by_leaves", "has_set", "reached_nodes"]
__dir__ = public_names(__name__)

_kernels: Any = _core  # takes arrays by groups
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
# 64-bit words of a set of categories.
SET_WORDS = 4
# Leaf numbers that are held at a time.
_BLOCK = 1 << 24


@dataclass
class Tree:
    """One tree; children come after their parent and next to each other.

    Attributes
    ----------
    feature : ndarray of int32, shape (n_nodes,)
        -1 in a leaf.
    threshold : ndarray of float64, shape (n_nodes,)
        Values up to it go left; infinity where only missing values go right. 0 where categories go left.
    left : ndarray of int32, shape (n_nodes,)
        Left child; the right one is ``left + 1``. -1 in a leaf.
    missing_left : ndarray of uint8, shape (n_nodes,)
        Whether missing values go left.
    value : ndarray of float64, shape (n_nodes,) or (n_nodes, n_outputs)
        What a leaf adds to the score, or to each of several outputs, shrinkage included; 0 in other nodes.
    gain : ndarray of float64, shape (n_nodes,)
        Joint gain of the split; 0 in a leaf.
    count : ndarray of int64, shape (n_nodes,)
        Training rows of the sample that the tree was grown on.
    categories : ndarray of uint64, shape (n_nodes, 4), or None
        The categories that go left, one bit each, from the lowest of the first word on; bit 255 is that of missing
        values. No bit where a threshold parts the rows, and None if one does at every node.
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    missing_left: NDArray[np.uint8]
    value: FloatArray
    gain: FloatArray
    count: NDArray[np.int64]
    categories: NDArray[np.uint64] | None = None

    @classmethod
    def from_bins(cls, grown: Params, cuts: list[FloatArray], n_values: int | None = None) -> Tree:
        """Return a tree that was grown on bins, with thresholds on the features' own scales and leaves of 0.

        Leaves have one value, or vectors of ``n_values``.
        """
        feature = grown["feature"]
        threshold, sets = np.zeros(len(feature)), grown["categories"]
        for node in np.flatnonzero((feature >= 0) & ~has_set(sets, len(feature))):
            ends = cuts[feature[node]]
            bin_ = grown["bin"][node]
            threshold[node] = ends[bin_] if bin_ < len(ends) else np.inf
        left, missing_left, gain, count = (grown[name] for name in ("left", "missing_left", "gain", "count"))
        value = np.zeros(len(feature) if n_values is None else (len(feature), n_values))
        return cls(feature, threshold, left, missing_left, value, gain, count, sets)

    def pruned(self, left: IntArray) -> tuple[Tree, IntArray]:
        """Return the tree without the nodes that ``left`` no longer reaches, and each old node's new number.

        The number of a removed node is that of its ancestor that has become a leaf.
        """
        kept = np.flatnonzero(reached_nodes(left))
        position = np.cumsum(reached_nodes(left)) - 1
        is_leaf = left < 0
        number = np.where(reached_nodes(left), position, -1).astype(np.int32)
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
            None if self.categories is None else np.where(is_leaf[:, np.newaxis], np.uint64(0), self.categories)[kept],
        )
        return tree, number

    def check(self, n_features: int) -> None:
        """Raise ValueError unless every walk from the root stays in the tree and ends in a leaf."""
        n = len(self.left)
        for name, stored in NODE_ARRAYS.items():
            array, dtype = getattr(self, name), np.dtype(stored).newbyteorder("=")
            several = name == "value" and getattr(array, "ndim", 0) == 2
            shape = (n, array.shape[1]) if several else (n,)
            if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != dtype:
                raise ValueError(f"{name} of its nodes must be an array of {dtype}, shape {shape}")
        inner = self.feature >= 0
        left = self.left[inner].astype(np.int64)
        # Children after their parent, each node the child of one.
        children = np.sort(np.concatenate([left, left + 1]))
        are_features = n > 0 and (self.feature >= -1).all() and (self.feature < n_features).all()
        are_children = (left > np.flatnonzero(inner)).all() and np.array_equal(children, np.arange(1, n))
        if not are_features or not are_children:
            raise ValueError("its nodes are not those of a tree")
        if np.isnan(self.threshold).any() or not (np.isfinite(self.value).all() and np.isfinite(self.gain).all()):
            raise ValueError("it holds NaN or infinite values")
        self._check_categories()

    def _check_categories(self) -> None:
        sets: object = self.categories
        n = len(self.left)
        if sets is None:
            return
        if not isinstance(sets, np.ndarray) or sets.shape != (n, SET_WORDS) or sets.dtype != np.uint64:
            raise ValueError(f"categories of its nodes must be an array of uint64, shape ({n}, {SET_WORDS})")
        of_nodes = has_set(sets, n)
        missing = (sets[:, -1] >> np.uint64(63)).astype(np.uint8)
        if (of_nodes & (self.feature < 0)).any() or (missing != self.missing_left)[of_nodes].any():
            raise ValueError("categories of its nodes must belong to splits, and agree with missing_left")

    @property
    def leaves(self) -> IndexArray:
        """Nodes without children."""
        return np.flatnonzero(self.feature < 0)


def has_set(sets: NDArray[np.uint64] | None, n_nodes: int) -> BoolArray:
    """Tell at which nodes categories go left, (n_nodes,)."""
    return np.zeros(n_nodes, np.bool_) if sets is None else (sets != 0).any(axis=1)


def add_by_leaves(
    scores: FloatArray,
    leaves_of: Callable[[int, int], NDArray[Any]],
    vectors_of: Callable[[int], FloatArray],
    first: int,
    last: int,
    n_threads: int,
) -> None:
    """Add to scores for each threshold, (n_samples, n_thresholds), what trees of a framework add, some at a time.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_samples, n_thresholds)
    leaves_of : callable
        Returns the leaf of each row in the trees between two, (n_samples, n_trees).
    vectors_of : callable
        Returns what each leaf of a tree adds, (n_leaves, n_thresholds).
    first, last : int
        Trees ``first`` to ``last - 1``.
    n_threads : int
    """
    step = max(1, _BLOCK // len(scores))
    for start in range(first, last, step):
        stop = min(start + step, last)
        leaves = np.ascontiguousarray(leaves_of(start, stop), dtype=np.int32).reshape(len(scores), -1)
        vectors = [vectors_of(tree) for tree in range(start, stop)]
        offsets = np.cumsum([0, *map(len, vectors)], dtype=np.int64)
        _core.add_tree_vectors(leaves, offsets, np.concatenate(vectors), scores, n_threads)


def reached_nodes(left: IntArray) -> BoolArray:
    """Tell which nodes a row can reach, (n_nodes,)."""
    is_reached = np.zeros(len(left), np.bool_)
    is_reached[0] = True
    for node in range(len(left)):
        if is_reached[node] and left[node] >= 0:
            is_reached[left[node] : left[node] + 2] = True
    return is_reached


@dataclass
class TreeEnsemble:
    """Trees in the order they were grown.

    Parameters
    ----------
    trees : list of Tree
        All of them with leaves of one value, or all with the same number of outputs.
    n_features : int
    """

    trees: list[Tree] = field(default_factory=list)
    n_features: int = 0

    def __len__(self) -> int:
        return len(self.trees)

    def __getstate__(self) -> Params:
        return {"trees": self.trees, "n_features": self.n_features}

    def __setstate__(self, state: Params) -> None:
        self.trees, self.n_features = state["trees"], state["n_features"]
        self.check()

    def check(self) -> None:
        """Raise ValueError if a tree from a file or a pickle is damaged, or the score would overflow."""
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
        return (first_node, *joined[:-1], self._sets(), joined[-1])

    def _sets(self) -> NDArray[np.uint64] | None:
        if all(tree.categories is None for tree in self.trees):
            return None
        found = [(tree.categories, len(tree.left)) for tree in self.trees]
        return np.concatenate([np.zeros((n, SET_WORDS), np.uint64) if sets is None else sets for sets, n in found])

    def scores(self, X: RealArray | RowBlocks, first: int, last: int, n_threads: int) -> FloatArray:
        """Return what the trees first..last-1 add up to, (n_samples,) or (n_samples, n_outputs)."""
        scores = np.zeros((X.shape[0], *(self.trees[0].value.shape[1:] if self.trees else ())))
        self.add_to(scores, X, first, last, n_threads)
        return scores

    def add_to(self, scores: FloatArray, X: RealArray | RowBlocks, first: int, last: int, n_threads: int) -> None:
        """Add the trees first..last-1, in that order, to ``scores``: (n_samples,) or (n_samples, n_outputs)."""
        self._run(X, scores, None, first, last, n_threads)

    def apply(self, X: RealArray | RowBlocks, n_threads: int) -> IntArray:
        """Return the node that each row reaches in each tree, (n_samples, n_trees)."""
        leaves = np.zeros((X.shape[0], len(self)), np.int32)
        self._run(X, self.scores(X, 0, 0, n_threads), leaves, 0, len(self), n_threads)
        return leaves

    def _run(
        self,
        X: RealArray | RowBlocks,
        scores: FloatArray,
        leaves: IntArray | None,
        first: int,
        last: int,
        n_threads: int,
    ) -> None:
        first_node, *nodes = self._packed
        for start, block in blocks_of(X):
            rows = slice(start, start + len(block))
            reached = None if leaves is None else leaves[rows]
            _kernels.predict(block, first_node[first : last + 1], *nodes, scores[rows], reached, n_threads)

    def importances(self, kind: str) -> FloatArray:
        """Return the sum of gains ("gain") or the number of splits ("split") of each feature."""
        total = np.zeros(self.n_features)
        for tree in self.trees:
            inner = tree.feature >= 0
            np.add.at(total, tree.feature[inner], tree.gain[inner] if kind == "gain" else 1.0)
        return total
