"""The members of an ensemble in one graph: their probabilities, and the mean of these."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ordinal_objectives.estimators.column_types import column_kinds
from ordinal_objectives.estimators.ensemble import OrdinalEnsembleClassifier
from ordinal_objectives.estimators.ordinal_classifier import OrdinalClassifier
from ordinal_objectives.export.graph.builder import Graph
from ordinal_objectives.export.graph.inputs import Features
from ordinal_objectives.export.graph.scores import as_read, ordinal_probabilities
from ordinal_objectives.export.graph.trees import tree_scores
from ordinal_objectives.export.scoring_model import Scorer, scoring_model

# What reads the hosts' own classifiers.
_READERS = {"XGBClassifier": "multiclass_xgboost", "LGBMClassifier": "multiclass_lightgbm"}


# Adds an estimator to a graph and returns its probabilities.
Others = Callable[[Graph, Features, Any], str]


def pooled_probabilities(
    graph: Graph, features: Features, model: OrdinalEnsembleClassifier, X_example: Any, others: Others | None
) -> str:
    """Return the weighted mean of the members' probabilities, (n_samples, n_classes), lowest class first."""
    total = None
    for weight, copy in model.weighted_copies():
        proba = _with_all_classes(
            graph, _of_member(graph, features, copy.estimator, X_example, others), copy, model.n_classes_
        )
        part = graph.op("Mul", proba, graph.numbers(weight))
        total = part if total is None else graph.op("Add", total, part)
    assert total is not None
    return total


def _of_member(graph: Graph, features: Features, estimator: Any, X_example: Any, others: Others | None) -> str:
    """Return the probabilities of a member, columns as its ``classes_``."""
    if isinstance(estimator, OrdinalClassifier):  # trained on codes: sorted is lowest first
        return ordinal_probabilities(graph, features, scoring_model(estimator, X_example=X_example))
    reader = _READERS.get(type(estimator).__name__)
    if reader is None:
        assert others is not None
        return others(graph, features, estimator)
    by_value = [place for place, (_, _, kind) in enumerate(column_kinds(X_example)) if kind == "category"]
    read = importlib.import_module(f"ordinal_objectives.export.{reader}").read
    return _by_class(graph, features, read(estimator, by_value))


def _by_class(graph: Graph, features: Features, scorer: Scorer) -> str:
    matrix = features.matrix(graph, scorer.levels)
    scores = tree_scores(graph, as_read(graph, matrix, scorer, len(features.columns)), scorer)
    scores = graph.op("Add", scores, graph.numbers(scorer.offset[np.newaxis]))
    if scorer.n_outputs > 1:
        return graph.op("Softmax", scores, axis=1)
    second = graph.op("Sigmoid", scores)
    return graph.op("Concat", graph.op("Sub", graph.numbers(1.0), second), second, axis=1)


def _with_all_classes(graph: Graph, proba: str, copy: Any, n_classes: int) -> str:
    """Return probabilities of all classes, that of a class without rows 0, each row divided by its sum."""
    columns = copy.columns.tolist()
    if columns != list(range(n_classes)):
        placed = np.zeros((len(columns), n_classes))
        placed[np.arange(len(columns)), columns] = 1.0
        proba = graph.op("MatMul", proba, graph.numbers(placed))
    return graph.op("Div", proba, graph.total(proba))
