"""What is drawn is what the model says: curves, cells, areas, losses and sets."""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from makers import ALL, make_engine, make_xgb, watching
from ordinal_objectives import OrdinalDistributionRegressor, OrdinalLabels, OrdinalPredictionSets
from ordinal_objectives.decisions import cumulative_reliability
from ordinal_objectives.inspection import feature_effect, partial_probabilities
from ordinal_objectives.plotting import (
    ClassProbabilitiesDisplay,
    CumulativeReliabilityDisplay,
    DistributionFanDisplay,
    OrdinalConfusionDisplay,
    PITDisplay,
    PredictionSetsDisplay,
    RatersSpreadDisplay,
    TrainingDisplay,
)
from ordinal_objectives.plotting.style import class_colors

matplotlib.use("Agg")

NAMES = np.array(["low", "middle", "high"])
RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
CODES = np.digitize(X[:, 0] + RNG.logistic(size=300), [-1.0, 1.0])


@pytest.fixture(scope="module")
def model():
    return make_xgb(classes=NAMES).fit(X[:200], NAMES[CODES[:200]], eval_set=[(X[200:], NAMES[CODES[200:]])])


def texts(ax):
    return [label.get_text() for label in ax]


def test_reliability_curves_are_those_of_the_function(model):
    display = CumulativeReliabilityDisplay.from_estimator(model, X, NAMES[CODES], n_bins=5)
    found = cumulative_reliability(CODES, model.predict_proba_ordered(X), n_bins=5)
    _, *curves = display.ax_.lines
    drawn = found.count >= 10
    assert (drawn.sum(axis=1) > 2).all()
    for curve, is_drawn, stated, happened, color in zip(
        curves, drawn, found.stated, found.happened, class_colors(2), strict=True
    ):
        np.testing.assert_array_equal(curve.get_xdata(), stated[is_drawn])
        np.testing.assert_array_equal(curve.get_ydata(), happened[is_drawn])
        assert to_rgba(curve.get_color()) == tuple(color)
    bars: Any = display.counts_ax_.patches
    assert [bar.get_height() for bar in bars] == found.count.sum(axis=0).tolist()
    bar = display.figure_.axes[-1]
    assert texts(bar.get_yticklabels()) == ["low | middle", "middle | high"]


def test_confusion_is_in_the_order_of_the_classes(model):
    weight = RNG.uniform(size=300)
    display = OrdinalConfusionDisplay.from_estimator(model, X, NAMES[CODES], sample_weight=weight)
    expected = confusion_matrix(NAMES[CODES], model.predict(X), labels=NAMES, sample_weight=weight)
    np.testing.assert_allclose(display.matrix, expected)
    assert texts(display.ax_.get_xticklabels()) == texts(display.ax_.get_yticklabels()) == NAMES.tolist()
    shares = display.ax_.images[0].get_array()
    np.testing.assert_allclose(shares, expected / expected.sum(axis=1, keepdims=True))
    cells = {(t.get_position(), t.get_text()) for t in display.ax_.texts}
    assert ((1, 0), f"{expected[0, 1]:.4g}") in cells
    error = np.average(np.abs(CODES - model.encode_labels(model.predict(X))), weights=weight)
    far = weight[np.abs(CODES - model.encode_labels(model.predict(X))) > 1].sum() / weight.sum()
    assert far > 0.005
    assert display.ax_.get_title() == f"mean absolute error {error:.3g}\n{1 - far:.0%} within one class"


def test_confusion_takes_labels_and_classes_without_rows():
    display = OrdinalConfusionDisplay.from_predictions(["b", "c"], ["b", "a"], labels=["a", "b", "c"])
    np.testing.assert_array_equal(display.matrix, [[0, 0, 0], [0, 1, 0], [1, 0, 0]])
    np.testing.assert_array_equal(display.ax_.images[0].get_array(), display.matrix)  # one row is all of its class
    assert OrdinalConfusionDisplay.from_predictions([0, 3], [1, 0]).matrix.shape == (4, 4)


@ALL
def test_probabilities_along_a_feature_are_means_over_rows(make):
    fitted = make().fit(X, CODES)
    values, proba = partial_probabilities(fitted, X, 1, grid_resolution=7)
    for value, of_value in zip(values, proba, strict=True):
        changed = X.copy()
        changed[:, 1] = value
        np.testing.assert_allclose(of_value, fitted.predict_proba(changed).mean(axis=0), atol=1e-7)
    np.testing.assert_array_equal(values, feature_effect(fitted, X, 1, grid_resolution=7).values)
    display = ClassProbabilitiesDisplay.from_estimator(fitted, X, 1, grid_resolution=7)
    np.testing.assert_allclose(display.proba, proba)
    assert display.ax_.get_xlabel() == "feature 1"
    colors = [tuple(area.get_facecolor()[0]) for area in display.ax_.collections]
    assert colors == [tuple(color) for color in class_colors(3)]


def test_probabilities_along_the_score_and_of_categories():
    frame = pd.DataFrame({"x": X[:, 0], "site": pd.Categorical(RNG.choice(["west", "east"], 300))})
    fitted = make_xgb().fit(frame, CODES)
    display = ClassProbabilitiesDisplay.from_estimator(fitted, frame, grid_resolution=10)
    scores, proba = fitted.predict_raw(frame), fitted.predict_proba(frame)
    lowest = np.argsort(scores, kind="stable")[:30]
    np.testing.assert_allclose(display.proba[0], proba[lowest].mean(axis=0))
    assert display.values[0] == pytest.approx(scores[lowest].mean())
    bars = ClassProbabilitiesDisplay.from_estimator(fitted, frame, "site")
    assert texts(bars.ax_.get_xticklabels()) == ["east", "west"]
    last: Any = bars.ax_.patches[-2:]
    tops = [bar.get_y() + bar.get_height() for bar in last]
    assert tops == pytest.approx([1.0, 1.0])


@ALL
def test_training_curves_are_those_of_the_records(make):
    fitted = make_pipeline(StandardScaler(), make())
    fitted.fit(X[:200], CODES[:200])
    assert len(TrainingDisplay.from_estimator(fitted).losses) == 1
    fitted = make().fit(X[:200], CODES[:200], **watching(make(), X[200:], CODES[200:]))
    display = TrainingDisplay.from_estimator(fitted)
    training, watched = display.axes_[0].lines[:2]
    np.testing.assert_array_equal(training.get_ydata(), fitted.training_loss_)
    recorded = list(fitted.evals_result_.values())[-1]
    recorded = [np.nan, *next(iter(recorded.values()))] if isinstance(recorded, dict) else recorded
    np.testing.assert_array_equal(watched.get_ydata(), recorded)
    paths = np.array([line.get_ydata() for line in display.axes_[1].lines]).T
    np.testing.assert_array_equal(paths, fitted.threshold_history_)
    np.testing.assert_array_equal(paths[fitted.n_iter_], fitted.thresholds_)


def test_an_early_stop_is_marked():
    fitted = make_engine(max_iter=60, learning_rate=0.5).fit(X[:200], CODES[:200], X_val=X[200:], y_val=CODES[200:])
    display = TrainingDisplay.from_estimator(fitted)
    (mark,) = display.axes_[0].texts
    assert mark.get_text() == f" kept: {fitted.n_iter_}"


def test_sets_are_counted_by_true_class():
    sets = OrdinalPredictionSets(LogisticRegression(), alpha=0.2, classes=NAMES, random_state=0)
    sets.fit(X[:200], NAMES[CODES[:200]])
    display = PredictionSetsDisplay.from_estimator(sets, X[200:], NAMES[CODES[200:]])
    held, codes = sets.predict_set(X[200:]), CODES[200:]
    shares = np.array([held[codes == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(display.ax_.images[0].get_array(), shares)
    covered, size = held[np.arange(100), codes].mean(), held.sum(axis=1).mean()
    assert display.ax_.get_title() == f"coverage {covered:.0%}; mean size {size:.3g}"
    assert texts(display.ax_.get_yticklabels())[0] == f"low ({held[codes == 0].sum(axis=1).mean():.1f} classes)"
    none = PredictionSetsDisplay([0, 0], [[True, False], [True, True]]).plot()
    assert texts(none.ax_.get_yticklabels())[1] == "1 (no rows)"


def test_raters_answers_stand_beside_the_probabilities_of_the_same_rows(model):
    counts = np.eye(3)[CODES] + RNG.integers(0, 2, (300, 3))
    counts[::7] = 0.0  # nobody has rated these
    labels = OrdinalLabels.from_counts(counts, classes=NAMES, unlabelled="ignore")
    display = RatersSpreadDisplay.from_estimator(model, X, labels, n_columns=10)
    proba = model.predict_proba_ordered(X)
    known = np.flatnonzero(counts.sum(axis=1))
    rows = np.array_split(known[np.argsort(proba[known] @ np.arange(3), kind="stable")], 10)
    np.testing.assert_allclose(display.raters, [counts[some].sum(axis=0) / counts[some].sum() for some in rows])
    weight = counts.sum(axis=1)
    np.testing.assert_allclose(display.model, [np.average(proba[some], axis=0, weights=weight[some]) for some in rows])
    for ax, shares in zip(display.axes_, (display.raters, display.model), strict=True):
        bars: Any = ax.patches
        np.testing.assert_allclose([bar.get_height() for bar in bars], shares.T.ravel())
        assert [to_rgba(bar.get_facecolor()) for bar in bars[::10]] == [tuple(color) for color in class_colors(3)]
        centred = np.sqrt([np.average((np.arange(3) - s @ np.arange(3)) ** 2, weights=s) for s in shares])
        assert ax.get_title().endswith(f"standard deviation {centred.mean():.2f} classes")
    assert [ax.get_ylabel() for ax in display.axes_] == ["share", ""]
    assert texts(display.figure_.axes[-1].get_yticklabels()) == NAMES.tolist()
    alone = RatersSpreadDisplay(labels[known[:4]], proba[known[:4]], class_names="abc").plot(display.axes_)
    assert len(alone.raters) == 4
    between = OrdinalLabels.from_intervals([NAMES[0]] * 2, [NAMES[1], None], classes=NAMES)
    with pytest.raises(TypeError, match=r"^labels must be .*no intervals"):
        RatersSpreadDisplay(between, proba)
    with pytest.raises(ValueError, match=r"proba must have shape \(300, .*got \(5, 3\)"):
        RatersSpreadDisplay(labels, proba[:5])


@pytest.fixture(scope="module")
def distribution():
    y = np.round(X[:, 0] + RNG.normal(size=300), 1)
    return OrdinalDistributionRegressor(make_engine(max_iter=10)).fit(X[:200], y[:200]), y


def test_fans_have_the_quantiles_of_mean_distributions(distribution):
    model, _ = distribution
    display = DistributionFanDisplay.from_estimator(model, X, 0, grid_resolution=4)
    t = model.target_.values
    for value, quantiles in zip(display.values, display.quantiles, strict=True):
        mean = model.predict_cdf(np.column_stack([np.full(300, value), X[:, 1:]]), t).mean(axis=0)
        np.testing.assert_array_equal(quantiles, [t[np.argmax(mean >= q - 1e-12)] for q in display.levels])
    assert len(np.unique(display.quantiles[:, 4])) > 1
    assert display.ax_.get_xlabel() == "feature 0"
    np.testing.assert_array_equal(display.ax_.lines[0].get_ydata(), display.quantiles[:, len(display.levels) // 2])


def test_probability_integral_transforms_are_spread_between_their_ends(distribution):
    model, y = distribution
    display = PITDisplay.from_estimator(model, X[200:], y[200:], n_bins=4)
    ends = model.pit(X[200:], y[200:])
    assert (ends[:, 0] < ends[:, 1]).any()
    edges, expected = np.linspace(0.0, 1.0, 5), np.zeros(4)
    for low, high in ends:
        for i in range(4):
            width = min(high, edges[i + 1]) - max(low, edges[i])
            if low == high:
                expected[i] += edges[i] < low <= edges[i + 1] or low == edges[i] == 0.0
            else:
                expected[i] += max(width, 0.0) / (high - low)
    np.testing.assert_allclose(display.heights_, expected / 100 * 4)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="class_names must hold 3 names; got 2"):
        CumulativeReliabilityDisplay.from_predictions([0, 1, 2], np.full((3, 3), 1 / 3), class_names=["a", "b"])
    with pytest.raises(ValueError, match=r"thresholds must have shape \(n_rounds \+ 1, n_classes - 1\); got \(2,\)"):
        TrainingDisplay({"training": [1.0, 0.5]}, [0.0, 1.0])
