"""Linear predictors theta_k - f(x) - v_k(x) of a fitted classifier."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.estimators.linear import LinearPart
from ordinal_objectives.export.graph.builder import Graph
from ordinal_objectives.export.graph.inputs import Features
from ordinal_objectives.export.graph.links import check_loss, class_probabilities
from ordinal_objectives.export.graph.trees import tree_scores
from ordinal_objectives.export.scoring_model import ZERO, Scorer, ScoringModel


def ordinal_probabilities(graph: Graph, features: Features, found: ScoringModel) -> str:
    """Return the class probabilities of a fitted classifier, (n_samples, n_classes), lowest class first."""
    check_loss(found.loss)
    scorer = found.scorer
    matrix = features.matrix(graph, scorer.levels)
    scores = tree_scores(graph, as_read(graph, matrix, scorer, len(features.columns)), scorer)
    if found.linear is not None:
        # The engine gives its linear part the codes; the hosts give it the columns themselves.
        columns = features if not scorer.codes_everywhere else Features.of_matrix(matrix, len(features.columns))
        scores = graph.op("Add", scores, _linear_scores(graph, columns, found.linear))
    margins = graph.op("Sub", graph.numbers((found.thresholds - scorer.offset)[np.newaxis]), scores)
    cross = scorer.n_outputs > 1 and found.loss.ordered
    return class_probabilities(graph, margins, found.loss, found.n_classes, cross=cross)


def as_read(graph: Graph, matrix: str, scorer: Scorer, n_features: int) -> str:
    """Return features as the trees' trainer reads them."""
    if scorer.reads_float32 and graph.is_double:
        matrix = graph.floats(graph.cast(matrix, np.float32))
    if not np.isnan(scorer.missing):
        missing = graph.op("Equal", matrix, graph.numbers(np.float32(scorer.missing)))
        matrix = graph.op("Where", missing, graph.numbers(np.nan), matrix)
    if len(scorer.zero_is_missing):
        small = graph.op("LessOrEqual", graph.op("Abs", matrix), graph.numbers(ZERO))
        missing = graph.op("And", small, _is_one(graph, scorer.zero_is_missing, n_features))
        matrix = graph.op("Where", missing, graph.numbers(np.nan), matrix)
    by_code = scorer.read_as_codes
    if len(by_code):
        matrix = graph.op("Where", _is_one(graph, by_code, n_features), _whole(graph, matrix, scorer), matrix)
    return matrix


def _is_one(graph: Graph, features: NDArray[np.intp], n_features: int) -> str:
    """Return a mask of some features, (1, n_features)."""
    mask = np.zeros((1, n_features), bool)
    mask[0, features] = True
    return graph.constant(mask)


def _whole(graph: Graph, matrix: str, scorer: Scorer) -> str:
    """Return codes without their fractions: LightGBM rounds towards zero, and to XGBoost those below zero are none."""
    below = graph.op("Floor", matrix)
    if scorer.reads_float32:
        return below
    return graph.op("Where", graph.op("Less", matrix, graph.numbers(0.0)), graph.op("Ceil", matrix), below)


def _linear_scores(graph: Graph, features: Features, linear: LinearPart) -> str:
    """Return the linear part's score, (n_samples, 1)."""
    parts = [
        features.looked_up(graph, place, levels, weights, 0.0)
        for (place, levels), weights in zip(linear.levels.items(), linear.level_weights, strict=True)
    ]
    if len(linear.places):
        numbers = features.numbers(graph, linear.places.tolist())
        if not np.isnan(linear.missing):
            missing = graph.op("Equal", numbers, graph.numbers(linear.missing))
            numbers = graph.op("Where", missing, graph.numbers(np.nan), numbers)
        known = graph.op("Not", graph.op("IsNaN", numbers))
        inside = graph.op("Max", graph.op("Min", numbers, graph.numbers(linear.high)), graph.numbers(linear.low))
        scaled = graph.op("Div", graph.op("Sub", inside, graph.numbers(linear.mean)), graph.numbers(linear.scale))
        scaled = graph.op("Where", known, scaled, graph.numbers(0.0))
        parts.append(graph.op("MatMul", scaled, graph.numbers(linear.weights[:, np.newaxis])))
    total = parts[0]
    for part in parts[1:]:
        total = graph.op("Add", total, part)
    return total
