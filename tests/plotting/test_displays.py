"""Pictures tell what the model does: regions, predicted classes, categories; pipelines and searches are taken."""

from __future__ import annotations

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from matplotlib.colors import to_rgba
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from makers import ALL, MAKERS
from ordinal_objectives import XGBOrdinalClassifier
from ordinal_objectives.inspection import feature_effect, threshold_importances
from ordinal_objectives.plotting import FeatureEffectDisplay, ScoreDistributionDisplay

matplotlib.use("Agg")


@pytest.fixture
def data(ordinal_data):
    return ordinal_data(300, 5)


def points(display):
    """Return score and colour of every point that is drawn for a row."""
    lines = [line for line in display.ax_.lines if line.get_marker() == "."]
    return [(x, to_rgba(line.get_color())) for line in lines for x in line.get_xdata()]


@ALL
@pytest.mark.parametrize("rule", ["median", "mode"])
def test_a_picture_never_shows_a_class_that_is_not_predicted(make, rule, data):
    X, y = data
    for proportional in (True, False):
        model = make(proportional=proportional, decision_rule=rule).fit(X, y)
        display = ScoreDistributionDisplay.from_estimator(model, X, y)
        predicted, scores = model.predict(X), model.predict_raw(X)
        outside = np.searchsorted(np.sort(model.thresholds_), scores) != predicted
        assert display.n_outside_ == outside.sum()
        assert len(display.ax_.patches) == (0 if outside.any() else 5)  # tinted regions
        caption = display.ax_.get_xlabel()
        assert (f"for {outside.sum()} of 300 rows not the one between" in caption) == bool(outside.any())
        colors = plt.get_cmap("viridis")(np.linspace(0.1, 0.85, 5))
        drawn = sorted((x, int(np.abs(colors - color).sum(axis=1).argmin())) for x, color in points(display))
        assert drawn == sorted(zip(scores, predicted, strict=True))
        assert display.figure_.axes[-1].get_ylabel() == "predicted class"


def test_pipelines_and_searches_give_what_their_steps_give(data):
    (X, y), make = data, MAKERS["histogram"]
    frame = pd.DataFrame(10.0 * X + 3.0, columns=list("abcdef")[: X.shape[1]])
    pipeline = make_pipeline(StandardScaler(), make()).fit(frame, y)
    search = GridSearchCV(Pipeline([("scale", StandardScaler()), ("model", make())]), {"model__shift_l2": [10.0]}, cv=2)
    search.fit(frame, y)
    for fitted in (pipeline, search):
        inner = pipeline if fitted is pipeline else search.best_estimator_
        scaled, model = inner[:-1].transform(frame), inner[-1]
        display = ScoreDistributionDisplay.from_estimator(fitted, frame, y)
        np.testing.assert_array_equal(display.raw_prediction, model.predict_raw(scaled))
        found = threshold_importances(fitted, frame, n_repeats=1, random_state=0)
        expected = threshold_importances(model, scaled, n_repeats=1, random_state=0)
        np.testing.assert_allclose(found.importances, expected.importances, rtol=1e-6)
        effect, direct = feature_effect(fitted, frame, "b"), feature_effect(model, scaled, 1)
        np.testing.assert_allclose(effect.score, direct.score, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(
            effect.values, np.sort(frame["b"])[np.searchsorted(np.sort(frame["b"]), effect.values)]
        )
        assert FeatureEffectDisplay.from_estimator(fitted, frame, 1).feature_name == "b"


PLANS = ["pro", "basic", "plus"]


def with_plan(data):
    X, y = data
    plan = np.array(PLANS)[np.random.default_rng(0).integers(0, 3, len(y))]
    return X[:, 0], plan, np.clip(y + (plan == "pro"), 0, 4)


KINDS = {
    "pandas": lambda x, plan: pd.DataFrame({"x": x, "plan": pd.Categorical(plan, [*PLANS, "none"])}),
    "polars": lambda x, plan: polars.DataFrame({"x": x, "plan": polars.Series(plan, dtype=polars.Enum(PLANS))}),
    "arrow": lambda x, plan: pyarrow.table({"x": x, "plan": pyarrow.array(plan).dictionary_encode()}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_effects_of_categories_are_means_over_the_rows(kind, data):
    x, plan, y = with_plan(data)
    frame = KINDS[kind](x, plan)
    model = XGBOrdinalClassifier(n_estimators=10, n_jobs=1).fit(frame, y)
    effect = feature_effect(model, frame, "plan")
    assert sorted(effect.values) == sorted(PLANS)
    if kind == "pandas":
        assert effect.values.tolist() == PLANS  # their own order, without the level that no row has
    for i, label in enumerate(effect.values):
        changed = KINDS[kind](x, np.where(np.arange(len(x)) < 3, plan, label))  # the first rows keep all categories
        scores = (model.thresholds_ - model.predict_linear_predictors(changed))[3:]
        assert abs(effect.score[i] - scores.mean()) < 0.05
    assert effect.score[effect.values.tolist().index("pro")] == effect.score.max()
    display = FeatureEffectDisplay.from_estimator(model, frame, "plan")
    left, right = display.axes_
    assert [bar.get_height() for bar in left.patches] == pytest.approx(effect.score.tolist())
    assert [label.get_text() for label in left.get_xticklabels()] == effect.values.tolist()
    assert len(right.lines) == 5
