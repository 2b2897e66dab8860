"""SHAP values: by their definition, against the hosts' own, and sums that are the model's outputs."""

from __future__ import annotations

import sys
from itertools import permutations
from math import factorial
from typing import Any

import numpy as np
import pandas
import pytest
import xgboost
from scipy.sparse import csc_matrix, csr_matrix
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from exported import CATEGORIES, mixed_rows, train
from makers import MAKERS, make_engine
from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.export.model import ScoringTree, scoring_model
from ordinal_objectives.inspection import shap_values

TRAINERS = pytest.mark.parametrize("trainer", ["engine", "lightgbm", "xgboost"])
TOLERANCE = {"engine": 1e-10, "lightgbm": 1e-10, "xgboost": 1e-5}
OUTPUTS = {"score": "predict_raw", "cumulative": "predict_linear_predictors", "probability": "predict_proba_ordered"}


def assert_sums(model: Any, X: Any, output: str, tolerance: float, **options: Any) -> np.ndarray:
    """Check that the values of rows sum to the model's output; return them."""
    found = shap_values(model, X, output=output, random_state=0, **options)
    expected = getattr(model, OUTPUTS[output])(X)
    assert found.values.shape == (*expected.shape, model.n_features_in_)
    assert found.base_values.shape == expected.shape[1:]
    assert found.values.dtype == found.base_values.dtype == np.float64
    np.testing.assert_allclose(found.values.sum(axis=-1) + found.base_values, expected, rtol=0, atol=tolerance)
    return found.values


def mean_given(tree: ScoringTree, row: np.ndarray, known: set[int], node: int = 0) -> np.ndarray:
    """Return what a tree gives a row of which some features are known; others part it as the training rows."""
    feature = int(tree.feature[node])
    if feature < 0:
        return tree.value[node]
    left, right = int(tree.left[node]), int(tree.right[node])
    if feature not in known:
        share = tree.count[left] / (tree.count[left] + tree.count[right])
        return share * mean_given(tree, row, known, left) + (1 - share) * mean_given(tree, row, known, right)
    value = row[feature]
    if np.isnan(value):
        goes_left = tree.missing_left[node]
    else:
        goes_left = value in tree.categories[node] if node in tree.categories else value <= tree.threshold[node]
    return mean_given(tree, row, known, left if goes_left else right)


def by_definition(value: Any, n_features: int) -> np.ndarray:
    """Return Shapley values of a function of sets of features: the mean over all orders, features last."""
    found = 0.0
    for order in permutations(range(n_features)):
        before = [value(set(order[:i])) for i in range(n_features + 1)]
        steps = np.diff(np.array(before), axis=0)
        found = found + steps[np.argsort(order)] / factorial(n_features)
    return np.moveaxis(np.asarray(found), 0, -1)


@TRAINERS
@pytest.mark.parametrize("proportional", [True, False])
def test_path_dependent_values_by_their_definition(trainer, proportional):
    X, y = mixed_rows()
    model = train(trainer, X, y, proportional=proportional)
    rows = X[:6].astype(np.float32).astype(np.float64)
    trees = scoring_model(model).scorer.trees
    found = shap_values(model, rows, output="cumulative").values
    for row, values in zip(rows, found, strict=True):
        expected = -by_definition(lambda known, row=row: sum(mean_given(tree, row, known) for tree in trees), 4)
        np.testing.assert_allclose(values, np.broadcast_to(expected, values.shape), rtol=0, atol=TOLERANCE[trainer])


@TRAINERS
@pytest.mark.parametrize("output", ["score", "cumulative"])
@pytest.mark.parametrize("proportional", [True, False])
@pytest.mark.parametrize("linear", [True, False])
def test_values_sum_to_the_output(trainer, output, proportional, linear):
    X, y = mixed_rows()
    model = train(trainer, X, y, proportional=proportional, linear=linear, categories=trainer != "xgboost")
    assert_sums(model, X, output, TOLERANCE[trainer])


def test_shifts_that_xgboost_fits_itself():
    X, y = mixed_rows()
    model = train("xgboost", X, y, categories=False, proportional=False, shift_method="host", tree_method="hist")
    for output in ("score", "cumulative"):
        assert_sums(model, X, output, 1e-5)


def test_they_are_the_hosts_own():
    X, y = mixed_rows()
    model = train("lightgbm", X, y, proportional=True)
    own = model.booster_.predict(X, pred_contrib=True)
    found = shap_values(model, X)
    np.testing.assert_allclose(found.values, own[:, :-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.base_values, own[0, -1], rtol=0, atol=1e-12)
    model = train("xgboost", X, y, proportional=True, categories=False)
    own = model.booster_.predict(xgboost.DMatrix(X), pred_contribs=True)
    found = shap_values(model, X)
    np.testing.assert_allclose(found.values, own[:, :-1], rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.base_values, own[0, -1], rtol=0, atol=1e-6)


@pytest.mark.parametrize("proportional", [True, False])
@pytest.mark.parametrize("linear", [True, False])
@TRAINERS
def test_categories_by_value(trainer, proportional, linear):
    X, y = mixed_rows()
    frame = pandas.DataFrame(X[:, :CATEGORIES], columns=list("abc"))
    codes = np.where(np.isnan(X[:, CATEGORIES]), -1, X[:, CATEGORIES]).astype(int)
    frame["d"] = pandas.Categorical.from_codes(codes, list("zyxwvut"))
    options = {"proportional": proportional, "linear": linear}
    if trainer == "engine":
        model = HistGradientBoostingOrdinalClassifier(
            max_iter=6, random_state=0, min_samples_category=2, **options
        ).fit(frame, y)
    elif trainer == "lightgbm":
        model = train("lightgbm", frame, y, categories=False, min_data_per_group=2, cat_smooth=1, **options)
    else:
        model = train("xgboost", frame, y, categories=False, enable_categorical=True, **options)
    values = assert_sums(model, frame, "cumulative", TOLERANCE[trainer])
    assert np.abs(values[:, :, CATEGORIES]).max() > 0.01


@pytest.mark.parametrize("kind", [csr_matrix, csc_matrix])
@pytest.mark.parametrize("trainer", ["lightgbm", "xgboost"])
def test_sparse_rows(trainer, kind):
    X, y = mixed_rows()
    X = np.where(np.isnan(X) | (np.random.default_rng(0).random(X.shape) < 0.4), 0.0, X)
    model = train(trainer, csr_matrix(X), y, categories=False)
    assert_sums(model, kind(X), "score", TOLERANCE[trainer])
    model = train(trainer, np.where(X == 0.0, np.nan, X), y, categories=False)
    assert_sums(model, kind(X), "score", TOLERANCE[trainer])


def test_numbers_that_are_missing():
    X, y = mixed_rows()
    filled = np.where(np.isnan(X), -9.0, X)
    assert_sums(train("xgboost", filled, y, categories=False, missing=-9.0), filled, "score", 1e-5)
    filled = np.where(np.isnan(X), -9.9, X).astype(np.float32)  # XGBoost compares in float32
    assert_sums(train("xgboost", filled, y, categories=False, missing=-9.9), filled, "score", 1e-5)
    X[np.random.default_rng(0).random(X.shape) < 0.3] = 0.0
    assert_sums(train("lightgbm", X, y, categories=False, zero_as_missing=True), X, "score", 1e-10)


def test_what_it_refuses():
    X, y = mixed_rows()
    model = train("engine", X, y)
    with pytest.raises(NotFittedError):
        shap_values(HistGradientBoostingOrdinalClassifier(), X)
    with pytest.raises(TypeError, match="model must be one of"):
        shap_values(LogisticRegression(), X)
    with pytest.raises(ValueError, match=r"output must be one of 'score', 'cumulative', 'probability'; got 'class'"):
        shap_values(model, X, output="class")
    with pytest.raises(ValueError, match="background must be None with output='score'"):
        shap_values(model, X, background=X)
    with pytest.raises(ValueError, match="3 features"):
        shap_values(model, X[:, :3])


def test_without_libraries(monkeypatch):
    X, y = mixed_rows()
    model = train("engine", X, y)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'ordinal-objectives\[lightgbm\]'"):
        shap_values(model, X)
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'ordinal-objectives\[shap\]'"):
        shap_values(model, X, output="probability")


# The first use of shap compiles some of it.
@pytest.mark.slow
class TestProbabilities:
    @TRAINERS
    def test_values_sum_to_the_output(self, trainer):
        X, y = mixed_rows()
        model = train(trainer, X, y, proportional=trainer == "engine")
        assert_sums(model, X[:4], "probability", 1e-6, n_permutations=2)
        base = shap_values(
            model, X[:4], output="probability", background=X[50:80], n_permutations=1, random_state=0
        ).base_values
        np.testing.assert_allclose(base, model.predict_proba_ordered(X[50:80]).mean(axis=0), rtol=0, atol=1e-6)

    def test_they_are_exact_where_all_orders_are_taken(self):
        X, y = mixed_rows()
        X = X[:, :2]
        model = train("engine", X, y, categories=False)

        def value(known: set[int]) -> np.ndarray:
            rows = X[50:80].copy()
            rows[:, list(known)] = X[0, list(known)]
            return model.predict_proba_ordered(rows).mean(axis=0)

        # Of two features there are two orders, and both directions of one are all.
        found = shap_values(model, X[:1], output="probability", background=X[50:80], n_permutations=1).values[0]
        np.testing.assert_allclose(found, by_definition(value, 2), rtol=0, atol=1e-12)

    def test_so_many_permutations_are_taken(self, monkeypatch):
        shap, most = pytest.importorskip("shap"), []
        explain = shap.explainers.Permutation.__call__

        def counted(self, *args, max_evals, **options):
            most.append(max_evals)
            return explain(self, *args, max_evals=max_evals, **options)

        monkeypatch.setattr(shap.explainers.Permutation, "__call__", counted)
        X, y = mixed_rows()
        model = train("engine", X[:, :2], y, categories=False)
        shap_values(model, X[:1, :2], output="probability", background=X[50:60, :2], n_permutations=20)
        assert [evaluations // (2 * 2 + 1) for evaluations in most] == [20]

    def test_frames(self):
        X, y = mixed_rows()
        frame = pandas.DataFrame(X[:, :CATEGORIES], columns=list("abc"))
        codes = np.where(np.isnan(X[:, CATEGORIES]), -1, X[:, CATEGORIES]).astype(int)
        frame["d"] = pandas.Categorical.from_codes(codes, list("zyxwvut"))
        model = HistGradientBoostingOrdinalClassifier(max_iter=6, random_state=0, min_samples_category=2).fit(frame, y)
        values = assert_sums(model, frame[:4], "probability", 1e-9, background=frame[4:30], n_permutations=2)
        assert np.abs(values[:, :, CATEGORIES]).max() > 0.01
        alone = frame[["a"]]
        assert_sums(train("engine", alone, y, categories=False), alone[:4], "probability", 1e-9, background=alone[4:30])
        with pytest.raises(ValueError, match="columns of X, of the same types"):
            shap_values(model, frame[:4], output="probability", background=frame[4:].astype({"d": str}))


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize(
    ("trainer", "kind"), [("engine", "pipeline"), ("lightgbm", "nested"), ("xgboost", "search")], ids=str
)
def test_pipelines_are_explained_by_what_their_steps_make(trainer, output, kind):
    X, y = mixed_rows()
    frame = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "plan": np.array(["x", "y", "z"])[np.arange(len(y)) % 3]})
    columns = make_column_transformer((OneHotEncoder(sparse_output=False), ["plan"]), remainder=StandardScaler())
    names = ["onehotencoder__plan_x", "onehotencoder__plan_y", "onehotencoder__plan_z", "remainder__a", "remainder__b"]
    pipeline = make_pipeline(columns, MAKERS[{"engine": "histogram"}.get(trainer, trainer)]())
    if kind == "nested":
        pipeline = make_pipeline(columns, make_pipeline(pipeline[-1]))
    fitted = pipeline.fit(frame, y)
    if kind == "search":
        fitted = GridSearchCV(pipeline, {f"{pipeline.steps[-1][0]}__linear": [False]}, cv=2).fit(frame, y)
    rows, options = frame[:8], {"output": output, "random_state": 0, "n_permutations": 1}
    background = {"background": frame[8:14]} if output == "probability" else {}
    found = shap_values(fitted, rows, **options, **background)
    inner = getattr(fitted, "best_estimator_", fitted)
    model = inner[-1][-1] if kind == "nested" else inner[-1]
    made = {name: inner[0].transform(table) for name, table in background.items()}
    expected = shap_values(model, inner[0].transform(rows), **options, **made)
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.base_values, expected.base_values)
    assert found.feature_names == names
    predicted = getattr(model, OUTPUTS[output])(inner[0].transform(rows))
    np.testing.assert_allclose(found.values.sum(axis=-1) + found.base_values, predicted, atol=1e-5)


@pytest.mark.parametrize("output", ["score", "cumulative"])
def test_values_of_numbers_that_lightgbm_takes_for_zero_are_refused(output):
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = np.digitize(X[:, 0], [-1.0, 0.0, 1.0])
    tiny = make_engine(max_iter=5).fit(X * 1e-37, y)
    with pytest.raises(ValueError, match=r"do not sum to the score.* up to \d.*numbers within 1e-35 of 0"):
        shap_values(tiny, X * 1e-37, output=output)
