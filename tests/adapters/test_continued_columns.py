"""A model is continued on the columns that it was trained on, and callbacks are what a framework can call."""

from __future__ import annotations

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost

from ordinal_objectives import LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm
from ordinal_objectives.adapters import xgb as oxgb

X = np.random.default_rng(0).normal(size=(120, 4))
Y = np.digitize(X[:, 0], [-1.0, 0.0, 1.0])
FRAME = pd.DataFrame(X, columns=["a b", "c", "d", "e"])
QUIET = {"verbosity": -1, "num_threads": 1, "num_leaves": 4}


def xgb(rows, model=None, **options):
    return XGBOrdinalClassifier(n_estimators=2, max_depth=2, n_jobs=1, **options).fit(rows, Y, xgb_model=model)


def lgbm(rows, model=None, **options):
    return LGBMOrdinalClassifier(n_estimators=2, num_leaves=4, n_jobs=1).fit(rows, Y, init_model=model, **options)


def xgb_train(rows, model=None, **options):
    return oxgb.train({"max_depth": 2, "nthread": 1}, xgboost.DMatrix(rows, Y), 2, xgb_model=model, **options)


def lgbm_train(rows, model=None, **options):
    return olgbm.train(QUIET, lightgbm.Dataset(rows, Y), 2, init_model=model, **options)


def lgbm_subset(rows, model=None):
    data = lightgbm.Dataset(rows, Y, free_raw_data=False, params=QUIET).construct()
    return olgbm.train(QUIET, data.subset(range(100)), 2, init_model=model, n_classes=4)


DOORS = {
    "XGBOrdinalClassifier": (xgb, "xgb_model"),
    "oxgb.train": (xgb_train, "xgb_model"),
    "LGBMOrdinalClassifier": (lgbm, "init_model"),
    "olgbm.train": (lgbm_train, "init_model"),
    "olgbm.train, a subset": (lgbm_subset, "init_model"),
}
each_door = pytest.mark.parametrize(("fit", "argument"), DOORS.values(), ids=DOORS)


@each_door
@pytest.mark.parametrize("other", [X[:, :3], np.c_[X, X]], ids=["fewer", "more"])
def test_another_number_of_columns_is_refused(fit, argument, other):
    with pytest.raises(ValueError, match=f"{argument} was trained on 4 columns; here X has {other.shape[1]}"):
        fit(other, fit(X))


@each_door
def test_columns_in_another_order_are_refused(fit, argument):
    """LightGBM takes them, and a model of it then mixes features."""
    with pytest.raises(ValueError, match=rf"{argument} was trained on the columns 'a.b', 'c', .* 'd' for 'c'"):
        fit(FRAME[["a b", "d", "c", "e"]], fit(FRAME))


@each_door
def test_the_same_columns_go_on(fit, argument):
    fit(FRAME, fit(FRAME))
    fit(X, fit(X))
    if argument == "init_model":  # names that LightGBM made up mean nothing
        fit(FRAME, fit(X))
        fit(X, fit(FRAME))
    else:
        with pytest.raises(ValueError, match=r"xgb_model was trained on the columns .* here X has no names"):
            fit(X, fit(FRAME))


def test_numbers_for_names_are_no_names_of_other_columns():
    numbered = pd.DataFrame(X)
    lgbm(numbered, lgbm(numbered))
    lgbm(X, lgbm(numbered))


@pytest.mark.parametrize(
    "fit",
    [
        lambda callbacks: xgb(X, callbacks=callbacks),
        lambda callbacks: lgbm(X, callbacks=callbacks),
        lambda callbacks: xgb_train(X, callbacks=callbacks),
        lambda callbacks: lgbm_train(X, callbacks=callbacks),
        lambda callbacks: oxgb.cv({"nthread": 1}, xgboost.DMatrix(X, Y), 2, nfold=2, callbacks=callbacks),
        lambda callbacks: olgbm.cv(QUIET, lightgbm.Dataset(X, Y), 2, nfold=2, callbacks=callbacks),
    ],
    ids=["XGBOrdinalClassifier", "LGBMOrdinalClassifier", "oxgb.train", "olgbm.train", "oxgb.cv", "olgbm.cv"],
)
@pytest.mark.parametrize("wrong", [3, [3], "stop", [None], print])
def test_callbacks_that_are_none_are_refused(fit, wrong):
    with pytest.raises(TypeError, match="callbacks must be a list of"):
        fit(wrong)


def test_any_iterable_of_callbacks_will_do():
    rounds = []
    lgbm(X, callbacks=(one for one in [lambda env: rounds.append(env.iteration)]))
    assert rounds == [0, 1]
