"""The cuts between bins, and cutting anew by Hessian weight."""

from __future__ import annotations

import numpy as np
import pytest

from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.histogram_engine.binning import find_cuts
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import TrainingSet
from ordinal_objectives.losses import AllThreshold

MAX_BINS = 16


@pytest.fixture
def data(ordinal_data):
    X, y = ordinal_data(n_rows=600, n_classes=4)
    X[::7, 1] = np.nan
    X[:, 2] = np.round(2 * X[:, 2])  # fewer distinct values than bins
    return X, y.astype(np.int32)


def make(**options):
    return HistGradientBoostingOrdinalClassifier(
        **{
            "max_iter": 12,
            "random_state": 0,
            "max_leaf_nodes": 8,
            "max_bins": MAX_BINS,
            "proportional": True,
            **options,
        }
    )


def test_cuts():
    assert find_cuts(np.array([[1.0], [2.0], [np.nan], [4.0]]))[0].tolist() == [1.5, 3.0]
    assert find_cuts(np.array([[5.0], [5.0]]))[0].size == 0
    assert find_cuts(np.full((3, 1), np.nan))[0].size == 0
    low = np.nextafter(1.0, 0.0)
    assert find_cuts(np.array([[low], [1.0]]))[0].tolist() == [low]
    assert find_cuts(np.array([[-np.inf], [0.0], [np.inf]]))[0].tolist() == [-np.inf, 0.0]
    x = np.random.default_rng(0).normal(size=(3000, 1))
    x[:1500] = 7.0  # half of all weight on one value
    cuts = find_cuts(x, 32)[0]
    counts = np.bincount(np.searchsorted(cuts, x[:, 0]))
    assert len(cuts) <= 31
    assert np.sort(counts)[-2] <= 2 * 3000 / 32
    weight = np.random.default_rng(1).integers(0, 3, 3000)
    np.testing.assert_array_equal(
        find_cuts(x, 32, weight.astype(float))[0], find_cuts(np.repeat(x, weight, axis=0), 32)[0]
    )


def test_rounding_of_equal_weights_moves_no_cut():
    x = np.random.default_rng(0).normal(size=(100 * MAX_BINS, 1))
    np.testing.assert_array_equal(find_cuts(x, MAX_BINS, np.full(len(x), 0.3))[0], find_cuts(x, MAX_BINS)[0])


def quantile_cuts(x, weight):
    """Cuts half-way above the first distinct value up to which at least b / MAX_BINS of the weight lies."""
    x, weight = x[~np.isnan(x)], weight[~np.isnan(x)]
    values = np.unique(x)
    if len(values) <= MAX_BINS:
        return (values[:-1] + values[1:]) / 2
    cuts = set()
    for b in range(1, MAX_BINS):
        at = next(i for i, v in enumerate(values) if weight[x <= v].sum() >= b / MAX_BINS * weight.sum())
        if at < len(values) - 1:
            cuts.add((values[at] + values[at + 1]) / 2)
    return np.array(sorted(cuts))


@pytest.mark.slow
@pytest.mark.parametrize("hessian", ["majorized", "exact"])
@pytest.mark.parametrize("weighted", [False, True])
def test_cuts_are_the_quantiles_of_weight_times_hessian(data, hessian, weighted):
    X, y = data
    weight = np.random.default_rng(0).choice([0.5, 1.0, 3.0], len(y)) if weighted else None
    parameters = BoostingParameters.of(
        AllThreshold(), hessian=hessian, learning_rate=0.5, max_bins=MAX_BINS, max_leaf_nodes=8, rebin_every=3
    )
    run = EngineRun(parameters, TrainingSet(X, y, 4, weight))
    first = run.cuts
    for x, cuts in zip(X.T, first, strict=True):
        np.testing.assert_allclose(cuts, quantile_cuts(x, np.ones(len(y)) if weight is None else weight))
    for iteration in range(1, 8):
        score, thresholds, before = run.state.score.copy(), run.thresholds.copy(), run.cuts
        run.advance()
        if iteration - 1 not in (3, 6):
            assert run.cuts is before
            continue
        curvature = AllThreshold().hessian(score, y, thresholds, hessian)
        curvature = curvature if weight is None else curvature * weight
        for x, cuts in zip(X.T, run.cuts, strict=True):
            np.testing.assert_allclose(cuts, quantile_cuts(x, curvature))
        assert not np.array_equal(run.cuts[0], first[0])
        np.testing.assert_array_equal(run.cuts[2], first[2])


@pytest.mark.parametrize("weighted", [False, True])
def test_constant_hessians_change_nothing(data, weighted):
    """Probit's majoriser is 1 everywhere, so the weights are those of the first cuts."""
    X, y = data
    weight = np.random.default_rng(0).choice([0.1, 0.3, 0.7], len(y)) if weighted else None
    options = {"link": "probit", "hessian": "majorized"}
    once = make(**options).fit(X, y, sample_weight=weight)
    often = make(**options, rebin_every=1).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(often.predict_raw(X), once.predict_raw(X))
    np.testing.assert_array_equal(often.threshold_history_, once.threshold_history_)


@pytest.mark.slow
@pytest.mark.parametrize("first", [3, 4, 6, 7])
@pytest.mark.parametrize("options", [{}, {"subsample": 0.6, "pruning": True, "adaptive_step": True}])
def test_continued_training_cuts_at_the_same_iterations(data, first, options):
    X, y = data
    whole = make(rebin_every=3, **options).fit(X, y)
    parts = make(rebin_every=3, warm_start=True, max_iter=first, **options).fit(X, y)
    parts.set_params(max_iter=12).fit(X, y)
    np.testing.assert_array_equal(parts.predict_raw(X), whole.predict_raw(X))
    assert not np.array_equal(whole.predict_raw(X), make(**options).fit(X, y).predict_raw(X))


def test_a_model_stopped_early_continues_with_the_cuts_of_its_last_tree(data):
    X, y = data
    options = {"learning_rate": 1.0, "rebin_every": 4}
    stopped = make(max_iter=200, n_iter_no_change=6, warm_start=True, **options)
    stopped.fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    kept = stopped.n_iter_
    assert kept < len(stopped.evals_result_["training"]) - 4  # it has cut anew since
    stopped.set_params(max_iter=kept + 2, early_stopping=False).fit(X[:400], y[:400])
    whole = make(max_iter=kept + 2, early_stopping=False, **options).fit(X[:400], y[:400])
    np.testing.assert_array_equal(stopped.predict_raw(X), whole.predict_raw(X))
