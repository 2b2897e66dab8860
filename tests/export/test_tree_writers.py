"""Trees that are written for LightGBM, XGBoost and treelite: on the cuts, with every loss, and of every trainer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from exported import CATEGORIES, assert_same, lightgbm_scores, mixed_rows, proba, rows_on_cuts, train, xgboost_scores
from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.export import to_treelite
from ordinal_objectives.export.model import scoring_model

treelite = pytest.importorskip("treelite", minversion="4.8")

TRAINERS = pytest.mark.parametrize("trainer", ["engine", "lightgbm", "xgboost"])
TOLERANCE = 1e-6


def written(model: Any, X: np.ndarray, iterations: int | None = None) -> np.ndarray:
    """Return the scores of rows, with codes of categories, by the library that explains the model's trees."""
    scorer = scoring_model(model, iterations).scorer
    return (xgboost_scores if scorer.reads_float32 else lightgbm_scores)(scorer, X)


@st.composite
def engine_models(draw: Any) -> tuple[Any, np.ndarray, int, np.random.Generator]:
    """Draw a model of the engine, its rows, a number of iterations, and a source of random numbers."""
    n_classes, seed = draw(st.integers(2, 30)), draw(st.integers(0, 1000))
    loss = draw(st.sampled_from(["all_threshold", "cumulative_link", "immediate_threshold", "cost_weighted"]))
    params: dict[str, Any] = {"loss": loss, "link": draw(st.sampled_from(["logit", "probit", "cloglog", "loglog"]))}
    if loss == "cost_weighted":
        params |= {"loss": "all_threshold", "training_cost": "quadratic"}
    params["proportional"] = loss == "cumulative_link" or draw(st.booleans())
    if loss == "all_threshold" and params["link"] == "logit" and params["proportional"] and draw(st.booleans()):
        params["order"] = 3
    rng = np.random.default_rng(seed)
    X, y = mixed_rows(max(40, 2 * n_classes), n_classes, seed)
    offset = draw(st.sampled_from([0.0, 1e6, -1e6]))
    scale = 1.0 if offset else draw(st.sampled_from([1.0, 1e-30, 1e-42, 1e30]))
    X[:, :CATEGORIES] = offset + scale * X[:, :CATEGORIES]
    categories = draw(st.booleans())
    max_iter = draw(st.integers(1, 4))
    model = train("engine", X, y, categories=categories, max_iter=max_iter, random_state=seed, **params)
    return model, X, draw(st.integers(1, model.n_iter_)), rng


@given(engine_models())
@settings(max_examples=60)
def test_engine_models_find_the_same_leaves_on_the_cuts(drawn):
    model, X, iterations, rng = drawn
    rows = rows_on_cuts(model, X, rng)
    expected = proba(model, model._scorer(model._check_features(rows, reset=False))(0, iterations), iterations)
    if np.nanmax(np.abs(X[:, :CATEGORIES])) > 1e-35:  # smaller ones are zeros to LightGBM
        assert_same(proba(model, written(model, rows, iterations), iterations), expected, 1e-12)
    scores = treelite.gtil.predict(to_treelite(model, iterations=iterations), rows)
    assert_same(proba(model, scores, iterations), expected, 1e-12)


@TRAINERS
@pytest.mark.parametrize("categories", [True, False])
@pytest.mark.parametrize("proportional", [True, False])
def test_trees_of_each_trainer(trainer, proportional, categories):
    X, y = mixed_rows()
    model = train(trainer, X, y, proportional=proportional, categories=categories)
    rows = rows_on_cuts(model, X, np.random.default_rng(0)).astype(np.float32)
    for t, expected in enumerate(model.staged_predict_proba(rows), 1):
        assert_same(proba(model, written(model, rows, t), t), expected, TOLERANCE)
    assert_same(proba(model, written(model, rows)), model.predict_proba_ordered(rows), TOLERANCE)


DART = {"booster": "dart", "rate_drop": 0.5}
TREES = {"num_parallel_tree": 3, "colsample_bynode": 0.5}


@pytest.mark.parametrize(
    ("trainer", "params"),
    [("xgboost", TREES), ("xgboost", DART), ("xgboost", DART | TREES), ("engine", {"boosting_type": "rf"})],
)
def test_dart_and_forests(trainer, params):
    X, y = mixed_rows()
    model = train(trainer, X, y, categories=trainer == "engine", proportional=True, **params)
    expected = model.predict_proba_ordered(X)
    exact = 1e-12 if trainer == "engine" else TOLERANCE
    assert_same(proba(model, treelite.gtil.predict(to_treelite(model), X)), expected, exact)
    assert_same(proba(model, written(model, X)), expected, exact)
    if trainer == "engine":
        with pytest.raises(ValueError, match="a random forest has no stages"):
            to_treelite(model, iterations=2)


@TRAINERS
@pytest.mark.parametrize("proportional", [True, False])
def test_a_hundred_trees_in_float32(trainer, proportional):
    X, y = mixed_rows(300, 12)
    X = X.astype(np.float32).astype(np.float64)
    n_trees = {"max_iter" if trainer == "engine" else "n_estimators": 100}
    model = train(trainer, X, y, categories=False, proportional=proportional, **n_trees)
    expected = model.predict_proba_ordered(X)
    tolerance = 2e-6 if trainer == "xgboost" else 1e-12
    assert_same(proba(model, treelite.gtil.predict(to_treelite(model), X)), expected, tolerance)
    assert_same(proba(model, written(model, X)), expected, tolerance)


@pytest.mark.parametrize("iterations", [6, 3, 0])
def test_shifts_that_xgboost_fits_itself(iterations):
    X, y = mixed_rows()
    model = train("xgboost", X, y, categories=False, proportional=False, shift_method="host", tree_method="hist")
    scores = treelite.gtil.predict(to_treelite(model, iterations=iterations), X)
    found = proba(model, written(model, X, iterations), iterations)
    assert_same(proba(model, scores, iterations), found, TOLERANCE)
    if iterations:
        expected = proba(model, model._scorer(X)(0, iterations), iterations)
        assert_same(found, expected, TOLERANCE)


def test_all_numbers_go_left_where_missing_values_alone_go_right():
    X = np.where(np.arange(60)[:, np.newaxis] % 2, np.nan, 1.0)
    model = train("engine", X, np.arange(60) % 2, categories=False)
    rows = np.array([[np.nan], [-3e38], [3e38], [1.0], [-1e308], [1e308], [np.inf]])
    expected = model.predict_proba_ordered(rows)
    assert np.ptp(expected[:, 0]) > 0.1
    assert_same(proba(model, written(model, rows)), expected, TOLERANCE)
    assert_same(proba(model, treelite.gtil.predict(to_treelite(model), rows)), expected, 1e-12)


def test_lightgbm_sends_infinity_left_where_missing_values_alone_go_right():
    """LightGBM's JSON says 1e300 there."""
    X, y = np.random.default_rng(0).normal(size=(60, 1)), np.arange(60) % 2
    X[y == 1] = np.nan
    model = train("lightgbm", X, y, categories=False, max_bin=3)
    assert "threshold=inf" in model.booster_.model_to_string()
    rows = np.array([[np.nan], [1e299], [1e301], [np.inf], [-np.inf]])
    for scores in (written(model, rows), treelite.gtil.predict(to_treelite(model), rows)):
        assert_same(proba(model, scores), model.predict_proba_ordered(rows), TOLERANCE)
    assert np.ptp(model.predict_proba(rows)[:, 0]) > 0.1


@TRAINERS
def test_categories_by_value_are_codes(trainer):
    X, y = mixed_rows()
    codes = np.where(np.isnan(X[:, CATEGORIES]), -1, X[:, CATEGORIES]).astype(int)
    frame = pd.DataFrame(X[:, :CATEGORIES], columns=list("abc"))
    frame["d"] = pd.Categorical.from_codes(codes, list("tuvwxyz"))
    options = {"lightgbm": {"min_data_per_group": 2, "cat_smooth": 1}, "xgboost": {"enable_categorical": True}}
    if trainer == "engine":
        model = HistGradientBoostingOrdinalClassifier(
            max_iter=6, random_state=0, min_samples_category=2, proportional=True
        ).fit(frame, y)
    else:
        model = train(trainer, frame, y, categories=False, proportional=True, **options[trainer])
    expected = model.predict_proba_ordered(frame)
    assert_same(proba(model, treelite.gtil.predict(to_treelite(model), X)), expected, TOLERANCE)
    assert_same(proba(model, written(model, X)), expected, TOLERANCE)


def test_zeros_that_are_missing():
    X, y = mixed_rows()
    X[np.random.default_rng(0).random(X.shape) < 0.3] = 0.0
    model = train("lightgbm", X, y, categories=False, zero_as_missing=True, proportional=False)
    assert_same(proba(model, written(model, X)), model.predict_proba_ordered(X), 1e-12)
