"""The solver's steps against closed forms and dense systems."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ordinal_objectives.threshold_solver import Diagnostics, JointQuadratic, newton_step, schur_step

problems = st.tuples(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(2, 8))


def random_sums(seed, n_leaves, n_classes):
    """Sums of a convex joint quadratic: curvature c of every (leaf, threshold) pair, cross terms e <= c."""
    rng = np.random.default_rng(seed)
    c = rng.uniform(0.1, 2.0, (n_leaves, n_classes - 1))
    L = -c * rng.uniform(0.2, 0.9, c.shape)
    return rng.normal(size=n_leaves), c.sum(axis=1), L, rng.normal(size=n_classes - 1), c.sum(axis=0)


def joint_matrix(H, L, v, v_off=None, reg_lambda=0.0):
    V = np.diag(v)
    if v_off is not None:
        V = V + np.diag(v_off, 1) + np.diag(v_off, -1)
    return np.block([[np.diag(H + reg_lambda), L], [L.T, V]])


def basis(active, tied):
    """Directions that may move, one column for each group, written out."""
    columns = []
    for k in range(len(active)):
        if active[k] and not tied[k]:
            columns.append(np.zeros(len(active)))
        if active[k]:
            columns[-1][k] = 1.0
    return np.array(columns).T.reshape(len(active), len(columns))


# --- Newton ---------------------------------------------------------------------------------------------


def test_newton_with_one_threshold_is_the_closed_form():
    assert newton_step([3.0], [1.5]) == pytest.approx([-2.0], rel=1e-15)


@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
def test_newton_iterates_to_the_log_odds(share):
    """A score of 0 everywhere: the best threshold of the logit loss is the log-odds of the share."""
    theta = np.zeros(1)
    for _ in range(400):
        probability = 1.0 / (1.0 + np.exp(-theta))
        curvature = np.where(theta == 0.0, 0.25, np.tanh(theta / 2) / np.where(theta == 0.0, 1.0, 2 * theta))
        theta = theta + newton_step(probability - share, curvature)
    assert theta[0] == pytest.approx(np.log(share / (1 - share)), abs=1e-10)


def tridiagonal(rng, n_thresholds):
    """Return a gradient, the diagonals of a dominant matrix, and the matrix."""
    u, off = rng.normal(size=n_thresholds), rng.uniform(-1.0, 0.0, n_thresholds - 1)
    v = rng.uniform(2.1, 4.0, n_thresholds)
    return u, v, off, np.diag(v) + np.diag(off, 1) + np.diag(off, -1)


@given(st.integers(0, 2**32 - 1), st.integers(2, 9))
def test_newton_solves_the_tridiagonal_system(seed, n_thresholds):
    rng = np.random.default_rng(seed)
    u, v, off, V = tridiagonal(rng, n_thresholds)
    np.testing.assert_allclose(V @ newton_step(u, v, off), -u, atol=1e-12)


def dense_step(u, v, off, active, tied):
    """Newton step of the full matrix by Cholesky, or by its absolute row sums, and whether these were needed."""
    E = basis(active, tied)
    V = E.T @ (np.diag(v) + np.diag(off, 1) + np.diag(off, -1)) @ E
    try:
        np.linalg.cholesky(V)
        return E @ np.linalg.solve(V, -E.T @ u), 0
    except np.linalg.LinAlgError:
        sizes = np.abs(V).sum(axis=1)
        return E @ np.divide(-E.T @ u, sizes, out=np.zeros(len(sizes)), where=sizes > 0), 1


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.sampled_from([0.0, 0.4, 1.5]))
def test_newton_equals_the_dense_system(seed, n_thresholds, coupling):
    """Also between inactive and tied thresholds, without curvature, and where the matrix is indefinite."""
    rng = np.random.default_rng(seed)
    u, v = rng.normal(size=n_thresholds), rng.uniform(0.5, 2.0, n_thresholds)
    v[rng.random(n_thresholds) < 0.05] = 0.0
    off = coupling * rng.uniform(-1.0, 0.2, n_thresholds - 1)
    # Groups of tied thresholds, each of them active or not.
    tied = np.r_[False, rng.random(n_thresholds - 1) < 0.3]
    active = (rng.random(n_thresholds) < 0.8)[np.cumsum(~tied) - 1]
    expected, n_fallback = dense_step(u, v, off, active, tied)
    diagnostics = Diagnostics()
    step = newton_step(u, v, off, active, tied, diagnostics=diagnostics)
    assert diagnostics.n_fallback == n_fallback
    np.testing.assert_allclose(step[active], expected[active], rtol=1e-9, atol=1e-12)
    if coupling == 0.0:
        np.testing.assert_array_equal(step, newton_step(u, v, None, active, tied))


def test_newton_with_very_many_thresholds():
    """A matrix of all of them would take 320 GB."""
    rng = np.random.default_rng(0)
    n = 200_000
    u, v, off = rng.normal(size=n), rng.uniform(2.1, 4.0, n), rng.uniform(-1.0, 0.0, n - 1)
    step = newton_step(u, v, off)
    product = v * step
    product[1:] += off * step[:-1]
    product[:-1] += off * step[1:]
    np.testing.assert_allclose(product, -u, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(3, 9))
def test_newton_lets_inactive_thresholds_give_way_and_moves_tied_ones_together(seed, n_thresholds):
    rng = np.random.default_rng(seed)
    u, v, off, V = tridiagonal(rng, n_thresholds)
    active = np.ones(n_thresholds, dtype=bool)
    active[0] = active[-1] = False
    tied = np.r_[[False, False], rng.random(n_thresholds - 3) < 0.5, [False]]
    E = basis(active, tied)
    step = newton_step(u, v, off, active, tied)
    np.testing.assert_allclose(E.T @ (V @ np.where(active, step, 0.0) + u), 0.0, atol=1e-12)
    assert step[0] == (step[1] if step[1] < 0.0 <= u[0] else 0.0)
    assert step[-1] == (step[-2] if u[-1] <= 0.0 < step[-2] else 0.0)
    assert np.all(np.diff(step)[tied[1:] & active[1:]] == 0.0)


def test_newton_moves_an_inactive_threshold_outwards_alone():
    """Inwards, the outer of two idle thresholds would run into the inner one, which its loss holds back."""
    active = np.array([True, False, False])
    assert newton_step([-1.0, -0.1, 0.0], [1.0, 1.0, 1.0], active=active).tolist() == [1.0, 1.0, 1.0]
    assert newton_step([1.0, -0.1, 0.0], [1.0, 1.0, 1.0], active=active).tolist() == [-1.0, 0.0, 0.0]


def test_newton_with_no_curvature_stays_and_is_counted():
    diagnostics = Diagnostics()
    assert newton_step([1.0, 2.0], [0.0, 4.0], diagnostics=diagnostics).tolist() == [0.0, -0.5]
    assert diagnostics.n_fallback == 1


def test_newton_with_an_indefinite_curvature_descends_and_is_counted():
    diagnostics = Diagnostics()
    u = np.array([1.0, -2.0])
    step = newton_step(u, [1.0, 1.0], [-3.0], diagnostics=diagnostics)
    assert diagnostics.n_fallback == 1
    assert step @ u < 0.0
    np.testing.assert_allclose(step, -u / 4.0)


def test_newton_with_nothing_active_is_zero():
    diagnostics = Diagnostics()
    step = newton_step([1.0, 2.0], [1.0, 1.0], active=np.zeros(2, dtype=bool), diagnostics=diagnostics)
    assert step.tolist() == [0.0, 0.0]
    assert diagnostics.n_fallback == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0]], [1.0]), "threshold_gradient"),
        (([1.0, 2.0], [1.0]), "threshold_hessian"),
        (([1.0, 2.0], [1.0, 1.0], [0.0, 0.0]), "threshold_hessian_off"),
        (([np.nan, 2.0], [1.0, 1.0]), "threshold_gradient"),
        (([1.0, 2.0], [1.0, 1.0], None, [1, 0]), "active"),
        (([1.0, 2.0], [1.0, 1.0], None, None, [True, False]), r"tied\[0\] must be False"),
    ],
)
def test_newton_names_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        newton_step(*arguments)


# --- Schur ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(problems, st.sampled_from([0.0, 0.3, 5.0]))
def test_schur_solves_the_dense_joint_system(problem, reg_lambda):
    G, H, L, u, v = random_sums(*problem)
    w, delta, decrease = schur_step(JointQuadratic.of(G, H, L, u, v), reg_lambda=reg_lambda)
    matrix, gradient = joint_matrix(H, L, v, reg_lambda=reg_lambda), np.r_[G, u]
    expected = np.linalg.lstsq(matrix, -gradient)[0]
    np.testing.assert_allclose(np.r_[w, delta], expected, rtol=1e-8, atol=1e-10)
    assert decrease == pytest.approx(-(gradient @ expected + 0.5 * expected @ matrix @ expected), rel=1e-9)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(3, 8))
def test_schur_with_tridiagonal_inactive_and_tied_thresholds(seed, n_classes):
    G, H, L, u, v = random_sums(seed, 4, n_classes)
    rng = np.random.default_rng(seed)
    v_off = -rng.uniform(0.0, 0.2, n_classes - 2)
    v = v + 0.4
    active = np.r_[False, np.ones(n_classes - 2, dtype=bool)]
    tied = np.r_[[False, False], rng.random(n_classes - 3) < 0.5]
    w, delta, decrease = schur_step(JointQuadratic.of(G, H, L, u, v, v_off), 1.0, active, tied)
    E = np.block(
        [[np.eye(4), np.zeros((4, basis(active, tied).shape[1]))], [np.zeros((n_classes - 1, 4)), basis(active, tied)]]
    )
    matrix = E.T @ joint_matrix(H, L, v, v_off, 1.0) @ E
    expected = E @ np.linalg.solve(matrix, -(E.T @ np.r_[G, u]))
    np.testing.assert_allclose(w, expected[:4], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(delta[1:], expected[5:], rtol=1e-9, atol=1e-11)
    assert delta[0] == (delta[1] if delta[1] < 0.0 <= u[0] else 0.0)
    assert decrease == pytest.approx(-0.5 * np.r_[G, u] @ expected, rel=1e-9)


@pytest.mark.slow
@given(problems)
def test_schur_in_the_gauge_keeps_the_sum_and_solves_the_system(problem):
    """Exact curvature and lambda = 0: only differences of score and threshold count."""
    G, H, L, u, v = random_sums(*problem)
    L = -np.random.default_rng(problem[0]).uniform(0.1, 2.0, L.shape)
    H, v = -L.sum(axis=1), -L.sum(axis=0)
    u = u - (u.sum() + G.sum()) / u.size
    diagnostics = Diagnostics()
    w, delta, _ = schur_step(JointQuadratic.of(G, H, L, u, v), diagnostics=diagnostics)
    assert abs(delta.sum()) <= 1e-10 * (1.0 + np.abs(delta).sum())
    assert diagnostics.n_fallback == 0
    matrix, gradient = joint_matrix(H, L, v), np.r_[G, u]
    np.testing.assert_allclose(matrix @ np.r_[w, delta], -gradient, atol=1e-9)
    expected = np.linalg.lstsq(matrix, -gradient)[0]
    differences = np.subtract.outer(expected[: len(w)], expected[len(w) :])
    np.testing.assert_allclose(np.subtract.outer(w, delta), differences, atol=1e-8)


@pytest.mark.parametrize("reg_lambda", [0.0, 1.0])
def test_schur_in_the_first_balanced_round_of_two_classes(reg_lambda):
    """Every distance is 0, so both curvatures are 1/4 and without a penalty S is exactly 0."""
    n_rows = np.array([30.0, 50.0, 20.0])
    G = np.array([4.0, -5.0, 1.0])
    w, delta, _ = schur_step(
        JointQuadratic.of(G, n_rows / 4, -n_rows[:, None] / 4, [0.0], [25.0]), reg_lambda=reg_lambda
    )
    if reg_lambda == 0.0:
        assert delta.tolist() == [0.0]
        np.testing.assert_allclose(w, -4 * G / n_rows)
    else:
        system = joint_matrix(n_rows / 4, -n_rows[:, None] / 4, [25.0], reg_lambda=reg_lambda)
        np.testing.assert_allclose(np.r_[w, delta], np.linalg.solve(system, -np.r_[G, 0.0]))


def test_schur_in_the_gauge_keeps_the_sum_of_tied_thresholds_too():
    L = -np.array([[1.0, 0.5, 0.5, 2.0], [0.3, 1.0, 1.0, 0.2]])
    tied = np.array([False, False, True, False])
    G, u = np.array([1.0, -2.0]), np.array([0.5, 0.2, 0.1, 0.2])
    w, delta, _ = schur_step(JointQuadratic.of(G, -L.sum(axis=1), L, u, -L.sum(axis=0)), tied=tied)
    assert delta[1] == delta[2]
    assert delta.sum() == pytest.approx(0.0, abs=1e-12)
    residual = joint_matrix(-L.sum(axis=1), L, -L.sum(axis=0)) @ np.r_[w, delta] + np.r_[G, u]
    np.testing.assert_allclose(residual[[0, 1, 2, 5]], 0.0, atol=1e-12)
    assert residual[3] + residual[4] == pytest.approx(0.0, abs=1e-12)


def test_schur_gauge_tolerance_covers_sums_of_float32_rows():
    L = -np.array([[1.0, 0.5], [0.3, 1.0], [0.7, 0.1]])
    H = -L.sum(axis=1) * (1.0 + 1e-7)
    sums = (np.array([1.0, -2.0, 0.3]), H, L, np.array([0.4, 0.3]), -L.sum(axis=0))
    assert abs(schur_step(JointQuadratic.of(*sums), gauge_tolerance=1e-8).threshold_step.sum()) > 1e-3
    assert abs(schur_step(JointQuadratic.of(*sums)).threshold_step.sum()) < 1e-12


def test_schur_gives_a_leaf_without_curvature_no_weight():
    G, H, L, u, v = random_sums(3, 4, 5)
    H[1], L[1] = 0.0, 0.0
    diagnostics = Diagnostics()
    w, delta, _ = schur_step(JointQuadratic.of(G, H, L, u, v), diagnostics=diagnostics)
    keep = [0, 2, 3]
    rest = schur_step(JointQuadratic.of(G[keep], H[keep], L[keep], u, v))
    assert w[1] == 0.0
    assert diagnostics.n_flat_leaves == 1
    np.testing.assert_allclose(w[keep], rest.leaf_weights)
    np.testing.assert_allclose(delta, rest.threshold_step)


def test_schur_with_an_indefinite_complement_descends_and_is_counted():
    diagnostics = Diagnostics()
    G, u = np.array([1.0]), np.array([0.5, -1.0])
    w, delta, decrease = schur_step(JointQuadratic.of(G, [1.0], [[-2.0, -2.0]], u, [1.0, 1.5]), diagnostics=diagnostics)
    assert diagnostics.n_fallback == 1
    r = u - G[0] * np.array([-2.0, -2.0])
    assert r @ delta < 0.0
    assert np.all(np.isfinite(np.r_[w, delta, decrease]))


def test_schur_without_any_curvature_stands_still():
    step = schur_step(JointQuadratic.of([0.0], [0.0], [[0.0, 0.0]], [0.0, 0.0], [0.0, 0.0]))
    assert step.leaf_weights.tolist() == [0.0]
    assert step.threshold_step.tolist() == [0.0, 0.0]
    assert step.decrease == 0.0


def test_schur_with_nothing_active_renews_the_leaves_alone():
    G, H, L, u, v = random_sums(5, 3, 4)
    step = schur_step(JointQuadratic.of(G, H, L, u, v), active=np.zeros(3, dtype=bool), reg_lambda=2.0)
    np.testing.assert_allclose(step.leaf_weights, -G / (H + 2.0))
    assert step.threshold_step.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"leaf_hessian": [1.0]}, "leaf_hessian"),
        ({"leaf_cross": [[0.0], [0.0]]}, "leaf_cross"),
        ({"threshold_hessian_off": [0.0, 0.0]}, "threshold_hessian_off"),
        ({"leaf_gradient": [np.inf, 0.0]}, "leaf_gradient"),
    ],
)
def test_sums_of_a_joint_step_name_bad_input(change, message):
    sums = {
        "leaf_gradient": [1.0, 2.0],
        "leaf_hessian": [1.0, 1.0],
        "leaf_cross": [[-0.1, -0.1], [-0.1, -0.1]],
        "threshold_gradient": [0.0, 1.0],
        "threshold_hessian": [1.0, 1.0],
    }
    with pytest.raises(ValueError, match=message):
        JointQuadratic.of(**(sums | change))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reg_lambda": -1.0}, "reg_lambda"),
        ({"reg_lambda": np.nan}, "reg_lambda"),
        ({"active": [True]}, "active"),
    ],
)
def test_schur_names_bad_input(arguments, message):
    sums = JointQuadratic.of([1.0], [1.0], [[-0.1, -0.1]], [0.0, 1.0], [1.0, 1.0])
    with pytest.raises(ValueError, match=message):
        schur_step(sums, **arguments)
