"""Pruning and step size, judged on rows that the tree was not grown on: those outside its sample, or validation rows.

A step beta = (leaf weights, threshold step) changes the held-out loss, to second order, by
Q(beta) = g'beta + 1/2 beta'H beta, with g and H the held-out sums and no penalty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.histogram_engine.leaf_step import LeafModel, LeafStep, Leaves
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.trees import Tree, reached

Fit = Callable[[Any, Leaves], LeafStep]
# Pass, what its latest call returned, leaf of each row and number of nodes.
SumsOf = Callable[[Any, Any, NDArray[np.int32], int], LeafModel]


class Judge(Protocol):
    """Validation rows, whose score follows the trees."""

    def sums(self, tree: Tree, thresholds: NDArray[np.float64], sums_of: SumsOf) -> LeafModel:
        """Return their sums over the nodes of a new tree, at the score before it."""
        ...


def judged_step(
    tree: Tree, training: LeafModel, held_out: LeafModel, fit: Fit, parameters: BoostingParameters
) -> tuple[Tree, NDArray[np.int32], LeafStep, float]:
    """Prune a tree and choose the size of its step by held-out rows.

    Parameters
    ----------
    tree : Tree
        Newly grown.
    training, held_out : LeafModel
        Over its leaves.
    fit : callable
        ``fit(training, leaves)`` returns the step.
    parameters : BoostingParameters

    Returns
    -------
    Tree
        The pruned tree.
    ndarray of int32, shape (n_nodes,)
        The new number of each node; see :meth:`.trees.Tree.pruned`.
    LeafStep
        Of the leaves that are left.
    float
        Its size.
    """
    training, held_out = training.of_all_nodes(tree.left), held_out.of_all_nodes(tree.left)
    left = merge_splits(tree.left, training, held_out, fit) if parameters.pruning else tree.left
    leaves = np.flatnonzero((left < 0) & reached(left))
    step, size = fit(training, leaves), parameters.learning_rate
    if parameters.adaptive_step:
        size = best_step_size(held_out, leaves, step, size)
    tree, number = tree.pruned(left)
    return tree, number, step, size


def merge_splits(left: NDArray[np.int32], training: LeafModel, held_out: LeafModel, fit: Fit) -> NDArray[np.int32]:
    """Undo splits that do not lower the held-out loss (thesis, Algorithm 4).

    Of all pairs of sibling leaves the one whose merger leaves Q lowest is merged, as long as Q is then not
    higher than before; the step is fitted anew each time.

    Parameters
    ----------
    left : ndarray of int32, shape (n_nodes,)
        Left child, -1 in a leaf.
    training, held_out : LeafModel
        Of all nodes.
    fit : callable
        ``fit(training, leaves)`` returns a step for each row of ``leaves``, (n_sets, n_leaves).

    Returns
    -------
    ndarray of int32, shape (n_nodes,)
        ``left`` of the pruned tree; nodes below a merged one are no longer reached.
    """
    left = left.copy()
    leaves = np.flatnonzero(left < 0)[np.newaxis]
    (now,) = held_out.changes(leaves, *fit(training, leaves))
    while True:
        inner = np.flatnonzero((left >= 0) & reached(left))
        twigs = inner[(left[left[inner]] < 0) & (left[left[inner] + 1] < 0)]
        if not twigs.size:
            return left
        is_leaf = np.tile((left < 0) & reached(left), (len(twigs), 1))
        each = np.arange(len(twigs))
        is_leaf[each, left[twigs]] = is_leaf[each, left[twigs] + 1] = False
        is_leaf[each, twigs] = True
        leaves = np.nonzero(is_leaf)[1].reshape(len(twigs), -1)
        changes = held_out.changes(leaves, *fit(training, leaves))
        best = np.argmin(changes)
        if not changes[best] <= now:
            return left
        left[twigs[best]] = -1
        now = changes[best]


def best_step_size(held_out: LeafModel, leaves: Leaves, step: LeafStep, most: float) -> float:
    """Return the step size that lowers the held-out loss most, between 0 and ``most`` (thesis, eq. 4.6)."""
    slope, curvature = held_out.slope(leaves, *step), held_out.curvature(leaves, *step)
    if slope >= 0.0:
        return 0.0
    return most if -slope >= most * curvature else -slope / curvature
