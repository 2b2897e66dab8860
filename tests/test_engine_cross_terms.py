"""Which cross terms the engine's rows carry, and what follows from them."""

from __future__ import annotations

import numpy as np
import pytest

from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.histogram_engine import boosting as boosting_module
from ordinal_objectives.histogram_engine.boosting import Boosting
from ordinal_objectives.histogram_engine.cross_terms import TOLERANCE, WIDTHS, all_cross_terms, few_cross_terms
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.losses import get_loss
from ordinal_objectives.statistics import RowStatistics

LOSSES = ["all_threshold", "cumulative_link", "immediate_threshold"]


def carried(scores, thresholds, hessian, cross_terms, y=None, loss="all_threshold"):
    """Return what rows carry, gradient first, and the cross terms of all thresholds."""
    y = np.zeros(len(scores), int) if y is None else y
    rows = get_loss(loss).row_derivatives(scores, y, thresholds)
    h = get_loss(loss).hessian(scores, y, thresholds, hessian)
    return np.column_stack([rows.gradient, h, rows.cross[:, cross_terms.chosen], np.ones(len(h))]), rows.cross


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("K", [2, 3, 4, 5, 7, 9, 15])
@pytest.mark.parametrize("one_follows", [True, False])
def test_cross_terms_of_all_thresholds_follow_exactly(K, one_follows, loss):
    rng = np.random.default_rng(K)
    y = rng.integers(0, K, 50)
    cross_terms = all_cross_terms(np.bincount(y, minlength=K).astype(float), one_follows=one_follows)
    assert cross_terms.exact
    assert len(cross_terms.chosen) == K - 1 - (one_follows and K in (3, 7, 15))
    thresholds, scores = np.linspace(-2, 2, K - 1), rng.normal(size=50)
    rows, cross = carried(scores, thresholds, "exact", cross_terms, y, loss)
    np.testing.assert_allclose(cross_terms.of_all(rows), cross, atol=1e-14)


def test_the_threshold_that_halves_the_classes_follows():
    for weights, follows in (([1.0, 1, 1, 1, 1, 1, 6], 5), ([6.0, 1, 1, 1, 1, 1, 1], 0), ([3.0, 1, 1, 1, 1, 1, 2], 2)):
        chosen = all_cross_terms(np.array(weights), one_follows=True).chosen
        np.testing.assert_array_equal(chosen, np.delete(np.arange(6), follows))
    np.testing.assert_array_equal(
        all_cross_terms(np.array([1.0, 1, 1, 10, 1, 1, 1]), one_follows=True).chosen, [0, 1, 3, 4, 5]
    )
    np.testing.assert_array_equal(all_cross_terms(np.array([30.0, 1, 1]), one_follows=True).chosen, [1])


@pytest.mark.parametrize("n_thresholds", [15, 29, 49, 99])
@pytest.mark.parametrize("spread", [0.2, 1.0, 2.0])
@pytest.mark.parametrize("hessian", ["exact", "majorized"])
@pytest.mark.parametrize("weighted", [True, False])
def test_cross_terms_of_all_thresholds_nearly_follow_from_few(n_thresholds, spread, hessian, weighted):
    rng = np.random.default_rng(n_thresholds)
    thresholds = np.linspace(-3, 3, n_thresholds)
    scores = spread * rng.normal(size=20_000)
    few = few_cross_terms(scores, thresholds, hessian, weighted=weighted)
    assert not few.exact
    assert len(few.chosen) in WIDTHS
    assert len(few.weights) == len(few.chosen) + (1 if weighted else 2)
    rows, cross = carried(scores, thresholds, hessian, few)
    error = few.of_all(rows) - cross
    assert np.sqrt((error**2).mean(axis=0)).max() <= 2 * TOLERANCE * np.sqrt((cross**2).mean())
    if hessian == "exact":
        np.testing.assert_allclose(few.of_all(rows).sum(axis=1), -rows[:, 1], atol=1e-12)


def test_as_many_thresholds_are_chosen_as_their_distances_ask_for():
    scores = np.random.default_rng(0).normal(size=5_000) * 8

    def n_chosen(thresholds, scores=scores):
        few = few_cross_terms(scores, thresholds, "exact", weighted=False)
        return None if few is None else len(few.chosen)

    assert n_chosen(np.linspace(-2, 2, 6)) is None
    assert n_chosen(np.linspace(-2, 2, 7)) == 5
    assert n_chosen(np.linspace(-8, 8, 14)) is None
    assert n_chosen(np.linspace(-4, 4, 40)) == 13
    assert n_chosen(np.linspace(-8, 8, 40)) == 29
    assert n_chosen(np.linspace(-100, 100, 40), 10 * scores) is None


@pytest.mark.parametrize("scores", [np.zeros(1000), np.zeros(1), np.arange(5.0), np.full(7, 1e6)])
@pytest.mark.parametrize("hessian", ["exact", "majorized"])
def test_few_different_scores_need_few_thresholds(scores, hessian):
    few = few_cross_terms(scores, np.linspace(-3, 3, 30), hessian, weighted=False)
    assert len(few.chosen) == 5
    rows, cross = carried(scores, np.linspace(-3, 3, 30), hessian, few)
    np.testing.assert_allclose(few.of_all(rows), cross, atol=2e-3)


def many_classes(hessian, K=24, n=3000):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 4))
    score = 2 * X[:, 0] + np.sin(3 * X[:, 1]) + rng.logistic(size=n)
    y = np.searchsorted(np.quantile(score, np.arange(1, K) / K), score).astype(np.int32)
    parameters = BoostingParameters(get_loss("all_threshold"), hessian=hessian, learning_rate=0.3, max_leaf_nodes=15)
    return Boosting(parameters, X, y, K)


@pytest.mark.parametrize("hessian", ["exact", "majorized"])
def test_training_goes_the_same_way_by_few_and_by_all(hessian, monkeypatch):
    few = many_classes(hessian)
    losses, widths = [], set()
    for _ in range(30):
        widths.add(len(few._cross_terms.chosen))
        few.advance()
        losses.append(few.training_loss)
        assert (np.diff(few.thresholds) > 0).all()
    assert (np.diff(losses) < 0).all()
    assert widths == {5, 13}
    monkeypatch.setattr(boosting_module, "few_cross_terms", lambda *_, **__: None)
    every = many_classes(hessian)
    for _ in range(30):
        every.advance()
    assert every._cross_terms.exact
    assert few.training_loss == pytest.approx(every.training_loss, rel=2e-3)


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
