"""Few outputs that two siblings share: what a split gains is what the model gains, by exhaustive search."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ordinal_objectives import HistGradientBoostingMultiOutputRegressor, _core
from ordinal_objectives.histogram_engine.binning import bin_rows
from ordinal_objectives.histogram_engine.multi_output.run import OutputColumns

N_BINS, FEWEST_ROWS, L2 = 6, 4, 0.5


class Exhaustive:
    """Grows a tree split by split: every cut of every leaf, every set of outputs that the two sides might share.

    A leaf of the model holds its rows and the outputs that it moves; the model's value is that of its leaves.
    """

    def __init__(self, X, G, H, most, max_leaves):
        self.X, self.G, self.H, self.most, self.max_leaves = X, G, H, most, max_leaves

    def worth(self, rows):
        return 0.5 * self.G[rows].sum(axis=0) ** 2 / (self.H[rows].sum(axis=0) + L2)

    def shared(self, parts):
        """Return the outputs that leaves of these parts share, and what the leaves are worth together."""
        worth = sum(self.worth(part) for part in parts)
        sets = itertools.combinations(range(self.G.shape[1]), self.most)
        return max(((chosen, worth[list(chosen)].sum()) for chosen in sets), key=lambda found: found[1])

    def splits(self, rows, outputs):
        before = self.worth(rows)[list(outputs)].sum()
        for feature in range(self.X.shape[1]):
            for cut in range(N_BINS - 1):
                left = self.X[rows, feature] <= cut
                if min(left.sum(), (~left).sum()) >= FEWEST_ROWS:
                    sides = rows[left], rows[~left]
                    chosen, after = self.shared(sides)
                    yield after - before, feature, cut, sides, chosen

    def grow(self):
        rows = np.arange(len(self.X))
        leaves = [(rows, self.shared([rows])[0])]
        taken = []
        while len(leaves) < self.max_leaves:
            best = [max(self.splits(*leaf), key=lambda split: split[0], default=(0.0,)) for leaf in leaves]
            which = max(range(len(leaves)), key=lambda i: best[i][0])
            if best[which][0] <= 1e-9:
                break
            gain, feature, cut, sides, chosen = best[which]
            taken.append((feature, cut, gain))
            leaves[which : which + 1] = [(side, chosen) for side in sides]
        return taken


@pytest.mark.parametrize("hessian", ["shared", "diagonal"])
@pytest.mark.parametrize(("n_outputs", "most"), [(2, 1), (4, 1), (4, 3), (5, 2)])
def test_trees_are_those_of_an_exhaustive_search(instruction_set, n_outputs, most, hessian):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, N_BINS, (60, 2)).astype(float)
        G = rng.normal(size=(60, n_outputs)) + np.sin(np.outer(X[:, 0], np.arange(1, n_outputs + 1)))
        H = None if hessian == "shared" else rng.gamma(2.0, 0.5, G.shape)
        engine = bin_rows(X, [np.arange(N_BINS - 1) + 0.5] * 2, 1)
        columns = OutputColumns.of(G, H, n_outputs, weighted=False)
        columns.fill(engine.statistics(columns.n_columns), G, H, None)
        growth = _core.Growth([0, 1], None, np.empty(60, np.int32), 7, 99, float(FEWEST_ROWS), 0.0, L2, 0.0)
        tree = engine.grow_multi_output(growth, n_outputs, columns.kind, columns.n_outputs, most, True)
        expected = Exhaustive(X, G, np.ones_like(G) if H is None else H, most, 7).grow()
        inner = np.flatnonzero(tree["left"] >= 0)
        inner = inner[np.argsort(tree["left"][inner])]  # in the order in which they were split
        assert len(inner) == len(expected) > 2
        assert [(tree["feature"][i], tree["bin"][i]) for i in inner] == [split[:2] for split in expected]
        np.testing.assert_allclose(tree["gain"][inner], [split[2] for split in expected], rtol=1e-5)


@pytest.mark.parametrize("search", ["restricted", "unrestricted"])
@pytest.mark.parametrize("max_outputs", [1, 2, 4, 5])
def test_gains_add_up_to_the_fall_of_the_loss(max_outputs, search):
    """Without penalty and shrinkage the quadratic model of the squared error is the loss, and the root is worth 0."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    Y = np.sin(np.outer(X[:, 0], np.arange(1, 6))) + X[:, 1:2] * rng.normal(size=5) + 0.3 * rng.normal(size=(300, 5))
    model = HistGradientBoostingMultiOutputRegressor(
        max_iter=1, learning_rate=1.0, l2_regularization=0.0, max_leaf_nodes=12, min_samples_leaf=5,
        max_outputs=max_outputs, search=search, n_jobs=1,
    ).fit(X, Y)  # fmt: skip
    before, after = model.evals_result_["training"]
    assert model._ensemble.trees[0].gain.sum() == pytest.approx(300 * (before - after), rel=1e-5)
