"""Values of leaves that keep a model monotone in some features.

At a split by a constrained feature, all leaves on the lower side must not exceed any leaf on the other. Where they
do, both sides are clipped at a value between their means, from the root down: a later split clips within what the
splits above it allow. Each margin has values of its own. A common shift of all leaves, a shorter step, and margins
that are sorted keep what the leaves have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.trees import Tree

FloatArray = NDArray[np.float64]


def monotone_values(
    tree: Tree, leaves: NDArray[np.intp], values: FloatArray, signs: NDArray[np.int8]
) -> tuple[FloatArray, bool]:
    """Return the values of some nodes as leaves, clipped where a constraint asks for it, and whether any was.

    Parameters
    ----------
    tree : Tree
    leaves : ndarray of int, shape (n_leaves,)
        Nodes that are leaves: of the tree, or of one that is pruned.
    values : ndarray of float64, shape (n_leaves,) or (n_leaves, n_thresholds)
    signs : ndarray of int8, shape (n_features,)
    """
    n_nodes = len(tree.left)
    shape = (n_nodes, *values.shape[1:])
    is_leaf = np.zeros(n_nodes, bool)
    is_leaf[leaves] = True
    lowest, highest, mean = (np.full(shape, np.nan) for _ in range(3))
    lowest[leaves] = highest[leaves] = mean[leaves] = values
    weight = np.maximum(tree.count.astype(np.float64), 1.0)
    inner = _inner(tree.left, is_leaf)
    for node in reversed(inner):
        a, b = tree.left[node], tree.left[node] + 1
        lowest[node], highest[node] = np.minimum(lowest[a], lowest[b]), np.maximum(highest[a], highest[b])
        mean[node] = (weight[a] * mean[a] + weight[b] * mean[b]) / (weight[a] + weight[b])
    least, most = np.full(shape, -np.inf), np.full(shape, np.inf)
    for node in inner:
        a, b = tree.left[node], tree.left[node] + 1
        least[a] = least[b] = least[node]
        most[a] = most[b] = most[node]
        sign = signs[tree.feature[node]]
        if sign == 0:
            continue
        low, high = (a, b) if sign > 0 else (b, a)
        crossed = np.clip(highest[low], least[node], most[node]) > np.clip(lowest[high], least[node], most[node])
        middle = 0.5 * sum(np.clip(mean[side], least[node], most[node]) for side in (a, b))
        most[low] = np.where(crossed, middle, most[low])
        least[high] = np.where(crossed, middle, least[high])
    clipped = np.clip(values, least[leaves], most[leaves])
    return clipped, bool((clipped != values).any())


def _inner(left: NDArray[np.int32], is_leaf: NDArray[np.bool_]) -> list[int]:
    """Return the nodes above the leaves, parents first."""
    found: list[Any] = [] if is_leaf[0] else [0]
    for node in found:
        found += [child for child in (int(left[node]), int(left[node]) + 1) if not is_leaf[child]]
    return found
