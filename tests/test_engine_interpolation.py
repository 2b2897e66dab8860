"""Cross terms of many classes from those of a few thresholds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.histogram_engine import boosting as boosting_module
from ordinal_objectives.histogram_engine.boosting import Boosting
from ordinal_objectives.histogram_engine.interpolation import TOLERANCE, WIDTHS, interpolate_cross_terms
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.losses import get_loss
from ordinal_objectives.statistics import RowStatistics


def bumps(scores, thresholds):
    sigma = expit(thresholds - scores[:, None])
    return sigma * (1 - sigma)


@pytest.mark.parametrize("n_thresholds", [15, 29, 49, 99])
@pytest.mark.parametrize("spread", [0.2, 1.0, 2.0])
def test_cross_terms_of_all_scores_follow_from_those_of_the_chosen_thresholds(n_thresholds, spread):
    rng = np.random.default_rng(n_thresholds)
    thresholds = np.sort(rng.logistic(size=n_thresholds))
    scores = spread * rng.normal(size=20_000)
    interpolation = interpolate_cross_terms(scores, thresholds)
    assert len(interpolation.chosen) in WIDTHS
    cross = bumps(scores, thresholds)
    error = cross[:, interpolation.chosen] @ interpolation.weights - cross
    assert np.sqrt((error**2).mean(axis=0)).max() <= 2 * TOLERANCE * np.sqrt((cross**2).mean())


def test_as_many_thresholds_are_kept_as_their_distances_ask_for():
    scores = np.random.default_rng(0).normal(size=5_000) * 8
    assert interpolate_cross_terms(scores, np.linspace(-2, 2, 14)) is None
    assert len(interpolate_cross_terms(scores, np.linspace(-2, 2, 15)).chosen) == 14
    assert len(interpolate_cross_terms(scores, np.linspace(-8, 8, 40)).chosen) == 30
    assert interpolate_cross_terms(10 * scores, np.linspace(-100, 100, 40)) is None


@pytest.mark.parametrize("scores", [np.zeros(1000), np.zeros(1), np.arange(5.0), np.full(7, 1e6)])
def test_few_different_scores_need_few_thresholds(scores):
    thresholds = np.linspace(-3, 3, 30)
    interpolation = interpolate_cross_terms(scores, thresholds)
    cross = bumps(scores, thresholds)
    assert len(interpolation.chosen) == 14
    np.testing.assert_allclose(cross[:, interpolation.chosen] @ interpolation.weights, cross, atol=1e-9)


def many_classes(hessian, K=24, n=3000):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 4))
    score = 2 * X[:, 0] + np.sin(3 * X[:, 1]) + rng.logistic(size=n)
    y = np.searchsorted(np.quantile(score, np.arange(1, K) / K), score).astype(np.int32)
    parameters = BoostingParameters(get_loss("all_threshold"), hessian=hessian, learning_rate=0.3, max_leaf_nodes=15)
    return Boosting(parameters, X, y, K)


@pytest.mark.parametrize("hessian", ["exact", "majorized"])
def test_training_goes_the_same_way_with_and_without_interpolation(hessian, monkeypatch):
    interpolated = many_classes(hessian)
    losses, n_interpolated = [], 0
    for _ in range(30):
        n_interpolated += interpolated._interpolation is not None
        interpolated.advance()
        losses.append(interpolated.training_loss)
        assert (np.diff(interpolated.thresholds) > 0).all()
    assert (np.diff(losses) < 0).all()
    # The exact steps spread scores and thresholds faster, until all of these are needed.
    assert n_interpolated == 30 if hessian == "majorized" else 5 < n_interpolated < 30
    monkeypatch.setattr(boosting_module, "interpolate_cross_terms", lambda *_: None)
    plain = many_classes(hessian)
    trees = [plain.advance() for _ in range(30)]
    assert plain._interpolation is None
    assert len(trees) == 30
    assert interpolated.training_loss == pytest.approx(plain.training_loss, rel=2e-3)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("factor", [1.0, 50.0])  # beyond the spread of the float32 lanes
def test_cross_terms_of_some_thresholds_are_columns_of_all(precision, factor):
    rng = np.random.default_rng(0)
    n, K = 1000, 20
    thresholds, raw = factor * np.linspace(-2, 2, K - 1), rng.normal(size=n)
    chosen = np.array([0, 3, 4, 11, 18], np.int32)
    kernel = RowStatistics(get_loss("all_threshold"), rng.integers(0, K, n), K, precision=precision)
    every = kernel(raw, thresholds, want_cross=True).cross[:, chosen].copy()
    np.testing.assert_array_equal(kernel(raw, thresholds, want_cross=True, cross_of=chosen).cross, every)
    rows = np.full((n, 8), 7.0, np.float32)
    some = kernel(raw, thresholds, want_cross=True, side_by_side=rows, cross_of=chosen)
    np.testing.assert_array_equal(rows[:, 2:7], every.astype(np.float32))
    np.testing.assert_array_equal(rows[:, 0], some.gradient.astype(np.float32))
    assert (rows[:, 7] == 7.0).all()


def very_many_classes(K, **options):
    X = np.arange(float(K))[:, None]
    return HistGradientBoostingOrdinalClassifier(
        max_iter=1, max_leaf_nodes=2, min_samples_leaf=1, early_stopping=False, **options
    ).fit(X, np.arange(K))


@pytest.mark.parametrize("loss", ["all_threshold", "cumulative_link"])
def test_hundreds_of_classes_are_few_enough(loss):
    model = very_many_classes(300, loss=loss)
    assert len(model.thresholds_) == 299
    assert model.evals_result_["training"][1] < model.evals_result_["training"][0]


def test_more_classes_than_a_scan_has_room_for_are_refused():
    with pytest.raises(ValueError, match="threshold_update='joint' takes at most 1001 classes; got 1002"):
        very_many_classes(1002)
    assert len(very_many_classes(1002, threshold_update="newton").thresholds_) == 1001
