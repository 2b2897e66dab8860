"""Linear predictors theta_k - f(x) - v_k(x): trees as one TreeEnsembleRegressor, and a linear part."""

from __future__ import annotations

from collections import defaultdict
from functools import reduce

import numpy as np
from onnx import numpy_helper

from ordinal_objectives.aliases import FloatArray, IndexArray, Params
from ordinal_objectives.estimators.linear import LinearPart
from ordinal_objectives.export.model import Scorer, ScoringModel, ScoringTree
from ordinal_objectives.export.onnx.graph import ML, Features, Graph

# Numbers of at most this size are zeros to LightGBM.
_ZERO = 1e-35


def linear_predictors(features: Features, found: ScoringModel) -> str:
    """Return the linear predictors of a fitted classifier, (n_samples, n_classes - 1)."""
    graph, scorer = features.graph, found.scorer
    matrix = features.matrix(scorer.levels)
    scores = tree_scores(graph, _as_read(graph, matrix, scorer, len(features.columns)), scorer)
    if found.model.linear_ is not None:
        # The engine gives its linear part the codes; XGBoost's and LightGBM's get the columns themselves.
        if scorer.codes_everywhere:
            features = Features.from_matrix(graph, matrix, len(features.columns))
        scores = graph.op("Add", scores, _linear_scores(features, found.model.linear_))
    return graph.op("Sub", (found.thresholds - scorer.offset)[np.newaxis], scores)


def raw_predictions(features: Features, scorer: Scorer) -> str:
    """Return the sums of trees and offset, (n_samples, n_outputs)."""
    graph, matrix = features.graph, features.matrix(scorer.levels)
    scores = tree_scores(graph, _as_read(graph, matrix, scorer, len(features.columns)), scorer)
    return graph.op("Add", scores, scorer.offset[np.newaxis])


def _as_read(graph: Graph, matrix: str, scorer: Scorer, n_features: int) -> str:
    """Return features as the trees' trainer reads them."""

    def where(features: IndexArray | list[int]) -> str:
        mask = np.zeros((1, n_features), bool)
        mask[0, features] = True
        return graph.constant(mask)

    if scorer.reads_float32 and graph.is_double:
        matrix = graph.floats(graph.cast(matrix, np.float32))
    if not np.isnan(scorer.missing):
        missing = graph.op("Equal", matrix, np.float32(scorer.missing))
        matrix = graph.op("Where", missing, np.nan, matrix)
    if len(scorer.zero_is_missing):
        small = graph.op("LessOrEqual", graph.op("Abs", matrix), _ZERO)
        missing = graph.op("And", small, where(scorer.zero_is_missing))
        matrix = graph.op("Where", missing, np.nan, matrix)
    by_code = sorted(scorer.by_category - set(scorer.levels))
    if by_code:  # codes lose their fractions: LightGBM rounds towards zero, and to XGBoost those below zero are none
        whole = graph.op("Floor", matrix)
        if not scorer.reads_float32:
            below = graph.op("Less", matrix, 0.0)
            whole = graph.op("Where", below, graph.op("Ceil", matrix), whole)
        matrix = graph.op("Where", where(by_code), whole, matrix)
    return matrix


def _linear_scores(features: Features, linear: LinearPart) -> str:
    """Return the linear part's score, (n_samples, 1)."""
    graph = features.graph
    parts = [
        features.looked_up(place, levels, weights, 0.0)
        for (place, levels), weights in zip(linear.levels.items(), linear.level_weights, strict=True)
    ]
    if len(linear.places):
        numbers = features.numbers(linear.places.tolist())
        if not np.isnan(linear.missing):
            as_read = graph.floats(graph.cast(numbers, np.float32)) if graph.is_double else numbers
            missing = graph.op("Equal", as_read, np.float32(linear.missing))
            numbers = graph.op("Where", missing, np.nan, numbers)
        known = graph.op("Not", graph.op("IsNaN", numbers))
        inside = graph.op("Max", graph.op("Min", numbers, linear.high), linear.low)
        scaled = graph.op("Div", graph.op("Sub", inside, linear.mean), linear.scale)
        scaled = graph.op("Where", known, scaled, 0.0)
        parts.append(graph.op("MatMul", scaled, linear.weights[:, np.newaxis]))
    return reduce(lambda total, part: graph.op("Add", total, part), parts)


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
    attributes = _tree_attributes(scorer.trees, graph.is_double)
    found = graph.op("TreeEnsembleRegressor", features, domain=ML, n_targets=scorer.n_outputs, **attributes)
    return graph.floats(found) if graph.is_double else found  # it answers in float32


def _tree_attributes(trees: list[ScoringTree], is_double: bool) -> Params:
    """Return nodes and leaves of all trees, in the columns that ONNX has for them."""
    columns: dict[str, list[object]] = defaultdict(list)

    def add(tree: int, node: int, mode: str, feature: int, value: float, sides: tuple[int, int], missing: bool) -> None:
        names = ("treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids")
        entries = (tree, node, mode, feature, value, *sides, int(missing))
        for name, entry in zip((*names, "missing_value_tracks_true"), entries, strict=True):
            columns[f"nodes_{name}"].append(entry)

    for number, tree in enumerate(trees):
        thresholds = tree.threshold if is_double else rounded_down(tree.threshold)
        n_nodes = len(tree.feature)
        splits = np.column_stack([tree.feature, tree.left, tree.right]).tolist()
        for node, (feature, left, right) in enumerate(splits):
            if feature < 0:
                add(number, node, "LEAF", 0, 0.0, (0, 0), False)
                for output, value in enumerate(tree.value[node].tolist()):
                    for name, entry in (("treeids", number), ("nodeids", node), ("ids", output), ("weights", value)):
                        columns[f"target_{name}"].append(entry)
            elif node not in tree.categories:
                add(
                    number, node, "BRANCH_LEQ", feature, float(thresholds[node]), (left, right), tree.missing_left[node]
                )
            else:
                # A chain of nodes that compare with one code each. The first node is only for missing values:
                # onnxruntime joins nodes that compare with codes, and forgets there which way missing values go.
                codes = tree.categories[node].tolist()
                chain = [*range(n_nodes, n_nodes + len(codes)), right]
                n_nodes += len(codes)
                add(number, node, "BRANCH_LT", feature, -np.inf, (left, chain[0]), tree.missing_left[node])
                for code, at, otherwise in zip(codes, chain[:-1], chain[1:], strict=True):
                    add(number, at, "BRANCH_EQ", feature, code, (left, otherwise), False)
    found = dict(columns)
    for name in ("nodes_values", "target_weights"):
        values = found.pop(name)
        if is_double:
            found[f"{name}_as_tensor"] = numpy_helper.from_array(np.array(values, dtype=np.float64), name)
        else:
            found[name] = np.array(values, dtype=np.float32).tolist()
    return found


def rounded_down(thresholds: FloatArray) -> FloatArray:
    """Return the largest float32 that is at most each number: a float32 is up to both or to none.

    The nearest float32 may be above a threshold. Then a value between the two would go the other way.
    """
    with np.errstate(over="ignore"):
        near = thresholds.astype(np.float32)
    near = np.where(near > thresholds, np.nextafter(near, np.float32(-np.inf)), near)
    return near.astype(np.float64)
