"""Classifiers made of others in one graph: probabilities of the members, their mean, and recalibrated ones."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from ordinal_objectives.decisions import OrdinalCalibratedClassifier, OrdinalPredictionSets
from ordinal_objectives.decisions.tuned import OrdinalTunedClassifier
from ordinal_objectives.estimators.ensemble import OrdinalEnsembleClassifier
from ordinal_objectives.estimators.ordered_classifier import OrderedClassifier
from ordinal_objectives.estimators.tables import column_kinds
from ordinal_objectives.estimators.wrappers import FittedMember
from ordinal_objectives.export.graph.builder import Graph
from ordinal_objectives.export.graph.decisions import sorted_columns
from ordinal_objectives.export.graph.inputs import Features
from ordinal_objectives.export.graph.links import recalibrated
from ordinal_objectives.export.graph.scores import as_read, ordinal_probabilities
from ordinal_objectives.export.graph.trees import tree_scores
from ordinal_objectives.export.scoring_model import Scorer, scoring_model

# What reads the hosts' own classifiers.
_READERS = {"XGBClassifier": "multiclass_xgboost", "LGBMClassifier": "multiclass_lightgbm"}


# Adds an estimator to a graph and returns its probabilities.
Others = Callable[[Graph, Features, Any], str]


def probabilities(
    graph: Graph, features: Features, model: OrderedClassifier, X_example: Any, iterations: int | None, others: Others
) -> str:
    """Return the probabilities of a classifier of this package, (n_samples, n_classes), lowest class first.

    Raises
    ------
    TypeError
        If it is of a kind that no graph is known for.
    """

    def of(member: FittedMember) -> str:
        proba = _of_member(graph, features, _inside(member.estimator), X_example, others)
        return _with_all_classes(graph, proba, member, model.n_classes_)

    if isinstance(model, OrdinalEnsembleClassifier):
        parts = [graph.op("Mul", of(one), graph.numbers(weight)) for weight, one in model.weighted_copies()]
        return reduce(lambda total, part: graph.op("Add", total, part), parts)
    if isinstance(model, OrdinalTunedClassifier):
        return of(model.fitted_member())
    if isinstance(model, OrdinalCalibratedClassifier):
        with graph.in_doubles():  # a curve makes differences of small probabilities larger
            proba = recalibrated(graph, of(model.fitted_member()), model.fitted_curve(), model.n_classes_)
        return proba if graph.is_double else graph.floats(proba)
    if isinstance(model, OrdinalPredictionSets):
        raise TypeError(
            "model must be one whose answers a graph holds, and it holds no sets; got OrdinalPredictionSets: write its "
            "estimators_, trained on class codes"
        )
    return ordinal_probabilities(graph, features, scoring_model(model, iterations, X_example))


def _inside(estimator: Any) -> Any:
    """Return the fitted classifier in a frozen one or a search."""
    while isinstance(estimator, FrozenEstimator) or hasattr(estimator, "best_estimator_"):
        estimator = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator.best_estimator_
    return estimator


def _of_member(graph: Graph, features: Features, estimator: Any, X_example: Any, others: Others) -> str:
    """Return the probabilities of a member, columns as its ``classes_``."""
    if isinstance(estimator, OrderedClassifier):
        return sorted_columns(graph, probabilities(graph, features, estimator, X_example, None, others), estimator)
    reader = _READERS.get(type(estimator).__name__)
    if reader is None:
        with graph.in_doubles(False):
            proba = others(graph, features, estimator)
        return graph.floats(proba)
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
