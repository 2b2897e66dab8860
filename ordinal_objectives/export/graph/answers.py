"""What a fitted estimator answers: labels and probabilities, or numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline

from ordinal_objectives.estimators.ordered_classifier import OrderedClassifier
from ordinal_objectives.export.graph.builder import Graph
from ordinal_objectives.export.graph.decisions import as_tensor, class_codes, labels_of, sorted_columns
from ordinal_objectives.export.graph.inputs import Features
from ordinal_objectives.export.graph.members import Others, probabilities
from ordinal_objectives.export.graph.outputs import add_outputs

# As skl2onnx calls them.
_LABEL, _PROBABILITIES, _NUMBERS = "label", "probabilities", "variable"


def last_step(estimator: Any) -> Any:
    """Return the estimator in which a pipeline ends, also one that ends in another; any other as it is."""
    while isinstance(estimator, Pipeline):
        estimator = estimator[-1]
    return estimator


def answers_of(model: Any, floats: str) -> list[onnx.ValueInfoProto]:
    """Return names, types and shapes of what a fitted estimator answers."""
    number = int(helper.np_dtype_to_tensor_dtype(np.dtype(floats)))
    if is_regressor(model):
        return [helper.make_tensor_value_info(_NUMBERS, number, [None, model.n_outputs_])]
    n_classes = len(model.classes_)
    own_each = not isinstance(model, OrderedClassifier) and model.has_labels()
    label = helper.np_dtype_to_tensor_dtype(as_tensor(model.classes_).dtype)
    shape = [None, n_classes] if own_each else [None]
    return [
        helper.make_tensor_value_info(_LABEL, int(label), shape),
        helper.make_tensor_value_info(_PROBABILITIES, number, [None, n_classes]),
    ]


def add_answers(
    graph: Graph,
    features: Features,
    model: Any,
    outputs: Sequence[str],
    others: Others,
    X_example: Any = None,
    iterations: int | None = None,
) -> None:
    """Add what a fitted estimator answers to a graph.

    Parameters
    ----------
    graph : Graph
    features : Features
    model : fitted estimator
    outputs : sequence of str
        Names of the answers, as many as :func:`answers_of` has.
    others : callable
        Adds classifiers inside another that no reader here knows.
    X_example : array, frame or Arrow table, or None
        Whose types say which columns hold categories by value.
    iterations : int or None
        Number of the first iterations, of a classifier of ordered labels.
    """
    if not isinstance(model, OrderedClassifier):
        add_outputs(graph, features, model, outputs)
        return
    proba = probabilities(graph, features, model, X_example, iterations, others)
    labels_of(graph, class_codes(graph, proba, model), model, outputs[0])
    sorted_columns(graph, proba, model, outputs[1])
