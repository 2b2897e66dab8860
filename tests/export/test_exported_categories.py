"""What an exported tree expects of categories: small whole numbers as they are, else places; all others are missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from exported import assert_same, lightgbm_scores, proba, xgboost_scores
from makers import make_engine, make_lgb, make_xgb
from ordinal_objectives.export import to_onnx, to_treelite
from ordinal_objectives.export.model import scoring_model

onnxruntime = pytest.importorskip("onnxruntime")
treelite = pytest.importorskip("treelite", minversion="4.8")  # which needs Python 3.11

N = 250
LARGEST = 99_999
LEVELS = {
    "codes": np.arange(12),
    "months": np.arange(1, 13),
    "gaps": np.array([0, 2, 3, 17, 40, 41, 64, 90]),
    "the largest": np.array([5, 500, 70_000, LARGEST]),
    "too large": np.array([1, 2, 3, LARGEST + 1]),
    "beyond float32": 2.0**24 + np.arange(0, 12, 2),
    "negative": np.array([-3, -2, 0, 2, 5]),
    "fractions": np.arange(9) / 8,
    "one": np.array([4]),
}
HELD = ("codes", "months", "gaps", "the largest", "one")
# Neither levels of any column above nor, where places are expected, places.
STRANGE = np.array([-1.0, -40.0, 13.0, 99.0, 65_536.0, 1e6, 2.0**24 - 1, 2.0**31, 1e12, np.nan])


def data(levels, seed):
    """Return rows whose second column has these levels, or is missing, and labels that depend on it."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, len(levels), N)
    numbers = rng.normal(size=N).astype(np.float32)
    score = numbers + 2 * rng.normal(size=len(levels))[codes] + rng.logistic(size=N)
    X = np.column_stack([numbers, np.where(rng.random(N) < 0.1, np.nan, levels[codes])])
    return X, np.digitize(score + np.isnan(X[:, 1]), [-1, 0, 2])


def answers(model, X, rows):
    """Yield the probabilities of each format for rows as it expects them, with its name."""
    yield "treelite", proba(model, treelite.gtil.predict(to_treelite(model), rows))
    scorer = scoring_model(model).scorer.by_numbers()
    yield "lightgbm", proba(model, lightgbm_scores(scorer, rows))
    yield "xgboost", proba(model, xgboost_scores(scorer, rows))
    for floats in ("float32", "float64"):
        session = onnxruntime.InferenceSession(to_onnx(model, X, floats=floats).SerializeToString())
        yield f"onnx {floats}", session.run(None, {"X": X.astype(floats)})[1]


@pytest.mark.parametrize("proportional", [True, False])
@pytest.mark.parametrize("kind", LEVELS)
def test_numbers_of_the_engine_in_each_format(kind, proportional):
    levels = LEVELS[kind]
    X, y = data(levels, seed=len(kind))
    options = {"max_iter": 8, "min_samples_leaf": 3, "min_samples_category": 2, "random_state": 0}
    model = make_engine(categorical_features=[1], proportional=proportional, **options).fit(X, y)
    strange = STRANGE.astype(np.float32)  # as the graph of float32 reads them
    X = np.concatenate([X, np.column_stack([np.zeros(len(strange)), strange])])
    rows = X.copy()
    if kind not in HELD:
        place = {level: code for code, level in enumerate(model.category_levels()[1])}
        rows[:, 1] = [place.get(value, other) for value, other in zip(X[:, 1], np.resize(STRANGE, len(X)), strict=True)]
    expected = model.predict_proba_ordered(X)
    assert np.ptp(expected[-len(strange) :, 0]) == 0.0  # what is no level is missing
    for name, found in answers(model, X, rows):
        assert np.abs(found - expected).max() < 1e-6, name


@pytest.mark.parametrize("make", [make_engine, make_lgb, make_xgb])
@pytest.mark.parametrize("levels", [[3, 7, 20, 21], [7, 3, 21, 20], [-3, 7, 20, 21], ["a", "b", "c", "d"]], ids=str)
def test_columns_of_a_category_type_are_given_by_the_same_rule(make, levels):
    rng = np.random.default_rng(0)
    codes, x = rng.integers(0, 4, N), rng.normal(size=N).astype(np.float32)
    y = np.digitize(x + np.array([0, 3, -3, 1])[codes] + rng.logistic(size=N), [-1, 1])
    frame = pd.DataFrame({"x": x, "code": pd.Categorical.from_codes(codes, levels)})
    model = make(**({"cat_smooth": 1, "min_data_per_group": 5} if make is make_lgb else {})).fit(frame, y)
    given = np.array(levels, dtype=object)[codes]
    if not all(isinstance(level, int) and level >= 0 for level in levels):
        known = list(getattr(model, "category_levels", lambda: {1: levels})()[1])
        given = [known.index(level) for level in given]
    rows = np.column_stack([x, given]).astype(np.float64)
    expected = model.predict_proba_ordered(frame)
    assert_same(proba(model, treelite.gtil.predict(to_treelite(model), rows)), expected, 1e-6)
    unknown = np.array([[0.0, other] for other in (np.nan, -1, 5, 300)])
    assert np.ptp(treelite.gtil.predict(to_treelite(model), unknown), axis=0).max() == 0.0
