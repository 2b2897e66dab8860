"""Accumulated local effects: of added effects, of features that depend on each other, by a loop."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from makers import ALL, make_engine
from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.inspection import accumulated_local_effects, feature_effect


class Model:
    """Margins theta_k - b_k(x), with a probability of each class."""

    thresholds_ = np.array([-1.0, 1.0])

    def __init__(self, effects):
        self.effects = effects

    def predict_linear_predictors(self, X):
        return self.thresholds_ - self.effects(np.asarray(X, dtype=float))

    def predict_proba_ordered(self, X):
        below = np.sort(1 / (1 + np.exp(-self.predict_linear_predictors(X))), axis=1)
        return np.diff(np.c_[np.zeros(len(below)), below, np.ones(len(below))], axis=1)


def added(X):
    return np.c_[np.sin(X[:, 0]) + X[:, 1] ** 2, 2 * X[:, 0] + X[:, 1] ** 2]


def multiplied(X):
    return np.repeat((X[:, 0] * X[:, 1])[:, None], 2, axis=1)


@pytest.fixture(scope="module")
def together():
    """Two features that are almost the same."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 4000)
    return np.c_[x, x + 0.05 * rng.normal(size=4000)]


def test_added_effects_are_found_up_to_their_mean():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    found = accumulated_local_effects(Model(added), X, 0, grid_resolution=50)
    z = found.values
    effects = np.c_[np.sin(z), 2 * z]
    for one, expected in ((found.score, effects.mean(axis=1)), (found.shifts, effects - effects.mean(axis=1)[:, None])):
        np.testing.assert_allclose(one - one[0], expected - expected[0], atol=1e-12)
    rows = np.interp(X[:, 0], z, found.score)
    assert abs(rows.mean()) < 0.01  # straight within an interval, where the mean of its ends is taken


def test_features_that_depend_on_each_other_are_not_pulled_apart(together):
    """Of x0 x1 with x0 = x1, the slope along x0 is x1 = x0: the effect is x0^2/2. Partial dependence sees x0 E(x1)."""
    found = accumulated_local_effects(Model(multiplied), together, 0, grid_resolution=40)
    np.testing.assert_allclose(found.score, found.values**2 / 2 - 1 / 6, atol=0.01)
    partial = feature_effect(Model(multiplied), together, 0)
    assert np.abs(partial.score - partial.score.mean()).max() < 0.03 < 0.3 < np.ptp(found.score)


def test_a_feature_without_an_effect_of_its_own_has_none(together):
    found = accumulated_local_effects(Model(lambda X: np.repeat(X[:, [1]], 2, axis=1)), together, 0)
    np.testing.assert_array_equal(found.score, 0.0)


@pytest.mark.parametrize("resolution", [1, 3, 7])
def test_it_is_the_sum_of_mean_changes(resolution):
    """Row after row, interval after interval; with ties and missing values."""
    rng = np.random.default_rng(1)
    X = np.c_[rng.integers(0, 6, 80) / 2.0, rng.normal(size=80)]
    model = Model(lambda X: np.c_[X[:, 0] * X[:, 1], X[:, 0] ** 2])
    with_missing = np.r_[X, [[np.nan, 1.0], [np.inf, 1.0]]]
    found = accumulated_local_effects(model, with_missing, 0, grid_resolution=resolution)
    edges, effect, means = found.values, [np.zeros(3)], []
    assert edges[0] == X[:, 0].min()
    assert edges[-1] == X[:, 0].max()
    assert np.isin(edges, X[:, 0]).all()
    for low, high in pairwise(edges):
        inside = [x for x in X if low < x[0] <= high or (low == edges[0] == x[0])]
        changes = [
            model.predict_proba_ordered([[high, x[1]]])[0] - model.predict_proba_ordered([[low, x[1]]])[0]
            for x in inside
        ]
        effect.append(effect[-1] + np.mean(changes, axis=0))
        means += [(effect[-1] + effect[-2]) / 2] * len(inside)
    np.testing.assert_allclose(found.proba, np.array(effect) - np.mean(means, axis=0), atol=1e-12)
    np.testing.assert_allclose(found.proba.sum(axis=1), 0.0, atol=1e-12)


@ALL
def test_every_classifier_has_them(make, ordinal_data):
    X, y = ordinal_data(300, 4)
    frame, before = pd.DataFrame(X).add_prefix("x"), X.copy()
    model = make(proportional=False).fit(frame, y)
    found = accumulated_local_effects(model, frame, "x0", grid_resolution=10)
    assert found.values.shape == found.score.shape == (11,)
    np.testing.assert_allclose(found.shifts.sum(axis=1), 0.0, atol=1e-12)
    assert np.ptp(found.score) > 0.3
    np.testing.assert_array_equal(X, before)


def test_a_pipeline_is_given_its_own_features(ordinal_data):
    X, y = ordinal_data(200, 3)
    scaled = make_pipeline(StandardScaler(), make_engine(max_iter=4)).fit(X, y)
    found = accumulated_local_effects(scaled, X, 0)
    expected = accumulated_local_effects(scaled[-1], scaled[0].transform(X), 0)
    np.testing.assert_allclose(found.score, expected.score, atol=1e-12)
    np.testing.assert_allclose(
        scaled[0].transform(np.c_[found.values, np.zeros((21, X.shape[1] - 1))])[:, 0], expected.values
    )


def test_categories_are_refused_by_name():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"site": pd.Categorical(rng.choice(["n", "s"], 60)), "x": rng.normal(size=60)})
    y = rng.integers(0, 3, 60)
    engine = HistGradientBoostingOrdinalClassifier(max_iter=2, categorical_features="from_dtype").fit(frame, y)
    with pytest.raises(ValueError, match=r"feature 'site' must hold numbers: .* it holds categories"):
        accumulated_local_effects(engine, frame, "site")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"feature": 2}, ValueError, r"feature must be a column from 0 to 1; got 2"),
        ({"grid_resolution": 0}, ValueError, r"grid_resolution must be an integer at least 1; got 0"),
        ({"grid_resolution": 2.0}, TypeError, r"grid_resolution must be an integer at least 1; got 2.0"),
        ({"X": np.ones((5, 2))}, ValueError, r"feature 0 must have at least two finite values in X; it has 1"),
        ({"estimator": object()}, TypeError, r"estimator must be a classifier of ordinal_objectives"),
    ],
)
def test_what_cannot_be_used_is_named(options, error, message):
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(error, match=message):
        accumulated_local_effects(**{"estimator": Model(added), "X": X, "feature": 0, **options})
