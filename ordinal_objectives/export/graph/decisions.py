"""From class probabilities to labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.decision import KappaRule
from ordinal_objectives.decisions.tuned import CutPoints
from ordinal_objectives.estimators.ordered_classifier import OrderedClassifier
from ordinal_objectives.export.graph.builder import Graph


def class_codes(graph: Graph, proba: str, model: OrderedClassifier) -> str:
    """Return the code of each row's class, (n_samples,), by the decision of a fitted classifier."""
    rule = getattr(model, "decision_", None)  # of a tuned classifier
    if isinstance(rule, CutPoints):
        reached = graph.op("GreaterOrEqual", _mean_class(graph, proba, model), graph.numbers(rule.cuts[np.newaxis]))
        return graph.op("ReduceSum", graph.cast(reached, np.int64), graph.integers(1), keepdims=0)
    if rule is None:
        model.check_fitted_decision()
    kappa = getattr(model, "kappa_rule_", None) if model.decision_rule == "kappa" else rule
    if isinstance(kappa, KappaRule) and kappa.kappa > 0.0:
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
        mean = _mean_class(graph, proba, model)
        code = graph.op("Ceil", graph.op("Sub", mean, graph.numbers(0.5 + rounding * n_classes)))
        code = graph.cast(graph.op("Max", code, graph.numbers(0.0)), np.int64)
        return graph.op("Squeeze", code, graph.integers(1))
    below = graph.op("CumSum", graph.columns(proba, np.arange(n_classes - 1)), graph.constant(np.array(1)))
    passed = graph.op("Less", below, graph.numbers(0.5 - rounding))
    return graph.op("ReduceSum", graph.cast(passed, np.int64), graph.integers(1), keepdims=0)


def _mean_class(graph: Graph, proba: str, model: OrderedClassifier) -> str:
    return graph.op("MatMul", proba, graph.numbers(np.arange(model.n_classes_)[:, np.newaxis]))


def labels_of(graph: Graph, codes: str, model: OrderedClassifier, output: str) -> str:
    """Return the labels of codes, as ``predict`` does."""
    return graph.op("Gather", graph.constant(as_tensor(model.ordered_classes_)), codes, axis=0, output=output)


def as_tensor(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels in a type that ONNX has, equal to what they were.

    Raises
    ------
    TypeError
        If they are neither text nor integers, floats or booleans.
    ValueError
        If an integer is beyond int64, or text is no Unicode.
    """
    values, kind = labels.tolist(), labels.dtype.kind
    if all(isinstance(label, str) for label in values):
        texts = [str.__str__(label) for label in values]  # of an enumeration that is text, the text itself
        broken = [text for text in texts if not _is_unicode(text)]
        if broken:
            raise ValueError(f"labels must be Unicode for a graph to hold them; got {broken[0]!r}")
        return np.array(texts, dtype=object)
    if kind in "iu":
        if max(values) > np.iinfo(np.int64).max:
            raise ValueError(f"labels must be integers below 2**63 for a graph to hold them; got {max(values)}")
        return labels.astype(np.int64)
    if kind not in "bf" or labels.dtype.itemsize > 8:
        strange = next((label for label in values if type(label) not in (bool, int, float, str)), values[0])
        raise TypeError(
            f"labels must be text, integers, floats or booleans for a graph to hold them; got {strange!r}: train on "
            f"their text, or on codes"
        )
    return labels


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def sorted_columns(graph: Graph, proba: str, model: OrderedClassifier, output: str | None = None) -> str:
    """Return probabilities whose columns are those of ``classes_``."""
    ordered = model.ordered_classes_.tolist()
    places = [ordered.index(label) for label in model.classes_.tolist()]
    if output is None and places == sorted(places):
        return proba
    return graph.op("Gather", proba, graph.integers(places), axis=1, output=output)
