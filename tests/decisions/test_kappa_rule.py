"""The decision with the largest expected kappa: against every other decision, from every start, and in closed form."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ordinal_objectives.decision import KappaRule, decide, kappa_weights
from ordinal_objectives.metrics import quadratic_weighted_kappa

RNG = np.random.default_rng(0)


def problem(rng, n_samples=None):
    n_classes = rng.integers(2, 5)
    n_samples = n_samples or rng.integers(1, 6)
    proba = rng.dirichlet(np.full(n_classes, rng.choice([0.3, 1.0, 5.0])), size=n_samples)
    random = rng.uniform(size=(n_classes, n_classes)) * (1.0 - np.eye(n_classes))
    return proba, [kappa_weights("quadratic", n_classes), kappa_weights("linear", n_classes), random][rng.integers(3)]


def expected_kappa(proba, codes, W, weight):
    """Return the kappa of the expected confusion matrix, or NaN where chance agrees fully."""
    confusion = np.zeros(W.shape)
    for row, code, w in zip(proba, codes, weight, strict=True):
        confusion[:, code] += w * row
    confusion /= confusion.sum()
    by_chance = np.outer(confusion.sum(axis=1), confusion.sum(axis=0))
    return 1.0 - (W * confusion).sum() / (W * by_chance).sum() if (W * by_chance).sum() > 0.0 else np.nan


@pytest.mark.parametrize("weighted", [False, True])
def test_no_other_decision_has_a_larger_kappa(weighted):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        proba, W = problem(rng)
        weight = rng.uniform(0.1, 2.0, size=len(proba)) if weighted else np.ones(len(proba))
        rule = KappaRule.fit(proba, W, weight if weighted else None)
        every = itertools.product(range(proba.shape[1]), repeat=len(proba))
        best = np.nanmax([expected_kappa(proba, codes, W, weight) for codes in every])
        assert rule.kappa == pytest.approx(max(best, 0.0), abs=1e-9), seed
        if rule.kappa > 1e-9:
            assert expected_kappa(proba, rule.decide(proba), W, weight) == pytest.approx(best, abs=1e-9), seed


def test_every_start_ends_at_the_same_kappa():
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        proba, W = problem(rng, n_samples=rng.integers(2, 40))
        found = [KappaRule.fit(proba, W, start=start).kappa for start in (0.0, *rng.uniform(-3.0, 1.0, size=2), 1.0)]
        assert np.ptp(found) < 1e-9


def test_quadratic_weights_stretch_the_mean():
    proba = RNG.dirichlet([2.0, 1.0, 1.0, 0.5, 1.0], size=400)
    rule = KappaRule.fit(proba)
    means, mean = proba @ np.arange(5), (proba @ np.arange(5)).mean()
    stretched = np.clip(np.rint(mean + (means - mean) / rule.kappa), 0, 4)
    np.testing.assert_array_equal(rule.decide(proba), stretched)


def test_true_probabilities_meet_the_expected_kappa():
    proba = RNG.dirichlet([0.5, 1.0, 0.7, 0.3], size=20_000)
    y = (RNG.uniform(size=(20_000, 1)) > np.cumsum(proba, axis=1)).sum(axis=1)
    rule = KappaRule.fit(proba[:10_000])
    achieved = quadratic_weighted_kappa(y[10_000:], rule.decide(proba[10_000:]))
    assert achieved == pytest.approx(rule.kappa, abs=0.02)
    assert achieved > quadratic_weighted_kappa(y[10_000:], decide(proba[10_000:])) + 0.01


def test_without_a_kappa_above_zero_the_median_decides():
    alike = np.tile([0.3, 0.3, 0.4], (5, 1))
    for proba in (alike, *np.repeat(np.eye(3)[:, np.newaxis], 4, axis=1)):
        rule = KappaRule.fit(proba)
        assert rule.kappa == 0.0
        np.testing.assert_array_equal(rule.decide(proba), decide(proba))
    for proba in RNG.dirichlet(np.ones(4), size=30):  # whatever rounding makes of them
        rows = np.tile(proba, (301, 1))
        assert KappaRule.fit(rows).kappa == 0.0
        np.testing.assert_array_equal(KappaRule.fit(rows).decide(rows), decide(rows))
