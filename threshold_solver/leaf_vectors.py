"""Leaves that shift thresholds, as the text of a model file holds them."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.leaves.shifts import Shifts


def vectors_to_json(shifts: Shifts, vectors: list[NDArray[np.float32]]) -> dict[str, Any]:
    """Return JSON types: the penalty, leaves of each tree, and their numbers in base64 of little-endian float32."""
    numbers = np.concatenate([vector.ravel() for vector in vectors] or [np.zeros(0, np.float32)])
    return {
        "shift_l2": shifts.l2,
        "shift_penalty": shifts.penalty,
        **({} if shifts.most == 1 else {"max_shifts": shifts.most}),
        "n_leaves": [len(vector) for vector in vectors],
        "leaf_vectors": base64.b64encode(numbers.astype("<f4").tobytes()).decode("ascii"),
    }


def vectors_from_json(content: Any, n_classes: int, n_trees: int) -> tuple[Shifts, list[NDArray[np.float32]]]:
    """Read what :func:`vectors_to_json` wrote.

    Raises
    ------
    ValueError, TypeError, KeyError
        If it is damaged.
    """
    most = content.get("max_shifts", 1)
    if type(most) is not int or most < 1:
        raise ValueError(f"max_shifts must be an integer of at least 1; got {most!r}")
    shifts = Shifts(content["shift_l2"], content["shift_penalty"], most)
    n_leaves = content["n_leaves"]
    if not isinstance(n_leaves, list) or any(type(n) is not int or n < 0 for n in n_leaves):
        raise ValueError("n_leaves must be a list of integers")
    if len(n_leaves) != n_trees:
        raise ValueError(f"n_leaves must have {n_trees} entries; got {len(n_leaves)}")
    numbers = np.frombuffer(base64.b64decode(content["leaf_vectors"], validate=True), dtype="<f4").astype(np.float32)
    if numbers.size != sum(n_leaves) * (n_classes - 1):
        raise ValueError(f"leaf_vectors must hold {sum(n_leaves) * (n_classes - 1)} numbers; got {numbers.size}")
    if not np.isfinite(numbers).all():
        raise ValueError("leaf_vectors must hold finite numbers")
    if not n_leaves:
        return shifts, []
    return shifts, np.split(numbers.reshape(-1, n_classes - 1), np.cumsum(n_leaves)[:-1])
