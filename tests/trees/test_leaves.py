"""Closed forms of leaves against a numerical minimiser, and trees whose leaves hold several values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from ordinal_objectives.leaves import joint, scalar
from ordinal_objectives.threshold_solver import schur_step
from ordinal_objectives.trees import Tree, TreeEnsemble


def sums(seed, n_leaves=4, n_thresholds=3):
    """Sums of random rows: G, H, L, u, V of a convex joint model."""
    rng = np.random.default_rng(seed)
    L = -rng.uniform(0.1, 1.0, (n_leaves, n_thresholds))
    V = np.diag(-L.sum(axis=0) + 0.3)
    return rng.normal(size=n_leaves), -L.sum(axis=1) + 0.2, L, rng.normal(size=n_thresholds), V


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("reg_lambda", [0.0, 1.5])
def test_joint_forms_minimise_the_quadratic_model(seed, reg_lambda):
    G, H, L, u, V = sums(seed)

    def model(step):
        w, delta = step[:4], step[4:]
        own = G @ w + 0.5 * (H + reg_lambda) @ w**2
        return own + u @ delta + 0.5 * delta @ V @ delta + w @ L @ delta

    found = minimize(model, np.zeros(7), method="BFGS", options={"gtol": 1e-9})
    S, r = joint.system(G, H, L, u, V, reg_lambda)
    delta = -np.linalg.solve(S, r)
    w = joint.weights(G, H, L, delta, reg_lambda)
    np.testing.assert_allclose(np.r_[w, delta], found.x, atol=1e-5)
    assert joint.value(G, H, S, r, delta, reg_lambda) == pytest.approx(-found.fun, abs=1e-9)
    step = schur_step(G, H, L, u, np.diag(V), None, reg_lambda)
    np.testing.assert_allclose(np.r_[step.leaf_weights, step.threshold_step], np.r_[w, delta], atol=1e-12)


def test_scalar_forms_minimise_the_quadratic_model():
    G, H, *_ = sums(0)
    w = scalar.weights(G, H, 0.5)
    np.testing.assert_allclose(G + (H + 0.5) * w, 0.0, atol=1e-15)
    assert scalar.value(G, H, 0.5) == pytest.approx(-(G @ w + 0.5 * (H + 0.5) @ w**2))


def test_a_leaf_without_curvature_does_not_move():
    assert scalar.weights([1.0, 1.0], [0.0, 2.0]).tolist() == [0.0, -0.5]
    assert joint.weights(np.ones(2), np.array([0.0, 2.0]), np.zeros((2, 1)), np.zeros(1), 0.0).tolist() == [0.0, -0.5]


def random_tree(rng, n_outputs):
    """A tree of five nodes over three features."""
    return Tree(
        np.array([0, -1, 2, -1, -1], np.int32),
        np.array([0.1, 0.0, -0.2, 0.0, 0.0]),
        np.array([1, -1, 3, -1, -1], np.int32),
        np.array([1, 0, 0, 0, 0], np.uint8),
        rng.normal(size=(5, n_outputs)),
        np.zeros(5),
        np.ones(5, np.int64),
    )


@pytest.mark.parametrize("n_threads", [1, 2])
def test_trees_with_several_values_are_added_up_for_every_output(n_threads):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    ensemble = TreeEnsemble([random_tree(rng, 4) for _ in range(3)], 3)
    ensemble.check()
    scores = np.ones((len(X), 4))
    ensemble.add_to(scores, X, 1, 3, n_threads)
    left = np.isnan(X[:, 0]) | (X[:, 0] <= 0.1)
    node = np.where(left, 1, np.where(X[:, 2] <= -0.2, 3, 4))  # NaN fails the comparison: it goes right there
    np.testing.assert_array_equal(scores, 1.0 + ensemble.trees[1].value[node] + ensemble.trees[2].value[node])
    np.testing.assert_array_equal(ensemble.apply(X, n_threads), np.repeat(node[:, None], 3, axis=1))


def test_trees_of_several_outputs_are_checked():
    tree = random_tree(np.random.default_rng(0), 2)
    tree.value[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        tree.check(3)
    with pytest.raises(ValueError, match="arrays over nodes must have one size"):
        TreeEnsemble([tree], 3).add_to(np.zeros((2, 3)), np.zeros((2, 3)), 0, 1, 1)
