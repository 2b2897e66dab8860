"""Models that the tests write in other formats, and rows that would show a split moved by one rounding."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np
import xgboost

from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    XGBOrdinalClassifier,
    predictions,
)
from ordinal_objectives.export import lightgbm_model, xgboost_model
from ordinal_objectives.export.model import Scorer, ScoringTree, scoring_model
from ordinal_objectives.losses import get_loss

CATEGORIES = 3  # the column of categories


def mixed_rows(n_rows: int = 200, n_classes: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return (X, y): three numbers and a column of codes, with missing values."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n_rows, 3)), rng.integers(0, 7, n_rows)])
    score = 2 * X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 3] % 3 + rng.logistic(size=n_rows)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


def train(trainer: str, X: np.ndarray, y: np.ndarray, *, categories: bool = True, **params: Any) -> Any:
    """Return a small model of the library, whose last column holds categories or numbers."""
    if trainer == "engine":
        columns = [CATEGORIES] if categories else None
        options = {
            "max_iter": 6,
            "max_leaf_nodes": 8,
            "min_samples_leaf": 3,
            "min_samples_category": 2,
            "random_state": 0,
        }
        return HistGradientBoostingOrdinalClassifier(categorical_features=columns, **options | params, n_jobs=1).fit(
            X, y
        )
    if trainer == "lightgbm":
        options = {"n_estimators": 6, "num_leaves": 8, "min_child_samples": 3, "min_data_per_group": 2, "n_jobs": 1}
        options["random_state"] = 0
        columns = [CATEGORIES] if categories else "auto"
        return LGBMOrdinalClassifier(**options | params).fit(X, y, categorical_feature=columns)
    types = ["float"] * CATEGORIES + ["c"] if categories else None
    options = {"n_estimators": 6, "max_depth": 3, "n_jobs": 1, "feature_types": types, "random_state": 0}
    return XGBOrdinalClassifier(**options | params).fit(X, y)


def rows_on_cuts(model: Any, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return rows whose numbers lie on the thresholds of splits and beside them, in float64 and in float32."""
    of_feature: dict[int, list[float]] = {feature: [] for feature in range(X.shape[1])}
    for tree in scoring_model(model).scorer.trees:
        for node in np.flatnonzero(tree.feature >= 0):
            if node not in tree.categories and np.isfinite(tree.threshold[node]):
                of_feature[int(tree.feature[node])].append(float(tree.threshold[node]))
    found = X[rng.integers(0, len(X), 4 * len(X))].copy()
    for feature, cuts in of_feature.items():
        if cuts:
            single = np.array(cuts, dtype=np.float32)
            near = [np.nextafter(of, of.dtype.type(to)) for of in (np.array(cuts), single) for to in (-np.inf, np.inf)]
            values = np.concatenate([cuts, single, *near]).astype(np.float64)
            given = rng.random(len(found)) < 0.9
            found[given, feature] = rng.choice(values, given.sum())
    return found


def row_scores(scorer: Scorer, X: np.ndarray) -> np.ndarray:
    """Return the sum of trees and offset, (n_samples, n_outputs), row by row; X has codes in the place of levels."""
    X = X.astype(np.float32 if scorer.reads_float32 else np.float64).astype(np.float64)
    X = np.where(scorer.missing == X, np.nan, X)
    zeros = X[:, scorer.zero_is_missing]
    X[:, scorer.zero_is_missing] = np.where(np.abs(zeros) <= 1e-35, np.nan, zeros)
    whole, codes = np.floor if scorer.reads_float32 else np.trunc, sorted(scorer.by_category - set(scorer.levels))
    X[:, codes] = whole(X[:, codes])
    return np.array([scorer.offset + sum(tree.value[_leaf(tree, row)] for tree in scorer.trees) for row in X])


def lightgbm_scores(scorer: Scorer, X: np.ndarray) -> np.ndarray:
    """Return the scores of rows by the trees that are written for LightGBM."""
    return np.asarray(lightgbm_model.booster_of(scorer, X.shape[1]).predict(X, raw_score=True))


def xgboost_scores(scorer: Scorer, X: np.ndarray) -> np.ndarray:
    """Return the scores of rows, (n_samples, n_outputs), by the trees that are written for XGBoost, an output each."""
    types = xgboost_model.types_of(scorer, X.shape[1])
    matrix = xgboost.DMatrix(X, feature_types=types, nthread=1)
    outputs = [scorer.with_outputs(itemgetter((..., [k]))) for k in range(scorer.n_outputs)]
    return np.column_stack(
        [xgboost_model.booster_of(one, types).predict(matrix, output_margin=True) for one in outputs]
    )


def _leaf(tree: ScoringTree, row: np.ndarray) -> int:
    node = 0
    while tree.feature[node] >= 0:
        value = row[tree.feature[node]]
        if np.isnan(value):
            goes_left = tree.missing_left[node]
        elif node in tree.categories:
            goes_left = value in tree.categories[node]
        else:
            goes_left = value <= tree.threshold[node]
        node = int(tree.left[node] if goes_left else tree.right[node])
    return node


def proba(model: Any, scores: np.ndarray, iterations: int | None = None) -> np.ndarray:
    """Return class probabilities by scores, (n_samples,), or one for each threshold."""
    loss = get_loss(model.loss, model.link, model.training_cost)
    thresholds = model.thresholds_ if iterations is None else model.threshold_history_[iterations]
    if model.proportional_:
        return predictions.proba(loss, scores.reshape(len(scores)), thresholds)
    return predictions.proba(loss, scores.reshape(len(scores), -1), thresholds)


def assert_same(given: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """Compare probabilities, and medians but those that the tolerance could turn."""
    np.testing.assert_allclose(given, expected, rtol=0.0, atol=tolerance)
    cumulative = np.cumsum(expected, axis=1)[:, :-1]
    clear = (np.abs(cumulative - 0.5) > 2 * len(cumulative.T) * tolerance).all(axis=1)
    medians = [(np.cumsum(of, axis=1)[:, :-1] < 0.5).sum(axis=1)[clear] for of in (given, expected)]
    np.testing.assert_array_equal(*medians)
