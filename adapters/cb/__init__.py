"""Ordinal boosting inside CatBoost: an objective, a metric and a callback that share one training."""

from __future__ import annotations

from ordinal_objectives.utils.extras import not_installed

try:
    import catboost  # noqa: F401
except ModuleNotFoundError as error:
    raise not_installed(error, "catboost") from None

from ordinal_objectives.adapters.cb.booster import load_model, predict, predict_proba, save_model, threshold_record
from ordinal_objectives.adapters.cb.objective import OrdinalObjective
from ordinal_objectives.adapters.cb.train import train
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils import public_names

__all__ = [
    "OrdinalObjective",
    "ThresholdRecord",
    "load_model",
    "predict",
    "predict_proba",
    "save_model",
    "threshold_record",
    "train",
]
__dir__ = public_names(__name__)
