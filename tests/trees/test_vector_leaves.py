"""Leaves that shift single thresholds: closed forms against a numerical minimiser and their two ends."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ordinal_objectives.leaves import scalar, vector
from ordinal_objectives.leaves.vector import Shifts


def sums(seed, n_thresholds, n_leaves=5):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_leaves, n_thresholds)) * 3, rng.gamma(0.5, 2.0, (n_leaves, n_thresholds))


def model_matrix(h, reg_lambda, shift_l2, penalty, active):
    """Return the Hessian of the model in the free unknowns (w, shifts but the last), and the map from them to u."""
    shifted = np.flatnonzero(active)
    to_u = np.zeros((len(h), len(shifted)))
    to_u[:, 0] = 1.0
    for column, k in enumerate(shifted[:-1], start=1):
        to_u[k, column] = 1.0
        to_u[shifted[-1], column] = -1.0
    shifts = to_u[shifted]
    differences = shifts - to_u.mean(axis=0) if penalty == "ridge" else np.diff(shifts, axis=0)
    mean = np.zeros(len(shifted))
    mean[0] = 1.0
    return (
        to_u.T @ np.diag(h) @ to_u + reg_lambda * np.outer(mean, mean) + shift_l2 * differences.T @ differences,
        to_u,
    )


@pytest.mark.slow
@pytest.mark.parametrize("penalty", ["ridge", "smooth"])
@given(
    seed=st.integers(0, 1000),
    n_thresholds=st.integers(1, 11),
    reg_lambda=st.sampled_from([0.0, 0.3, 5.0]),
    shift_l2=st.sampled_from([0.01, 1.0, 30.0]),
    hidden=st.sets(st.integers(0, 10), max_size=3),
)
def test_leaves_minimise_the_quadratic_model(penalty, seed, n_thresholds, reg_lambda, shift_l2, hidden):
    G, H = sums(seed, n_thresholds)
    active = np.array([k not in hidden for k in range(n_thresholds)])
    if not active.any():
        active[0] = True
    u = vector.steps(G, H, reg_lambda, shift_l2, penalty, active)
    value = vector.values(G, H, reg_lambda, shift_l2, penalty, active)
    for g, h, step, worth in zip(G, H, u, value, strict=True):
        matrix, to_u = model_matrix(h, reg_lambda, shift_l2, penalty, active)
        free = -np.linalg.solve(matrix, to_u.T @ g)
        np.testing.assert_allclose(step, to_u @ free, rtol=1e-6, atol=1e-8)
        assert worth == pytest.approx(-(g @ to_u @ free + 0.5 * free @ matrix @ free), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("penalty", vector.PENALTIES)
def test_one_threshold_is_the_scalar_leaf(penalty):
    G, H = sums(0, 1)
    expected = scalar.weights(G[:, 0], H[:, 0], 0.7)
    assert vector.steps(G, H, 0.7, 3.0, penalty)[:, 0].tolist() == expected.tolist()


@pytest.mark.parametrize("penalty", vector.PENALTIES)
def test_a_large_penalty_leaves_the_scalar_leaf(penalty):
    G, H = sums(1, 6)
    expected = scalar.weights(G.sum(axis=1), H.sum(axis=1), 0.7)
    np.testing.assert_allclose(vector.steps(G, H, 0.7, 1e9, penalty), np.tile(expected[:, None], 6), atol=1e-6)


def test_separate_leaves_are_a_member_of_the_family():
    G, H = sums(2, 6)
    np.testing.assert_allclose(vector.steps(G, H, 6 * 0.4, 0.4), -G / (H + 0.4), atol=1e-12)


@pytest.mark.parametrize("penalty", vector.PENALTIES)
def test_a_threshold_without_weight_on_one_side_takes_no_shift(penalty):
    G, H = sums(3, 5)
    u = vector.steps(G, H, 1.0, 2.0, penalty, [True, True, False, True, False])
    np.testing.assert_allclose(u[:, [2, 4]], np.tile(u.mean(axis=1)[:, None], 2), atol=1e-12)


@pytest.mark.parametrize("penalty", vector.PENALTIES)
def test_a_leaf_without_curvature_does_not_move(penalty):
    assert not vector.steps(np.ones((1, 3)), np.zeros((1, 3)), 0.0, 1.0, penalty).any()
    np.testing.assert_allclose(vector.steps(np.ones((1, 3)), np.zeros((1, 3)), 2.0, 1.0, penalty), -1.5)


@pytest.mark.parametrize(
    ("penalty", "shift_l2", "named"),
    [("ridge", 0.0, "shift_l2"), ("ridge", np.nan, "shift_l2"), ("ridge", True, "shift_l2"), ("lasso", 1.0, "lasso")],
)
def test_penalties_out_of_range_are_named(penalty, shift_l2, named):
    with pytest.raises((TypeError, ValueError), match=named):
        Shifts(shift_l2, penalty)


@pytest.mark.slow
@given(
    seed=st.integers(0, 1000),
    n_thresholds=st.integers(2, 11),
    max_shifts=st.integers(1, 10),
    reg_lambda=st.sampled_from([0.0, 0.3, 5.0]),
    shift_l2=st.sampled_from([0.01, 1.0, 30.0]),
    hidden=st.sets(st.integers(0, 10), max_size=3),
)
def test_sparse_leaves_minimise_the_model_with_the_others_shifted_alike(
    seed, n_thresholds, max_shifts, reg_lambda, shift_l2, hidden
):
    G, H = sums(seed, n_thresholds)
    active = np.array([k not in hidden for k in range(n_thresholds)])
    active[:2] = True
    n = active.sum()
    steps = vector.steps(G, H, reg_lambda, shift_l2, "sparse", active, max_shifts)
    values = vector.values(G, H, reg_lambda, shift_l2, "sparse", active, max_shifts)
    for g, h, step, value in zip(G, H, steps, values, strict=True):
        slope = g[active] + g[~active].sum() / n - h[active] * g.sum() / (h.sum() + reg_lambda)
        own = np.argsort(-(slope**2) / (h[active] + shift_l2), kind="stable")[:max_shifts]
        alike = np.setdiff1d(np.arange(n), own)
        of_groups = np.zeros((n, len(own) + (len(alike) > 0)))
        of_groups[own, np.arange(len(own))] = 1.0
        of_groups[alike, -1] = 1.0
        mean = of_groups.mean(axis=0)
        to_u = np.tile(mean, (n_thresholds, 1))
        to_u[active] = of_groups
        away = of_groups - mean
        matrix = to_u.T @ np.diag(h) @ to_u + reg_lambda * np.outer(mean, mean) + shift_l2 * away.T @ away
        free = -np.linalg.solve(matrix, to_u.T @ g)
        np.testing.assert_allclose(step, to_u @ free, rtol=1e-6, atol=1e-8)
        assert value == pytest.approx(-(g @ to_u @ free + 0.5 * free @ matrix @ free), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("penalty", ["ridge", "smooth"])
@pytest.mark.parametrize("hidden", [[], [10], [0, 1, 2, 10]])
@pytest.mark.parametrize("reg_lambda", [0.0, 5.0])
def test_shared_shifts_minimise_the_model_of_their_groups(penalty, hidden, reg_lambda):
    """u is the same in each group, and groups without an active threshold move with the mean of the others."""
    n_thresholds, shift_l2 = 11, 3.0
    G, H = sums(7, n_thresholds)
    active = np.ones(n_thresholds, bool)
    active[hidden] = False
    group = vector.shared(n_thresholds, 4)
    moved = np.array([active[group == j].any() for j in range(4)])
    of_groups = np.eye(4)[group][np.ix_(moved[group], moved)]  # thresholds with shifts
    mean = of_groups.mean(axis=0)
    to_u = np.tile(mean, (n_thresholds, 1))
    to_u[moved[group]] = of_groups
    away = of_groups - mean if penalty == "ridge" else np.diff(of_groups, axis=0)
    steps = vector.steps(G, H, reg_lambda, shift_l2, penalty, active, 4)
    for g, h, step in zip(G, H, steps, strict=True):
        matrix = to_u.T @ np.diag(h) @ to_u + reg_lambda * np.outer(mean, mean) + shift_l2 * away.T @ away
        np.testing.assert_allclose(step, -to_u @ np.linalg.solve(matrix, to_u.T @ g), rtol=1e-6, atol=1e-8)


def test_as_many_shifts_as_thresholds_are_not_shared():
    G, H = sums(7, 5)
    for most in (5, 9):
        np.testing.assert_array_equal(vector.steps(G, H, 1.0, 2.0, max_shifts=most), vector.steps(G, H, 1.0, 2.0))


def test_few_shifts_are_worth_nearly_what_the_best_ones_are():
    """They are not sought among all subsets."""
    G, H = sums(4, 6, n_leaves=40)
    least, chosen, best = (np.zeros(len(G)) for _ in range(3))
    least[:] = vector.values(G, H, 1.0, 1e12)
    chosen[:] = vector.values(G, H, 1.0, 2.0, "sparse", None, 2)
    for j, (g, h) in enumerate(zip(G, H, strict=True)):
        for own in combinations(range(6), 2):
            others = [k for k in range(6) if k not in own]
            of_groups = np.zeros((6, 3))
            of_groups[own, (0, 1)] = of_groups[others, 2] = 1.0
            mean = of_groups.mean(axis=0)
            away = of_groups - mean
            matrix = of_groups.T @ np.diag(h) @ of_groups + np.outer(mean, mean) + 2.0 * away.T @ away
            slope = of_groups.T @ g
            best[j] = max(best[j], 0.5 * slope @ np.linalg.solve(matrix, slope))
    assert (chosen <= best * (1 + 1e-9)).all()
    assert (chosen - least).sum() > 0.9 * (best - least).sum()
