"""Ordinal boosting inside XGBoost: an objective for ``xgboost.train`` whose thresholds are learned."""

from __future__ import annotations

from ordinal_objectives.utils.extras import not_installed

try:
    import xgboost  # noqa: F401
except ModuleNotFoundError as error:
    raise not_installed(error, "xgboost") from None

from ordinal_objectives.adapters.xgb.booster import ATTRIBUTE, kept_rounds, threshold_record
from ordinal_objectives.adapters.xgb.objective import OrdinalObjective
from ordinal_objectives.adapters.xgb.prediction import margin_contributions, predict, predict_proba
from ordinal_objectives.adapters.xgb.train import cv, train
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils import public_names

__all__ = [
    "ATTRIBUTE",
    "OrdinalObjective",
    "ThresholdRecord",
    "cv",
    "kept_rounds",
    "margin_contributions",
    "predict",
    "predict_proba",
    "threshold_record",
    "train",
]
__dir__ = public_names(__name__)
