"""How effects of groups move in a round, and when they are integrated."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from grouped_rows import crossed
from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.estimators.random_effects import GroupColumn
from ordinal_objectives.estimators.random_intercept import EffectsLearner, IntegratedEffects


def test_rounds_move_effects_by_newton_steps_with_the_variance_of_em():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (80, 2)).astype(np.float64)
    now = SimpleNamespace(gradient=rng.normal(size=80), hessian=rng.uniform(0.5, 1.0, 80))
    learner = EffectsLearner([GroupColumn(place, list(range(5))) for place in range(2)], X, 1)
    G, H = (np.bincount(X[:, 0].astype(int), of) for of in (now.gradient, now.hessian))
    score, variance, before = np.zeros(80), 1.0, learner.found()
    for _ in range(2):
        learner.begin(now)
        penalty = learner.move(0.5, score)
        after = learner.found()
        for _ in range(20):
            modes = (H * before[0].effects - G) / (H + 1 / variance)
            share = 1 - 1 / (H * variance + 1)
            variance = np.mean(modes**2 + 1 / (H + 1 / variance) + share**2 * variance / share.sum())
        np.testing.assert_allclose(after[0].effects, (before[0].effects + modes) / 2)
        squares = [
            [one.effects @ one.effects / (2 * new.variance) for one in (old, new)]
            for old, new in zip(before, after, strict=True)
        ]
        assert penalty == pytest.approx(np.diff(squares).sum())
        before = after
    np.testing.assert_allclose(score, sum(one.of_rows(X) for one in before))


def _model(**options):
    return HistGradientBoostingOrdinalClassifier(loss="cumulative_link", max_iter=2, n_jobs=1, **options)


def test_two_columns_are_integrated_in_turn_several_times(monkeypatch):
    find, found = IntegratedEffects.find, []

    def counted(self):
        found.append(find(self))
        return found[-1]

    monkeypatch.setattr(IntegratedEffects, "find", counted)
    X, y, _ = crossed(0, n=400)
    _model(random_intercept=3).fit(X[:, :4], y)
    assert len(found) == 1
    _model(random_intercept=[3, 4]).fit(X, y)
    assert len(found) == 1 + 4 * 2
