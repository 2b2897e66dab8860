"""Arrays of a booster's trees, found in the bytes of its model: nothing else of it is parsed.

XGBoost writes UBJSON: the length of an array's name in eight bytes and the name, the type of its numbers, their count
in eight bytes, and the numbers, all big-endian.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# How XGBoost calls the type of an array, and how NumPy does.
_OF_NODES = {
    "left_children": ("l", ">i4"),
    "right_children": ("l", ">i4"),
    "split_conditions": ("d", ">f4"),
    "split_indices": ("l", ">i4"),
    "default_left": ("U", "u1"),
    "categories_nodes": ("l", ">i4"),
}
_TYPES = _OF_NODES | {"leaf_weights": ("d", ">f4")}


def spans(raw: bytes | bytearray, name: str) -> list[tuple[int, int]]:
    """Return where the numbers of an array begin and end, for each tree that has it."""
    # No attribute of the booster can look like this: the length holds bytes of zero.
    letter, kind = _TYPES[name]
    head = len(name).to_bytes(8, "big") + f"{name}[${letter}#L".encode()
    found, at = [], raw.find(head)
    while at >= 0:
        start = at + len(head) + 8
        stop = start + np.dtype(kind).itemsize * int.from_bytes(raw[start - 8 : start], "big")
        found.append((start, stop))
        at = raw.find(head, stop)
    return found


def arrays(raw: bytes | bytearray, name: str) -> list[NDArray[Any]]:
    """Return an array of each tree that has it; those of a bytearray can be written to."""
    kind = np.dtype(_TYPES[name][1])
    return [np.frombuffer(raw, kind, (stop - start) // kind.itemsize, start) for start, stop in spans(raw, name)]


def trees(raw: bytes | bytearray) -> list[dict[str, NDArray[Any]]]:
    """Return the arrays of each tree by XGBoost's names, as far as prediction by a score needs them."""
    of_trees = zip(*(arrays(raw, name) for name in _OF_NODES), strict=True)
    return [dict(zip(_OF_NODES, tree, strict=True)) for tree in of_trees]


def leaf_nodes(left_children: ArrayLike) -> NDArray[np.intp]:
    """Return the numbers of a tree's leaves among its nodes, ascending."""
    return np.flatnonzero(np.asarray(left_children) == -1)
