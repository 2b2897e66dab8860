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
from ordinal_objectives.inspection import threshold_importances

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


def test_importances_name_it_too(ordinal_data):
    X, y = ordinal_data(60, 3)
    with pytest.raises(ValueError, match=r"random_state must be an integer from 0 .*; got -1"):
        threshold_importances(MAKERS["histogram"]().fit(X, y), X, random_state=-1)
