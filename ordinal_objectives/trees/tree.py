"""One grown tree, as arrays over its nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    missing_left: NDArray[np.uint8]
    value: NDArray[np.float64]
    gain: NDArray[np.float64]
    count: NDArray[np.int64]
    categories: NDArray[np.uint64] | None = None

    @classmethod
    def from_bins(cls, grown: dict[str, Any], cuts: list[NDArray[np.float64]], n_values: int | None = None) -> Tree:
        """Return a tree that was grown on bins, with thresholds on the features' own scales and leaves of 0.

        Leaves have one value, or vectors of ``n_values``.
        """
        feature = grown["feature"]
        threshold, sets = np.zeros(len(feature)), grown["categories"]
        for node in np.flatnonzero((feature >= 0) & ~has_set(sets, len(feature))):
            ends = cuts[feature[node]]
            bin_ = grown["bin"][node]
            threshold[node] = ends[bin_] if bin_ < len(ends) else np.inf
        return cls(
            feature,
            threshold,
            grown["left"],
            grown["missing_left"],
            np.zeros(len(feature) if n_values is None else (len(feature), n_values)),
            grown["gain"],
            grown["count"],
            sets,
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
        if (
            n == 0
            or (self.feature < -1).any()
            or (self.feature >= n_features).any()
            or (left <= np.flatnonzero(inner)).any()
            or not np.array_equal(children, np.arange(1, n))
        ):
            raise ValueError("its nodes are not those of a tree")
        if np.isnan(self.threshold).any() or not (np.isfinite(self.value).all() and np.isfinite(self.gain).all()):
            raise ValueError("it holds NaN or infinite values")
        self._check_categories()

    def _check_categories(self) -> None:
        sets, n = self.categories, len(self.left)
        if sets is None:
            return
        if not isinstance(sets, np.ndarray) or sets.shape != (n, SET_WORDS) or sets.dtype != np.uint64:
            raise ValueError(f"categories of its nodes must be an array of uint64, shape ({n}, {SET_WORDS})")
        of_nodes = has_set(sets, n)
        missing = (sets[:, -1] >> np.uint64(63)).astype(np.uint8)
        if (of_nodes & (self.feature < 0)).any() or (missing != self.missing_left)[of_nodes].any():
            raise ValueError("categories of its nodes must belong to splits, and agree with missing_left")

    @property
    def leaves(self) -> NDArray[np.intp]:
        """Nodes without children."""
        return np.flatnonzero(self.feature < 0)


def has_set(sets: NDArray[np.uint64] | None, n_nodes: int) -> NDArray[np.bool_]:
    """Tell at which nodes categories go left, (n_nodes,)."""
    found: NDArray[np.bool_] = np.zeros(n_nodes, np.bool_) if sets is None else (sets != 0).any(axis=1)
    return found


def reached(left: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Tell which nodes a row can reach, (n_nodes,)."""
    is_reached = np.zeros(len(left), np.bool_)
    is_reached[0] = True
    for node in range(len(left)):
        if is_reached[node] and left[node] >= 0:
            is_reached[left[node] : left[node] + 2] = True
    return is_reached
