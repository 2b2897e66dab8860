"""Recalibrated probabilities: the fitted curves, their order, and the rows that they are fitted to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given as cases, settings, strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

from makers import draw, given
from ordinal_objectives import OrdinalCalibratedClassifier
from ordinal_objectives.decision import decide
from ordinal_objectives.decisions.calibrated import Isotonic, Sigmoids, cumulative

METHODS = pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
problems = st.tuples(st.integers(0, 2**32 - 1), st.integers(2, 7), st.integers(2, 60))


def drawn(problem):
    seed, n_classes, n_rows = problem
    P, codes = draw(np.random.default_rng(seed), n_rows, n_classes)
    codes[:2] = 0, n_classes - 1
    return P, codes


def overconfident(n_rows, seed, n_classes=5):
    """Return probabilities that are three times as sure as they may be, and classes."""
    rng = np.random.default_rng(seed)
    true = expit(np.linspace(-2, 2, n_classes - 1) - 1.5 * rng.normal(size=(n_rows, 1)))
    codes = (rng.uniform(size=(n_rows, 1)) > true).sum(axis=1)
    return np.diff(expit(3 * logit(true)), axis=1, prepend=0.0, append=1.0), codes


@METHODS
@settings(max_examples=20)
@cases(problem=problems)
def test_probabilities_stay_probabilities_and_keep_the_order_of_rows(method, problem):
    P, codes = drawn(problem)
    model = OrdinalCalibratedClassifier(given(problem[1]), method=method).fit(P, codes)
    new, _ = draw(np.random.default_rng(problem[0] + 1), 20, problem[1])
    found = model.predict_proba_ordered(new)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert (found[new > 1e-9] > 0).all()
    # A row whose P(y <= k) are all higher than another's keeps them higher.
    lower = cumulative(new)
    higher = lower + np.random.default_rng(0).uniform(size=(20, 1)) * (1.0 - lower)
    moved = model.predict_proba_ordered(np.diff(higher, axis=1, prepend=0.0, append=1.0))
    assert (cumulative(moved) >= cumulative(found) - 1e-12).all()


def test_sigmoids_are_the_likeliest():
    P, codes = overconfident(300, 0)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 300)
    happened = codes[:, np.newaxis] <= np.arange(4)
    curves = Sigmoids.fit(cumulative(P), happened, weight)
    for k in range(4):
        seen, margin = happened[:, k], logit(np.clip(cumulative(P)[:, k], 1e-6, 1 - 1e-6))
        n, n_seen = weight.sum(), weight[seen].sum()
        target = np.where(seen, (n_seen + 1) / (n_seen + 2), 1 / (n - n_seen + 2))

        def minus_likelihood(parameters, margin=margin, target=target):
            stated = expit(parameters[0] + parameters[1] * margin)
            return -np.sum(weight * (target * np.log(stated) + (1 - target) * np.log1p(-stated)))

        best = minimize(minus_likelihood, [0.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-9}).x
        np.testing.assert_allclose([curves.shifts[k], curves.stretches[k]], best, atol=1e-4)
    np.testing.assert_allclose(curves.stretches, 1 / 3, atol=0.15)


def test_a_curve_never_turns_back():
    """Where higher probabilities go with fewer rows the curve is flat, at about their share."""
    stated, happened = np.array([[0.1], [0.2], [0.8], [0.9]] * 20), np.array([[True], [True], [False], [False]] * 20)
    curves = Sigmoids.fit(stated, happened, np.ones(80))
    assert curves.stretches.tolist() == [0.0]
    np.testing.assert_allclose(curves(stated), 0.5, atol=1e-6)


@settings(max_examples=15)
@cases(problem=st.tuples(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(2, 10)))
def test_isotonic_steps_are_those_of_the_min_max_formula(problem):
    P, codes = drawn(problem)
    stated = cumulative(P).round(3)
    happened = codes[:, np.newaxis] <= np.arange(problem[1] - 1)
    weight = np.random.default_rng(problem[0]).uniform(0.5, 2.0, len(codes))
    found = Isotonic.fit(stated, happened, weight)(stated)
    levels = np.unique(stated)
    masses = np.array(
        [[(weight[:, None] * (stated == u)).sum(), (weight[:, None] * happened)[stated == u].sum()] for u in levels]
    )
    for i, level in enumerate(levels):
        means = [
            min(masses[a : b + 1, 1].sum() / masses[a : b + 1, 0].sum() for b in range(i, len(levels)))
            for a in range(i + 1)
        ]
        np.testing.assert_allclose(found[stated == level], max(means), atol=1e-9)


def test_sorting_curves_that_cross_never_raises_the_score():
    P, codes = draw(np.random.default_rng(3), 40, 6)
    model = OrdinalCalibratedClassifier(given(6)).fit(P, codes)
    new, true = draw(np.random.default_rng(4), 300, 6)
    crossed = model._recalibration.curve(cumulative(new))
    rows = (np.diff(crossed, axis=1) < -1e-3).any(axis=1)
    assert rows.sum() > 20
    happened = true[:, np.newaxis] <= np.arange(5)
    as_found, in_order = (((one - happened) ** 2).sum(axis=1) for one in (crossed, np.sort(crossed, axis=1)))
    assert (in_order <= as_found + 1e-12).all()
    assert in_order[rows].sum() < as_found[rows].sum()


@METHODS
def test_the_curve_is_fitted_to_rows_that_copies_were_not_trained_on(method, ordinal_data):
    X, y = ordinal_data(120, 4)
    model = OrdinalCalibratedClassifier(LogisticRegression(), method=method, cv=3, random_state=7).fit(X, y)
    proba = np.zeros((120, 4))
    for rows, held in KFold(3, shuffle=True, random_state=7).split(X):
        proba[held] = LogisticRegression().fit(X[rows], y[rows]).predict_proba(X[held])
    inner = LogisticRegression().fit(X, y)
    np.testing.assert_array_equal(model.estimator_.coef_, inner.coef_)
    expected = OrdinalCalibratedClassifier(given(4), method=method).fit(proba, y)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(inner.predict_proba(X)), rtol=1e-5)


@METHODS
@pytest.mark.parametrize("scale", [1 / 80, 1e-4, 1e6])
def test_the_scale_of_weights_says_nothing(method, scale):
    P, codes = overconfident(80, 2)

    def proba(weight):
        model = OrdinalCalibratedClassifier(given(5), method=method).fit(P, codes, sample_weight=weight)
        return model.predict_proba(P)

    np.testing.assert_allclose(proba(np.full(80, scale)), proba(None), atol=1e-6)
    weight = np.random.default_rng(0).integers(0, 4, 80)
    np.testing.assert_allclose(proba(weight * scale), proba(weight), atol=1e-6)


@METHODS
def test_rows_without_weight_are_left_out(method):
    P, codes = overconfident(80, 2)
    weight = np.random.default_rng(0).integers(0, 4, 80) / 7
    model = OrdinalCalibratedClassifier(given(5), method=method, classes=range(5))
    found = model.fit(P, codes, sample_weight=weight).predict_proba(P)
    kept = weight > 0
    again = model.fit(P[kept], codes[kept], sample_weight=weight[kept]).predict_proba(P)
    np.testing.assert_allclose(found, again, atol=1e-6)


@METHODS
def test_weights_count_rows_beside_each_other(method):
    """With many rows: of few, weights do not tell how many there are."""
    P, codes = overconfident(2000, 2)
    weight = np.random.default_rng(0).integers(0, 4, 2000)
    weighted = OrdinalCalibratedClassifier(given(5), method=method).fit(P, codes, sample_weight=weight)
    repeated = OrdinalCalibratedClassifier(given(5), method=method, classes=range(5))
    repeated.fit(np.repeat(P, weight, axis=0), np.repeat(codes, weight))
    np.testing.assert_allclose(weighted.predict_proba(P), repeated.predict_proba(P), atol=5e-3)


@METHODS
def test_a_threshold_that_no_row_passes(method):
    P, codes = overconfident(60, 0)
    rows = (codes > 0) & (codes < 4)
    found = OrdinalCalibratedClassifier(given(5), method=method).fit(P[rows], codes[rows]).predict_proba(P)
    assert np.isfinite(found).all()
    if method == "sigmoid":  # which has a curve for that threshold
        assert (found[:, [0, 4]].mean(axis=0) < P[:, [0, 4]].mean(axis=0)).all()


def test_decisions_follow_the_recalibrated_probabilities():
    P, codes = overconfident(300, 0)
    model = OrdinalCalibratedClassifier(given(5), decision_rule="mode").fit(P, codes)
    np.testing.assert_array_equal(model.predict(P), decide(model.predict_proba(P), "mode"))
    cost = np.abs(np.subtract.outer(np.arange(5), np.arange(5))) * [[9.0], [1.0], [1.0], [1.0], [1.0]]
    model = OrdinalCalibratedClassifier(given(5), cost_matrix=cost).fit(P, codes)
    np.testing.assert_array_equal(model.predict(P), decide(model.predict_proba(P), cost_matrix=cost))
