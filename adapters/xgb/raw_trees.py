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
    head = _head(name)
    found, at = [], raw.find(head)
    while at >= 0:
        found.append(_span(raw, at + len(head), name))
        at = raw.find(head, found[-1][1])
    return found


def _head(name: str) -> bytes:
    """Return what stands before the count of an array's numbers."""
    # No attribute of the booster can look like this: the length holds bytes of zero.
    return len(name).to_bytes(8, "big") + f"{name}[${_TYPES[name][0]}#L".encode()


def _span(raw: bytes | bytearray, at: int, name: str) -> tuple[int, int]:
    """Return where the numbers begin and end whose count stands at a place."""
    start = at + 8
    return start, start + np.dtype(_TYPES[name][1]).itemsize * int.from_bytes(raw[at:start], "big")


def arrays(raw: bytes | bytearray, name: str) -> list[NDArray[Any]]:
    """Return an array of each tree that has it; those of a bytearray can be written to."""
    return [_numbers(raw, name, *span) for span in spans(raw, name)]


def newest_array(raw: bytes | bytearray, name: str) -> NDArray[Any]:
    """Return an array of the last tree that has it."""
    head = _head(name)
    return _numbers(raw, name, *_span(raw, raw.rindex(head) + len(head), name))


def _numbers(raw: bytes | bytearray, name: str, start: int, stop: int) -> NDArray[Any]:
    kind = np.dtype(_TYPES[name][1])
    return np.frombuffer(raw, kind, (stop - start) // kind.itemsize, start)


def trees(raw: bytes | bytearray) -> list[dict[str, NDArray[Any]]]:
    """Return the arrays of each tree by XGBoost's names, as far as prediction by a score needs them."""
    of_trees = zip(*(arrays(raw, name) for name in _OF_NODES), strict=True)
    return [dict(zip(_OF_NODES, tree, strict=True)) for tree in of_trees]


def leaf_nodes(left_children: ArrayLike) -> NDArray[np.intp]:
    """Return the numbers of a tree's leaves among its nodes, ascending."""
    return np.flatnonzero(np.asarray(left_children) == -1)
