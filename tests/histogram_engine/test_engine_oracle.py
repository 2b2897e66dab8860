"""The engine against a slow and obvious transcription of the thesis's Algorithms 1 to 4, as corrected.

Order of work: the leaf with the largest gain comes next (of equal ones the older). A leaf's gain is computed
when the leaf is made, after the split that made it, and kept although later splits elsewhere would change it. A
leaf whose best gain is not above 0, rounding aside, is final. Features, bins and sides are tried in order (missing
values right, then left), and a later candidate must be better to win.
"""

from __future__ import annotations

import numpy as np
import pytest

from ordinal_objectives.histogram_engine.criteria.one_score import Joint, full_hessian
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import TrainingSet
from ordinal_objectives.losses import get_loss
from ordinal_objectives.threshold_solver.quadratic import GAUGE_TOLERANCE

pytestmark = pytest.mark.slow

TOLERANCE = 1e-6
FEW_TOLERANCE = 1e-3  # of gains, where the cross terms of few thresholds stand for those of all


class Oracle:
    """The joint quadratic model over the leaves of one tree, recomputed from scratch at every question.

    Its rows are all, or some of them.
    """

    def __init__(self, boosting, X, rows=None):
        now, parameters = boosting.state.now, boosting.parameters
        _, sums = boosting.state.pass_over(rows)
        self.rows = np.arange(len(X)) if rows is None else rows
        self.parameters = parameters
        self.joint = parameters.spec.threshold_update == "joint"
        # The float32 statistics that the engine reads, in float64.
        self.g, self.h = now.gradient.astype(float), now.hessian.astype(float)
        state = boosting.state.score, boosting.thresholds, parameters.spec.hessian
        self.cross = boosting.state.row_pass(*state, want_cross=True).cross.astype(float)  # of all thresholds
        groups = np.cumsum(~boosting.state.learner.tied) - 1
        columns = [groups == c for c in np.unique(groups) if boosting.state.learner.active[groups == c].all()]
        E = (
            np.array(columns, dtype=float).T
            if self.joint and columns
            else np.zeros((boosting.state.rows.n_classes - 1, 0))
        )
        self.E = E
        self.u = E.T @ sums.threshold_gradient
        self.V = E.T @ full_hessian(sums) @ E
        self.L = self.cross @ E if self.joint else np.zeros((len(X), 0))
        self.bins = [
            np.where(np.isnan(x), -1, np.searchsorted(cuts, x)) for x, cuts in zip(X.T, boosting.cuts, strict=True)
        ]
        self.n_bins = [len(cuts) + 1 for cuts in boosting.cuts]
        self.features = range(len(self.bins))
        self.categories = boosting.state.rows.categories

    def sums(self, rows):
        return self.g[rows].sum(), self.h[rows].sum(), self.L[rows].sum(axis=0)

    def system(self, leaves):
        S, r, own = self.V.copy(), self.u.copy(), 0.0
        for G, H, L in leaves:
            h = H + self.parameters.l2_regularization
            if h > 0:
                S -= np.outer(L, L) / h
                r -= G * L / h
                own += G * G / h
        return S, r, own

    def solve(self, S, r):
        """Return S^{-1} r; along a free common shift the solution without one."""
        if len(r) == 0:
            return r
        sizes = self.E.sum(axis=0)
        if np.linalg.norm(S.sum(axis=1)) <= GAUGE_TOLERANCE * np.trace(self.V):
            n = sizes.sum()
            x = np.linalg.solve(S + np.trace(self.V) / n**2 * np.outer(sizes, sizes), r)
            return x - sizes @ x / n
        return np.linalg.solve(S, r)

    def value(self, leaves):
        S, r, own = self.system(leaves)
        return 0.5 * (own + r @ self.solve(S, r))

    def worth(self, others, own):
        """Return the value of other leaves' sums and of leaves with these rows, one of which is to be split."""
        return self.value([*others, *map(self.sums, own)])

    def step(self, leaves):
        S, r, _ = self.system(leaves)
        delta = -self.solve(S, r)
        return [-(G + L @ delta) / (H + self.parameters.l2_regularization) for G, H, L in leaves], delta

    def held_out_change(self, leaves, weights, delta):
        """Return slope and curvature of the loss along a step fitted elsewhere, without penalty."""
        sums = [self.sums(rows) for rows in leaves]
        step = np.concatenate([weights, delta])
        gradient = np.concatenate([[G for G, _, _ in sums], self.u])
        L = np.array([L for _, _, L in sums])
        matrix = np.block([[np.diag([H for _, H, _ in sums]), L], [L.T, self.V]])
        return gradient @ step, step @ matrix @ step

    def candidates(self, rows):
        for f in self.features:
            if f in self.categories:
                yield from self.sets(f, rows)
                continue
            bins = self.bins[f]
            of_rows = bins[rows]
            missing = of_rows < 0
            for b in range(self.n_bins[f] - (not missing.any())):
                yield (f, b, False), ~missing & (of_rows <= b)
                if missing.any() and b < self.n_bins[f] - 1:
                    yield (f, b, True), missing | (of_rows <= b)

    def together(self, f, rows):
        """Tell which rows' categories are missing or rare among them, and go one way."""
        bins = self.bins[f][rows]
        count = np.bincount(bins + 1, minlength=self.n_bins[f] + 1)
        return (bins < 0) | (count[bins + 1] < self.parameters.min_samples_category)

    def by_chance(self, f, rows):
        """Return what the categories of a feature gain by chance."""
        if f not in self.categories:
            return 0.0
        n = len(np.unique(self.bins[f][rows][~self.together(f, rows)]))
        return (self.g**2).sum() / self.h.sum() * max(n - 2, 0) / np.pi

    def sets(self, f, rows):
        """Yield the sets of categories that go left: in the order of G / H, smoothed."""
        bins, together = self.bins[f][rows], self.together(f, rows)
        G, H, n = (
            np.bincount(bins[~together], of[~together]) for of in (self.g[rows], self.h[rows], np.ones(len(rows)))
        )
        present = np.flatnonzero(n)
        keys = G[present] / H[present]
        order = present[np.lexsort([present, keys])]
        for i in range(len(order) - (not together.any())):
            left = ~together & np.isin(bins, order[: i + 1])
            yield (f, frozenset(order[: i + 1]), False), left
            if together.any() and i < len(order) - 1:
                yield (f, frozenset(order[: i + 1]), True), left | together

    def taken(self, grown, node, rows):
        """Return the split that the engine took, as candidates are called, and the rows that went left."""
        f, bins = int(grown["feature"][node]), self.bins[int(grown["feature"][node])][rows]
        missing_left = bool(grown["missing_left"][node])
        if f not in self.categories:
            missing = bins < 0
            split = f, int(grown["bin"][node]), missing_left and bool(missing.any())
            return split, np.where(missing, missing_left, bins <= split[1])
        together = self.together(f, rows)
        words = grown["categories"][node]
        goes_left = (
            words[np.where(bins < 0, 255, bins) // 64] >> (np.where(bins < 0, 255, bins) % 64).astype(np.uint64)
        ) & 1 > 0
        assert (goes_left[together] == missing_left).all()
        return (f, frozenset(bins[goes_left & ~together]), missing_left and bool(together.any())), goes_left

    def gain(self, rows, goes_left, others, before):
        left, right = rows[goes_left], rows[~goes_left]
        p = self.parameters
        if min(len(left), len(right)) < p.min_samples_leaf:
            return 0.0
        if min(self.h[left].sum(), self.h[right].sum()) < p.min_child_weight:
            return 0.0
        if min(self.h[left].sum(), self.h[right].sum()) + p.l2_regularization <= 0:
            return 0.0
        return self.worth(others, [left, right]) - before - p.gamma

    def best(self, leaf, leaves):
        """Return the best gain of a leaf, and the gain of each of its splits."""
        others = [self.sums(rows) for other, rows in leaves.items() if other != leaf]
        rows = leaves[leaf]
        before = self.worth(others, [rows])
        gains = {
            split: self.gain(rows, goes_left, others, before) - self.by_chance(split[0], rows)
            for split, goes_left in self.candidates(rows)
        }
        return max(gains.values(), default=0.0), gains


def replay(oracle, grown, tolerance=TOLERANCE):
    """Follow the engine's tree split by split; return the oracle's leaves."""
    p = oracle.parameters
    leaves, depth = {0: oracle.rows}, {0: 0}
    stored = {}

    def judge(leaf):
        splittable = depth[leaf] < (p.max_depth or np.inf) and len(leaves[leaf]) >= max(2, 2 * p.min_samples_leaf)
        best, gains = oracle.best(leaf, leaves) if splittable else (0.0, {})
        if best > 0:
            stored[leaf] = (best, gains)

    judge(0)
    # What the gain would be if all gradients pulled one way: float32 sums round on that scale.
    scale = 0.5 * np.abs(oracle.g).sum() ** 2 / (oracle.h.sum() + p.l2_regularization)
    inner = sorted(np.flatnonzero(grown["feature"] >= 0), key=lambda node: grown["left"][node])
    for node in inner:
        assert stored, "the engine split where no gain is left"
        top = max(stored, key=lambda leaf: (stored[leaf][0], -leaf))
        assert node in stored
        assert stored[node][0] >= stored[top][0] * (1 - tolerance) - 1e-9 * scale
        rows = leaves[node]
        split, goes_left = oracle.taken(grown, node, rows)
        best, gains = stored.pop(node)
        assert gains[split] >= best * (1 - tolerance) - 1e-9 * scale
        assert grown["gain"][node] == pytest.approx(best, rel=tolerance, abs=tolerance * scale)
        left = int(grown["left"][node])
        leaves[left], leaves[left + 1] = rows[goes_left], rows[~goes_left]
        depth[left] = depth[left + 1] = depth[node] + 1
        del leaves[node]
        for child in (left, left + 1):
            judge(child)
    if p.max_leaf_nodes is None or len(leaves) < p.max_leaf_nodes:
        assert all(best <= tolerance * scale for best, _ in stored.values()), "the engine stopped too early"
    return leaves


def random_problem(seed, learning_rate=0.3, K=None, run=EngineRun, n_categories=None, **options):
    rng = np.random.default_rng(seed)
    n, p, few = int(rng.integers(30, 120)), int(rng.integers(1, 4)), int(rng.integers(2, 8))
    n, K, n_rounds = (n, few, seed % 3) if K is None else (4 * n, K, 10 * (seed % 3))
    X = rng.normal(size=(n, p)).astype(rng.choice([np.float32, np.float64]))
    if seed % 3 == 0:
        X = np.round(X)
    if n_categories is not None:
        X[:, 0] = rng.integers(0, n_categories, n)
    if seed % 2:
        X[rng.random(X.shape) < 0.15] = np.nan
    score = 2 * np.nan_to_num(X[:, 0]) + rng.logistic(size=n)
    y = np.searchsorted(np.quantile(score, np.arange(1, K) / K), score).astype(np.int32)
    if seed % 5 == 0 and K > 3:
        y[y == 1] = 2  # an empty class
    y[:2] = [0, K - 1]
    weight = rng.choice([0.5, 1.0, 2.0], n) if seed % 4 == 0 else None
    parameters = BoostingParameters.of(
        get_loss(*(("all_threshold", "logit") if seed % 7 else ("cumulative_link", "logit"))),
        hessian=("majorized", "exact")[seed // 2 % 2],
        threshold_update=("joint", "joint", "joint", "newton")[seed // 3 % 4],
        learning_rate=learning_rate,
        max_leaf_nodes=int(rng.integers(2, 8)),
        max_depth=None if seed % 2 else 3,
        min_samples_leaf=int(rng.integers(1, 6)),
        l2_regularization=float(rng.choice([0.0, 0.0, 1.0])),
        gamma=float(rng.choice([0.0, 0.1])),
        max_bins=int(rng.integers(2, 10)),
        **options,
    )
    categories = {} if n_categories is None else {0: n_categories}
    boosting = run(parameters, TrainingSet(X, y, K, weight, categories=categories), n_threads=1 + seed % 2)
    for _ in range(n_rounds):
        boosting.advance()
    return boosting, X


def carries_few(boosting):
    """Tell whether the rows carry the cross terms of few thresholds."""
    criterion = getattr(boosting.criterion, "quadratic", boosting.criterion)
    return isinstance(criterion, Joint) and not criterion.cross_terms.exact


def assert_tree_and_step_agree(boosting, X, tolerance=TOLERANCE, of_step=TOLERANCE, oracle=Oracle):
    grown = boosting.grow(None, list(range(X.shape[1])))
    oracle = oracle(boosting, X)
    leaves = replay(oracle, grown, tolerance)
    for leaf, rows in leaves.items():
        np.testing.assert_array_equal(np.flatnonzero(boosting.state.leaf_of_row == leaf), rows)
    weights, delta = boosting.criterion.solve(
        boosting.criterion.sums(len(grown["left"]), None), np.array(sorted(leaves))
    )
    expected, expected_delta = oracle.step([oracle.sums(leaves[leaf]) for leaf in sorted(leaves)])
    for leaf, weight, want in zip(sorted(leaves), weights, expected, strict=True):
        rows = leaves[leaf]
        h = oracle.h[rows].sum() + boosting.parameters.l2_regularization
        assert abs(weight - want) <= of_step * np.abs(oracle.g[rows]).sum() / h + 1e-20
    if oracle.joint:
        free = oracle.E.any(axis=1)
        scale = np.abs(oracle.g).sum() / (oracle.h.sum() + boosting.parameters.l2_regularization)
        np.testing.assert_allclose(delta[free], (oracle.E @ expected_delta)[free], atol=of_step * scale, rtol=0)


@pytest.mark.parametrize("block", range(8))
def test_engine_agrees_with_the_oracle(block):
    for seed in range(30 * block, 30 * block + 30):
        assert_tree_and_step_agree(*random_problem(seed))


@pytest.mark.parametrize("n_categories", [2, 5, 12])
def test_splits_by_category_agree_with_the_oracle(n_categories):
    n_splits = 0
    for seed in range(30):
        boosting, X = random_problem(seed, n_categories=n_categories, min_samples_category=1 + seed % 4)
        assert_tree_and_step_agree(boosting, X)
        sets = boosting.grow(None, list(range(X.shape[1])))["categories"]
        n_splits += 0 if sets is None else np.count_nonzero(sets.any(axis=1))
    assert n_splits > 20


@pytest.mark.parametrize("n_classes", [3, 6])
def test_the_joint_gain_finds_nearly_the_best_of_all_sets(n_classes):
    """Categories are ordered by the score alone, and the thresholds that move along change little of it."""
    shares = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n, m = 200, 4 + seed % 5
        bins = rng.permutation(np.arange(n) % m)
        probability = rng.dirichlet(np.full(n_classes, 1.5), size=m)
        y = (rng.random((n, 1)) > np.cumsum(probability, axis=1)[bins, :-1]).sum(axis=1).astype(np.int32)
        y[:n_classes] = np.arange(n_classes)
        options = {"max_leaf_nodes": 2, "min_samples_leaf": 1, "min_child_weight": 0.0, "l2_regularization": 1.0}
        parameters = BoostingParameters.of(
            get_loss("all_threshold"), hessian="exact", **options, min_samples_category=1
        )
        X = np.column_stack([bins, y + rng.normal(size=n)])
        run = EngineRun(parameters, TrainingSet(X, y, n_classes, categories={0: m}), seed=seed)
        for _ in range(5):
            run.advance()
        oracle = Oracle(run, X)
        before = oracle.worth([], [oracle.rows])
        masks = (np.arange(1, 2 ** (m - 1))[:, np.newaxis] >> np.arange(m) & 1).astype(bool)[:, bins]
        best = max(oracle.worth([], [oracle.rows[left], oracle.rows[~left]]) for left in masks) - before
        shares.append((run.grow(None, [0])["gain"][0] + oracle.by_chance(0, oracle.rows)) / best)
    assert max(shares) <= 1 + TOLERANCE
    assert np.mean(shares) >= 0.99


@pytest.mark.parametrize("K", [8, 9, 15, 16, 17, 24, 33, 40, 50])
def test_many_classes_agree_with_the_oracle(K):
    # Their gains come from the cross terms of few thresholds, leaf weights and thresholds from those of all.
    n_few = 0
    for seed in range(1, 15):
        boosting, X = random_problem(seed, K=K)
        few = carries_few(boosting)
        n_few += few
        assert_tree_and_step_agree(boosting, X, FEW_TOLERANCE if few else TOLERANCE)
    assert n_few > 0


@pytest.mark.parametrize("K", [8, 15, 16, 33])
def test_many_classes_agree_with_the_oracle_by_the_cross_terms_of_all(K):
    # With 15 classes one cross term is the Hessian less the others, and takes on the rounding of all.
    of_step = 1e-5 if K == 15 else TOLERANCE
    for seed in range(1, 15):
        assert_tree_and_step_agree(*random_problem(seed, K=K, cross_terms="all"), of_step=of_step)


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [32_768, 60_001, 131_072, 140_003])
def test_trees_of_rows_that_threads_share_agree_with_the_oracle(n_rows):
    rng = np.random.default_rng(n_rows)
    X = rng.integers(0, 9, (n_rows, 2)).astype(float)
    X[rng.random(X.shape) < 0.02] = np.nan
    y = np.digitize(np.nansum(X, axis=1) + 2 * rng.logistic(size=n_rows), [6.0, 10.0]).astype(np.int32)
    parameters = BoostingParameters.of(get_loss("all_threshold"), hessian="exact", max_leaf_nodes=4)
    run = EngineRun(parameters, TrainingSet(X, y, 3, rng.exponential(size=n_rows) + 0.1), n_threads=1 + n_rows % 2)
    run.advance()
    assert_tree_and_step_agree(run, X)


@pytest.mark.parametrize("n_rows", [2_500, 40_000])
@pytest.mark.parametrize("features", [list(range(9)), [1, 2, 4]])  # all, or some of those that share a byte of a row
def test_trees_of_columns_with_few_bins_agree_with_the_oracle(n_rows, features):
    rng = np.random.default_rng(n_rows)
    X = np.column_stack([rng.integers(0, n, n_rows) for n in (2, 3, 9, 1, 250, 17, 127, 128, 2)]).astype(float)
    X[rng.random(X.shape) < 0.02] = np.nan
    X[:, 7] = np.floor(np.nan_to_num(X[:, 7]))
    score = np.nan_to_num(X[:, 1] + 0.5 * X[:, 2] + X[:, 4] / 100 - X[:, 5] / 10)
    y = np.digitize(score + rng.logistic(size=n_rows), [2.0, 4.0]).astype(np.int32)
    parameters = BoostingParameters.of(get_loss("all_threshold"), hessian="exact", max_leaf_nodes=4)
    run = EngineRun(parameters, TrainingSet(X, y, 3, rng.exponential(size=n_rows) + 0.1), n_threads=1 + n_rows % 2)
    oracle = Oracle(run, X)
    oracle.features = features
    assert len(replay(oracle, run.grow(None, features))) == 4


@pytest.mark.parametrize("n_bins", [2, 16])
def test_sums_of_many_equal_rows_stay_accurate(n_bins):
    # In the first round the rows of a class are alike, and are rounded alike.
    rng = np.random.default_rng(n_bins)
    n = 100_000
    X = rng.integers(0, n_bins, (n, 1)).astype(float)
    y = (X[:, 0] * 2 // n_bins + (rng.random(n) < 0.3)).astype(np.int32)
    parameters = BoostingParameters.of(get_loss("all_threshold"), hessian="exact", max_leaf_nodes=2)
    boosting = EngineRun(parameters, TrainingSet(X, y, 3, np.full(n, 0.7)))
    oracle = Oracle(boosting, X)
    best, _ = oracle.best(0, {0: oracle.rows})
    assert boosting.grow(None, [0])["gain"][0] == pytest.approx(best, rel=2e-5)
