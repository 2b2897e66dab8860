"""Pruning and step size, judged on rows that the tree was not grown on: those outside its sample, or validation rows.

A step beta = (leaf weights, threshold step) changes the held-out loss, to second order, by
Q(beta) = g'beta + 1/2 beta'H beta, with g and H the held-out sums and no penalty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.threshold_solver import Diagnostics
from ordinal_objectives.trees import Tree, reached

FloatArray = NDArray[np.float64]
Leaves = NDArray[np.intp]


class LeafQuadratic(Protocol):
    """The quadratic model of some rows over the nodes of a tree, and the thresholds where they move with them."""

    def of_all_nodes(self, left: NDArray[np.int32]) -> LeafQuadratic:
        """Return the sums with those of the leaves added up into their ancestors."""
        ...

    def solve(
        self,
        leaves: Leaves,
        reg_lambda: float,
        active: NDArray[np.bool_],
        tied: NDArray[np.bool_],
        diagnostics: Diagnostics | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the steps of the leaves and of the thresholds that minimise the model with its penalty."""
        ...

    def slope(self, leaves: Leaves, weights: FloatArray, delta: FloatArray) -> float:
        """Return g'beta."""
        ...

    def curvature(self, leaves: Leaves, weights: FloatArray, delta: FloatArray) -> float:
        """Return beta'H beta."""
        ...

    def change(self, leaves: Leaves, weights: FloatArray, delta: FloatArray) -> float:
        """Return Q(beta)."""
        ...


class Judge(Protocol):
    """Validation rows, whose score follows the trees."""

    def leaf_quadratic(self, tree: Tree, thresholds: FloatArray) -> LeafQuadratic:
        """Return their quadratic model over the nodes of a new tree, at the score before it."""
        ...


Fit = Callable[[LeafQuadratic, Leaves], tuple[FloatArray, FloatArray]]


def merge_splits(
    left: NDArray[np.int32], training: LeafQuadratic, held_out: LeafQuadratic, fit: Fit
) -> NDArray[np.int32]:
    """Undo splits that do not lower the held-out loss (thesis, Algorithm 4).

    Of all pairs of sibling leaves the one whose merger leaves Q lowest is merged, as long as Q is then not
    higher than before; the step is fitted anew each time.

    Parameters
    ----------
    left : ndarray of int32, shape (n_nodes,)
        Left child, -1 in a leaf.
    training, held_out : LeafQuadratic
        Of all nodes.
    fit : callable
        ``fit(training, leaves)`` returns the step's leaf weights and threshold step.

    Returns
    -------
    ndarray of int32, shape (n_nodes,)
        ``left`` of the pruned tree; nodes below a merged one are no longer reached.
    """
    left = left.copy()
    leaves = np.flatnonzero(left < 0)
    now = held_out.change(leaves, *fit(training, leaves))
    while True:
        inner = np.flatnonzero(left >= 0)
        is_reached = reached(left)
        twigs = [node for node in inner if is_reached[node] and left[left[node]] < 0 and left[left[node] + 1] < 0]
        best, best_node = np.inf, -1
        for node in twigs:
            merged = np.sort(np.append(np.setdiff1d(leaves, [left[node], left[node] + 1]), node))
            change = held_out.change(merged, *fit(training, merged))
            if change < best:
                best, best_node = change, int(node)
        if best_node < 0 or best > now:
            return left
        leaves = np.sort(np.append(np.setdiff1d(leaves, [left[best_node], left[best_node] + 1]), best_node))
        left[best_node] = -1
        now = best


def best_step_size(
    held_out: LeafQuadratic, leaves: Leaves, weights: FloatArray, delta: FloatArray, most: float
) -> float:
    """Return the step size that lowers the held-out loss most, between 0 and ``most`` (thesis, eq. 4.6)."""
    slope, curvature = held_out.slope(leaves, weights, delta), held_out.curvature(leaves, weights, delta)
    if slope >= 0.0:
        return 0.0
    return most if -slope >= most * curvature else -slope / curvature
