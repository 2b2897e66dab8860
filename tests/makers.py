"""Small classifiers that the tests train, and the tests' parameters that go through them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier

SMALL = {"learning_rate": 0.3, "n_jobs": 1}


def make_xgb(**params: Any) -> XGBOrdinalClassifier:
    return XGBOrdinalClassifier(**{"n_estimators": 15, "max_depth": 3, **SMALL, **params})


def make_lgb(**params: Any) -> LGBMOrdinalClassifier:
    return LGBMOrdinalClassifier(**{"n_estimators": 15, "num_leaves": 6, "min_child_samples": 5, **SMALL, **params})


def make_engine(**params: Any) -> HistGradientBoostingOrdinalClassifier:
    return HistGradientBoostingOrdinalClassifier(**{"max_iter": 15, "max_leaf_nodes": 6, **SMALL, **params})


BOTH = pytest.mark.parametrize("make", [make_xgb, make_lgb], ids=["xgboost", "lightgbm"])

MAKERS: dict[str, Any] = {
    "xgboost": partial(make_xgb, n_estimators=6),
    "lightgbm": partial(make_lgb, n_estimators=6),
    "histogram": partial(make_engine, max_iter=6),
}
ALL = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
