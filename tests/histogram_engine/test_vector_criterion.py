"""Splits judged by leaves that shift single thresholds, against the closed forms: columns are random numbers."""

from __future__ import annotations

import numpy as np
import pytest

from ordinal_objectives import _core
from ordinal_objectives.histogram_engine.binning import bin_rows
from ordinal_objectives.leaves import scalar, vector
from pairs import each_pair

pytestmark = pytest.mark.slow
MOST = 2  # shifts of a leaf, where they are sparse


class Rows:
    """An engine over random bins whose rows carry random gradients and Hessians of each threshold."""

    def __init__(self, seed, n_thresholds, n_rows=400, missing=0.0):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 12, (n_rows, 3)).astype(float)
        X[rng.random(X.shape) < missing] = np.nan
        self.X, self.cuts = X, [np.arange(11) + 0.5] * 3
        self.engine = bin_rows(X, self.cuts, 1)
        self.G = rng.normal(size=(n_rows, n_thresholds)).astype(np.float32)
        self.G += np.nan_to_num(X[:, :1]).astype(np.float32) * rng.normal(size=n_thresholds).astype(np.float32) / 5
        self.H = rng.gamma(0.5, 0.3, (n_rows, n_thresholds)).astype(np.float32)
        self.leaf_of_row = np.empty(n_rows, np.int32)

    def grow(self, l2, shift_l2, penalty, active, max_leaves=6, min_child_weight=1e-3):
        statistics = self.engine.statistics(2 * self.G.shape[1])
        n = self.G.shape[1]
        statistics[:, :n], statistics[:, n : 2 * n] = self.G, self.H
        growth = _core.Growth([0, 1, 2], None, self.leaf_of_row, max_leaves, 99, 5.0, min_child_weight, l2, 0.0)
        shifts = (shift_l2, penalty == "smooth", MOST if penalty == "sparse" else len(active))
        return self.engine.grow_vector(growth, np.ones(len(active), np.int32), active, *shifts)

    def candidates(self, rows):
        for f in range(3):
            x = self.X[rows, f]
            for b, cut in enumerate(self.cuts[f]):
                yield (f, b, False), x <= cut
                if np.isnan(x).any():
                    yield (f, b, True), ~(x > cut)
            if np.isnan(x).any():
                yield (f, len(self.cuts[f]), False), ~np.isnan(x)


@each_pair(
    {"instruction_set": _core.instruction_sets(), "penalty": vector.PENALTIES, "n_thresholds": [1, 2, 3, 7, 8, 11, 29]}
)
def test_gains_are_values_of_the_sides_less_that_of_the_leaf(instruction_set, penalty, n_thresholds):
    for seed, (l2, shift_l2) in enumerate([(0.0, 10.0), (1.0, 0.1), (5.0, 1e-4), (0.3, 1e6)]):
        rows = Rows(seed, n_thresholds, missing=0.2 * (seed % 2))
        active = np.ones(n_thresholds, bool)
        active[seed % 4 :: 4] = n_thresholds < 3
        grown = rows.grow(l2, shift_l2, penalty, active)
        of_node = {0: np.arange(len(rows.X))}

        def values(*parts, rows=rows, active=active, l2=l2, shift_l2=shift_l2):
            G, H = (np.array([A[part].sum(axis=0, dtype=float) for part in parts]) for A in (rows.G, rows.H))
            return vector.values(G, H, l2, shift_l2, penalty, active, MOST if penalty == "sparse" else None)

        # Few shifts are not the best ones: with nearly no penalty the two sides may be worth less than the leaf.
        assert (grown["feature"] >= 0).sum() == 5 or (penalty == "sparse" and shift_l2 == 1e-4)
        for node in sorted(np.flatnonzero(grown["feature"] >= 0), key=lambda node: grown["left"][node]):
            mine = of_node[node]
            gains = {}
            for split, left in rows.candidates(mine):
                if min(left.sum(), (~left).sum()) >= 5:
                    gains[split] = values(mine[left], mine[~left]).sum() - values(mine)[0]
            best = max(gains.values())
            assert grown["gain"][node] == pytest.approx(best, rel=1e-9)
            f, b = grown["feature"][node], grown["bin"][node]
            x = rows.X[mine, f]
            cut = rows.cuts[f][b] if b < len(rows.cuts[f]) else np.inf
            left = np.where(np.isnan(x), bool(grown["missing_left"][node]), x <= cut)
            of_node[grown["left"][node]], of_node[grown["left"][node] + 1] = mine[left], mine[~left]
            assert values(mine[left], mine[~left]).sum() - values(mine)[0] == pytest.approx(best, rel=1e-9)
        for node, mine in of_node.items():
            if grown["feature"][node] < 0:
                assert (rows.leaf_of_row[mine] == node).all()


@pytest.mark.parametrize("penalty", vector.PENALTIES)
def test_a_large_penalty_judges_as_the_score_alone(penalty):
    rows = Rows(5, 6)
    grown = rows.grow(0.7, 1e12, penalty, np.ones(6, bool))
    statistics = rows.engine.statistics(2)
    statistics[:, 0], statistics[:, 1] = rows.G.sum(axis=1), rows.H.sum(axis=1)
    growth = _core.Growth([0, 1, 2], None, rows.leaf_of_row, 6, 99, 5.0, 1e-3, 0.7, 0.0)
    expected = rows.engine.grow_scalar(growth)
    for name in ("feature", "bin", "left"):
        np.testing.assert_array_equal(grown[name], expected[name])
    np.testing.assert_allclose(grown["gain"], expected["gain"], rtol=1e-5)


@pytest.mark.parametrize("penalty", vector.PENALTIES)
def test_gains_without_curvature_on_most_thresholds_keep_their_digits(penalty):
    rows = Rows(6, 8)
    rows.H[:, 1:] = 0.0
    rows.H[:, 0] *= 1e-7
    grown = rows.grow(0.0, 1e3, penalty, np.ones(8, bool), max_leaves=2, min_child_weight=0.0)
    left = rows.leaf_of_row == grown["left"][0]
    with np.errstate(all="ignore"):
        H = [rows.H[part].sum(axis=0, dtype=float) for part in (left, ~left, left | ~left)]
        G = [rows.G[part].sum(axis=0, dtype=float) for part in (left, ~left, left | ~left)]
    exact = [scalar.value(g.sum(), h.sum()) for g, h in zip(G, H, strict=True)]
    # The shifts are worth next to nothing beside the score.
    assert grown["gain"][0] == pytest.approx(exact[0] + exact[1] - exact[2], rel=1e-3)


def test_a_threshold_must_take_a_shift_and_rows_must_carry_them():
    rows = Rows(7, 3)
    with pytest.raises(ValueError, match="one group"):
        rows.grow(0.0, 1.0, "ridge", np.zeros(3, bool))
    with pytest.raises(ValueError, match="carry"):
        rows.grow(0.0, 1.0, "ridge", np.ones(9, bool))
