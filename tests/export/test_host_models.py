"""Boosters of XGBoost and LightGBM made of any classifier: on the cuts, with every loss, and through files."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost
from hypothesis import given, settings, strategies as st
from sklearn.exceptions import NotFittedError

from exported import CATEGORIES, assert_same, mixed_rows, proba, rows_on_cuts, train
from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from ordinal_objectives.adapters.xgb.outputs import CATEGORICAL_SPLITS, CONTRIBUTIONS, is_at_least
from ordinal_objectives.export import to_lightgbm, to_treelite, to_xgboost

treelite = pytest.importorskip("treelite", minversion="4.8")  # which needs Python 3.11

TRAINERS = pytest.mark.parametrize("trainer", ["engine", "lightgbm", "xgboost"])
TOLERANCE = 1e-6
VECTORS_OF_CATEGORIES = is_at_least(CATEGORICAL_SPLITS)


def matrix(booster: xgboost.Booster, X: np.ndarray) -> xgboost.DMatrix:
    return xgboost.DMatrix(X, feature_types=booster.feature_types, feature_names=booster.feature_names, nthread=1)


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
    single = rows.astype(np.float32)

    def expected(X: np.ndarray) -> np.ndarray:
        scores = model._score(model._check_features(X, reset=False), 0, iterations)
        return proba(model, scores, iterations)

    if np.nanmax(np.abs(X[:, :CATEGORIES])) > 1e-35:  # smaller ones are zeros to LightGBM
        scores = to_lightgbm(model, iterations=iterations).predict(rows, raw_score=True)
        assert_same(proba(model, scores, iterations), expected(rows), 1e-12)
    scores = treelite.gtil.predict(to_treelite(model, iterations=iterations), rows)
    assert_same(proba(model, scores, iterations), expected(rows), 1e-12)
    by_category = not VECTORS_OF_CATEGORIES and model.is_categorical_.any()
    if model.proportional_ or model.n_classes_ == 2 or not by_category:
        booster = to_xgboost(model, iterations=iterations)
        assert_same(oxgb.predict_proba(booster, matrix(booster, single)), expected(single), TOLERANCE)


@TRAINERS
@pytest.mark.parametrize("proportional", [True, False])
def test_boosters_of_each_trainer(trainer, proportional, tmp_path):
    X, y = mixed_rows()
    categories = trainer != "xgboost" and (proportional or VECTORS_OF_CATEGORIES)
    model = train(trainer, X, y, proportional=proportional, categories=categories)
    rows = rows_on_cuts(model, X, np.random.default_rng(0)).astype(np.float32)
    expected = model.predict_proba_ordered(rows)
    scores = to_lightgbm(model).predict(rows, raw_score=True)
    assert scores.shape == ((len(rows),) if proportional else (len(rows), 4))
    assert_same(proba(model, scores), expected, TOLERANCE)
    booster = to_xgboost(model)
    assert booster.num_boosted_rounds() == model.n_iter_
    booster.save_model(tmp_path / "model.ubj")
    for saved in (booster, xgboost.Booster(model_file=tmp_path / "model.ubj")):
        assert_same(oxgb.predict_proba(saved, matrix(booster, rows)), expected, TOLERANCE)


@TRAINERS
def test_boosters_of_one_score_carry_thresholds(trainer, tmp_path):
    X, y = mixed_rows()
    model = train(trainer, X, y, proportional=True, categories=False)
    for t, expected in enumerate(model.staged_predict_proba(X), 1):
        assert_same(olgbm.predict_proba(to_lightgbm(model), X, t), expected, TOLERANCE)
        booster = to_xgboost(model)
        assert_same(oxgb.predict_proba(booster, matrix(booster, X), (0, t)), expected, TOLERANCE)
    olgbm.save_model(to_lightgbm(model), tmp_path / "model.txt")
    loaded = olgbm.load_model(tmp_path / "model.txt")
    assert_same(olgbm.predict_proba(loaded, X), model.predict_proba_ordered(X), TOLERANCE)
    records = olgbm.threshold_record(loaded), oxgb.threshold_record(booster)
    assert {record.spec.loss.link.identity for record in records} == {"logit"}


def test_boosters_of_several_scores_through_files(tmp_path):
    X, y = mixed_rows()
    booster = to_lightgbm(train("engine", X, y, proportional=False))
    booster.save_model(tmp_path / "model.txt")
    for copy in (lightgbm.Booster(model_file=tmp_path / "model.txt"), pickle.loads(pickle.dumps(booster))):
        np.testing.assert_array_equal(copy.predict(X, raw_score=True), booster.predict(X, raw_score=True))


@TRAINERS
def test_margin_contributions(trainer):
    X, y = mixed_rows()
    for proportional in (True, False):
        model = train(trainer, X, y, proportional=proportional, categories=False)
        booster = to_xgboost(model)
        if not proportional and not is_at_least(CONTRIBUTIONS):
            continue
        found = oxgb.margin_contributions(booster, matrix(booster, X))
        np.testing.assert_allclose(found.sum(axis=2), model.predict_linear_predictors(X), rtol=0, atol=1e-5)


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
    assert_same(olgbm.predict_proba(to_lightgbm(model), X), expected, TOLERANCE)
    exact = 1e-12 if trainer == "engine" else TOLERANCE
    assert_same(proba(model, treelite.gtil.predict(to_treelite(model), X)), expected, exact)
    booster = to_xgboost(model)
    assert booster.num_boosted_rounds() == model.n_iter_
    assert_same(oxgb.predict_proba(booster, matrix(booster, X)), expected, TOLERANCE)
    written = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]["model"]
    assert written["gbtree_model_param"]["num_parallel_tree"] == str(params.get("num_parallel_tree", 1))
    if params is not TREES:
        with pytest.raises(ValueError, match="the score of the first 2 rounds is not in the model"):
            oxgb.predict_proba(booster, matrix(booster, X), (0, 2))
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
    booster = to_xgboost(model)
    assert_same(oxgb.predict_proba(booster, matrix(booster, X)), expected, 2e-6)
    tolerance = 2e-6 if trainer == "xgboost" else 1e-12
    assert_same(proba(model, treelite.gtil.predict(to_treelite(model), X)), expected, tolerance)
    assert_same(proba(model, to_lightgbm(model).predict(X, raw_score=True)), expected, tolerance)


@pytest.mark.parametrize("iterations", [None, 3, 0])
def test_shifts_that_xgboost_fits_itself(iterations):
    X, y = mixed_rows()
    model = train("xgboost", X, y, categories=False, proportional=False, shift_method="host", tree_method="hist")
    end = model.n_iter_ if iterations is None else iterations
    expected = proba(model, model._score(model._prediction_data(X), 0, end), end) if end else None
    found = [to_treelite(model, iterations=iterations), to_lightgbm(model, iterations=iterations)]
    scores = [treelite.gtil.predict(found[0], X), found[1].predict(X, raw_score=True)]
    booster = to_xgboost(model, iterations=iterations)
    last = oxgb.predict_proba(booster, matrix(booster, X))
    for one in (*(proba(model, of, end) for of in scores), last):
        assert_same(one, last if expected is None else expected, TOLERANCE)


def test_xgboost_boosters_without_the_package(tmp_path, monkeypatch):
    page = Path(__file__).parents[2] / "docs" / "guide" / "host_shifts.md"
    text = page.read_text(encoding="utf-8").partition("## Predict without this package")[2]
    recipe = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)[0]
    X, y = mixed_rows()
    model = train("engine", X, y, categories=False, proportional=False)
    monkeypatch.chdir(tmp_path)
    to_xgboost(model).save_model("model.ubj")
    names: dict = {"X": X}
    exec(compile(recipe, str(page), "exec"), names)  # our own text
    assert_same(names["proba"], model.predict_proba_ordered(X), TOLERANCE)


def test_all_numbers_go_left_where_missing_values_alone_go_right():
    X = np.where(np.arange(60)[:, np.newaxis] % 2, np.nan, 1.0)
    model = train("engine", X, np.arange(60) % 2, categories=False)
    rows = np.array([[np.nan], [-3e38], [3e38], [1.0], [-1e308], [1e308], [np.inf]])
    expected = model.predict_proba_ordered(rows)
    assert np.ptp(expected[:, 0]) > 0.1
    assert_same(olgbm.predict_proba(to_lightgbm(model), rows), expected, TOLERANCE)
    assert_same(proba(model, treelite.gtil.predict(to_treelite(model), rows)), expected, 1e-12)
    booster = to_xgboost(model)  # XGBoost takes no infinite numbers
    assert_same(oxgb.predict_proba(booster, matrix(booster, rows[:4])), expected[:4], TOLERANCE)


@pytest.mark.parametrize("write", [to_lightgbm, to_treelite])
def test_lightgbm_sends_infinity_left_where_missing_values_alone_go_right(write):
    """LightGBM's JSON says 1e300 there."""
    X, y = np.random.default_rng(0).normal(size=(60, 1)), np.arange(60) % 2
    X[y == 1] = np.nan
    model = train("lightgbm", X, y, categories=False, max_bin=3)
    assert "threshold=inf" in model.booster_.model_to_string()
    rows = np.array([[np.nan], [1e299], [1e301], [np.inf], [-np.inf]])
    found = write(model)
    scores = found.predict(rows, raw_score=True) if write is to_lightgbm else treelite.gtil.predict(found, rows)
    assert_same(proba(model, scores), model.predict_proba_ordered(rows), TOLERANCE)
    assert np.ptp(model.predict_proba(rows)[:, 0]) > 0.1


def test_names_of_features():
    pandas = pytest.importorskip("pandas")
    X, y = mixed_rows()
    names = ["a b", "c", "größe", '"e"']
    frame = pandas.DataFrame(X, columns=names)
    model = train("engine", frame, y, categories=False)
    assert to_lightgbm(model).feature_name() == ["a_b", *names[1:]]
    booster = to_xgboost(model)
    assert booster.feature_names == names
    assert_same(oxgb.predict_proba(booster, xgboost.DMatrix(frame)), model.predict_proba_ordered(frame), TOLERANCE)
    model = train("engine", frame.rename(columns={"c": "c<1"}), y, categories=False)
    assert to_xgboost(model).feature_names is None
    model = train("engine", frame.rename(columns={"a b": " "}), y, categories=False)
    assert to_lightgbm(model).feature_name() == ["Column_0", *names[1:]]


@TRAINERS
def test_categories_by_value_are_codes(trainer):
    pandas = pytest.importorskip("pandas")
    X, y = mixed_rows()
    codes = np.where(np.isnan(X[:, CATEGORIES]), -1, X[:, CATEGORIES]).astype(int)
    frame = pandas.DataFrame(X[:, :CATEGORIES], columns=list("abc"))
    frame["d"] = pandas.Categorical.from_codes(codes, list("tuvwxyz"))
    options = {"lightgbm": {"min_data_per_group": 2, "cat_smooth": 1}, "xgboost": {"enable_categorical": True}}
    if trainer == "engine":
        model = HistGradientBoostingOrdinalClassifier(
            max_iter=6, random_state=0, min_samples_category=2, proportional=True
        ).fit(frame, y)
    else:
        model = train(trainer, frame, y, categories=False, proportional=True, **options[trainer])
    expected = model.predict_proba_ordered(frame)
    booster = to_xgboost(model)
    assert booster.feature_types == ["float", "float", "float", "c"]
    assert_same(oxgb.predict_proba(booster, matrix(booster, X)), expected, TOLERANCE)
    assert_same(proba(model, treelite.gtil.predict(to_treelite(model), X)), expected, TOLERANCE)
    if trainer == "xgboost":  # LightGBM compares in float64
        X = X.astype(np.float32)
    assert_same(olgbm.predict_proba(to_lightgbm(model), X), expected, TOLERANCE)


def test_zeros_that_are_missing():
    X, y = mixed_rows()
    X[np.random.default_rng(0).random(X.shape) < 0.3] = 0.0
    model = train("lightgbm", X, y, categories=False, zero_as_missing=True, proportional=False)
    assert_same(proba(model, to_lightgbm(model).predict(X, raw_score=True)), model.predict_proba_ordered(X), 1e-12)
    with pytest.raises(ValueError, match="zeros for missing values, which XGBoost's JSON has no splits for"):
        to_xgboost(model)


@pytest.mark.parametrize("write", [to_lightgbm, to_xgboost, to_treelite])
def test_what_they_refuse(write):
    X, y = mixed_rows()
    with pytest.raises(NotFittedError):
        write(HistGradientBoostingOrdinalClassifier())
    with pytest.raises(TypeError, match=r"model must be one of .*; got int"):
        write(3)
    with pytest.raises(ValueError, match=r"without a linear part, since .*linear=True"):
        write(train("engine", X, y, linear=True))
    with pytest.raises(ValueError, match="iterations must be"):
        write(train("engine", X, y), iterations=7)
    filled = np.where(np.isnan(X), -9.0, X)
    with pytest.raises(ValueError, match="it has missing=-9"):
        write(train("xgboost", filled, y, categories=False, missing=-9.0))


def test_what_each_refuses():
    X, y = mixed_rows()
    model = train("engine", X, y, proportional=False)
    if not VECTORS_OF_CATEGORIES:
        with pytest.raises(ValueError, match=r"both shifts and splits by categories.* from version 3\.3"):
            to_xgboost(model)
    with pytest.raises(ValueError, match="must know the categories of feature 3"):
        to_lightgbm(train("xgboost", X, y, random_state=0))


@pytest.mark.parametrize("proportional", [True, False])
@TRAINERS
def test_no_iteration_at_all(trainer, proportional):
    X, y = mixed_rows()
    model = train(trainer, X, y, categories=False, proportional=proportional)
    outputs = np.zeros(len(X)) if proportional else np.zeros((len(X), 4))
    expected = proba(model, outputs, 0)
    booster = to_xgboost(model, iterations=0)
    assert_same(oxgb.predict_proba(booster, matrix(booster, X)), expected, TOLERANCE)
    booster = to_lightgbm(model, iterations=0)
    assert_same(proba(model, booster.predict(X, raw_score=True), 0), expected, TOLERANCE)
    if proportional:
        assert_same(olgbm.predict_proba(booster, X), expected, TOLERANCE)


@pytest.mark.parametrize("write", [to_lightgbm, to_xgboost, to_treelite])
@TRAINERS
def test_the_model_stays_as_it_was(write, trainer):
    X, y = mixed_rows()
    model = train(trainer, X, y, categories=False)
    before = pickle.dumps(model)
    write(model)
    assert pickle.dumps(model) == before
