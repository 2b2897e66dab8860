"""Trainings by the frameworks' own ``train``, with an ordinal objective."""

from __future__ import annotations

from typing import Any

import lightgbm
import xgboost

XGB_PARAMS = {"base_score": 0.0, "disable_default_eval_metric": 1, "max_depth": 3, "nthread": 1}
LGB_PARAMS = {"num_leaves": 8, "verbosity": -1, "metric": "None", "min_data_in_leaf": 5, "num_threads": 1}


def train_xgb(objective: Any, dtrain: xgboost.DMatrix, rounds: int = 10, **options: Any) -> xgboost.Booster:
    return xgboost.train(XGB_PARAMS, dtrain, rounds, obj=objective, verbose_eval=False, **options)


def train_lgb(objective: Any, data: lightgbm.Dataset, rounds: int = 10, **options: Any) -> lightgbm.Booster:
    return lightgbm.train({**LGB_PARAMS, "objective": objective}, data, rounds, **options)
