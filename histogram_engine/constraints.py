"""Constraints of trees: features in which the model rises or falls, and features that may split below each other.

At a split by a monotone feature, all leaves on the lower side must not exceed any leaf on the other. Where they do,
both sides are clipped at a value between their means, from the root down: a later split clips within what the splits
above it allow. Each margin has values of its own. A common shift of all leaves, a shorter step, and margins that are
sorted keep what the leaves have.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ordinal_objectives.aliases import BoolArray, FloatArray, IndexArray, NDArray
from ordinal_objectives.trees import Tree
from ordinal_objectives.utils.validation import check_choice, check_shape, signs_of

PAIRWISE, NONE = "pairwise", "no_interactions"


@dataclass(frozen=True)
class Constraints:
    """Constraints of a training, checked.

    Attributes
    ----------
    signs : ndarray of int8, shape (n_features,), or None
        1 where the score rises with a feature, so that high classes become more probable, -1 where it falls, else 0.
        None where no feature is constrained.
    groups : list of list of int, or None
        Features that may split below each other; a feature may be in several. None for all.
    """

    signs: NDArray[np.int8] | None = None
    groups: list[list[int]] | None = None

    @classmethod
    def of(
        cls,
        monotonic_cst: Any,
        interaction_cst: Any,
        n_features: int,
        names: Any = None,
        categories: BoolArray | None = None,
    ) -> Constraints:
        """Check the constraints of a classifier.

        Parameters
        ----------
        monotonic_cst, interaction_cst
            As the classifier takes them.
        n_features : int
        names : sequence of str, or None
            Of the features.
        categories : ndarray of bool, shape (n_features,), or None
            Features whose categories have no order.

        Raises
        ------
        ValueError, TypeError
            Naming the parameter, what came and what is allowed.
        """
        numbers = {} if names is None else {str(name): i for i, name in enumerate(names)}
        signs = _signs(monotonic_cst, n_features, numbers)
        if signs is not None and categories is not None and (signs[categories] != 0).any():
            feature = int(np.flatnonzero((signs != 0) & categories)[0])
            raise ValueError(f"monotonic_cst constrains feature {feature}, whose categories have no order")
        return cls(signs, _groups(interaction_cst, n_features, numbers))


def _signs(given: Any, n_features: int, numbers: dict[str, int]) -> NDArray[np.int8] | None:
    if given is None:
        return None
    given, signs = signs_of(given, name="monotonic_cst"), np.zeros(n_features, dtype=np.int8)
    if isinstance(given, list):
        check_shape("monotonic_cst", np.asarray(given), (n_features,))
    for name, sign in given.items() if isinstance(given, dict) else enumerate(given):
        number = _number_of(name, n_features, numbers, "monotonic_cst")
        if signs[number] not in (0, sign):
            raise ValueError(f"monotonic_cst constrains feature {name!r} twice, in both directions")
        signs[number] = sign
    return signs if signs.any() else None


def _groups(given: Any, n_features: int, numbers: dict[str, int]) -> list[list[int]] | None:
    if given is None:
        return None
    if isinstance(given, str):
        check_choice(given, (PAIRWISE, NONE), name="interaction_cst")
        if given == NONE:
            return [[i] for i in range(n_features)]
        return [[i, j] for i in range(n_features) for j in range(i + 1, n_features)] or [[0]]
    groups = list(given) if isinstance(given, Iterable) else [given]
    if not all(isinstance(group, Iterable) and not isinstance(group, str) for group in groups):
        raise ValueError(f"interaction_cst must be a list of groups of features, such as [[0, 1], [2]]; got {given!r}")
    groups = [sorted({_number_of(one, n_features, numbers, "interaction_cst") for one in group}) for group in groups]
    others = sorted(set(range(n_features)) - {one for group in groups for one in group})
    return [*groups, others] if others else groups


def _number_of(feature: Any, n_features: int, numbers: dict[str, int], name: str) -> int:
    """Return the number of a feature that is given by number or by name."""
    is_number = isinstance(feature, (int, np.integer))
    number = int(feature) if is_number else numbers.get(feature, -1) if isinstance(feature, str) else -1
    if not 0 <= number < n_features:
        known = f" or {', '.join(map(repr, numbers))}" if numbers else ""
        raise ValueError(f"{name} must name features 0 to {n_features - 1}{known}; got {feature!r}")
    return number


def monotone_values(
    tree: Tree, weight: FloatArray, leaves: IndexArray, values: FloatArray, signs: NDArray[np.int8]
) -> tuple[FloatArray, bool]:
    """Return the values of some nodes as leaves, clipped where a constraint asks for it, and whether any was.

    Parameters
    ----------
    tree : Tree
    weight : ndarray of float64, shape (n_nodes,)
        Of the rows in each node.
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
    weight = np.maximum(weight, np.finfo(np.float64).tiny)
    inner: list[int] = [] if is_leaf[0] else [0]  # the nodes above the leaves, parents first
    for node in inner:
        inner += [child for child in (int(tree.left[node]), int(tree.left[node]) + 1) if not is_leaf[child]]
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
