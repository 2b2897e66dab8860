"""Inspection takes categories that are given as numbers as categories: as the model does, or as the user says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

from makers import make_engine, make_lgb, make_xgb
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.columns import MISSING, NEW, codes_in
from ordinal_objectives.inspection import (
    accumulated_local_effects,
    average_marginal_effects,
    feature_effect,
    partial_probabilities,
)

RNG = np.random.default_rng(0)
N = 300
CODES = RNG.integers(0, 5, size=N)
X = np.column_stack([RNG.normal(size=N), CODES, RNG.normal(size=N)])
Y = np.digitize(np.array([0, 4, -4, 3, -3])[CODES] + X[:, 0] + RNG.logistic(size=N), [-3, 0, 3])
FRAME = pd.DataFrame(X, columns=["x", "code", "z"])
AS_CATEGORY = FunctionTransformer(lambda frame: frame.assign(code=frame["code"].astype(int).astype("category")))


def engine(place=1, **options):
    return make_engine(max_iter=5, categorical_features=[place], **options)


def columns(encoder, rest="passthrough"):
    return ColumnTransformer([("codes", encoder, [1])], remainder=rest)


def in_search():
    steps = [("same", FunctionTransformer()), ("model", engine())]
    return GridSearchCV(Pipeline(steps), {"model__max_iter": [3]}, cv=2).fit(X, Y)


MODELS = {
    "engine": lambda: engine().fit(X, Y),
    "engine, by name": lambda: make_engine(max_iter=5, categorical_features=["code"]).fit(FRAME, Y),
    "xgboost, feature_types": lambda: make_xgb(feature_types=["q", "c", "q"]).fit(X, Y),
    "xgboost, category type": lambda: make_xgb().fit(AS_CATEGORY.transform(FRAME), Y),
    "lightgbm, categorical_feature": lambda: make_lgb().fit(X, Y, categorical_feature=[1]),
    "lightgbm, by name": lambda: make_lgb().fit(FRAME, Y, categorical_feature=["code"]),
    "lightgbm, category type": lambda: make_lgb().fit(AS_CATEGORY.transform(FRAME), Y),
}
# Behind steps the user says which numbers are categories.
PIPELINES = {
    "search of a pipeline": in_search,
    "ordinal codes": lambda: make_pipeline(columns(OrdinalEncoder()), engine(0)).fit(X, Y),
    "one-hot, sparse": lambda: make_pipeline(columns(OneHotEncoder(), StandardScaler()), make_lgb()).fit(X, Y),
}


@pytest.mark.parametrize("kind", [*MODELS, *PIPELINES])
def test_levels_are_compared_and_not_added_up(kind):
    model = (MODELS | PIPELINES)[kind]()
    given = {"categorical_features": [1]} if kind in PIPELINES else {}
    rows = FRAME if hasattr(getattr(model, "best_estimator_", model), "feature_names_in_") else X
    if "category type" in kind:
        rows = AS_CATEGORY.transform(FRAME)
    found = average_marginal_effects(model, rows, 1, **given)
    assert average_marginal_effects(model, rows, 0, **given).step is not None
    assert (found.levels.tolist(), found.step) == ([1, 2, 3, 4], None)
    assert np.abs(found.effects).max() > 0.1
    assert feature_effect(model, rows, 1, **given).values.tolist() == [0, 1, 2, 3, 4]
    assert partial_probabilities(model, rows, 1, **given)[0].dtype == object
    with pytest.raises(ValueError, match="must hold numbers: effects are added up along their order"):
        accumulated_local_effects(model, rows, 1, **given)


def test_files_keep_which_columns_are_categories(tmp_path):
    for kind, cls in (
        ("xgboost, feature_types", XGBOrdinalClassifier),
        ("lightgbm, categorical_feature", LGBMOrdinalClassifier),
        ("engine", HistGradientBoostingOrdinalClassifier),
    ):
        MODELS[kind]().save_model(tmp_path / "model.json")
        model = cls().load_model(tmp_path / "model.json")
        assert model.is_categorical_.tolist() == [False, True, False]
        assert average_marginal_effects(model, X, 1).levels.tolist() == [1, 2, 3, 4]


def test_a_fraction_that_no_row_had_has_no_code():
    assert codes_in(np.array([[0.5], [0.75], [np.nan]]), 0, [0.25, 0.5]).tolist() == [1, NEW, MISSING]
    close = np.array([[0.5 + 1e-9]])  # the levels were float64, though shorter types hold them as well
    assert codes_in(close, 0, [0.25, 0.5]).tolist() == [NEW]
