"""Scores of raw rows, by walks and by masks of leaves, beside a walk in Python."""

import numpy as np
import pytest

from ordinal_objectives import predictions
from ordinal_objectives.losses import get_loss
from ordinal_objectives.trees import Tree, TreeEnsemble

N_FEATURES = 3


def random_tree(rng, n_leaves, n_outputs):
    """Return a tree whose leaves are split at random, with thresholds among those of rows of whole numbers."""
    feature, left = [-1], [-1]
    while len(feature) < 2 * n_leaves - 1:
        node = rng.choice([i for i, child in enumerate(left) if child < 0])
        feature[node], left[node] = rng.integers(N_FEATURES), len(left)
        feature, left = [*feature, -1, -1], [*left, -1, -1]
    n = len(feature)
    inner = np.array(feature) >= 0
    value = np.where(inner[:, np.newaxis], 0.0, rng.normal(size=(n, n_outputs)))
    return Tree(
        np.array(feature, np.int32), np.where(inner, rng.integers(-2, 3, n), 0.0), np.array(left, np.int32),
        (inner & (rng.random(n) < 0.5)).astype(np.uint8), value, np.zeros(n), np.zeros(n, np.int64),
    )  # fmt: skip


def walk(tree, row):
    node = 0
    while tree.left[node] >= 0:
        x = row[tree.feature[node]]
        to_left = tree.missing_left[node] if np.isnan(x) else x <= tree.threshold[node]
        node = tree.left[node] + (not to_left)
    return node


@pytest.mark.parametrize("n_leaves", [1, 2, 31, 64, 65])
@pytest.mark.parametrize("n_rows", [5, 64, 150])
def test_rows_reach_the_leaves_of_a_walk(instruction_set, n_leaves, n_rows):
    rng = np.random.default_rng(n_leaves)
    for dtype, n_outputs in ((np.float32, 1), (np.float64, 2), (np.float64, 11)):
        trees = TreeEnsemble([random_tree(rng, n, n_outputs) for n in (n_leaves, 7, n_leaves)], N_FEATURES)
        trees.check()
        X = rng.integers(-3, 4, (n_rows, N_FEATURES)).astype(dtype)
        X[rng.random(X.shape) < 0.2] = np.nan
        leaves = np.array([[walk(tree, row) for tree in trees.trees] for row in X])
        np.testing.assert_array_equal(trees.apply(np.asfortranarray(X), 2), leaves)
        scores = trees.scores(X, 0, 3, 1)
        expected = sum(tree.value[reached] for tree, reached in zip(trees.trees, leaves.T, strict=True))
        np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_probabilities_do_not_depend_on_the_rows_beside(n_outputs, monkeypatch):
    loss, thresholds = get_loss("all_threshold", "cloglog"), np.array([-1.0, 0.0, 2.0])
    scores = np.random.default_rng(0).normal(size=(50, n_outputs)).squeeze()
    together = predictions.proba(loss, scores, thresholds)
    monkeypatch.setattr(predictions, "_BLOCK", 22)
    np.testing.assert_array_equal(predictions.proba(loss, scores, thresholds), together)
