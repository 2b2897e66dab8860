"""skops reads the models of this package, given the types that it names."""

from __future__ import annotations

import numpy as np
import pytest
import skops.io
from lightgbm import LGBMClassifier
from sklearn.base import is_regressor
from sklearn.linear_model import LogisticRegression

from ordinal_objectives import (
    CumulativeLink,
    HistGradientBoostingMultiOutputClassifier,
    HistGradientBoostingMultiOutputRegressor,
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    OrdinalCalibratedClassifier,
    OrdinalDistributionRegressor,
    OrdinalEnsembleClassifier,
    OrdinalPredictionSets,
    OrdinalTunedClassifier,
    XGBOrdinalClassifier,
)
from ordinal_objectives.export import TRUSTED_TYPES
from ordinal_objectives.links import LINKS

FEW = {"n_estimators": 5, "n_jobs": 1}
MODELS = [
    XGBOrdinalClassifier(proportional=False, **FEW),
    XGBOrdinalClassifier(proportional=False, shift_method="host", **FEW),
    XGBOrdinalClassifier(early_stopping_rounds=2, validation_fraction=0.2, **FEW),
    XGBOrdinalClassifier(),
    LGBMOrdinalClassifier(linear=True, loss="immediate_threshold", **FEW),
    HistGradientBoostingOrdinalClassifier(training_cost="quadratic", max_iter=5),
    HistGradientBoostingOrdinalClassifier(boosting_type="rf", max_iter=5),
    HistGradientBoostingOrdinalClassifier(categorical_features=[1], max_iter=5),
    *(HistGradientBoostingOrdinalClassifier(loss=CumulativeLink(link), max_iter=5) for link in LINKS),
    OrdinalCalibratedClassifier(LGBMOrdinalClassifier(**FEW), cv=2),
    OrdinalCalibratedClassifier(LogisticRegression(), cv=2, method="isotonic"),
    OrdinalTunedClassifier(XGBOrdinalClassifier(**FEW), cv=2),
    OrdinalTunedClassifier(LogisticRegression(), cv=2, rule="kappa"),
    OrdinalPredictionSets(XGBOrdinalClassifier(**FEW)),
    OrdinalPredictionSets(LGBMClassifier(n_estimators=5, verbosity=-1), method="cross", cv=2),
    OrdinalDistributionRegressor(HistGradientBoostingOrdinalClassifier(max_iter=5)),
    HistGradientBoostingMultiOutputClassifier(max_iter=5),
    HistGradientBoostingMultiOutputRegressor(max_iter=5),
    OrdinalEnsembleClassifier(),
    OrdinalEnsembleClassifier(
        [("o", LGBMOrdinalClassifier(**FEW)), ("m", LGBMClassifier(n_estimators=5, verbosity=-1))]
    ),
]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), rng.integers(0, 4, 200)])
    return X, np.array(["low", "middle", "top"])[np.digitize(X[:, 0] + 0.3 * rng.normal(size=200), [-0.5, 0.7])]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_models_make_the_round_trip(rows, model):
    X, y = rows
    if "classes" in model.get_params():
        model.set_params(classes=["low", "middle", "top"])
    several = isinstance(model, HistGradientBoostingMultiOutputRegressor)
    loaded = round_trip(model.fit(X, X if several else X[:, 0] if is_regressor(model) else y))
    assert (loaded.predict(X) == model.predict(X)).all()
    if not is_regressor(model):
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    if isinstance(model, OrdinalPredictionSets):
        assert (loaded.predict_interval(X) == model.predict_interval(X)).all()


def round_trip(model):
    stored = skops.io.dumps(model)
    assert set(skops.io.get_untrusted_types(data=stored)) <= set(TRUSTED_TYPES)
    return skops.io.loads(stored, trusted=list(TRUSTED_TYPES))
