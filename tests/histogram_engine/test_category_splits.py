"""Splits that part categories in two sets, against NumPy and against all sets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ordinal_objectives import _core
from ordinal_objectives.histogram_engine.binning import bin_rows
from ordinal_objectives.leaves import vector
from ordinal_objectives.trees import Tree, TreeEnsemble

L2, SHIFT_L2, PENALTIES = 1.0, 2.0, ("ridge", "smooth")
MISSING = 255


class Node:
    """Rows of an ordinal response whose probabilities differ by category, with the derivatives of their loss."""

    def __init__(self, seed, n_categories, n_classes, n_rows=200, missing=0.0, rare=0):
        rng = np.random.default_rng(seed)
        self.bins = rng.integers(0, n_categories, n_rows)
        self.bins[:n_categories] = np.arange(n_categories)
        self.bins[(self.bins < rare) & (rng.random(n_rows) < 0.8)] = n_categories - 1
        probability = rng.dirichlet(np.full(n_classes, 1.5), size=n_categories)
        y = (rng.random((n_rows, 1)) > np.cumsum(probability, axis=1)[self.bins, :-1]).sum(axis=1)
        below = np.cumsum(probability.mean(axis=0))[:-1]
        margin = np.log(below / (1 - below)) - 0.7 * rng.normal(size=(n_rows, 1))
        p = 1 / (1 + np.exp(-margin))
        self.G = ((y[:, np.newaxis] <= np.arange(n_classes - 1)) - p).astype(np.float32)
        self.H = (p * (1 - p)).astype(np.float32)
        x = self.bins.astype(float)
        x[rng.random(n_rows) < missing] = np.nan
        self.x, self.n = x, n_categories

    def engine(self, *columns, min_rows=1.0):
        cuts = [np.arange(self.n - 1) + 0.5]
        engine = bin_rows(self.x[:, np.newaxis], cuts, 1, by_category=[0], min_category_rows=min_rows)
        filled = np.column_stack(columns)
        engine.statistics(filled.shape[1])[:, : filled.shape[1]] = filled
        return engine

    def growth(self, min_samples_leaf=1.0, max_leaves=2, **options):
        self.leaf_of_row = np.empty(len(self.x), np.int32)
        return _core.Growth([0], None, self.leaf_of_row, max_leaves, 99, min_samples_leaf, 0.0, L2, 0.0, **options)

    def of_categories(self, A):
        """Sums of each category's rows, and of those that miss theirs."""
        groups = np.where(np.isnan(self.x), self.n, self.bins)
        return np.array([A[groups == b].sum(axis=0, dtype=float) for b in range(self.n + 1)])


def bits(words):
    """Return the numbers in a set of four words."""
    return [64 * i + k for i, word in enumerate(words) for k in range(64) if int(word) >> k & 1]


def sets(n):
    """All ways to part n categories."""
    masks = np.arange(1, 2 ** (n - 1))[:, np.newaxis]
    return (masks >> np.arange(n) & 1).astype(bool)


def best_gain(value, *sums):
    """The gain of the best of all sets of the categories."""
    left = sets(len(sums[0]) - 1)
    of = [A[:-1] for A in sums]
    return (value(*(left @ A for A in of)) + value(*(~left @ A for A in of))).max() - value(
        *(A.sum(axis=0, keepdims=True) for A in of)
    )[0]


@pytest.mark.parametrize("seed", range(12))
def test_one_score_finds_the_best_of_all_sets(instruction_set, seed):
    node = Node(seed, 3 + seed % 6, 3)
    g, h = node.G[:, :1], node.H[:, :1]
    grown = node.engine(g, h).grow_scalar(node.growth())
    sums = node.of_categories(g)[:, 0], node.of_categories(h)[:, 0]
    best = best_gain(lambda G, H: 0.5 * G**2 / (H + L2), *sums)
    assert grown["gain"][0] == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("n_classes", [3, 5, 8])
def test_vectors_find_nearly_the_best_of_all_sets(n_classes, penalty):
    d = n_classes - 1
    shares = []
    for seed in range(60):
        node = Node(seed, 4 + seed % 5, n_classes)
        each = np.ones(d, np.int32), np.ones(d, bool)
        grown = node.engine(node.G, node.H).grow_vector(node.growth(), *each, SHIFT_L2, penalty == "smooth", d)
        best = best_gain(
            lambda G, H: vector.values(G, H, L2, SHIFT_L2, penalty),
            node.of_categories(node.G),
            node.of_categories(node.H),
        )
        shares.append(grown["gain"][0] / best)
    assert max(shares) <= 1 + 1e-6
    assert np.mean(shares) >= 0.99
    assert np.quantile(shares, 0.05) >= 0.95


@pytest.mark.parametrize("hessian", ["diagonal", "full"])
def test_several_outputs_find_nearly_the_best_of_all_sets(hessian):
    shares, d = [], 3
    lower = np.tril_indices(d)
    for seed in range(60):
        node = Node(seed, 4 + seed % 5, d + 1)
        H = node.H
        if hessian == "full":
            H = node.H[:, :, np.newaxis] * np.eye(d) + 0.3 * node.H[:, :1, np.newaxis] * np.ones((d, d))
        columns = H if hessian == "diagonal" else H[:, lower[0], lower[1]]
        engine = node.engine(node.G, columns)
        grown = engine.grow_multi_output(node.growth(), d, hessian, d, d, False)

        def value(G, H):
            return -0.5 * (G * vector.output_steps(G, H, L2)).sum(axis=1)

        G_of, H_of = node.of_categories(node.G), node.of_categories(H)
        left = sets(node.n)
        both = [[np.tensordot(side, A[:-1], 1) for A in (G_of, H_of)] for side in (left, ~left)]
        whole = value(*(A[:-1].sum(axis=0, keepdims=True) for A in (G_of, H_of)))[0]
        shares.append(grown["gain"][0] / ((value(*both[0]) + value(*both[1])).max() - whole))
    assert max(shares) <= 1 + 1e-6
    assert np.mean(shares) >= 0.99
    assert np.quantile(shares, 0.05) >= 0.95


def numpy_order(G, H, count, min_rows, shift_l2):
    """Return the categories in order and those that stay together, by the eigenvectors of dense matrices."""
    d = G.shape[1]
    # The Hessian of the shifts' penalty, and of the mean's.
    penalty = shift_l2 * (np.eye(d) - np.full((d, d), 1 / d)) + L2 / d**2
    G_all, H_all = G.sum(axis=0), H.sum(axis=0)
    inverse = np.linalg.inv(np.diag(H_all) + penalty)
    known = np.arange(len(G) - 1)
    enough = known[count[:-1] >= min_rows]
    rest = G[enough] - H[enough] * (G_all / H_all)
    share = H[enough].sum(axis=1) / H_all.sum()
    root = np.linalg.cholesky(inverse)
    spread = root.T @ (rest.T / share @ rest) @ root
    v = root @ np.linalg.eigh(spread)[1][:, -1]
    keys = rest @ v / (H[enough] @ v**2)
    return enough[np.argsort(keys)], np.setdiff1d(np.arange(len(G)), enough)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("min_rows", [1.0, 12.0])
def test_vectors_are_ordered_by_the_first_principal_direction(instruction_set, n_classes, min_rows):
    d = n_classes - 1
    for seed in range(20):
        node = Node(seed, 30, n_classes, 600, missing=0.1 * (seed % 2), rare=6 * (seed % 3))
        engine = node.engine(node.G, node.H, min_rows=min_rows)
        each = np.ones(d, np.int32), np.ones(d, bool)
        grown = engine.grow_vector(node.growth(5.0), *each, SHIFT_L2, False, d)
        G, H = node.of_categories(node.G), node.of_categories(node.H)
        count = node.of_categories(np.ones(len(node.x)))
        order, together = numpy_order(G, H, count, min_rows, SHIFT_L2)
        best = 0.0
        for i in range(1, len(order) + 1):
            for left in (order[:i], np.append(order[:i], together)):
                sides = np.isin(np.arange(node.n + 1), left)
                if min(count[sides].sum(), count[~sides].sum()) >= 5:
                    of = [np.array([A[sides].sum(axis=0), A[~sides].sum(axis=0)]) for A in (G, H)]
                    best = max(best, vector.values(of[0], of[1], L2, SHIFT_L2).sum())
        best -= vector.values(G.sum(axis=0)[np.newaxis], H.sum(axis=0)[np.newaxis], L2, SHIFT_L2)[0]
        assert grown["gain"][0] == pytest.approx(best, rel=1e-3)
        # What stays together goes one way, with the missing values; what is nowhere goes along.
        left = bits(grown["categories"][0])
        assert np.unique(np.isin([*together[together < node.n], MISSING, *range(node.n, MISSING)], left)).size == 1
        in_left = np.isin(np.where(np.isnan(node.x), MISSING, node.bins), left)
        np.testing.assert_array_equal(node.leaf_of_row, np.where(in_left, 1, 2))
        assert grown["missing_left"][0] == (MISSING in left)
        if not count[together].sum():
            assert grown["missing_left"][0] == (2 * in_left.sum() >= len(in_left))


def test_what_is_gained_by_chance_is_taken_off():
    """Per category beyond the second 1 / pi times the noise: what the best split of normal noise gains on average."""
    node = Node(1, 9, 3)
    engine = node.engine(node.G[:, :1], node.H[:, :1])
    gains = [engine.grow_scalar(node.growth(category_noise=noise))["gain"][0] for noise in (0.0, 0.25, 1e3)]
    assert gains[1] == pytest.approx(gains[0] - 0.25 * 7 / np.pi, rel=1e-9)
    assert gains[2] == 0.0
    rng = np.random.default_rng(0)
    n, m, n_rows = 200, 40, 2000
    found = []
    for _ in range(n):
        g, bins = rng.normal(size=n_rows).astype(np.float32), np.arange(n_rows) % m
        engine = bin_rows(bins[:, np.newaxis].astype(float), [np.arange(m - 1) + 0.5], 1, by_category=[0])
        statistics = engine.statistics(2)
        statistics[:, 0], statistics[:, 1] = g, 1.0
        growth = _core.Growth([0], None, np.empty(n_rows, np.int32), 2, 99, 1.0, 0.0, 0.0, 0.0)
        found.append(engine.grow_scalar(growth)["gain"][0])
    assert np.mean(found) == pytest.approx((m - 2) / np.pi, rel=0.1)


@pytest.mark.parametrize("n_rows", [300, 30_000])
def test_rows_part_and_are_found_again(instruction_set, n_rows):
    """Growth, rows outside the sample, and predictions agree where each row goes."""
    node = Node(3, 254, 4, n_rows, missing=0.05)
    engine = node.engine(node.G[:, :1], node.H[:, :1], min_rows=2.0)
    growth = node.growth(1.0, 12)
    tree = Tree.from_bins(engine.grow_scalar(growth), [np.arange(253) + 0.5])
    tree.value[:] = np.arange(len(tree.value))
    found = TreeEnsemble([tree], 1).apply(node.x[:, np.newaxis], 1)[:, 0]
    np.testing.assert_array_equal(found, node.leaf_of_row)
    for node_number in np.flatnonzero(tree.feature >= 0):
        below = [tree.left[node_number], tree.left[node_number] + 1]
        assert tree.count[node_number] == tree.count[below].sum()
    np.testing.assert_array_equal(np.bincount(found, minlength=len(tree.count))[tree.leaves], tree.count[tree.leaves])
    sample = np.flatnonzero(np.arange(n_rows) % 3).astype(np.uint32)
    outside = np.empty(n_rows, np.int32)
    growth = _core.Growth([0], sample, outside, 12, 99, 1.0, 0.0, L2, 0.0)
    tree = Tree.from_bins(engine.grow_scalar(growth), [np.arange(253) + 0.5])
    np.testing.assert_array_equal(TreeEnsemble([tree], 1).apply(node.x[:, np.newaxis], 1)[:, 0], outside)
    # Whatever is no number of a category is missing.
    strange = np.array([[np.nan], [-1.0], [255.0], [1e300], [np.inf], [-np.inf]])
    assert np.unique(TreeEnsemble([tree], 1).apply(strange, 1)).size == 1


def test_leaves_that_keep_no_histogram_part_their_rows(instruction_set):
    """Wide rows and many bins: leaves of few rows are read again, and their gains are those of the closed form."""
    rng = np.random.default_rng(0)
    n_rows, n_features, d = 900, 60, 40
    bins = rng.integers(0, 250, (n_rows, n_features))
    bins[:, 0] = rng.integers(0, 20, n_rows)
    G = rng.normal(size=(n_rows, d)) + rng.normal(size=(20, d))[bins[:, 0]]
    H = rng.gamma(2.0, 0.5, (n_rows, d))
    every = list(range(n_features))
    engine = bin_rows(
        bins.astype(float), [np.arange(249) + 0.5] * n_features, 1, by_category=every, min_category_rows=4.0
    )
    statistics = engine.statistics(2 * d)
    statistics[:, :d], statistics[:, d : 2 * d] = G, H
    leaf_of_row = np.empty(n_rows, np.int32)
    growth = _core.Growth(every, None, leaf_of_row, 12, 99, 10.0, 0.0, L2, 0.0)
    grown = engine.grow_multi_output(growth, d, "diagonal", d, d, False)
    of_node = {0: np.arange(n_rows)}
    inner = np.flatnonzero(grown["feature"] >= 0)
    assert len(inner) == 11
    for node in inner[np.argsort(grown["left"][inner])]:
        rows = of_node[node]
        goes_left = np.isin(bins[rows, grown["feature"][node]], bits(grown["categories"][node]))
        sides = rows[goes_left], rows[~goes_left]
        value = [0.5 * (G[part].sum(axis=0) ** 2 / (H[part].sum(axis=0) + L2)).sum() for part in (*sides, rows)]
        assert grown["gain"][node] == pytest.approx(value[0] + value[1] - value[2], rel=1e-5)
        of_node[grown["left"][node]], of_node[grown["left"][node] + 1] = sides
    for node, rows in of_node.items():
        assert grown["feature"][node] >= 0 or (leaf_of_row[rows] == node).all()


def test_a_damaged_set_is_refused():
    node = Node(0, 6, 3)
    tree = Tree.from_bins(node.engine(node.G[:, :1], node.H[:, :1]).grow_scalar(node.growth()), [np.arange(5) + 0.5])
    tree.check(1)
    for change in (lambda s: s[:, :2], lambda s: s.astype(np.int64), lambda s: s ^ np.uint64(1 << 63), np.ones_like):
        with pytest.raises(ValueError, match="categories of its nodes must"):
            replace(tree, categories=change(tree.categories)).check(1)
