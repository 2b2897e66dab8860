"""Pruned trees and chosen step sizes of trainings against a transcription of the thesis's Algorithms 1 and 4.

The rows that judge are those outside each tree's sample, or one validation set. Pruning merges, of all pairs of sibling
leaves, the one whose merger leaves the quadratic of these rows lowest, as long as that is not higher than before.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ordinal_objectives.histogram_engine.criteria.one_score import full_hessian
from ordinal_objectives.histogram_engine.fit_loop import LabelledEvaluationSet
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import TrainingSet
from ordinal_objectives.trees import TreeEnsemble

pytestmark = pytest.mark.slow

_spec = importlib.util.spec_from_file_location("engine_oracle", Path(__file__).with_name("test_engine_oracle.py"))
engine_oracle: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(engine_oracle)


class ValidationOracle(engine_oracle.Oracle):
    """The same model over validation rows, from the reference in double precision and a score of its own."""

    def __init__(self, run):
        self.parameters = run.parameters
        now = run.parameters.spec.loss.round_statistics(
            run.score_val, run.y_val, run.thresholds, run.weight_val, run.parameters.spec.hessian
        )
        beside = engine_oracle.Oracle(run, run.X)
        self.rows, self.joint, self.E = np.arange(len(run.y_val)), beside.joint, beside.E
        self.g, self.h = now.gradient, now.hessian
        self.u = self.E.T @ now.threshold_gradient
        self.V = self.E.T @ full_hessian(now) @ self.E
        self.L = now.cross @ self.E if self.joint else np.zeros((len(run.y_val), 0))
        self.bins = [
            np.where(np.isnan(x), -1, np.searchsorted(cuts, x)) for x, cuts in zip(run.X_val.T, run.cuts, strict=True)
        ]


def nodes_rows(oracle, grown):
    """Return the rows of the oracle in each node of a grown tree."""
    rows = {0: oracle.rows}
    for node in sorted(np.flatnonzero(grown["feature"] >= 0), key=lambda node: grown["left"][node]):
        bins = oracle.bins[grown["feature"][node]][rows[node]]
        goes_left = np.where(bins < 0, bool(grown["missing_left"][node]), bins <= grown["bin"][node])
        left = int(grown["left"][node])
        rows[left], rows[left + 1] = rows[node][goes_left], rows[node][~goes_left]
    return rows


def prune_and_step(training, held_out, grown, largest):
    """Return the leaves that pruning leaves (None: no pruning), their weights, the threshold step and its size."""
    p = training.parameters
    fitted_on, judged_on = nodes_rows(training, grown), nodes_rows(held_out, grown)
    left = {node: int(child) for node, child in enumerate(grown["left"]) if child >= 0}

    def fit(leaves):
        weights, delta = training.step([training.sums(fitted_on[leaf]) for leaf in leaves])
        return weights, delta, *held_out.held_out_change([judged_on[leaf] for leaf in leaves], weights, delta)

    def quadratic(leaves):
        *_, slope, curvature = fit(leaves)
        return slope + curvature / 2

    leaves = [node for node in fitted_on if node not in left]
    while p.pruning:
        twigs = [node for node in left if left[node] in leaves and left[node] + 1 in leaves]
        merged = {t: sorted({*leaves, t} - {left[t], left[t] + 1}) for t in twigs}
        best = min(twigs, key=lambda t: quadratic(merged[t]), default=None)
        if best is None or quadratic(merged[best]) > quadratic(leaves):
            break
        leaves = merged[best]
    weights, delta, slope, curvature = fit(leaves)
    size = largest
    if p.adaptive_step:
        size = 0.0 if slope >= 0 else largest if curvature <= 0 else min(largest, -slope / curvature)
    return leaves, weights, delta, size


def leaves_beside_nodes(tree, left, leaf=0, node=0):
    """Yield the leaves of a pruned tree, each beside its node of the grown one."""
    if tree.left[leaf] < 0:
        yield leaf, node
        return
    for side in (0, 1):
        yield from leaves_beside_nodes(tree, left, tree.left[leaf] + side, left[node] + side)


@pytest.mark.parametrize("block", range(8))
def test_pruned_trees_and_step_sizes_agree_with_the_oracle(block):
    n_merged = n_shortened = 0
    for seed in range(30 * block, 30 * block + 30):
        options = {"subsample": 0.6, "colsample_bytree": 0.7}
        options |= {"pruning": seed % 3 != 0, "adaptive_step": seed % 3 != 1}
        boosting, X = engine_oracle.random_problem(seed, learning_rate=1.0, **options)
        sample, features = boosting._sampler.draw(boosting.iteration)
        in_bag = sample.rows
        outside = np.setdiff1d(np.arange(len(X)), in_bag)
        grown = boosting.grow(in_bag, features)
        training, held_out = engine_oracle.Oracle(boosting, X, in_bag), engine_oracle.Oracle(boosting, X, outside)
        training.features = features
        engine_oracle.replay(training, grown)
        merged, shortened = assert_judged_step_agrees(boosting, training, held_out, grown)
        n_merged, n_shortened = n_merged + merged, n_shortened + shortened
    assert n_merged >= 5
    assert n_shortened >= 5


def assert_judged_step_agrees(boosting, training, held_out, grown):
    """Advance by one tree; return whether leaves were merged, and the step was shortened."""
    p = boosting.parameters
    leaves, weights, delta, size = prune_and_step(training, held_out, grown, p.learning_rate)
    rows = nodes_rows(training, grown)
    thresholds, before = boosting.thresholds, boosting.diagnostics.as_dict()
    tree = boosting.advance()
    after = boosting.diagnostics.as_dict()
    pairs = list(leaves_beside_nodes(tree, grown["left"]))
    assert sorted(node for _, node in pairs) == leaves
    taken = size * 0.5 ** (after["n_halved"] - before["n_halved"])
    taken = 0.0 if after["n_rejected"] > before["n_rejected"] else taken
    for leaf, node in pairs:
        h = training.h[rows[node]].sum() + p.l2_regularization
        want = taken * weights[leaves.index(node)]
        assert abs(tree.value[leaf] - want) <= 1e-6 * np.abs(training.g[rows[node]]).sum() / h
    if training.joint:
        free = training.E.any(axis=1)
        want = np.sort(thresholds + taken * (training.E @ delta))
        fitted_on = training.rows
        scale = np.abs(training.g[fitted_on]).sum() / (training.h[fitted_on].sum() + p.l2_regularization)
        np.testing.assert_allclose(boosting.thresholds[free], want[free], atol=1e-6 * scale, rtol=0)
    return (grown["left"] < 0).sum() > len(leaves), size < p.learning_rate


def walk(tree, x):
    node = 0
    while tree.left[node] >= 0:
        value = x[tree.feature[node]]
        goes_left = tree.missing_left[node] if np.isnan(value) else value <= tree.threshold[node]
        node = tree.left[node] + (not goes_left)
    return node


class JudgedRun(EngineRun):
    """A run with validation rows, half of which have labels by chance, and their score row by row."""

    def __init__(self, parameters, rows, **options):
        X, y, weight = rows.X, rows.y, rows.sample_weight
        self.X, self.X_val, self.y_val = X, X[::2] + np.float32(0.1), y[::2].copy()
        self.weight_val = None if weight is None else weight[::2]
        self.score_val = np.zeros(len(self.y_val))
        np.random.default_rng(len(y)).shuffle(self.y_val[::2])
        held_out = TrainingSet(self.X_val, self.y_val, rows.n_classes, self.weight_val)
        self.judge = LabelledEvaluationSet("validation", held_out, parameters, 1)
        super().__init__(parameters, rows, judge=self.judge.sums, **options)

    def advance(self):
        tree = super().advance()
        self.judge.add(TreeEnsemble([tree], self.X.shape[1]))
        self.score_val += tree.value[[walk(tree, x) for x in self.X_val]]
        return tree


@pytest.mark.parametrize("block", range(4))
def test_trainings_that_one_validation_set_judges_agree_with_the_transcription(block):
    """Algorithm 1: one set prunes every tree and chooses every step size; its score follows the trees.

    A sample shapes the tree alone then: the step is fitted on all training rows.
    """
    n_merged = n_shortened = 0
    for seed in range(30 * block, 30 * block + 30):
        options = {"pruning": seed % 3 != 0, "adaptive_step": seed % 3 != 1, "judged_by": "validation"}
        options |= {"subsample": 0.7 if seed % 4 == 1 else 1.0, "colsample_bytree": 0.7}
        run, X = engine_oracle.random_problem(seed, learning_rate=1.0, run=JudgedRun, **options)
        for _ in range(2):
            sample, features = run._sampler.draw(run.iteration)
            grown = run.grow(sample.rows, features)
            both = engine_oracle.Oracle(run, X), ValidationOracle(run)
            merged, shortened = assert_judged_step_agrees(run, *both, grown)
            n_merged, n_shortened = n_merged + merged, n_shortened + shortened
    assert n_merged >= 5
    assert n_shortened >= 5
