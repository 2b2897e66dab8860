"""Two losses are told apart by the rounding of their sums: more would hide a rise, less would be noise."""

from __future__ import annotations

import numpy as np
import pytest
import xgboost

from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.adapters import xgb as oxgb
from ordinal_objectives.losses import get_loss
from ordinal_objectives.rows import RowStatistics
from ordinal_objectives.rows.checked_rows import MOST_ROUNDING
from ordinal_objectives.rows.device import distributed_pass
from ordinal_objectives.rows.native import MarginStatistics

LOSSES = ["all_threshold", "immediate_threshold", "cumulative_link"]


def states(seed, heavy):
    """Rows, thresholds and two scores that are next to each other; one row may weigh more than all others."""
    rng = np.random.default_rng(seed)
    n, K = int(rng.choice([30, 300, 3000])), int(rng.choice([2, 5, 10]))
    theta = np.sort(rng.normal(size=K - 1)) * rng.choice([0.5, 2.0, 5.0])
    score = rng.choice([0.1, 1.0, 3.0, 10.0]) * rng.normal(size=12)[rng.integers(0, 12, n)]
    y = np.digitize(score + rng.logistic(size=n), theta)
    weight = np.append(10.0 ** rng.integers(1, 13), np.ones(n - 1)) if heavy else None
    return y, K, weight, theta, score, score + 10.0 ** rng.integers(-6, -3) * rng.normal(size=n)


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_what_float32_adds_to_a_change_is_no_rise(instruction_set, name, heavy):
    loss, n_beyond_the_weight = get_loss(name), 0
    for seed in range(150):
        y, K, weight, theta, *scores = states(seed, heavy)
        doubles = RowStatistics(loss, y, K, weight, precision="float64")
        for lanes in (RowStatistics, MarginStatistics)[: 1 if name == "cumulative_link" else 2]:
            rows = lanes(loss, y, K, weight, n_threads=1)
            at = [rows.spread(score) if lanes is MarginStatistics else score for score in scores]
            one, other = (rows(score, theta, "exact").loss for score in at)
            rise = doubles(scores[1], theta, "exact").loss - doubles(scores[0], theta, "exact").loss
            noise = (other - one) - rise
            assert one + abs(noise) <= rows.highest_loss(one, MOST_ROUNDING)
            n_beyond_the_weight += abs(noise) > 1e-7 * max(one, rows.total_weight)
    assert heavy or n_beyond_the_weight > 0  # such noise is met


@pytest.mark.parametrize("workers", [False, True])
def test_a_rise_is_bounded_by_the_loss_and_not_by_the_weights(workers):
    class Alone:
        rank = 0

        def sum(self, values):
            return values

        def max(self, values):
            return values

        def broadcast(self, text, rank):
            return text

        def check_wanted(self):
            pass

    weight = np.append(1e12, np.ones(99))
    of_one = [get_loss("all_threshold"), np.arange(100) % 3, 3, weight]
    rows = distributed_pass(RowStatistics, Alone() if workers else None, *of_one)
    for loss in (1e5, 1e12, 1e14):
        assert loss < rows.highest_loss(loss) < loss * (1 + 5e-7)
        assert loss * (1 + 5e-7) <= rows.highest_loss(loss, MOST_ROUNDING) < loss * (1 + 5e-6)
    assert 0.0 < rows.highest_loss(0.0) < 1e-2  # a logarithm next to 1 is known to 1e-16 of the weight
    assert rows.highest_loss(np.inf) == np.inf
    assert np.isnan(rows.highest_loss(np.nan))


def heavy_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    y = np.digitize(X[:, 0] * 2 + rng.logistic(size=len(X)), [-2, 0, 2])
    return X, y, np.append(1e12, np.ones(len(X) - 1))


def rises(losses):
    return np.flatnonzero(np.diff(losses) > 2e-6 * np.array(losses[:-1]))


@pytest.mark.parametrize("options", [{}, {"proportional": True}, {"proportional": True, "threshold_update": "newton"}])
def test_no_step_of_the_engine_raises_the_loss_of_rows_beside_a_heavy_one(options):
    X, y, weight = heavy_rows()
    model = HistGradientBoostingOrdinalClassifier(
        max_iter=15, min_child_weight=0.0, early_stopping=False, n_jobs=1, **options
    ).fit(X, y, sample_weight=weight)
    assert len(rises(model.evals_result_["training"])) == 0


@pytest.mark.parametrize("update", ["joint", "newton"])
def test_rises_beside_a_heavy_row_are_counted(update):
    X, y, weight = heavy_rows()
    dtrain = xgboost.DMatrix(X, y, weight=weight)
    params = {"max_depth": 6, "nthread": 1, "min_child_weight": 0}
    record = oxgb.threshold_record(oxgb.train(params, dtrain, 15, n_classes=4, threshold_update=update))
    n_rises = len(rises(record.training_loss))
    assert n_rises == record.diagnostics["n_raised"]
    assert (n_rises == 0) == (update == "joint")
