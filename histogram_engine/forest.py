"""A random forest: trees grown side by side on samples of the rows, and averaged.

Every tree starts from the thresholds only, and its leaves take one whole step. The mean of the trees is too flat
or too steep to be a score, since each row was seen by most of them. So its scale and the thresholds are fitted to
scores of rows by the trees that were not grown on them (out of bag).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from ordinal_objectives import _core, predictions
from ordinal_objectives.aliases import FloatArray, Params
from ordinal_objectives.histogram_engine.fit_loop import AfterTree, GrownModel, OutOfBag, WatchedRows, asks_to_end, note
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import LabelledRows, settle_thresholds
from ordinal_objectives.rows import CPU
from ordinal_objectives.rows.soft_rows import judged_loss
from ordinal_objectives.threshold_solver import ThresholdLearner
from ordinal_objectives.trees import Tree, TreeEnsemble
from ordinal_objectives.utils.validation import check_two_classes

# Bounds of the scale's logarithm, and how exactly it is found.
_SEARCH: Params = {"bounds": np.log((0.05, 20.0)), "method": "bounded", "options": {"xatol": 1e-2}}


def fit_forest(
    run: EngineRun, rows: LabelledRows, watched: Sequence[WatchedRows], callback: AfterTree | None
) -> GrownModel:
    """Grow the trees of a run that stands at its start, and stays there.

    There are no stages: what is measured is known before the first tree and after the last.

    Raises
    ------
    ValueError
        If only one class is left among the rows out of bag.
    """
    evals = {"training": [run.training_loss]}
    for one in watched:
        note(one.measure(run.thresholds), evals)
    trees: list[Tree] = []
    ends = False
    total, out_of_bag, n_out = np.zeros(len(rows.y)), np.zeros(len(rows.y)), np.zeros(len(rows.y), np.int64)
    while not ends and len(trees) < run.parameters.max_iter:
        tree, sample = run.separate_tree(len(trees))
        assert sample.outside is not None
        sums = total, out_of_bag, n_out
        _core.add_tree_of_forest(run.state.leaf_of_row, tree.value, sample.outside, *sums, run.state.n_threads)
        trees.append(tree)
        ends = asks_to_end(callback, len(trees), evals, None)
    for losses in evals.values():
        losses += [np.nan] * (len(trees) - 1)
    known = n_out > 0
    found = _fit_scale(run, rows, known, out_of_bag[known] / n_out[known])
    trees = [replace(tree, value=found.scale / len(trees) * tree.value) for tree in trees]
    ensemble = TreeEnsemble(trees, rows.X.shape[1])
    score = rows.started(found.scale * total / len(trees))
    of_all = run.state.row_pass(score, found.thresholds, run.parameters.spec.hessian)
    evals["training"].append(float(of_all.loss / run.state.row_pass.total_weight))
    for one in watched:
        one.add(ensemble)
        note(one.measure(found.thresholds), evals)
    history = np.vstack([np.tile(run.thresholds, (len(trees), 1)), found.thresholds])
    return GrownModel(ensemble, history, evals, run.cuts, diagnostics=run.diagnostics.as_dict(), out_of_bag=found)


def _fit_scale(run: EngineRun, rows: LabelledRows, known: Any, mean: FloatArray) -> OutOfBag:
    """Fit scale and thresholds to rows that are out of bag, given the mean of the trees for these."""
    spec, start = run.parameters.spec, 0.0 if rows.start is None else rows.start[known]
    weight = None if rows.sample_weight is None else rows.sample_weight[known]
    of_rows = CPU(run.state.n_threads).row_pass(spec.loss, rows.y[known], rows.n_classes, weight)
    check_two_classes(of_rows.class_weights, name="the labels of the rows out of bag")

    def thresholds_at(score: FloatArray) -> FloatArray:
        learner = ThresholdLearner(spec, of_rows.class_weights, run.thresholds, ordered=True)
        if spec.learns:
            settle_thresholds(learner, of_rows, score)
        return learner.thresholds

    def loss_at(scale: float) -> float:
        score = start + scale * mean
        return judged_loss(of_rows, score, thresholds_at(score), spec.hessian) / of_rows.total_weight

    scale = float(np.exp(minimize_scalar(lambda log: loss_at(np.exp(log)), **_SEARCH).x))
    score = start + scale * mean
    thresholds, proba = thresholds_at(score), np.full((len(known), rows.n_classes), np.nan)
    proba[known] = predictions.proba(spec.loss, score, thresholds)
    return OutOfBag(scale, thresholds, proba, loss_at(scale))
