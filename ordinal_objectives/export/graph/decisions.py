"""From class probabilities to labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.decision import KappaRule
from ordinal_objectives.estimators.ordered_classifier import OrderedClassifier
from ordinal_objectives.export.graph.builder import Graph


def class_codes(graph: Graph, proba: str, model: OrderedClassifier) -> str:
    """Return the code of each row's class, (n_samples,), by the decision of a fitted classifier."""
    model.check_fitted_decision()
    kappa = getattr(model, "kappa_rule_", None)
    if model.decision_rule == "kappa" and isinstance(kappa, KappaRule) and kappa.kappa > 0.0:
        by_chance = (1.0 - kappa.kappa) * (kappa.shares @ kappa.weights)
        costs = graph.op("MatMul", proba, graph.numbers(kappa.weights))
        return graph.op("ArgMin", graph.op("Sub", costs, graph.numbers(by_chance[np.newaxis])), axis=1, keepdims=0)
    if model.cost_matrix is not None:
        costs = graph.op("MatMul", proba, graph.numbers(model.cost_matrix))
        return graph.op("ArgMin", costs, axis=1, keepdims=0)
    if model.decision_rule == "mode":
        return graph.op("ArgMax", proba, axis=1, keepdims=0)
    # Sums within rounding of a tie count as a tie.
    rounding = 4 * float(np.finfo(graph.dtype).eps)
    n_classes = model.n_classes_
    if model.decision_rule == "mean":
        mean = graph.op("MatMul", proba, graph.numbers(np.arange(n_classes)[:, np.newaxis]))
        code = graph.op("Ceil", graph.op("Sub", mean, graph.numbers(0.5 + rounding * n_classes)))
        code = graph.cast(graph.op("Max", code, graph.numbers(0.0)), np.int64)
        return graph.op("Squeeze", code, graph.integers(1))
    below = graph.op("CumSum", graph.columns(proba, np.arange(n_classes - 1)), graph.constant(np.array(1)))
    passed = graph.op("Less", below, graph.numbers(0.5 - rounding))
    return graph.op("ReduceSum", graph.cast(passed, np.int64), graph.integers(1), keepdims=0)


def labels_of(graph: Graph, codes: str, model: OrderedClassifier, output: str) -> str:
    """Return the labels of codes, as ``predict`` does."""
    return graph.op("Gather", graph.constant(as_tensor(model.ordered_classes_)), codes, axis=0, output=output)


def as_tensor(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels in a type that ONNX has."""
    if labels.dtype.kind in "OSU":
        return np.array([str(label) for label in labels], dtype=object)
    if labels.dtype.kind in "iu":
        return labels.astype(np.int64)
    return labels


def sorted_columns(graph: Graph, proba: str, model: OrderedClassifier, output: str) -> str:
    """Return probabilities whose columns are those of ``classes_``."""
    ordered = model.ordered_classes_.tolist()
    places = [ordered.index(label) for label in model.classes_.tolist()]
    return graph.op("Gather", proba, graph.integers(places), axis=1, output=output)
