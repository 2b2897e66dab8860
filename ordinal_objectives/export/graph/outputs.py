"""Answers of the estimators of several outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ordinal_objectives.export.engine_outputs import read
from ordinal_objectives.export.graph.builder import Graph
from ordinal_objectives.export.graph.decisions import as_tensor
from ordinal_objectives.export.graph.inputs import Features
from ordinal_objectives.export.graph.trees import tree_scores


def add_outputs(graph: Graph, features: Features, model: Any, outputs: Sequence[str]) -> None:
    """Add what a fitted estimator of several outputs predicts: numbers, or labels and probabilities."""
    scorer, says = read(model)
    scores = tree_scores(graph, features.matrix(graph, scorer.levels), scorer)
    raw = graph.op("Add", scores, graph.numbers(scorer.offset[np.newaxis]))
    if len(outputs) == 1:
        graph.op("Identity", raw, output=outputs[0])
        return
    if not says:
        raise ValueError("model must have probabilities; a classifier of loss='squared_error' has none")
    proba = graph.op("Sigmoid", raw) if says == "Sigmoid" else graph.op("Softmax", raw, axis=1)
    if scorer.n_outputs == 1 and len(model.classes_) == 2:
        proba = graph.op("Concat", graph.op("Sub", graph.numbers(1.0), proba), proba, axis=1)
    elif says == "Sigmoid":  # a label is each output's own
        graph.op("Identity", proba, output=outputs[1])
        graph.cast(graph.op("Greater", proba, graph.numbers(0.5)), np.int64, output=outputs[0])
        return
    graph.op("Identity", proba, output=outputs[1])
    codes = graph.op("ArgMax", proba, axis=1, keepdims=0)
    graph.op("Gather", graph.constant(as_tensor(model.classes_)), codes, axis=0, output=outputs[0])
