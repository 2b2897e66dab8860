"""Reading a model whose thresholds may move with x: shifts, margins, importances, effects, the display."""

from __future__ import annotations

import pickle

import matplotlib
import numpy as np
import pandas as pd
import pytest

from makers import ALL
from ordinal_objectives import XGBOrdinalClassifier
from ordinal_objectives.inspection import (
    feature_effect,
    threshold_importances,
)
from ordinal_objectives.plotting import FeatureEffectDisplay

matplotlib.use("Agg")

THETA = np.array([-2.0, 0.0, 2.0])


@pytest.fixture(scope="module")
def data():
    """x0 moves all thresholds, x1 the lowest alone, x2 none."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    margins = THETA - X[:, [0]] - np.array([1.8, 0.0, 0.0]) * np.tanh(X[:, [1]])
    return X, (rng.logistic(size=(1500, 1)) > margins).sum(axis=1)


class Additive:
    """Margins theta - X B: what a fitted model answers, its effects known."""

    thresholds_ = np.array([-1.0, 1.0])
    effects = np.array([[2.0, 2.0], [3.0, -1.0], [0.0, 0.0]])

    def predict_linear_predictors(self, X):
        return self.thresholds_ - np.asarray(X) @ self.effects


# Shifts and margins


@ALL
@pytest.mark.parametrize("loss", ["all_threshold", "immediate_threshold"])
def test_score_and_shifts_make_the_margins_and_these_the_probabilities(make, loss, data):
    X, y = data
    weight = np.random.default_rng(1).gamma(2.0, size=len(y))
    model = make(proportional=False, shift_l2=1.0, loss=loss).fit(X, y, sample_weight=weight)
    shifts, margins = model.predict_shifts(X), model.predict_linear_predictors(X)
    assert shifts.shape == margins.shape == (1500, 3)
    assert np.abs(shifts).max() > 0.3
    np.testing.assert_allclose(shifts.sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.average(shifts, axis=0, weights=weight), 0.0, atol=1e-5)
    np.testing.assert_allclose(margins, model.thresholds_ - model.predict_raw(X)[:, None] - shifts, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X), model._fitted_loss.margin_proba(margins))


@ALL
@pytest.mark.parametrize("loss", ["all_threshold", "cumulative_link"])
def test_a_proportional_model_has_no_shifts(make, loss, data):
    X, y = data
    model = make(loss=loss, proportional=True).fit(X, y)
    np.testing.assert_array_equal(model.predict_shifts(X), np.zeros((1500, 3)))
    np.testing.assert_array_equal(model.predict_linear_predictors(X), model.thresholds_ - model.predict_raw(X)[:, None])
    np.testing.assert_allclose(1 / (1 + np.exp(-model.predict_linear_predictors(X))), model.predict_cumulative_proba(X))


# Importances


def test_importances_are_those_worked_by_hand():
    """Two rows can only change places: a feature with the values 0 and d moves threshold k by d b_k, root half."""
    found = threshold_importances(Additive(), np.array([[0.0, 0.0, 5.0], [2.0, 1.0, 7.0]]), n_repeats=3)
    np.testing.assert_allclose(found.importances, np.sqrt(0.5) * np.array([[4.0, 4.0], [3.0, 1.0], [0.0, 0.0]]))
    # The second feature moves the score by (3 - 1)/2 = 1 and the shifts by 2 and -2.
    np.testing.assert_allclose(found.shift_share, [0.0, 4.0 / 5.0, 0.0])


def test_importances_of_added_effects_are_their_standard_deviations():
    X = np.random.default_rng(0).normal(size=(400, 3)) * [1.0, 0.5, 1.0]
    found = threshold_importances(Additive(), X, n_repeats=400, random_state=0)
    np.testing.assert_allclose(found.importances, np.abs(Additive.effects) * X.std(axis=0, ddof=1)[:, None], rtol=0.01)
    again = threshold_importances(Additive(), X, n_repeats=400, random_state=0)
    np.testing.assert_array_equal(again.importances, found.importances)


@ALL
def test_importances_see_which_threshold_a_feature_moves(make, data):
    X, y = data
    model = make(proportional=False).fit(X, y)
    importances, share = threshold_importances(model, X, n_repeats=2, random_state=0)
    assert importances[1].argmax() == 0
    assert importances[1, 0] > 2.5 * importances[1, 1:].max()
    assert importances[0].min() > 0.75 * importances[0].max()
    assert share[0] < 0.1 < 0.3 < share[1]


def test_importances_become_a_frame_with_names(data):
    X, codes = data
    names = ["bad", "fair", "good", "great"]
    frame = pd.DataFrame(X, columns=["age", "income", "noise"])
    model = XGBOrdinalClassifier(n_estimators=4, max_depth=2, classes=names, proportional=False, n_jobs=1)
    found = threshold_importances(model.fit(frame, np.array(names)[codes]), frame, n_repeats=1, random_state=0)
    table = found.to_frame()
    assert table.columns.tolist() == ["<= bad", "<= fair", "<= good", "shift_share"]
    assert table.index.tolist() == ["age", "income", "noise"]
    importances, shift_share = found
    np.testing.assert_array_equal(table.to_numpy(), np.c_[importances, shift_share])
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(found)).to_frame(), table)


# The effect of one feature


def test_effect_is_the_mean_over_the_rows():
    X = np.random.default_rng(0).normal(size=(50, 3))
    values, score, shifts = feature_effect(Additive(), X, 1, grid_resolution=50)
    np.testing.assert_array_equal(values, np.sort(X[:, 1]))
    np.testing.assert_allclose(score, values * 1.0 + 2.0 * X[:, 0].mean())
    np.testing.assert_allclose(shifts, np.outer(values, [2.0, -2.0]), atol=1e-12)


def test_effect_takes_values_of_the_rows_between_the_percentiles():
    X = np.zeros((1000, 3))
    X[:, 0] = np.random.default_rng(0).permutation(np.r_[np.full(10, np.nan), np.inf, np.arange(989)])
    values = feature_effect(Additive(), np.nan_to_num(X, posinf=1e9), 0, grid_resolution=9).values
    assert len(values) == 9
    assert np.isin(values, X[:, 0]).all()

    class Missing(Additive):
        def predict_linear_predictors(self, X):
            return super().predict_linear_predictors(np.nan_to_num(X, posinf=0.0))

    values = feature_effect(Missing(), X, 0, grid_resolution=9).values
    np.testing.assert_allclose(values, np.linspace(49.4, 938.6, 9), atol=0.5)


def test_a_single_category_has_an_effect():
    class Constant(Additive):
        def predict_linear_predictors(self, X):
            return np.tile([-1.0, 1.0], (len(X), 1))

    assert feature_effect(Constant(), pd.DataFrame({"a": ["x"] * 5}), 0).values.tolist() == ["x"]


@pytest.mark.parametrize(
    ("feature", "options", "message"),
    [
        (3, {}, r"feature must be a column from 0 to 2; got 3"),
        (-1, {}, r"feature must be a column from 0 to 2; got -1"),
        ("x", {}, r"feature must be a column from 0 to 2; got 'x'"),
        (0, {"grid_resolution": 1}, "grid_resolution must be an integer at least 2; got 1"),
        (2, {}, r"feature must hold a finite number in X; it holds none"),
    ],
)
def test_effect_refuses_what_it_cannot_use(feature, options, message):
    X = np.random.default_rng(0).normal(size=(20, 3))
    X[:, 2] = np.nan
    with pytest.raises(ValueError, match=message):
        feature_effect(Additive(), X, feature, **options)


# The display


def test_display_draws_the_score_and_a_line_for_each_threshold(data):
    X, codes = data
    names = ["bad", "fair", "good", "great"]
    frame = pd.DataFrame(X, columns=["age", "income", "noise"])
    model = XGBOrdinalClassifier(n_estimators=15, classes=names, proportional=False, n_jobs=1)
    model.fit(frame, np.array(names)[codes])
    display = FeatureEffectDisplay.from_estimator(model, frame, 1, grid_resolution=12)
    left, right = display.axes_
    expected = feature_effect(model, frame, "income", grid_resolution=12)
    np.testing.assert_array_equal(left.lines[0].get_xydata(), np.c_[expected.values, expected.score])
    drawn = np.array([line.get_ydata() for line in right.lines[:3]])
    np.testing.assert_array_equal(drawn, expected.shifts.T)
    assert left.get_ylim() == right.get_ylim()
    assert left.get_ylabel().startswith("partial dependence")
    assert left.get_xlabel() == right.get_xlabel() == "income"
    assert display.threshold_names == ["bad | fair", "fair | good", "good | great"]
    bar = display.figure_.axes[-1]
    assert [label.get_text() for label in bar.get_yticklabels()] == display.threshold_names
    lightness = [matplotlib.colors.to_rgb(line.get_color()) @ np.array([0.3, 0.6, 0.1]) for line in right.lines[:3]]
    assert lightness == sorted(lightness)
