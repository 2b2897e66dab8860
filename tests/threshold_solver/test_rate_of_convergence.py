"""The theorem on the rate of the majorised steps, and the ends that steps share (docs/theory.md)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag, eigh

from ordinal_objectives.leaves import vector
from ordinal_objectives.leaves.vector import contrasts
from ordinal_objectives.losses import LOSSES, AllThreshold, get_loss
from ordinal_objectives.threshold_solver import JointQuadratic, newton_step, schur_step

HAVE_A_MAJORISER = [
    (loss, link)
    for loss in LOSSES
    for link in ("logit", "probit", "cauchit")
    if get_loss(loss, link).supports("majorized")
]
each_loss = pytest.mark.parametrize(("loss", "link"), HAVE_A_MAJORISER)
CONVEX = [case for case in HAVE_A_MAJORISER if case[1] != "cauchit"]


class FixedLeaves:
    """Random rows in leaves that stay; a point x is the leaves' weights and the thresholds."""

    n_leaves = 3

    def __init__(self, seed, loss, n_classes=4, n_rows=120, reg_lambda=0.0):
        rng = np.random.default_rng(seed)
        self.loss, self.reg_lambda = loss, reg_lambda
        self.leaf = rng.integers(0, self.n_leaves, n_rows)
        self.y = rng.integers(0, n_classes, n_rows)
        # Leaves that differ, so that the distances do.
        self.y = np.clip(self.y + 2 * (self.leaf == 0) - (self.leaf == 1), 0, n_classes - 1)
        self.weight = rng.uniform(0.5, 2.0, n_rows)
        self.one_hot = np.eye(self.n_leaves)[self.leaf]

    def sums(self, x, hessian):
        w, thresholds = np.split(x, [self.n_leaves])
        rows = self.loss.round_statistics(w[self.leaf], self.y, thresholds, self.weight, hessian)
        G, H, L = (self.one_hot.T @ column for column in (rows.gradient, rows.hessian, rows.cross))
        return G, H, L, rows.threshold_gradient, rows.threshold_hessian, rows.threshold_hessian_off

    def curvature(self, x, hessian, reg_lambda=0.0):
        _, H, L, _, v, off = self.sums(x, hessian)
        V = np.diag(v) + np.diag(off, 1) + np.diag(off, -1)
        return np.block([[np.diag(H + reg_lambda), L], [L.T, V]])

    def step(self, x, hessian, shrinkage=1.0):
        G, H, L, u, v, off = self.sums(x, hessian)
        model = JointQuadratic.of(G, H, L, u, v, off if self.loss.strictly_ordered else None)
        w, delta, _ = schur_step(model, self.reg_lambda)
        return x + shrinkage * np.r_[w, delta]

    def in_turn(self, x, hessian, shrinkage=1.0):
        G, H, *_ = self.sums(x, hessian)
        x = x - shrinkage * np.r_[G / (H + self.reg_lambda), np.zeros(len(x) - self.n_leaves)]
        *_, u, v, off = self.sums(x, hessian)
        off = off if self.loss.strictly_ordered else None
        return x + np.r_[np.zeros(self.n_leaves), newton_step(u, v, off)]

    def differences(self, x):
        """Return what a common shift does not change."""
        return x - x[0]


def minimum(leaves):
    """Return where the loss is lowest; without a penalty, the last steps are Newton's."""
    x = np.r_[np.zeros(leaves.n_leaves), -1.0, 0.0, 1.0]
    for hessian in [*["majorized"] * 30, *["exact"] * 6]:
        x = leaves.step(x, hessian)
    return x


def random_point(rng, scale, n_leaves=3, n_thresholds=3):
    return np.r_[scale * rng.normal(size=n_leaves), np.cumsum(scale * rng.uniform(0.05, 1.0, n_thresholds)) - scale]


def spectrum(E, B):
    """Return eigenvalues, rising, and eigenvectors of B^-1 E; B may be singular along the common shift."""
    return eigh(E, B + 1e-8 * np.trace(B) / len(B) ** 2)


@each_loss
@pytest.mark.parametrize("reg_lambda", [0.0, 3.0])
def test_no_eigenvalue_leaves_the_interval_of_the_theorem(loss, link, reg_lambda):
    """E <= B everywhere, so I - nu B^-1 E has no eigenvalue below 1 - nu; only the common shift has a 1."""
    loss, largest = get_loss(loss, link), 0.0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        leaves = FixedLeaves(seed, loss, reg_lambda=reg_lambda)
        x = random_point(rng, (0.05, 0.5, 3.0)[seed % 3])
        E, B = leaves.curvature(x, "exact"), leaves.curvature(x, "majorized", reg_lambda)
        if link == "cauchit":  # the theorem asks for E > 0, and its exact Hessian here has a floor
            assert np.linalg.eigvalsh(B - E).min() >= -1e-9 * np.trace(B)
            continue
        of_shift, *others = spectrum(E, B)[0]
        assert abs(of_shift) <= 1e-6
        np.testing.assert_allclose(E @ np.ones(len(x)), 0.0, atol=1e-9 * np.trace(E))
        assert others[0] > 1e-4
        assert others[-1] <= 1.0 + 1e-9
        largest = max(largest, others[-1])
    assert link != "logit" or reg_lambda or largest > 0.98


@pytest.mark.parametrize(("loss", "link"), CONVEX)
@pytest.mark.parametrize(("way", "hessian"), [("step", "majorized"), ("step", "exact"), ("in_turn", "majorized")])
@pytest.mark.parametrize(("shrinkage", "reg_lambda"), [(1.0, 0.0), (0.4, 0.0), (1.0, 20.0)])
def test_errors_shrink_by_the_factor_that_the_curvatures_give(loss, link, way, hessian, shrinkage, reg_lambda):
    leaves = FixedLeaves(1, get_loss(loss, link), reg_lambda=reg_lambda)
    start = minimum(FixedLeaves(1, get_loss(loss, link)))
    E, B = leaves.curvature(start, "exact"), leaves.curvature(start, hessian, reg_lambda)
    if way == "step":
        values, vectors = spectrum(E, B)
        rho, slowest = 1.0 - shrinkage * values[1], vectors[:, 1]
    else:
        first, second = (np.diag(part) for part in ([1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]))
        leaf_step = np.eye(6) - shrinkage * np.linalg.pinv(first @ B @ first) @ E
        both = (np.eye(6) - np.linalg.pinv(second @ leaves.curvature(start, hessian) @ second) @ E) @ leaf_step
        values, vectors = np.linalg.eig(both)
        order = np.argsort(-np.abs(values))
        rho, slowest = values[order[1]].real, vectors[:, order[1]].real  # the first is the common shift's 1
    assert -1e-6 <= rho < 1.0
    x, errors = start + 1e-5 * slowest / np.abs(slowest).max(), []
    for _ in range(3):
        errors.append(np.linalg.norm(leaves.differences(x) - leaves.differences(start)))
        x = getattr(leaves, way)(x, hessian, shrinkage)
    if rho < 1e-6:  # Newton's method: quadratic
        assert (way, hessian, shrinkage, reg_lambda) == ("step", "exact", 1.0, 0.0)
        assert errors[1] <= 20.0 * errors[0] ** 2
    else:
        np.testing.assert_allclose(np.divide(errors[1:], errors[:-1]), rho, rtol=1e-3)


def test_the_exact_curvature_settles_at_least_as_fast():
    for loss, link in CONVEX:
        for seed in range(5):
            leaves = FixedLeaves(seed, get_loss(loss, link), reg_lambda=4.0)
            x = random_point(np.random.default_rng(seed), 1.0)
            E = leaves.curvature(x, "exact")
            slowest = [spectrum(E, leaves.curvature(x, kind, 4.0))[0][1] for kind in ("exact", "majorized")]
            assert slowest[0] >= slowest[1]


@pytest.mark.parametrize("shift_penalty", ["ridge", "smooth"])
def test_contrasts_by_their_diagonal_end_where_renewed_leaves_do(shift_penalty):
    """On leaves that stay, whatever the penalty: at the loss's own minimum, which has no penalty."""
    rng = np.random.default_rng(0)
    n_leaves, T, eta, reg_lambda, shift_l2 = 2, 3, 0.5, 2.0, 5.0
    leaf, y = np.repeat(np.arange(n_leaves), 100), rng.integers(0, T + 1, 200)
    y[leaf == 0] = np.maximum(y[leaf == 0] - rng.integers(0, 2, 100), 0)
    one_hot, thresholds = np.eye(n_leaves)[leaf], np.array([-1.0, 0.0, 1.0])
    M = np.column_stack([np.ones(T), contrasts(T, reg_lambda, shift_l2, shift_penalty)])

    def sums(u):
        rows = AllThreshold().margin_derivatives(thresholds - (one_hot @ u), y, "exact")
        return one_hot.T @ rows.gradient, one_hot.T @ rows.hessian

    def renewed(u):
        G, H = sums(u)
        return u + eta * vector.steps(G, H, reg_lambda, shift_l2, shift_penalty)

    def by_the_diagonal(u):
        G, H = sums(u)
        return u - eta * (G @ M / (H @ M**2 + reg_lambda)) @ M.T

    ends = []
    for step in (renewed, by_the_diagonal):
        u = np.zeros((n_leaves, T))
        second = step(step(u))
        for _ in range(200):
            u = step(u)
        ends.append((second, u))
    (way, end), (other_way, other_end) = ends
    assert np.abs(way - other_way).max() > 0.01
    np.testing.assert_allclose(end, other_end, atol=1e-9)
    np.testing.assert_allclose(sums(end)[0], 0.0, atol=1e-9)
    # D is at least a share of 1 / T of the whole Hessian.
    whole = block_diag(*(M.T @ np.diag(h) @ M for h in sums(end)[1]))
    assert np.linalg.eigvalsh(T * np.diag(np.diag(whole)) - whole).min() >= -1e-9
