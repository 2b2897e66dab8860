"""Pruning and step size against a transcription of Algorithm 4 that computes everything anew at each question."""

from __future__ import annotations

import numpy as np
import pytest

from ordinal_objectives.histogram_engine.pruning import best_step_size, merge_splits
from ordinal_objectives.threshold_solver import JointQuadratic

#        0
#     1     2
#   3  4   5  6
#     7 8
LEFT = np.array([1, 3, 5, -1, 7, -1, -1, -1, -1], dtype=np.int32)
L2 = 1.0
LARGEST_STEP = 0.3


def random_sums(rng, n_cross=2):
    L = -rng.uniform(0.2, 1.0, (len(LEFT), n_cross))
    V = np.diag(-L[LEFT < 0].sum(axis=0) + 0.5)
    H = -L.sum(axis=1) if n_cross else rng.uniform(0.2, 1.0, len(LEFT))
    return JointQuadratic(rng.normal(size=len(LEFT)), H, L, rng.normal(size=n_cross), V).of_all_nodes(LEFT)


def system(sums, leaves, l2):
    M = np.block([[np.diag(sums.H[leaves] + l2), sums.L[leaves]], [sums.L[leaves].T, sums.V]])
    return np.concatenate([sums.G[leaves], sums.u]), M


def fit(sums, leaves):
    g, M = system(sums, leaves, L2)
    beta = -np.linalg.solve(M, g)
    return beta[: len(leaves)], beta[len(leaves) :]


def leaves_below(left, node):
    return [node] if left[node] < 0 else leaves_below(left, left[node]) + leaves_below(left, left[node] + 1)


def judge(left, training, held_out):
    """Return Q of the tree's step, and the best size of that step."""
    leaves = np.array(sorted(leaves_below(left, 0)))
    beta = np.concatenate(fit(training, leaves))
    g, M = system(held_out, leaves, 0.0)
    return g @ beta + 0.5 * beta @ M @ beta, np.clip(-(g @ beta) / (beta @ M @ beta), 0.0, LARGEST_STEP)


def pruned(left, training, held_out):
    left = left.copy()
    while True:
        options = {}
        for node in np.flatnonzero(left >= 0):
            if left[left[node]] < 0 and left[left[node] + 1] < 0:
                merged = left.copy()
                merged[node] = -1
                options[node] = judge(merged, training, held_out)[0]
        if not options or min(options.values()) > judge(left, training, held_out)[0]:
            return left
        left[min(options, key=options.get)] = -1


@pytest.mark.parametrize("n_cross", [0, 1, 4])
def test_pruned_trees_and_step_sizes_equal_the_transcription(n_cross):
    rng = np.random.default_rng(n_cross)
    n_merged = 0
    for _ in range(70):
        training, held_out = random_sums(rng, n_cross), random_sums(rng, n_cross)
        expected = pruned(LEFT, training, held_out)
        left = merge_splits(LEFT, training, held_out, fit)
        np.testing.assert_array_equal(left, expected)
        n_merged += int((left != LEFT).sum())
        leaves = np.array(sorted(leaves_below(left, 0)))
        weights, delta = fit(training, leaves)
        size = best_step_size(held_out, leaves, weights, delta, LARGEST_STEP)
        assert size == pytest.approx(judge(left, training, held_out)[1], abs=1e-12)
    assert n_merged > 50
