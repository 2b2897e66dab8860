"""A random forest: trees grown side by side on samples of the rows, and averaged.

Every tree starts from the thresholds only, and its leaves take one whole step. The mean of the trees is too flat
or too steep to be a score, since each row was seen by most of them. So its scale and the thresholds are fitted to
scores of rows by the trees that were not grown on them (out of bag).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from ordinal_objectives import predictions
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import FloatArray, LabelledRows, settle_thresholds
from ordinal_objectives.rows import RowStatistics
from ordinal_objectives.threshold_solver import ThresholdLearner
from ordinal_objectives.trees import Tree
from ordinal_objectives.utils.validation import check_two_classes

# Bounds of the scale's logarithm, and how exactly it is found.
_SEARCH: dict[str, Any] = {"bounds": np.log((0.05, 20.0)), "method": "bounded", "options": {"xatol": 1e-2}}


class OutOfBag(NamedTuple):
    """Rows by the trees that were not grown on them, and what is fitted to them.

    Attributes
    ----------
    scale : float
    thresholds : ndarray of float64, shape (n_classes - 1,)
    proba : ndarray of float64, shape (n_samples, n_classes)
        Class probabilities, lowest class first; NaN of rows that all trees knew.
    loss : float
        Weighted mean.
    """

    scale: float
    thresholds: FloatArray
    proba: FloatArray
    loss: float


class Forest:
    """Trees of a random forest while they are grown.

    Parameters
    ----------
    run : EngineRun
        Stands at its start, where it stays.
    rows : LabelledRows

    Attributes
    ----------
    trees : list of Tree
    """

    def __init__(self, run: EngineRun, rows: LabelledRows) -> None:
        self._run, self._rows = run, rows
        self.trees: list[Tree] = []
        self._total = np.zeros(len(rows.y))
        self._out_of_bag, self._n_out = np.zeros(len(rows.y)), np.zeros(len(rows.y), np.int64)

    def grow(self) -> None:
        """Grow one tree more."""
        tree, in_bag = self._run.separate_tree(len(self.trees))
        values = tree.value[self._run.state.leaf_of_row]
        self._total += values
        outside = np.ones(len(values), bool)
        outside[in_bag] = False
        self._out_of_bag[outside] += values[outside]
        self._n_out[outside] += 1
        self.trees.append(tree)

    def finish(self) -> OutOfBag:
        """Fit scale and thresholds, and give the leaves their part of the mean.

        Raises
        ------
        ValueError
            If only one class is left among the rows out of bag.
        """
        rows, run, known = self._rows, self._run, self._n_out > 0
        mean, spec = self._out_of_bag[known] / self._n_out[known], run.parameters.spec
        start = 0.0 if rows.start is None else rows.start[known]
        weight = None if rows.sample_weight is None else rows.sample_weight[known]
        of_rows = RowStatistics(spec.loss, rows.y[known], rows.n_classes, weight, n_threads=run.state.n_threads)
        check_two_classes(of_rows.class_weights, name="the labels of the rows out of bag")

        def thresholds_at(score: FloatArray) -> FloatArray:
            learner = ThresholdLearner(spec.loss, of_rows.class_weights, run.thresholds, ordered=True)
            if spec.learns:
                settle_thresholds(learner, of_rows, score)
            return learner.thresholds

        def loss_at(scale: float) -> float:
            score = start + scale * mean
            return float(of_rows(score, thresholds_at(score), spec.hessian).loss / of_rows.total_weight)

        scale = float(np.exp(minimize_scalar(lambda log: loss_at(np.exp(log)), **_SEARCH).x))
        score = start + scale * mean
        thresholds, proba = thresholds_at(score), np.full((len(known), rows.n_classes), np.nan)
        proba[known] = predictions.proba(spec.loss, score, thresholds)
        self.trees = [replace(tree, value=scale / len(self.trees) * tree.value) for tree in self.trees]
        return OutOfBag(scale, thresholds, proba, loss_at(scale))

    def score(self, scale: float) -> FloatArray:
        """Return the score of all rows by all trees."""
        return self._rows.started(scale * self._total / len(self.trees))
