"""The probability of a class or a higher one, of every classifier whose labels have an order."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from makers import MAKERS, PAIR, draw, given
from ordinal_objectives import OrdinalCalibratedClassifier, OrdinalEnsembleClassifier, OrdinalPredictionSets

NAMES = np.array(["poor", "fair", "good", "excellent"])  # not in the order of the alphabet


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.filterwarnings("ignore:no tree has a split")
def test_it_is_what_lies_above_the_threshold(make, data):
    X, codes = data
    model = make(classes=NAMES).fit(X, NAMES[codes])
    cumulative = model.predict_cumulative_proba(X)
    np.testing.assert_allclose(model.predict_at_least(X, "poor"), 1.0)
    assert model.predict_at_least(X, "poor").max() == 1.0
    for k, name in enumerate(NAMES[1:]):
        found = model.predict_at_least(X, name)
        assert found.shape == (300,)
        np.testing.assert_allclose(found, 1.0 - cumulative[:, k], atol=1e-12)
    with pytest.raises(ValueError, match=r"label holds labels outside the classes .* got 'superb'"):
        model.predict_at_least(X, "superb")
    with pytest.raises(ValueError, match=r"label must be one of the classes .* got \['good', 'poor'\]"):
        model.predict_at_least(X, ["good", "poor"])
    with pytest.raises(NotFittedError):
        make().predict_at_least(X, "poor")


def test_of_classifiers_around_others(data):
    X, codes = data
    P, y = draw(np.random.default_rng(0), 300, 4)
    for model, rows in (
        (OrdinalEnsembleClassifier(PAIR).fit(X, codes), X),
        (OrdinalPredictionSets(given(4)).fit(P, y), P),
        (OrdinalCalibratedClassifier(given(4)).fit(P, y), P),
    ):
        np.testing.assert_allclose(model.predict_at_least(rows, 2), model.predict_proba(rows)[:, 2:].sum(axis=1))
