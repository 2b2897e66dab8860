"""The races of high_order.py: marks, gaps, and variants that are what they are called."""

from __future__ import annotations

import numpy as np
import pytest

from claims.high_order import high_order


def part(n_rows=400, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3)).astype(np.float32)
    score = 2 * X[:, 0] + rng.logistic(size=n_rows)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score).astype(np.int32)
    return high_order.Part(X, y, n_classes)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_variants_differ_where_they_say(n_classes):
    """Quadratic splits grow the tree of order two and fill its leaves otherwise; other rules share Halley's tree."""
    rows, watched = part(n_classes=n_classes), part(n_classes=n_classes, seed=1)
    kinds = {
        "order 2": (2, {}),
        "order 3": (3, {}),
        "quadratic": (3, {"criterion": high_order.QuadraticSplits}),
        "root": (3, {"criterion": high_order.OtherRule}),
        "expanded": (3, {"criterion": high_order.ExpandedRule}),
    }
    start = rows.X[:, 0].astype(float), np.linspace(-1.0, 1.5, n_classes - 1)
    trees, moved = {}, {}
    for name, (order, variant) in kinds.items():
        training = high_order.Training(rows, [high_order.Watched(watched)], order, (0.1, 1.0), **variant)
        run, state = training.run, training.run.state
        state.score[:], state.learner.thresholds = start[0], start[1].copy()
        state.now = run.criterion.columns(state.score, state.thresholds)
        training.advance()
        trees[name], moved[name] = state.leaf_of_row.copy(), run.state.score - start[0]
        assert len(training.watched[0].loss) == 2
    np.testing.assert_array_equal(trees["order 2"], trees["quadratic"])
    for name in ("root", "expanded"):
        np.testing.assert_array_equal(trees["order 3"], trees[name])
        assert 1e-6 < np.abs(moved[name] - moved["order 3"]).max() < 0.1
    assert np.abs(moved["quadratic"] - moved["order 2"]).max() > 1e-4
