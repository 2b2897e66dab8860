"""A step of leaves and thresholds, and the quadratic model that it is judged by."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Leaves = NDArray[np.intp]


class LeafStep(NamedTuple):
    """One step of leaves and thresholds, without shrinkage.

    Attributes
    ----------
    weights : ndarray of float64, shape (n_leaves,) or (n_leaves, n_classes - 1)
    delta : ndarray of float64, shape (n_classes - 1,), or empty
        Of the thresholds, where they move with the leaves.
    """

    weights: FloatArray
    delta: FloatArray


class LeafModel(Protocol):
    """The quadratic model of some rows: sums over the nodes of a tree, and over thresholds that move with them."""

    def of_all_nodes(self, left: NDArray[np.int32]) -> LeafModel:
        """Return the sums with those of the leaves added up into their ancestors."""
        ...

    def slope(self, leaves: Leaves, weights: FloatArray, delta: FloatArray) -> float:
        """Return g'beta."""
        ...

    def curvature(self, leaves: Leaves, weights: FloatArray, delta: FloatArray) -> float:
        """Return beta'H beta."""
        ...

    def changes(self, leaves: Leaves, weights: FloatArray, delta: FloatArray) -> FloatArray:
        """Return Q(beta) of several sets of leaves, (n_sets, n_leaves), with a step each: (n_sets,)."""
        ...
