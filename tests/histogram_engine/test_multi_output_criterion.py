"""Splits judged by leaves with several outputs, against the closed forms: columns are random numbers."""

from __future__ import annotations

import numpy as np
import pytest

from ordinal_objectives import _core
from ordinal_objectives.histogram_engine.binning import bin_rows
from ordinal_objectives.histogram_engine.multi_output.run import OutputColumns
from ordinal_objectives.leaves import vector
from pairs import each_pair

pytestmark = pytest.mark.slow
FEWEST_ROWS, N_SPLITS, ROUNDING = 5, 5, 1e-9


class Rows:
    """An engine over random bins whose rows carry random gradients and Hessians of each output."""

    def __init__(self, seed, n_outputs, hessian, n_rows=400, missing=0.0, weighted=False):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 12, (n_rows, 3)).astype(float)
        X[rng.random(X.shape) < missing] = np.nan
        self.X, self.cuts = X, [np.arange(11) + 0.5] * 3
        self.engine = bin_rows(X, self.cuts, 1)
        self.G = rng.normal(size=(n_rows, n_outputs))
        self.G += np.nan_to_num(X[:, :1]) * rng.normal(size=n_outputs) / 5
        H = {
            "shared": None,
            "diagonal": rng.gamma(0.5, 0.3, (n_rows, n_outputs)),
            "full": (root := rng.normal(size=(n_rows, n_outputs, 2))) @ root.transpose(0, 2, 1) / 4,
        }[hessian]
        weight = rng.gamma(2.0, size=n_rows) if weighted else None
        self.columns = OutputColumns.of(self.G, H, n_outputs, weighted=weighted)
        self.statistics = self.engine.statistics(self.columns.n_columns)
        self.columns.fill(self.statistics, self.G, H, weight)
        self.leaf_of_row = np.empty(n_rows, np.int32)

    def grow(self, l2, most, search, min_child_weight=1e-3):
        growth = _core.Growth(
            [0, 1, 2], None, self.leaf_of_row, N_SPLITS + 1, 99, float(FEWEST_ROWS), min_child_weight, l2, 0.0
        )
        columns = self.columns
        shape = (columns.n_outputs, columns.kind, columns.n_outputs)
        return self.engine.grow_multi_output(growth, *shape, most, search == "restricted")

    def candidates(self, rows):
        for f in range(3):
            x = self.X[rows, f]
            for b, cut in enumerate(self.cuts[f]):
                yield (f, b, False), x <= cut
                if np.isnan(x).any():
                    yield (f, b, True), ~(x > cut)
            if np.isnan(x).any():
                yield (f, len(self.cuts[f]), False), ~np.isnan(x)

    def sums(self, parts):
        return self.columns.split(np.array([self.statistics[part].sum(axis=0, dtype=float) for part in parts]))

    def moved(self, parts, l2, most, search):
        """Return the outputs that leaves of these parts move; with one search they move the same."""
        if most == self.columns.n_outputs:
            return None
        G, H = self.sums(parts)
        worth = vector.output_values(G, H, l2)
        return vector.largest(np.tile(worth.sum(axis=0), (len(parts), 1)) if search == "restricted" else worth, most)

    def value(self, parts, l2, moved):
        """Return what leaves of these parts are worth together."""
        G, H = self.sums(parts)
        return vector.decrease(G, vector.output_steps(G, H, l2, moved)).sum()


def follow_the_tree(rows, grown, l2, *options):
    """Compare every split with the best of all candidates, and the rows' leaves with the tree."""
    of_node = {0: np.arange(len(rows.X))}
    moves = {0: rows.moved([of_node[0]], l2, *options)}  # outputs of each node as a leaf
    inner = np.flatnonzero(grown["feature"] >= 0)
    assert 3 <= len(inner) <= N_SPLITS
    for node in sorted(inner, key=lambda node: grown["left"][node]):
        mine = of_node[node]
        before = rows.value([mine], l2, moves[node])
        gains = [
            rows.value(sides, l2, rows.moved(sides, l2, *options)) - before
            for _, left in rows.candidates(mine)
            if len(min(sides := (mine[left], mine[~left]), key=len)) >= FEWEST_ROWS
        ]
        assert grown["gain"][node] == pytest.approx(max(gains), rel=ROUNDING)
        f, b = grown["feature"][node], grown["bin"][node]
        x = rows.X[mine, f]
        cut = rows.cuts[f][b] if b < len(rows.cuts[f]) else np.inf
        left = np.where(np.isnan(x), bool(grown["missing_left"][node]), x <= cut)
        children = grown["left"][node] + np.arange(2)
        sides = mine[left], mine[~left]
        of_node |= zip(children, sides, strict=True)
        moved = rows.moved(sides, l2, *options)
        moves |= zip(children, [None, None] if moved is None else moved[:, np.newaxis], strict=True)
    for node, mine in of_node.items():
        if grown["feature"][node] < 0:
            assert (rows.leaf_of_row[mine] == node).all()


@each_pair(
    {
        "instruction_set": _core.instruction_sets(),
        "n_outputs": [1, 2, 3, 7, 8, 20],
        "hessian": ["shared", "diagonal", "full"],
        "weighted": [False, True],
    }
)
def test_gains_of_all_outputs(instruction_set, n_outputs, hessian, weighted):
    for seed, l2 in enumerate([0.01 if hessian == "full" else 1e-6, 1.0, 5.0]):
        rows = Rows(seed, n_outputs, hessian, missing=0.2 * (seed % 2), weighted=weighted)
        follow_the_tree(rows, rows.grow(l2, n_outputs, "restricted"), l2, n_outputs, "restricted")


@each_pair(
    {
        "instruction_set": _core.instruction_sets(),
        "n_outputs, most": [(2, 1), (5, 2), (5, 3), (5, 4), (24, 3), (24, 12), (24, 20)],
        "hessian": ["shared", "diagonal"],
        "search": vector.SEARCHES,
    }
)
def test_gains_of_few_outputs(instruction_set, n_outputs, most, hessian, search):
    for seed, l2 in enumerate([0.0, 1.0]):
        rows = Rows(seed, n_outputs, hessian, missing=0.2 * (seed % 2))
        follow_the_tree(rows, rows.grow(l2, most, search), l2, most, search)


def test_the_searches_differ():
    grown = [Rows(3, 12, "diagonal").grow(1.0, 2, search) for search in vector.SEARCHES]
    assert not np.array_equal(grown[0]["gain"], grown[1]["gain"])


@pytest.mark.parametrize("hessian", ["shared", "diagonal", "full"])
def test_the_least_weight_is_that_of_all_outputs(hessian):
    rows = Rows(4, 3, hessian)
    of_rows = rows.columns.split(rows.statistics.astype(float))[1]
    diagonal = np.einsum("ijj->ij", of_rows) if hessian == "full" else np.broadcast_to(of_rows, rows.G.shape)
    for least in (0.3, 0.45):
        grown = rows.grow(1.0, 3, "restricted", min_child_weight=least * diagonal.sum())
        of_leaves = [diagonal[rows.leaf_of_row == leaf].sum() for leaf in np.flatnonzero(grown["feature"] < 0)]
        assert min(of_leaves) >= least * diagonal.sum() * (1 - 1e-6)
        assert len(of_leaves) >= 2


def test_an_output_without_curvature_has_no_part():
    rows, alone = Rows(5, 3, "diagonal"), Rows(5, 3, "diagonal")
    for one in (rows, alone):
        one.statistics[:, 4] = 0.0
    alone.statistics[:, 1] = 0.0
    for name, array in rows.grow(0.0, 3, "restricted").items():
        np.testing.assert_array_equal(array, alone.grow(0.0, 3, "restricted")[name])


def test_what_rows_cannot_carry_is_refused():
    rows = Rows(6, 3, "diagonal")
    growth = _core.Growth([0], None, rows.leaf_of_row, 3, 9, 5.0, 0.0, 0.0, 0.0)
    for arguments, message in [
        ((3, "diagonal", 6, 3, True), "carry"),
        ((3, "diagonal", 2, 3, True), "carry"),
        ((3, "exact", 3, 3, True), "'full'"),
        ((3, "diagonal", 3, 4, True), "max_outputs"),
        ((2, "full", 2, 2, True), "positive l2"),
        ((_core.max_outputs + 1, "shared", 3, 1, True), "too many"),
    ]:
        with pytest.raises(ValueError, match=message):
            rows.engine.grow_multi_output(growth, *arguments)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_leaves_that_keep_no_histogram_grow_the_same_tree(instruction_set, missing, n_threads):
    """Copies of the features, which win no tie, make the histograms so large that leaves of few rows keep none."""
    rng = np.random.default_rng(8)
    X = rng.integers(0, 40, (3000, 3)).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    G = rng.normal(size=(3000, 119)) + np.nan_to_num(X[:, :1]) / 30 + np.isnan(X[:, 1:2])
    H = rng.gamma(0.5, 0.3, G.shape)
    engine = bin_rows(np.tile(X, 20), [np.arange(39) + 0.5] * 60, n_threads)
    columns = OutputColumns.of(G, H, 119, weighted=False)
    columns.fill(engine.statistics(columns.n_columns), G, H, None)
    grown = []
    for features in (list(range(3)), list(range(60)), [0, 1, 2, *range(7, 60)]):
        leaf_of_row = np.empty(3000, np.int32)
        growth = _core.Growth(features, None, leaf_of_row, 15, 99, 20.0, 1e-3, 1.0, 0.0)
        tree = engine.grow_multi_output(growth, 119, columns.kind, columns.n_outputs, 119, False)
        grown.append({**tree, "leaf_of_row": leaf_of_row})
    assert (grown[0]["feature"] >= 0).sum() == 14
    assert grown[0]["count"].min() < 1024 < grown[0]["count"][1:].max()
    for other in grown[1:]:
        for name, array in grown[0].items():
            if array is None:  # no split by categories
                assert other[name] is None
            else:
                np.testing.assert_allclose(other[name], array, rtol=1e-9, err_msg=name)
