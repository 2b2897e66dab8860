"""Rounds of leaves that shift single thresholds against a slow transcription, and what such a training promises."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import RunStart, TrainingSet
from ordinal_objectives.leaves import vector
from ordinal_objectives.losses import get_loss
from ordinal_objectives.threshold_solver import newton_step

# Statistics are float32 sums in float64.
TOLERANCE = 2e-6


def problem(seed, K=None, n_rows=None):
    rng = np.random.default_rng(seed)
    n, p = n_rows or int(rng.integers(60, 200)), int(rng.integers(1, 4))
    K = int(rng.integers(2, 13)) if K is None else K
    X = rng.normal(size=(n, p)).astype(rng.choice([np.float32, np.float64]))
    if seed % 3 == 0:
        X = np.round(X)
    if seed % 2:
        X[rng.random(X.shape) < 0.15] = np.nan
    x = np.nan_to_num(X[:, 0])
    score = 2 * x + (1 + (x > 0)) * rng.logistic(size=n)  # the ends of the scale answer differently
    y = np.searchsorted(np.quantile(score, np.arange(1, K) / K), score).astype(np.int32)
    y[:2] = [0, K - 1]
    if seed % 5 == 0 and K > 3:
        y[y == 1] = 2  # an empty class
    if seed % 7 == 0 and K > 3:
        y[y == K - 1] = K - 2  # none at the end
    weight = rng.choice([0.5, 1.0, 2.0], n) if seed % 4 == 0 else None
    return X, y, K, weight


def parameters(seed, **options):
    rng = np.random.default_rng(seed + 1000)
    chosen = {
        "hessian": ("majorized", "exact")[seed // 2 % 2],
        "learning_rate": 0.3,
        "max_leaf_nodes": int(rng.integers(2, 8)),
        "max_depth": None if seed % 2 else 3,
        "min_samples_leaf": int(rng.integers(1, 6)),
        "l2_regularization": float(rng.choice([0.0, 1.0, 5.0])),
        "gamma": float(rng.choice([0.0, 0.05])),
        "max_bins": int(rng.integers(2, 10)),
        "proportional": False,
        "shift_l2": float(rng.choice([0.1, 3.0, 30.0])),
        "shift_penalty": vector.PENALTIES[seed % 2],
    }
    loss = get_loss(
        "immediate_threshold" if seed % 6 == 5 else "all_threshold", "probit" if seed % 11 == 0 else "logit"
    )
    return BoostingParameters.of(loss, **chosen | options)


def best_step(G, H, p, active, groups):
    """Minimise a leaf's quadratic model, where the thresholds of a group, or without a shift, move alike.

    Return the step of each threshold and the decrease. Penalty and curvature are written out as matrices.
    """
    own = groups[active]
    to_u = np.zeros((len(active), own.max() + 1))
    to_u[np.flatnonzero(active), own] = 1.0
    mean = to_u[active].mean(axis=0)
    to_u[~active] = mean
    shifts = to_u[active] - mean if p.spec.shift_penalty == "ridge" else np.diff(to_u[active], axis=0)
    matrix = (
        to_u.T @ np.diag(H) @ to_u + p.l2_regularization * np.outer(mean, mean) + p.spec.shift_l2 * shifts.T @ shifts
    )
    g = to_u.T @ G
    step = -np.linalg.lstsq(matrix, g, rcond=1e-13)[0]
    return to_u @ step, -0.5 * g @ step


class Oracle:
    """One round, from the reference's derivatives at the state of a run."""

    def __init__(self, run, X):
        p, R = run.parameters, np.asarray(run.state.score, dtype=float)
        self.p, self.active, self.groups = p, run.state.learner.active, run.criterion.groups
        self.weight = np.ones(len(X)) if run.state.rows.sample_weight is None else run.state.rows.sample_weight
        found = p.spec.loss.margin_derivatives(run.thresholds - R, run.state.rows.y, p.spec.hessian)
        self.g, self.h = self.weight[:, None] * found.gradient, self.weight[:, None] * found.hessian
        self.bins = [
            np.where(np.isnan(x), 10_000, np.searchsorted(cuts, x)) for x, cuts in zip(X.T, run.cuts, strict=True)
        ]
        self.n_bins = [len(cuts) + 1 for cuts in run.cuts]

    def sums(self, rows):
        return self.g[rows].sum(axis=0), self.h[rows].sum(axis=0)

    def value(self, rows):
        G, H = self.sums(rows)
        if self.p.split_gain == "scalar":
            h = H.sum() + self.p.l2_regularization
            return 0.5 * G.sum() ** 2 / h if h > 0.0 else 0.0
        return best_step(G, H, self.p, self.active, self.groups)[1]

    def gains(self, rows, depth):
        p, gains = self.p, {}
        if depth == p.max_depth or len(rows) < 2 * p.min_samples_leaf:
            return gains
        for f, bins in enumerate(self.bins):
            of_rows = bins[rows]
            missing = of_rows == 10_000
            for b in range(self.n_bins[f]):
                for missing_left in (False, True) if missing.any() else (False,):
                    left = (of_rows <= b) | (missing & missing_left)
                    a, c = rows[left], rows[~left]
                    if min(len(a), len(c)) < p.min_samples_leaf:
                        continue
                    if min(self.h[a].sum(), self.h[c].sum()) >= p.min_child_weight:
                        gain = self.value(a) + self.value(c) - self.value(rows) - p.gamma
                        gains[f, b, missing_left] = gain
        return gains

    def follow(self, tree, cuts):
        """Check that each split of a tree was the best that was left; return the rows of its leaves."""
        scale = sum(self.value(np.array([i])) for i in range(len(self.g)))
        close = TOLERANCE * scale
        rows, waiting, depth = {0: np.arange(len(self.g))}, {}, {0: 0}

        def judge(node):
            gains = self.gains(rows[node], depth[node])
            waiting[node] = (max(gains.values(), default=0.0), gains)

        judge(0)
        for node in sorted(np.flatnonzero(tree.feature >= 0), key=lambda node: tree.left[node]):
            best, gains = waiting.pop(node)
            assert best >= max((gain for gain, _ in waiting.values()), default=0.0) - close
            f = tree.feature[node]
            b = int(np.searchsorted(cuts[f], tree.threshold[node]))
            missing = self.bins[f][rows[node]] == 10_000
            side = bool(tree.missing_left[node]) if missing.any() else False
            assert gains[f, b, side] >= best - close
            assert tree.gain[node] == pytest.approx(best, rel=1e-5, abs=close)
            left = np.where(missing, side, self.bins[f][rows[node]] <= b)
            child = tree.left[node]
            rows[child], rows[child + 1] = rows[node][left], rows.pop(node)[~left]
            depth[child] = depth[child + 1] = depth[node] + 1
            judge(child)
            judge(child + 1)
        if len(rows) < self.p.max_leaf_nodes:
            assert all(best <= close for best, _ in waiting.values())
        return rows

    def steps(self, rows):
        each = np.cumsum(self.active) - 1  # no threshold shares its shift
        sums = [self.sums(leaf) for leaf in rows.values()]
        return np.array([best_step(G, H, self.p, self.active, each)[0] for G, H in sums])


def assert_round_agrees(run, X, *, follow=True):
    """Advance a run by one round and compare tree, leaves, scores and thresholds."""
    oracle = Oracle(run, X)
    R, theta = np.array(run.state.score, dtype=float), run.thresholds
    halved = run.diagnostics.n_halved
    cuts, learner = run.cuts, run.state.learner
    tree = run.advance()
    if follow:
        rows = oracle.follow(tree, cuts)
    else:
        rows = {leaf: np.flatnonzero(run.state.leaf_of_row == leaf) for leaf in tree.leaves}
    u = oracle.steps(rows)
    mass = np.array([oracle.weight[leaf].sum() for leaf in rows.values()])
    mean = mass @ (u - u.mean(axis=1, keepdims=True)) / mass.sum()
    size = run.parameters.learning_rate * 0.5 ** (run.diagnostics.n_halved - halved)
    scale = np.abs(u).max() + 1e-3
    for leaf, step in zip(rows, u, strict=True):
        np.testing.assert_allclose(tree.value[leaf], size * (step - mean), atol=1e-5 * scale)
        R[rows[leaf]] += size * (step - mean)
    np.testing.assert_allclose(run.state.score, R, atol=2e-5 * scale)
    theta = theta - size * mean
    w, kind = oracle.weight, learner.step_hessian
    found = run.parameters.spec.loss.margin_derivatives(theta - R, run.state.rows.y, kind)
    gradient, hessian = -(w @ found.gradient), w @ found.hessian
    theta = theta + newton_step(gradient, hessian, None, learner.active, learner.tied)
    np.testing.assert_allclose(run.thresholds, theta, atol=3e-5 * (1 + np.abs(theta).max()))
    shifts = np.asarray(run.state.score, dtype=float)
    shifts = shifts - shifts.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(w @ shifts / w.sum(), 0.0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("gain", ["vector", "scalar"])
@pytest.mark.parametrize("block", range(6))
def test_rounds_agree_with_the_oracle(block, gain):
    for seed in range(20 * block, 20 * block + 20):
        X, y, K, weight = problem(seed)
        run = EngineRun(parameters(seed, split_gain=gain), TrainingSet(X, y, K, weight), n_threads=1 + seed % 2)
        for _ in range(seed % 3):
            run.advance()
        assert_round_agrees(run, X)


@pytest.mark.slow
@pytest.mark.parametrize("cross_terms", ["auto", "all"])
def test_many_classes_are_judged_by_groups_of_thresholds(cross_terms):
    for seed in range(12):
        X, y, K, weight = problem(seed, K=9 + 2 * seed)
        run: Any = EngineRun(parameters(seed, cross_terms=cross_terms), TrainingSet(X, y, K, weight))
        run.advance()
        n_groups, active = run.criterion.groups.max() + 1, run.state.learner.active
        assert n_groups == (3 if cross_terms == "auto" else active.sum() + (not active.all()))
        assert_round_agrees(run, X)


@pytest.mark.parametrize("gain", ["vector", "joint"])
def test_groups_are_neighbours_with_little_curvature(gain):
    X, y, K, weight = problem(7, K=12)
    run: Any = EngineRun(parameters(7, split_gain=gain), TrainingSet(X, y, K, weight))
    groups, active = run.criterion.groups, run.state.learner.active
    assert not active.all()
    assert (groups[~active] == (2 if gain == "vector" else -1)).all()
    assert (np.diff(groups[active]) >= 0).all()
    assert set(groups[active]) == set(range(2 if gain == "vector" else 5))


@pytest.mark.parametrize("seed", range(12))
def test_leaves_agree_with_the_oracle_on_trees_judged_jointly(seed):
    X, y, K, weight = problem(seed)
    run = EngineRun(parameters(seed, split_gain="joint"), TrainingSet(X, y, K, weight))
    run.advance()
    assert_round_agrees(run, X, follow=False)


@pytest.mark.parametrize("threshold_update", ["joint", "newton"])
@pytest.mark.parametrize("K", [2, 5, 6])
def test_the_cheap_gains_are_those_of_proportional_trees(threshold_update, K):
    X, y, _, weight = problem(4, K=K, n_rows=500)
    options = {"max_leaf_nodes": 12, "learning_rate": 0.5, "cross_terms": "all"}
    loss = get_loss("all_threshold")
    gain = {"joint": "joint", "newton": "scalar"}[threshold_update]
    run = EngineRun(
        BoostingParameters.of(loss, proportional=False, split_gain=gain, **options), TrainingSet(X, y, K, weight)
    )
    expected = EngineRun(
        BoostingParameters.of(loss, threshold_update=threshold_update, **options), TrainingSet(X, y, K, weight)
    )
    one, other = run.advance(), expected.advance()
    np.testing.assert_array_equal(one.feature, other.feature)
    np.testing.assert_array_equal(one.threshold, other.threshold)
    np.testing.assert_allclose(one.gain, other.gain, rtol=1e-5)


@pytest.mark.parametrize("gain", ["vector", "scalar"])
@pytest.mark.parametrize("penalty", vector.PENALTIES)
@pytest.mark.parametrize(("K", "shift_l2"), [(2, 0.5), (6, 1e9)])
def test_two_classes_and_a_large_penalty_are_the_proportional_model(K, shift_l2, penalty, gain):
    X, y, _, weight = problem(8, K=K, n_rows=600)
    options = {"max_leaf_nodes": 8, "learning_rate": 0.2, "l2_regularization": 1.0, "threshold_update": "newton"}
    loss, shifts = get_loss("all_threshold"), {"shift_l2": shift_l2, "shift_penalty": penalty, "split_gain": gain}
    run = EngineRun(BoostingParameters.of(loss, proportional=False, **shifts, **options), TrainingSet(X, y, K, weight))
    expected = EngineRun(BoostingParameters.of(loss, **options), TrainingSet(X, y, K, weight))
    for _ in range(15):
        one, other = run.advance(), expected.advance()
        np.testing.assert_array_equal(one.feature, other.feature)
        np.testing.assert_allclose(one.value, np.tile(other.value[:, None], K - 1), atol=1e-6)
    np.testing.assert_allclose(run.state.score, np.tile(expected.state.score[:, None], K - 1), atol=2e-6)
    np.testing.assert_allclose(run.thresholds, expected.thresholds, atol=1e-6)
    assert run.training_loss == pytest.approx(expected.training_loss, rel=1e-6)


@pytest.mark.parametrize("penalty", vector.PENALTIES)
@pytest.mark.parametrize("hessian", ["exact", "majorized"])
@pytest.mark.parametrize("gain", ["vector", "joint", "scalar"])
def test_the_loss_never_rises(gain, hessian, penalty):
    for seed in range(4):
        X, y, K, weight = problem(seed + 3)
        options = {"learning_rate": 1.0, "hessian": hessian, "shift_penalty": penalty, "split_gain": gain}
        run = EngineRun(parameters(seed + 3, **options), TrainingSet(X, y, K, weight))
        before = run.training_loss
        for _ in range(12):
            run.advance()
            assert run.training_loss <= before * (1 + 4 * np.finfo(np.float32).eps)  # scores are float32
            before = run.training_loss


@pytest.mark.parametrize("penalty", vector.PENALTIES)
def test_an_unobserved_class_does_not_drift(penalty):
    X, y, _, _ = problem(2, K=5, n_rows=400)
    loss = get_loss("all_threshold")
    options = {"max_leaf_nodes": 8, "proportional": False, "shift_penalty": penalty, "shift_l2": 1.0}
    run = EngineRun(
        BoostingParameters.of(loss, **options), TrainingSet(X, y, 7, None)
    )  # the two highest classes have no rows
    start = run.thresholds
    for _ in range(100):
        run.advance()
    R = np.asarray(run.state.score, dtype=float)
    np.testing.assert_allclose(R[:, 4:], np.tile(R.mean(axis=1)[:, None], 2), atol=1e-5)
    moved, neighbour = run.thresholds[4:] - start[4:], run.thresholds[3] - start[3]
    assert (moved >= 0).all()
    assert (moved <= abs(neighbour) + 0.5).all()


@pytest.mark.parametrize("hessian", ["exact", "majorized"])
def test_thresholds_that_cross_are_not_put_in_order(hessian):
    X, y, _, _ = problem(2, K=3, n_rows=400)
    # Scores that stand 4 apart: the thresholds that fit them are in the other order.
    R = np.tile([4.0, 0.0], (400, 1))
    start = R, np.array([-1.0, 1.0]), 0
    options = {"learning_rate": 0.01, "hessian": hessian, "max_leaf_nodes": 2, "shift_l2": 1e6}
    run = EngineRun(
        BoostingParameters.of(get_loss("all_threshold"), proportional=False, **options),
        TrainingSet(X, y, 3),
        start=RunStart(*start),
    )
    before = run.training_loss
    for _ in range(40):
        run.advance()
    below = np.cumsum(np.bincount(y))[:-1] / 400
    np.testing.assert_allclose(run.thresholds, np.log(below / (1 - below)) + [4.0, 0.0], atol=0.2)
    assert run.training_loss < before


@pytest.mark.parametrize(("loss", "link"), [("all_threshold", "cauchit"), ("immediate_threshold", "loglog")])
def test_links_without_lanes_and_rows_left_out_agree_with_the_oracle(loss, link):
    X, y, K, weight = problem(16, K=6)
    p = parameters(16, hessian="exact", learning_rate=0.1)
    p = replace(p, spec=replace(p.spec, loss=get_loss(loss, link)))
    run = EngineRun(p, TrainingSet(X, y, K, weight))
    assert_round_agrees(run, X)


@pytest.mark.parametrize("split_gain", ["auto", "vector", "joint", "scalar"])
@pytest.mark.parametrize("n_classes", [3, 5])
def test_no_two_neighbouring_classes_have_rows(n_classes, split_gain):
    """The immediate-threshold loss then knows of no threshold with rows on both sides: leaves move the score alone."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = np.where(X[:, 0] > 0, 2, 0).astype(np.int32)
    loss = get_loss("immediate_threshold")
    parameters = BoostingParameters.of(loss, max_iter=5, proportional=False, split_gain=split_gain)
    run = EngineRun(parameters, TrainingSet(X, y, n_classes))
    losses = [run.training_loss]
    for _ in range(5):
        tree = run.advance()
        np.testing.assert_allclose(np.ptp(tree.value, axis=1), 0.0, atol=1e-12)
        losses.append(run.training_loss)
    assert (np.diff(losses) < 0).all()
    of_one_score = EngineRun(
        replace(parameters, spec=replace(parameters.spec, proportional=True), split_gain="auto"),
        TrainingSet(X, y, n_classes),
    )
    for _ in range(5):
        of_one_score.advance()
    np.testing.assert_allclose(run.state.score[:, 0], of_one_score.state.score, atol=1e-4)
