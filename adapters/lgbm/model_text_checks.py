"""LightGBM's model text, checked before LightGBM reads it: it ends the process over some texts that are damaged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Optional entries of inner nodes and leaves; LightGBM reads all of them.
_OF_NODES = ("decision_type", "split_gain", "internal_value", "internal_weight", "internal_count")
_OF_LEAVES = ("leaf_weight", "leaf_count")


def check_text(text: str) -> None:
    """Raise ValueError unless a model's text has the number of trees that it states, each of them complete.

    A number that was changed into another valid one is not detected.
    """
    head, _, trees = text.partition("\n\nTree=")
    fields = _fields_of(head)
    for name in ("num_class", "num_tree_per_iteration"):
        if fields.get(name) != "1":
            raise ValueError(f"{name} must be 1; got {fields.get(name)!r}")
    n_features = int(_field(fields, "max_feature_idx")) + 1
    sizes = [int(size) for size in fields.get("tree_sizes", "").split()]
    whole = ("Tree=" + trees).encode()
    start = 0
    for tree, size in enumerate(sizes):
        block = whole[start : start + size].decode(errors="replace")
        start += size
        title, _, rest = block.partition("\n")
        if title != f"Tree={tree}":
            raise ValueError(f"tree {tree} does not begin where tree_sizes says")
        try:
            _check_tree(_fields_of(rest), n_features)
        except ValueError as error:
            raise ValueError(f"tree {tree}: {error}") from error
    if not whole[start:].lstrip().startswith(b"end of trees") and sizes:
        raise ValueError(f"it has other trees than the {len(sizes)} of tree_sizes")


def _fields_of(block: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in block.splitlines())
    return {name: value for name, equals, value in pairs if equals}


def _field(fields: dict[str, str], name: str) -> str:
    if name not in fields:
        raise ValueError(f"{name} is missing")
    return fields[name]


def _numbers(fields: dict[str, str], name: str, n: int) -> NDArray[np.float64]:
    found = np.array(_field(fields, name).split(), dtype=np.float64)
    if found.size != n:
        raise ValueError(f"{name} must hold {n} numbers; got {found.size}")
    return found


def _integers(fields: dict[str, str], name: str, n: int, lowest: int, highest: int) -> NDArray[np.float64]:
    found = _numbers(fields, name, n)
    if (found != np.rint(found)).any() or (found < lowest).any() or (found > highest).any():
        raise ValueError(f"{name} must hold integers from {lowest} to {highest}")
    return found


def _check_tree(fields: dict[str, str], n_features: int) -> None:
    n_leaves, n_categorical = (int(_field(fields, name)) for name in ("num_leaves", "num_cat"))
    if n_leaves < 1 or n_categorical < 0:
        raise ValueError(f"num_leaves={n_leaves} and num_cat={n_categorical} are not possible")
    _numbers(fields, "leaf_value", n_leaves)
    if n_leaves == 1:
        return
    n_nodes = n_leaves - 1
    _integers(fields, "split_feature", n_nodes, 0, n_features - 1)
    thresholds = _numbers(fields, "threshold", n_nodes)
    children = [_integers(fields, name, n_nodes, -n_leaves, n_nodes - 1) for name in ("left_child", "right_child")]
    # Every leaf, and every node but the root, is the child of one node: no walk from the root goes in a circle.
    if not np.array_equal(np.sort(np.concatenate(children)), [*range(-n_leaves, 0), *range(1, n_nodes)]):
        raise ValueError("left_child and right_child are not those of a tree")
    for name in _OF_NODES:
        if name in fields:
            _numbers(fields, name, n_nodes)
    for name in _OF_LEAVES:
        if fields.get(name):  # empty in trees of linear models
            _numbers(fields, name, n_leaves)
    if n_categorical:
        ends = _integers(fields, "cat_boundaries", n_categorical + 1, 0, 2**31 - 1)
        if ends[0] != 0 or (np.diff(ends) < 0).any():
            raise ValueError("cat_boundaries must begin at 0 and not fall")
        _numbers(fields, "cat_threshold", int(ends[-1]))
    if "decision_type" in fields:
        categorical = _integers(fields, "decision_type", n_nodes, 0, 127).astype(int) & 1 == 1
        if not np.isin(thresholds[categorical], range(n_categorical)).all():
            raise ValueError("threshold names a set of categories that is not there")
