"""Trainings inside XGBoost and LightGBM whose thresholds move with x, behind one face for the tests of both."""

from __future__ import annotations

import json
from typing import ClassVar

import lightgbm
import numpy as np
import pytest
import xgboost

from ordinal_objectives import LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb

N_CLASSES = 5


def data(n=600, seed=0, n_classes=N_CLASSES):
    """Rows whose second feature acts on the lower and the upper thresholds in opposite ways."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    sign = np.where(np.arange(n_classes - 1) < (n_classes - 1) / 2, 1.0, -1.0)
    scores = X[:, [0]] + sign * X[:, [1]]
    margins = np.sort(np.linspace(-1.5, 1.5, n_classes - 1) - scores, axis=1)
    y = (rng.logistic(size=(n, 1)) > margins).sum(axis=1)
    y[:n_classes] = np.arange(n_classes)
    return X, y


class OnXGBoost:
    name = "xgb"
    options: ClassVar = {"max_depth": 3, "eta": 0.3, "lambda": 1.0}

    @classmethod
    def train(cls, X, y, rounds=10, params=None, weight=None, start=None, previous=None, valid=(), **options):
        dtrain = xgboost.DMatrix(X, y, weight=weight, base_margin=start)
        evals = [(xgboost.DMatrix(*pair), f"valid_{i}") for i, pair in enumerate(valid)]
        options.setdefault("proportional", False)
        return oxgb.train(
            {**cls.options, **(params or {})},
            dtrain,
            rounds,
            evals=evals,
            xgb_model=previous,
            verbose_eval=False,
            **options,
        )

    @staticmethod
    def proba(booster, X, t=None, start=None):
        return oxgb.predict_proba(booster, xgboost.DMatrix(X, base_margin=start), t and (0, t))

    @staticmethod
    def score(booster, X):
        return booster.predict(xgboost.DMatrix(X), output_margin=True)

    record = staticmethod(oxgb.threshold_record)

    @staticmethod
    def reload(booster, path):
        booster.save_model(path / "model.json")
        return xgboost.Booster(model_file=path / "model.json")


class OnLightGBM:
    name = "lgbm"
    options: ClassVar = {
        "num_leaves": 6,
        "learning_rate": 0.3,
        "lambda_l2": 1.0,
        "verbosity": -1,
        "min_data_in_leaf": 5,
    }

    @classmethod
    def train(cls, X, y, rounds=10, params=None, weight=None, start=None, previous=None, valid=(), **options):
        train_set = lightgbm.Dataset(X, y, weight=weight, init_score=start)
        valid_sets = [lightgbm.Dataset(*pair, reference=train_set) for pair in valid]
        kept = options.pop("evals_result", {})
        options.setdefault("proportional", False)
        return olgbm.train(
            {**cls.options, **(params or {})},
            train_set,
            rounds,
            valid_sets=valid_sets or None,
            init_model=previous,
            callbacks=[lightgbm.record_evaluation(kept)] if valid_sets else None,
            **options,
        )

    @staticmethod
    def proba(booster, X, t=None, start=None):
        assert start is None
        return olgbm.predict_proba(booster, X, t)

    @staticmethod
    def score(booster, X):
        return booster.predict(X, raw_score=True)

    record = staticmethod(olgbm.threshold_record)

    @staticmethod
    def reload(booster, path):
        olgbm.save_model(booster, path / "model.txt")
        return olgbm.load_model(path / "model.txt")


HOSTS = pytest.mark.parametrize("host", [OnXGBoost, OnLightGBM])
CLASSIFIERS = pytest.mark.parametrize("make", [XGBOrdinalClassifier, LGBMOrdinalClassifier])


def leaves_of(host, booster, X, t):
    """Rows' leaves in tree t, in the order of the record."""
    if host is OnLightGBM:
        return booster.predict(X, pred_leaf=True, start_iteration=t, num_iteration=1).ravel()
    nodes = booster[t : t + 1].predict(xgboost.DMatrix(X), pred_leaf=True).ravel()
    tree = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"][t]
    return np.searchsorted(np.flatnonzero(np.array(tree["left_children"]) == -1), nodes)


def mean_loss(loss, margins, y, weight=None):
    return np.average(loss.margin_derivatives(margins, y, "exact").value, weights=weight)
