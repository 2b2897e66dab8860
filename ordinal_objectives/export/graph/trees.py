"""Trees as one TreeEnsembleRegressor."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import numpy_helper

from ordinal_objectives.export.graph.builder import Graph
from ordinal_objectives.export.scoring_model import Scorer, ScoringTree

_LEAF, _UP_TO, _BELOW, _EQUAL = "LEAF", "BRANCH_LEQ", "BRANCH_LT", "BRANCH_EQ"


def tree_scores(graph: Graph, features: str, scorer: Scorer) -> str:
    """Return the sum of the trees, (n_samples, n_outputs); its offset is not in it.

    Parameters
    ----------
    graph : Graph
    features : str
        Codes in the place of levels, NaN where a value is missing.
    scorer : Scorer
    """
    if not scorer.trees:
        n_samples = graph.op("Slice", graph.op("Shape", features), graph.integers(0), graph.integers(1))
        shape = graph.op("Concat", n_samples, graph.integers(scorer.n_outputs), axis=0)
        return graph.op("ConstantOfShape", shape, value=numpy_helper.from_array(np.zeros(1, dtype=graph.dtype)))
    table = _Table(graph.is_double)
    for number, tree in enumerate(scorer.trees):
        table.add(number, tree)
    found = graph.ml("TreeEnsembleRegressor", features, n_targets=scorer.n_outputs, **table.attributes())
    return graph.floats(found) if graph.is_double else found  # it answers in float32


class _Table:
    """Nodes and leaves of all trees, in the columns that ONNX has for them."""

    def __init__(self, is_double: bool) -> None:
        self._is_double = is_double
        self._columns: dict[str, list[Any]] = defaultdict(list)

    def add(self, number: int, tree: ScoringTree) -> None:
        thresholds = tree.threshold if self._is_double else rounded_down(tree.threshold)
        n_nodes = len(tree.feature)
        for node in range(n_nodes):
            if tree.feature[node] < 0:
                self._node(number, node, _LEAF, 0, 0.0, (0, 0), False)
                for output, value in enumerate(tree.value[node].tolist()):
                    for name, entry in (("treeids", number), ("nodeids", node), ("ids", output), ("weights", value)):
                        self._columns[f"target_{name}"].append(entry)
                continue
            feature, sides = int(tree.feature[node]), (int(tree.left[node]), int(tree.right[node]))
            missing_left = bool(tree.missing_left[node])
            if node not in tree.categories:
                self._node(number, node, _UP_TO, feature, float(thresholds[node]), sides, missing_left)
                continue
            n_nodes += self._set(number, node, feature, tree.categories[node].tolist(), sides, missing_left, n_nodes)

    def _set(
        self,
        tree: int,
        node: int,
        feature: int,
        codes: list[int],
        sides: tuple[int, int],
        missing_left: bool,
        free: int,
    ) -> int:
        """Add a chain of nodes that compare with one code each; return how many have numbers from ``free`` on.

        The first node is for missing values alone: onnxruntime joins nodes that compare with codes, and forgets there
        which way missing values go.
        """
        next_ones = [*range(free, free + len(codes)), sides[1]]
        self._node(tree, node, _BELOW, feature, -np.inf, (sides[0], next_ones[0]), missing_left)
        for code, one, otherwise in zip(codes, next_ones[:-1], next_ones[1:], strict=True):
            self._node(tree, one, _EQUAL, feature, code, (sides[0], otherwise), False)
        return len(codes)

    def _node(
        self, tree: int, node: int, mode: str, feature: int, value: float, sides: tuple[int, int], missing_left: bool
    ) -> None:
        entries = {
            "treeids": tree,
            "nodeids": node,
            "modes": mode,
            "featureids": feature,
            "values": value,
            "truenodeids": sides[0],
            "falsenodeids": sides[1],
            "missing_value_tracks_true": int(missing_left),
        }
        for name, entry in entries.items():
            self._columns[f"nodes_{name}"].append(entry)

    def attributes(self) -> dict[str, Any]:
        """Return the attributes of the node."""
        found = dict(self._columns)
        for name in ("nodes_values", "target_weights"):
            values = found.pop(name)
            if self._is_double:
                found[f"{name}_as_tensor"] = numpy_helper.from_array(np.array(values, dtype=np.float64), name)
            else:
                found[name] = np.array(values, dtype=np.float32).tolist()
        return found


def rounded_down(thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest float32 that is at most each number: a float32 is up to both or to none.

    The nearest float32 may be above a threshold. Then a value between the two would go the other way.
    """
    with np.errstate(over="ignore"):
        near = thresholds.astype(np.float32)
    near = np.where(near > thresholds, np.nextafter(near, np.float32(-np.inf)), near)
    return near.astype(np.float64)
