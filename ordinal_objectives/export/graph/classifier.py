"""A classifier's answers: labels and probabilities."""

from __future__ import annotations

from typing import Any

import onnx
from numpy.typing import NDArray
from onnx import helper

from ordinal_objectives.estimators.ensemble import OrdinalEnsembleClassifier
from ordinal_objectives.export.graph.builder import Graph
from ordinal_objectives.export.graph.decisions import class_codes, labels_of, sorted_columns
from ordinal_objectives.export.graph.inputs import Features
from ordinal_objectives.export.graph.members import Others, pooled_probabilities
from ordinal_objectives.export.graph.scores import ordinal_probabilities
from ordinal_objectives.export.scoring_model import scoring_model


def add_classifier(
    graph: Graph,
    features: Features,
    model: Any,
    outputs: tuple[str, str],
    X_example: Any = None,
    iterations: int | None = None,
    others: Others | None = None,
) -> None:
    """Add a fitted classifier's labels and probabilities to a graph.

    Parameters
    ----------
    graph : Graph
    features : Features
    model : fitted classifier
    outputs : tuple of str
        What labels and probabilities are called.
    X_example : array, frame or Arrow table, or None
        Whose types say which columns hold categories by value.
    iterations : int or None
        Number of the first iterations; not of an ensemble.
    others : callable or None
        Adds members of an ensemble that no reader here knows.
    """
    if isinstance(model, OrdinalEnsembleClassifier):
        proba = pooled_probabilities(graph, features, model, X_example, others)
    else:
        proba = ordinal_probabilities(graph, features, scoring_model(model, iterations, X_example))
    labels_of(graph, class_codes(graph, proba, model), model, outputs[0])
    sorted_columns(graph, proba, model, outputs[1])


def label_type(classes: NDArray[Any]) -> int:
    """Return ONNX's number of the type of labels."""
    kind = classes.dtype.kind
    if kind in "iu":
        return int(onnx.TensorProto.INT64)
    return int(onnx.TensorProto.STRING if kind in "OSU" else helper.np_dtype_to_tensor_dtype(classes.dtype))
