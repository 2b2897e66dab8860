"""How effects of groups move in a round, and when they are integrated."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from grouped_rows import crossed, of_host, simulated
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.columns import NEW
from ordinal_objectives.losses import CumulativeLink
from ordinal_objectives.random_effects import GroupColumn, RandomEffects, with_effects
from ordinal_objectives.threshold_solver import random_intercept
from ordinal_objectives.threshold_solver.random_intercept import EffectsLearner, IntegratedEffects


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


@pytest.mark.parametrize("n_trees", [0, 25])
def test_effects_move_in_ten_rounds_and_then_in_each_sixth_of_a_training(n_trees):
    groups = np.array([[0.0], [1.0], [1.0]])
    now = SimpleNamespace(gradient=np.array([0.1, -0.2, 0.3]), hessian=np.ones(3))
    learner = EffectsLearner([GroupColumn(0, [0, 1])], groups, 1, n_trees=n_trees)
    moved = [k for k in range(1, 26) if learner.begin(now, n_trees + k)]
    assert moved == [*range(1, 11), 12, 18, 24]


def _model(**options):
    return HistGradientBoostingOrdinalClassifier(loss="cumulative_link", n_jobs=1, **{"max_iter": 2} | options)


@pytest.mark.parametrize("kind", [HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier])
def test_histories_name_each_round_once(kind):
    X, y, _, _ = simulated(5, 0, n_groups=20)
    rounds = {"max_iter": 3} if kind is HistGradientBoostingOrdinalClassifier else {"n_estimators": 3}
    model = kind(loss="cumulative_link", random_intercept=3, n_jobs=1, **rounds).fit(X, y)
    assert [n_trees for n_trees, _, _ in model.random_effects_.history] == [0, 1, 2, 3]
    assert model.threshold_history_.shape == (4, 4)


def test_two_columns_of_many_groups_are_integrated_in_turn_several_times(monkeypatch):
    find, found = IntegratedEffects.find, []

    def counted(self, learner):
        found.append(find(self, learner))
        return found[-1]

    monkeypatch.setattr(IntegratedEffects, "find", counted)
    X, y, _ = crossed(0, n=400)
    _model(random_intercept=3).fit(X[:, :4], y)
    together = _model(random_intercept=[3, 4], random_state=0).fit(X, y).random_effects_
    assert len(found) == 1
    monkeypatch.setattr(random_intercept, "_MOST_TOGETHER", 39)  # the smaller column has 40
    in_turn = _model(random_intercept=[3, 4], random_state=0).fit(X, y).random_effects_
    assert len(found) == 1 + 4 * 2
    for one, other in zip(together.values(), in_turn.values(), strict=True):
        np.testing.assert_allclose(one.effects, other.effects, atol=0.3)
        assert (other.standard_errors / one.standard_errors).mean() == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("kind", [HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier])
@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_groups_that_determine_the_class_keep_the_effects_of_the_last_round(kind, link):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 40, 400)
    X, y = np.column_stack([rng.normal(size=400), group]), group % 3
    if kind is HistGradientBoostingOrdinalClassifier:
        model = _model(random_intercept=1, link=link, max_iter=20, random_state=0)
    else:
        model = of_host(kind, random_intercept=1, link=link)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, y)
    found = model.random_effects_
    assert found.variance < 100
    assert found.variance == found.history[-1][2] or not told
    assert np.mean(model.predict(X) == y) > 0.97
    X[:, 1] = 99
    assert np.all(model.predict_proba(X).mean(axis=0) > 0.15)


@pytest.mark.parametrize("seed", [73, 104, 240, 274])
@pytest.mark.filterwarnings("ignore:random_intercept=1. the likelihood rises:UserWarning")
def test_a_rare_class_gives_no_endless_variance(seed):
    rng = np.random.default_rng(seed)
    n_groups, n = int(rng.integers(8, 25)), int(rng.integers(100, 200))
    link = str(rng.choice(["probit", "logit", "cloglog"]))
    group, effects = rng.integers(0, n_groups, n), 1.5 * rng.normal(size=n_groups)
    y = (effects[group] + rng.normal(size=n) > -2.8).astype(int)
    y[:2] = 0, 1
    X = np.column_stack([rng.normal(size=n), group])
    model = _model(random_intercept=1, link=link, max_iter=3, random_state=0).fit(X, y)
    assert max(variance for *_, variance in model.random_effects_.history) < 100
    X[:, 1] = 99
    np.testing.assert_allclose(model.predict_proba(X).mean(axis=0), np.bincount(y) / n, atol=0.1)


@pytest.mark.parametrize("link", ["logit", "cloglog"])
def test_a_tail_of_new_groups_whose_sum_rounds_to_more_than_one(link):
    column = GroupColumn(0, [0, 1])
    effects = RandomEffects(column, np.ones(2), np.ones(2), 2.0, 0.0, ((0, np.ones(2), 2.0),))
    scores, X = np.linspace(-40.0, 5.0, 200), np.full((200, 1), NEW)
    assert np.isfinite(with_effects(scores, X, [effects], CumulativeLink(link), np.array([0.0, 1.0]))).all()


def test_effects_are_short_to_print():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(200) % 40, rng.normal(size=200)])
    effects = _model(random_intercept=0, max_iter=20).fit(X, rng.integers(3, size=200)).random_effects_
    assert repr(effects) == f"RandomEffects(column 0, 40 groups, variance {effects.variance:.4g})"
