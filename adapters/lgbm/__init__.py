"""Ordinal boosting inside LightGBM: an objective for ``lightgbm.train`` whose thresholds are learned."""

from __future__ import annotations

import ctypes

from ordinal_objectives.utils.extras import not_installed

try:
    import lightgbm
except ModuleNotFoundError as error:
    raise not_installed(error, "lightgbm") from None

from ordinal_objectives.adapters.lgbm.booster import load_model, save_model, threshold_record
from ordinal_objectives.adapters.lgbm.objective import OrdinalObjective
from ordinal_objectives.adapters.lgbm.prediction import predict, predict_proba
from ordinal_objectives.adapters.lgbm.train import cv, network_params, train
from ordinal_objectives.threads import limit_after_fork
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils import public_names

# LightGBM asks OpenMP for as many threads as a booster was last given, whatever OpenMP's own limit. What bounds them
# has no public name in Python.
limit_after_fork(lambda: vars(lightgbm.basic)["_LIB"].LGBM_SetMaxThreads(ctypes.c_int(1)))

__all__ = [
    "OrdinalObjective",
    "ThresholdRecord",
    "cv",
    "load_model",
    "network_params",
    "predict",
    "predict_proba",
    "save_model",
    "threshold_record",
    "train",
]
__dir__ = public_names(__name__)
