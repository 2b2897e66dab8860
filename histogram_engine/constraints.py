"""Constraints of trees: features in which the model rises or falls, and features that may split below each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    def of(cls, monotonic_cst: Any, interaction_cst: Any, n_features: int, names: Any = None) -> Constraints:
        """Check the constraints of a classifier.

        Parameters
        ----------
        monotonic_cst, interaction_cst
            As the classifier takes them.
        n_features : int
        names : sequence of str, or None
            Of the features.

        Raises
        ------
        ValueError, TypeError
            Naming the parameter, what came and what is allowed.
        """
        numbers = {} if names is None else {str(name): i for i, name in enumerate(names)}
        return cls(_signs(monotonic_cst, n_features, numbers), _groups(interaction_cst, n_features, numbers))

    def beside(self, categories: NDArray[np.bool_] | None) -> Constraints:
        """Return these constraints, or raise ValueError if one asks for an order of a feature of categories."""
        if self.signs is not None and categories is not None and (self.signs[categories] != 0).any():
            feature = int(np.flatnonzero((self.signs != 0) & categories)[0])
            raise ValueError(f"monotonic_cst constrains feature {feature}, whose categories have no order")
        return self


def _signs(given: Any, n_features: int, numbers: dict[str, int]) -> NDArray[np.int8] | None:
    allowed = "monotonic_cst must hold -1, 0 or 1 for each feature, or be a dict of these by name"
    if given is None:
        return None
    if isinstance(given, Mapping):
        signs = np.zeros(n_features)
        for name, sign in given.items():
            number, sign = _number_of(name, n_features, numbers, "monotonic_cst"), _sign(sign, allowed)
            if signs[number] not in (0, sign):
                raise ValueError(f"monotonic_cst constrains feature {name!r} twice, in both directions")
            signs[number] = sign
    else:
        values = np.asarray(given, dtype=object)
        if values.shape != (n_features,):
            raise ValueError(f"{allowed}; got shape {values.shape} for {n_features} features")
        signs = np.array([_sign(sign, allowed) for sign in values])
    return signs.astype(np.int8) if signs.any() else None


def _sign(sign: Any, allowed: str) -> int:
    if isinstance(sign, (bool, np.bool_)) or not isinstance(sign, (int, float, np.number)) or sign not in (-1, 0, 1):
        raise ValueError(f"{allowed}; got {sign!r}")
    return int(sign)


def _groups(given: Any, n_features: int, numbers: dict[str, int]) -> list[list[int]] | None:
    allowed = f"interaction_cst must be {PAIRWISE!r}, {NONE!r}, a list of groups of features, or None"
    if given is None:
        return None
    if isinstance(given, str):
        if given not in (PAIRWISE, NONE):
            raise ValueError(f"{allowed}; got {given!r}")
        if given == NONE:
            return [[i] for i in range(n_features)]
        return [[i, j] for i in range(n_features) for j in range(i + 1, n_features)] or [[0]]
    try:
        lists = [[] if isinstance(group, str) else list(group) for group in given]
    except TypeError:
        lists = []
    if not lists or not all(lists):
        raise TypeError(f"{allowed}; got {given!r}")
    groups = [sorted({_number_of(one, n_features, numbers, "interaction_cst") for one in group}) for group in lists]
    others = sorted(set(range(n_features)) - {one for group in groups for one in group})
    return [*groups, others] if others else groups


def _number_of(feature: Any, n_features: int, numbers: dict[str, int], name: str) -> int:
    """Return the number of a feature that is given by number or by name."""
    if isinstance(feature, str):
        if feature not in numbers:
            known = ", ".join(map(repr, numbers)) if numbers else "none: X has no column names"
            raise ValueError(f"{name} names feature {feature!r}, which is not among those of X ({known})")
        return numbers[feature]
    if isinstance(feature, (bool, np.bool_)) or not isinstance(feature, (int, np.integer)):
        raise TypeError(f"{name} must name features by number or by column name; got {feature!r}")
    if not 0 <= feature < n_features:
        raise ValueError(f"{name} names feature {feature}, and X has features 0 to {n_features - 1}")
    return int(feature)
