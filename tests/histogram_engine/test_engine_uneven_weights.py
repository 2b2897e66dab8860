"""Light rows beside heavy ones: what a float32 sum of both would forget decides splits like anything else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ordinal_objectives.histogram_engine.binning import uneven
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import LabelledRows, RunStart
from ordinal_objectives.losses import get_loss

LEAST = 1e-3


def lowest_class_heavy(K, n=6000, seed=0):
    """Rows of which the lowest class weighs a million times as much as the others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    score = X[:, 0] + np.sin(3 * X[:, 1]) + 0.1 * rng.logistic(size=n)
    y = np.searchsorted(np.quantile(score, np.arange(1, K) / K), score).astype(np.int32)
    return X, y, np.where(y == 0, 1e3, 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("K", [12, 30])
@pytest.mark.parametrize("threshold_update", ["joint", "newton"])
def test_leaves_of_light_rows_have_the_weight_and_the_gain_of_their_rows(threshold_update, K):
    parameters = BoostingParameters.of(
        get_loss("all_threshold"), threshold_update=threshold_update, learning_rate=0.5, min_child_weight=LEAST
    )
    for seed in range(6):
        X, y, weight = lowest_class_heavy(K, seed=seed)
        run = EngineRun(parameters, LabelledRows(X, y, K, weight))
        for _ in range(5):
            g, h = run.state.now.gradient.astype(float), run.state.now.hessian.astype(float)
            grown = run.grow(None, [0, 1, 2, 3])
            leaves = grown["left"] < 0
            assert np.bincount(run.state.leaf_of_row, h, len(leaves))[leaves].min() >= LEAST * (1 - 1e-9)
            feature = grown["feature"][0]
            if threshold_update == "newton" and feature >= 0:
                left = np.searchsorted(run.cuts[feature], X[:, feature]) <= grown["bin"][0]
                a, b, both = (g[rows].sum() ** 2 / h[rows].sum() for rows in (left, ~left, left | ~left))
                assert grown["gain"][0] == pytest.approx((a + b - both) / 2, rel=1e-6)
            run.advance()


@pytest.mark.parametrize("seed", [0, 41, 60, 242, 340, 388])
def test_few_cross_terms_judge_light_rows_as_all_do(seed):
    rng = np.random.default_rng(seed)
    n, K, features = 2051, 30, [0, 1, 2, 3]
    X = rng.normal(size=(n, 4))
    score = X[:, 0] + np.sin(3 * X[:, 1]) + rng.logistic(size=n)
    y = np.searchsorted(np.quantile(score, np.sort(rng.random(K - 1))), score).astype(np.int32)
    y[:K] = np.arange(K)
    weight = np.where(y == rng.integers(K), 1e3, 1e-3)
    auto = BoostingParameters.of(get_loss("all_threshold"), learning_rate=0.5, max_leaf_nodes=8, min_child_weight=LEAST)
    plain = EngineRun(replace(auto, cross_terms="all"), LabelledRows(X, y, K, weight))
    for t in range(3):
        start = plain.state.score.copy(), plain.thresholds, t
        few: Any = EngineRun(auto, LabelledRows(X, y, K, weight), start=RunStart(*start, cuts=plain.cuts))
        judged, right = few.grow(None, features), plain.grow(None, features)
        assert not few.criterion.cross_terms.exact
        assert judged["gain"][0] == pytest.approx(right["gain"][0], rel=5e-3)
        plain.advance()


def test_sums_are_float64_where_weights_differ_by_more_than_a_hundred():
    assert not uneven(None)
    assert not uneven(np.array([1.0, 100.0, 0.0]))
    assert uneven(np.array([1.0, 100.1, 0.0]))
