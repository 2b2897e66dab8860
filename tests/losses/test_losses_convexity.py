"""Convexity, floors and majorisers: what the quadratic models of a step promise, and what they do not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ordinal_objectives.links import LINKS, get_link
from ordinal_objectives.losses import AllThreshold, CumulativeLink, ImmediateThreshold, get_loss

pytestmark = pytest.mark.slow

SEEDS = range(200)
CONVEX = [name for name, link in LINKS.items() if link.curvature_floor == 0]
MAJORIZED = [
    (loss, name)
    for loss in (AllThreshold, ImmediateThreshold)
    for name, link in LINKS.items()
    if link.curvature_bound is not None
]
each_majorized = pytest.mark.parametrize(
    ("loss", "link"), MAJORIZED, ids=[f"{loss.name}-{link}" for loss, link in MAJORIZED]
)


def problem(seed):
    """A random problem: rows, labels, ordered thresholds and the leaf of each row."""
    rng = np.random.default_rng(seed)
    n, n_classes, n_leaves = rng.integers(3, 30), rng.integers(2, 7), rng.integers(1, 6)
    thresholds = np.sort(rng.normal(scale=2, size=n_classes - 1)) + 0.1 * np.arange(n_classes - 1)
    f = rng.normal(scale=rng.choice([0.3, 2.0, 10.0]), size=n)
    return f, rng.integers(n_classes, size=n), thresholds, rng.integers(n_leaves, size=n)


def joint_matrix(row_hessian, cross, diagonal, off_diagonal, leaf):
    """The quadratic form in (leaf weights, threshold steps) of the row sums."""
    member = (leaf[:, None] == np.unique(leaf)).astype(float)
    V = np.diag(diagonal) + np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1)
    L = member.T @ cross
    return np.block([[np.diag(row_hessian @ member), L], [L.T, V]])


def joint_hessian(loss, hessian, f, y, thresholds, leaf):
    """Htilde for "majorized", the (floored) Hessian for "exact"."""
    s = loss.round_statistics(f, y, thresholds, hessian=hessian)
    return joint_matrix(s.hessian, s.cross, s.threshold_hessian, s.threshold_hessian_off, leaf)


def joint_majoriser(loss, f, y, thresholds, leaf):
    """L_c, the curvature of sum_ik c_ik (w_leaf(i) - delta_k)^2 / 2."""
    rows = loss._majorized(f, y, thresholds)
    return joint_matrix(rows.hessian, -rows.diagonal, rows.diagonal.sum(axis=0), rows.off_diagonal.sum(axis=0), leaf)


def smallest_eigenvalue(matrix):
    """Relative to the largest entry."""
    return np.linalg.eigvalsh(matrix)[0] / np.abs(matrix).max()


@pytest.mark.parametrize("link", CONVEX)
@pytest.mark.parametrize("loss", ["all_threshold", "cumulative_link", "immediate_threshold"])
def test_losses_of_log_concave_links_are_jointly_convex(loss, link):
    loss = get_loss(loss, link)
    for seed in SEEDS:
        assert smallest_eigenvalue(joint_hessian(loss, "exact", *problem(seed))) >= -1e-12


@pytest.mark.parametrize("loss", ["all_threshold", "cumulative_link", "immediate_threshold"])
def test_the_cauchit_is_not_convex(loss):
    f, y, thresholds, _ = problem(0)
    assert get_loss(loss, "cauchit").row_derivatives(f, y, thresholds).hessian.min() < 0


@pytest.mark.parametrize("loss", [AllThreshold("cauchit"), ImmediateThreshold("cauchit")], ids=lambda loss: loss.name)
def test_the_floor_keeps_the_joint_matrix_semidefinite(loss):
    floor = loss.link.curvature_floor
    unfloored = []
    for seed in SEEDS:
        f, y, thresholds, leaf = problem(seed)
        assert smallest_eigenvalue(joint_hessian(loss, "exact", f, y, thresholds, leaf)) >= -1e-12
        rows = loss.row_derivatives(f, y, thresholds)
        unfloored.append(
            np.linalg.eigvalsh(
                joint_matrix(
                    rows.hessian, rows.cross, rows.curvature.sum(axis=0), rows.curvature_next.sum(axis=0), leaf
                )
            )[0]
        )
        counted = rows.threshold_gradient != 0
        low = counted & (rows.curvature < floor)
        statistics = loss.round_statistics(f, y, thresholds, hessian="exact")
        assert statistics.n_floored == low.sum()
        np.testing.assert_allclose(statistics.hessian, np.where(low, floor, rows.curvature).sum(axis=1))
        np.testing.assert_array_equal(statistics.cross, -rows.curvature)
    assert min(unfloored) < -0.1


def test_the_floor_of_the_cumulative_cauchit_acts_on_rows():
    loss = CumulativeLink("cauchit")
    floor = loss.link.curvature_floor
    f, y, thresholds, _ = problem(3)
    rows = loss.row_derivatives(f, y, thresholds)
    statistics = loss.round_statistics(f, y, thresholds, hessian="exact")
    counted = rows.threshold_gradient != 0
    low = (rows.hessian < floor).sum() + (counted & (rows.curvature < floor)).sum()
    assert statistics.n_floored == low > 0
    np.testing.assert_array_equal(statistics.hessian, np.maximum(rows.hessian, floor))
    floored = np.where(counted, np.maximum(rows.curvature, floor), 0).sum(axis=0)
    np.testing.assert_allclose(statistics.threshold_hessian, floored)


@each_majorized
@given(seed=st.integers(0, 10_000))
def test_the_joint_majoriser_is_nowhere_below_the_loss(loss, link, seed):
    loss = loss(link)
    f, y, thresholds, leaf = problem(seed)
    rng = np.random.default_rng([seed, 1])
    w, delta = rng.normal(scale=3, size=leaf.max() + 1), rng.normal(scale=3, size=len(thresholds))
    now = loss.round_statistics(f, y, thresholds)
    c = loss._majorized(f, y, thresholds).diagonal
    step = w[leaf]
    bound = (
        now.loss + now.gradient @ step + now.threshold_gradient @ delta + 0.5 * (c * (step[:, None] - delta) ** 2).sum()
    )
    assert loss.value(f + step, y, thresholds + delta).sum() <= bound + 1e-9 * abs(bound)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_exact_cross_terms_keep_half_of_the_majoriser(link):
    # Curvature c on the diagonal and e beside it: a full step cannot raise the loss, because the form is
    # nowhere below half of the true joint majoriser. The cauchit, whose e can be negative, is left out.
    for loss in (AllThreshold(link), ImmediateThreshold(link)):
        for seed in SEEDS:
            arguments = problem(seed)
            mixed = joint_hessian(loss, "majorized", *arguments)
            assert smallest_eigenvalue(mixed - 0.5 * joint_majoriser(loss, *arguments)) >= -1e-12
            assert smallest_eigenvalue(mixed) >= -1e-12


def test_exact_cross_terms_are_no_joint_majoriser():
    loss = AllThreshold()
    worst = min(
        smallest_eigenvalue(joint_hessian(loss, "majorized", *arguments) - joint_majoriser(loss, *arguments))
        for arguments in map(problem, SEEDS)
    )
    assert worst < -0.9


def test_the_half_fails_for_the_cauchit():
    loss = AllThreshold("cauchit")
    worst = min(
        smallest_eigenvalue(joint_hessian(loss, "majorized", *arguments) - 0.5 * joint_majoriser(loss, *arguments))
        for arguments in map(problem, SEEDS)
    )
    assert worst < -0.01


@given(seed=st.integers(0, 10_000), nu=st.floats(0.01, 0.99))
def test_a_step_of_the_mixed_form_never_raises_the_loss(seed, nu):
    loss = AllThreshold()
    f, y, thresholds, leaf = problem(seed)
    _, leaf = np.unique(leaf, return_inverse=True)
    now = loss.round_statistics(f, y, thresholds)
    matrix = joint_hessian(loss, "majorized", f, y, thresholds, leaf)
    gradient = np.concatenate([np.bincount(leaf, now.gradient), now.threshold_gradient])
    step = -np.linalg.lstsq(matrix, gradient, rcond=1e-10)[0]
    J = leaf.max() + 1

    def after(scale):
        return loss.value(f + scale * step[:J][leaf], y, thresholds + scale * step[J:]).sum()

    tolerance = 1e-9 * now.loss
    assert after(1.0) <= now.loss + tolerance
    assert after(nu) <= now.loss - nu * (1 - nu) * (step @ matrix @ step) + tolerance


@pytest.mark.parametrize("link", ["logit", "probit", "cauchit"])
def test_the_majorised_curvature_is_above_the_exact_one(link):
    d = np.linspace(-12, 12, 2001)
    link = get_link(link)
    for side in (link.lower, link.upper):
        assert np.all(side(d)[2] <= link.sharp_curvature(d) * (1 + 1e-14))
    loss, thresholds = CumulativeLink(), np.array([-1.0, 0.2, 0.9])
    y = np.arange(2001) % 4
    exact = loss.threshold_hessian(d, y, thresholds, kind="exact")
    majorized = loss.threshold_hessian(d, y, thresholds, kind="majorized")
    assert np.all(exact[0] < majorized[0])
    np.testing.assert_array_equal(exact[1], majorized[1])
