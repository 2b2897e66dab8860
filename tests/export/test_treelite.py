"""Models of treelite: what they predict, what travels with them, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from exported import assert_same, mixed_rows, proba, rows_on_cuts, train
from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.export import to_treelite

treelite = pytest.importorskip("treelite", minversion="4.8")

TRAINERS = pytest.mark.parametrize("trainer", ["engine", "lightgbm", "xgboost"])
TOLERANCE = {"engine": 1e-12, "lightgbm": 1e-12, "xgboost": 1e-6}


@TRAINERS
@pytest.mark.parametrize("proportional", [True, False])
@pytest.mark.parametrize("categories", [True, False])
def test_probabilities_are_the_models(trainer, proportional, categories):
    X, y = mixed_rows()
    model = train(trainer, X, y, proportional=proportional, categories=categories)
    exported = to_treelite(model)
    rows = rows_on_cuts(model, X, np.random.default_rng(1))
    assert exported.input_type == exported.output_type == ("float32" if trainer == "xgboost" else "float64")
    scores = treelite.gtil.predict(exported, rows)
    assert scores.shape == (len(rows), 1 if proportional else 4, 1)
    assert_same(proba(model, scores), model.predict_proba_ordered(rows), TOLERANCE[trainer])


@TRAINERS
@pytest.mark.parametrize("iterations", [0, 1, 4])
def test_first_iterations(trainer, iterations):
    X, y = mixed_rows()
    model = train(trainer, X, y)
    exported = to_treelite(model, iterations=iterations)
    assert exported.num_tree == iterations
    np.testing.assert_allclose(exported.attributes["thresholds"], model.threshold_history_[iterations], rtol=1e-15)
    scores = treelite.gtil.predict(exported, X)
    expected = [None, *model.staged_predict_proba(X)][iterations]
    if iterations:
        assert_same(proba(model, scores, iterations), expected, TOLERANCE[trainer])
    else:
        assert (scores == scores[0]).all()


def test_trees_that_xgboost_prunes():
    """Their arrays keep the nodes that were cut off."""
    X, y = mixed_rows()
    model = train("xgboost", X, y, categories=False, tree_method="exact", gamma=3.0, proportional=True)
    scores = treelite.gtil.predict(to_treelite(model), X)
    assert_same(proba(model, scores), model.predict_proba_ordered(X), 1e-6)


def test_what_it_refuses():
    X, y = mixed_rows()
    with pytest.raises(NotFittedError):
        to_treelite(HistGradientBoostingOrdinalClassifier())
    with pytest.raises(TypeError, match=r"model must be one of .*; got int"):
        to_treelite(3)
    with pytest.raises(ValueError, match="without a linear part"):
        to_treelite(train("engine", X, y, linear=True))
    with pytest.raises(ValueError, match="iterations must be"):
        to_treelite(train("engine", X, y), iterations=7)
