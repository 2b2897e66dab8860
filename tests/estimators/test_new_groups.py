"""Effects of new groups from labelled rows of them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import truncnorm

from grouped_rows import crossed, of_host, simulated
from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    XGBOrdinalClassifier,
)

KINDS = [HistGradientBoostingOrdinalClassifier, XGBOrdinalClassifier, LGBMOrdinalClassifier]


def make(kind=HistGradientBoostingOrdinalClassifier, **options):
    if kind is not HistGradientBoostingOrdinalClassifier:
        return of_host(kind, **options)
    given = {"loss": "cumulative_link", "random_intercept": 3, "max_iter": 10, "early_stopping": False}
    return kind(**given | {"random_state": 0, "n_jobs": 1} | options)


def missing_group(X, places):
    """Return rows without groups, whose score is that of the trees."""
    X = X.copy()
    X[:, places] = np.nan
    return X


def brute_force(model, X, y, weight, new):
    """Return the effects of new groups, a dict for each column, of the highest penalised likelihood."""
    f, theta = model.predict_raw(missing_group(X, list(new))), np.r_[-np.inf, model.thresholds_, np.inf]
    known = model.random_effects_ if isinstance(model.random_effects_, dict) else {3: model.random_effects_}
    for place, effects in known.items():
        value = dict(zip(effects.groups, effects.effects, strict=True))
        f = f + np.array([value.get(group, 0.0) for group in X[:, place]])
    asked = [(place, group) for place, groups in new.items() for group in groups]

    def minus_likelihood(b):
        score = f + sum(of * (X[:, place] == group) for of, (place, group) in zip(b, asked, strict=True))
        proba = expit(theta[y + 1] - score) - expit(theta[y] - score)
        penalty = sum(of**2 / known[place].variance for of, (place, _) in zip(b, asked, strict=True))
        return -weight @ np.log(proba) + penalty / 2

    found = minimize(minus_likelihood, np.zeros(len(asked)), method="BFGS", options={"gtol": 1e-7}).x
    return {place: {g: of for of, (p, g) in zip(found, asked, strict=True) if p == place} for place in new}


@pytest.mark.parametrize("kind", KINDS)
def test_effects_of_new_groups_are_those_of_brute_force(kind, tmp_path):
    X, y, _, group = simulated(12, 0, n_groups=40)
    model = make(kind).fit(X[group < 35], y[group < 35])
    X_new, y_new = X[group > 30], y[group > 30]  # some of known groups among them
    weight = np.random.default_rng(0).uniform(0.5, 3.0, len(y_new))
    before = pickle.dumps(model.random_effects_), model.predict_proba(X_new)
    more = model.with_groups(X_new, y_new, sample_weight=weight)
    expected = brute_force(model, X_new, y_new, weight, {3: range(35, 40)})[3]
    found, known = more.random_effects_, model.random_effects_
    assert found.groups == [*range(40)]
    np.testing.assert_allclose(found.effects[35:], list(expected.values()), atol=1e-5)
    np.testing.assert_array_equal(found.effects[:35], known.effects)
    np.testing.assert_array_equal(found.standard_errors[:35], known.standard_errors)
    assert found.variance == known.variance
    np.testing.assert_array_equal(more.thresholds_, model.thresholds_)
    np.testing.assert_array_equal(more.predict_proba(X[group < 35]), model.predict_proba(X[group < 35]))
    score = model.predict_raw(missing_group(X, 3)) + found.effects[group]
    np.testing.assert_allclose(more.predict_raw(X), score, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(list(more.staged_predict_proba(X_new))[-1], more.predict_proba(X_new), atol=1e-6)
    assert (pickle.dumps(model.random_effects_), model.predict_proba(X_new).tolist()) == (before[0], before[1].tolist())
    more.save_model(tmp_path / "model")
    for other in (kind().load_model(tmp_path / "model"), pickle.loads(pickle.dumps(more))):
        np.testing.assert_array_equal(other.predict_proba(X), more.predict_proba(X))
        np.testing.assert_array_equal(other.random_effects_.standard_errors, found.standard_errors)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("class_weight", [None, {0: 2.0, 3: 0.5}])
def test_a_group_of_the_training_gets_the_same_effect_and_error_again(kind, class_weight):
    """The training's own estimate is the oracle: its rows are given to a model that has forgotten the group."""
    X, y, _, group = simulated(25, 1, n_groups=30)
    model = make(kind, class_weight=class_weight).fit(X, y)
    trained = model.random_effects_
    effects, forgotten = trained.effects.copy(), [3, 17]
    effects[forgotten] = 0.0  # as of a group whose rows had no weight
    errors = trained.standard_errors.copy()
    errors[forgotten] = trained.variance**0.5
    rest = make(kind, class_weight=class_weight).fit(X, y)
    object.__setattr__(rest._effects[0], "effects", effects)
    object.__setattr__(rest._effects[0], "standard_errors", errors)
    of_them = np.isin(group, forgotten)
    again = rest.with_groups(X[of_them], y[of_them]).random_effects_
    np.testing.assert_allclose(again.effects, trained.effects, atol=2e-5)
    # Here the group has no part in the mean that the others' effects have, 1 of 30, nor in the thresholds.
    np.testing.assert_allclose(again.standard_errors, trained.standard_errors, rtol=0.03)


def test_new_groups_of_two_columns_are_estimated_together():
    X, y, _ = crossed(0, n_groups=(12, 8), n=1500)
    known = (X[:, 3] < 9) & (X[:, 4] < 6)
    model = make(random_intercept=[3, 4]).fit(X[known], y[known])
    rows = X[~known], y[~known]
    more = model.with_groups(*rows)
    expected = brute_force(model, *rows, np.ones(len(rows[1])), {3: range(9, 12), 4: range(6, 8)})
    for place, effects in more.random_effects_.items():
        before, of_new = model.random_effects_[place], list(expected[place].values())
        np.testing.assert_allclose(effects.effects[len(before.groups) :], of_new, atol=1e-5)
        np.testing.assert_array_equal(effects.effects[: len(before.groups)], before.effects)
        assert (effects.standard_errors[len(before.groups) :] < before.variance**0.5).all()


def test_standard_errors_are_those_of_the_posterior():
    X, y, _, group = simulated(8, 2, n_groups=40)
    model = make().fit(X[group < 39], y[group < 39])
    new = group == 39
    one = model.with_groups(X[new], y[new]).random_effects_
    f, theta = model.predict_raw(missing_group(X[new], 3)), np.r_[-np.inf, model.thresholds_, np.inf]
    grid = np.linspace(-8, 8, 4001)
    score = f[:, np.newaxis] + grid
    proba = expit(theta[y[new] + 1][:, np.newaxis] - score) - expit(theta[y[new]][:, np.newaxis] - score)
    posterior = np.exp(np.log(proba).sum(axis=0) - grid**2 / (2 * one.variance))
    posterior /= posterior.sum()
    mean = posterior @ grid
    variance = posterior @ (grid - mean) ** 2
    # The known groups have a mean of their own, and the variance is estimated: it moves the mean of the posterior.
    given_variance = variance + (variance / one.variance) ** 2 * one.variance / 39
    moved = variance * one.effects[-1] / one.variance**2 * one.variance_error
    error, share = one.variance_error, variance / one.variance
    beyond = truncnorm.mean(-one.variance / error, np.inf, one.variance, error) - one.variance
    expected = np.sqrt((given_variance + share**2 * beyond + 2 * moved**2) * 38 / 36)
    assert one.standard_errors[-1] == pytest.approx(expected, rel=1e-3)
    assert one.variance_error == model.random_effects_.variance_error
    assert 0 < one.variance_error < one.variance / 2


def test_rows_without_new_groups_and_rows_without_weight_change_nothing():
    X, y, _, group = simulated(12, 3, n_groups=30)
    known = group < 28
    model = make().fit(X[known], y[known])
    same = model.with_groups(X[:50], y[:50]).random_effects_
    assert same.groups == model.random_effects_.groups
    np.testing.assert_array_equal(same.effects, model.random_effects_.effects)
    weight = np.where(group[~known] == 28, 1.0, 0.0)
    more = model.with_groups(X[~known], y[~known], sample_weight=weight)
    only = model.with_groups(X[group == 28], y[group == 28])
    np.testing.assert_allclose(more.predict_proba(X), only.predict_proba(X), atol=1e-9)
    later = only.with_groups(X[group == 29], y[group == 29])
    both = model.with_groups(X[~known], y[~known])
    np.testing.assert_allclose(later.random_effects_.effects, both.random_effects_.effects, atol=1e-5)


def test_what_is_added_to_the_score_is_added_before_the_effects():
    X, y, _, group = simulated(12, 4, n_groups=30)
    model = make(LGBMOrdinalClassifier).fit(X[group < 29], y[group < 29])
    rows = X[group == 29], y[group == 29]
    shifted = model.with_groups(*rows, init_score=np.full(12, 0.7)).random_effects_.effects[-1]
    theta = model.thresholds_.copy()
    model.thresholds_ = theta - 0.7
    assert shifted == pytest.approx(model.with_groups(*rows).random_effects_.effects[-1], abs=1e-5)


def test_a_training_goes_on_with_new_groups():
    X, y, _, group = simulated(12, 5, n_groups=30)
    model = make(warm_start=True).fit(X[group < 25], y[group < 25]).with_groups(X[group >= 25], y[group >= 25])
    before = model.random_effects_
    model.set_params(max_iter=12).fit(X, y)
    assert model.random_effects_.groups == before.groups
    np.testing.assert_allclose(model.random_effects_.effects, before.effects, atol=0.6)


def test_predict_raw_of_a_new_group_is_the_mean_of_a_score_for_each_threshold():
    X, y, _, group = simulated(12, 6, n_groups=20)
    model = make().fit(X[group < 15], y[group < 15])
    new = X[group == 15]
    below = np.cumsum(model.predict_proba(new), axis=1)[:, :-1]
    mean = np.mean(model.thresholds_ - np.log(below / (1 - below)), axis=1)
    np.testing.assert_allclose(model.predict_raw(new), mean, rtol=1e-9)
    more = model.with_groups(new, y[group == 15])
    effect = more.random_effects_.effects[-1]
    np.testing.assert_allclose(more.predict_raw(new), model.predict_raw(missing_group(new, 3)) + effect, rtol=1e-9)
