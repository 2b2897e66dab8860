"""``random_state`` is named where it is nothing that draws."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from makers import MAKERS
from ordinal_objectives import (
    HistGradientBoostingMultiOutputRegressor,
    OrdinalCalibratedClassifier,
    OrdinalEnsembleClassifier,
    OrdinalPredictionSets,
    OrdinalTunedClassifier,
)
from ordinal_objectives.inspection import (
    average_marginal_effects,
    proportional_odds_test,
    summary,
    threshold_importances,
)

DOORS = MAKERS | {
    "sets": lambda **options: OrdinalPredictionSets(LogisticRegression(), **options),
    "calibrated": lambda **options: OrdinalCalibratedClassifier(LogisticRegression(), **options),
    "tuned": lambda **options: OrdinalTunedClassifier(LogisticRegression(), **options),
    "ensemble": lambda **options: OrdinalEnsembleClassifier([("one", LogisticRegression())], **options),
    "several outputs": lambda **options: HistGradientBoostingMultiOutputRegressor(max_iter=1, **options),
}


@pytest.mark.parametrize("make", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize("wrong", ["a", 1.5, np.random.default_rng(0)])
def test_what_draws_nothing_is_named(make, wrong, ordinal_data):
    with pytest.raises(ValueError, match=r"random_state must be an integer from 0 to 4294967295, .* or None; got "):
        make(random_state=wrong).fit(*ordinal_data(60, 3))


INSPECTIONS = {
    "importances": lambda model, X, y, **options: threshold_importances(model, X, **options),
    "effects": lambda model, X, y, **options: average_marginal_effects(model, X, 0, **options),
    "odds": proportional_odds_test,
    "summary": summary,
}


@pytest.mark.parametrize("inspect", INSPECTIONS.values(), ids=INSPECTIONS)
def test_inspections_name_it_too(inspect, ordinal_data):
    X, y = ordinal_data(60, 3)
    with pytest.raises(ValueError, match=r"random_state must be an integer from 0 .*; got -1"):
        inspect(MAKERS["histogram"]().fit(X, y), X, y, random_state=-1)
