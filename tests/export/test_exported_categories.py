"""What an exported tree expects of categories: small whole numbers as they are, else places; all others are missing."""

from __future__ import annotations

import numpy as np
import pytest

from exported import lightgbm_scores, proba, xgboost_scores
from makers import make_engine
from ordinal_objectives.export import to_onnx, to_treelite
from ordinal_objectives.export.model import scoring_model

onnxruntime = pytest.importorskip("onnxruntime")
treelite = pytest.importorskip("treelite", minversion="4.8")

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
