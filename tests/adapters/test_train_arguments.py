"""What ``train`` and ``cv`` are given in place of a matrix, a set, parameters or a number of rounds is named."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest
import xgboost

from ordinal_objectives.adapters import lgbm as olgbm
from ordinal_objectives.adapters import xgb as oxgb

X = np.random.default_rng(0).normal(size=(60, 2))
Y = np.digitize(X[:, 0], [-0.5, 0.5])
MATRIX, DATASET = xgboost.DMatrix(X, Y), lightgbm.Dataset(X, Y)


@pytest.mark.parametrize("wrong", [X, (X, Y), None, DATASET], ids=["X", "pair", "None", "Dataset"])
@pytest.mark.parametrize("door", [oxgb.train, oxgb.cv])
def test_no_matrix(door, wrong):
    with pytest.raises(TypeError, match=r"dtrain must be an xgboost.DMatrix; got .*pass xgboost.DMatrix\(X, y\)"):
        door({}, wrong, 1)


@pytest.mark.parametrize("wrong", [X, (X, Y), None, MATRIX], ids=["X", "pair", "None", "DMatrix"])
@pytest.mark.parametrize("door", [olgbm.train, olgbm.cv])
def test_no_data_set(door, wrong):
    with pytest.raises(TypeError, match=r"train_set must be a lightgbm.Dataset; got .*pass lightgbm.Dataset\(X, y\)"):
        door({}, wrong, 1)


NO_EVALS = {
    "X and y": [(X, Y)],
    "matrix and y": [(MATRIX, Y)],
    "no name": [MATRIX],
    "no list": MATRIX,
    "one pair": (MATRIX, "a"),
    "number": 3,
    "text": "ab",
    "dict": {"a": MATRIX},
    "a number for a name": [(MATRIX, 3)],
    "three": [(MATRIX, "a", 1)],
}
NO_SETS = {"X and y": [(X, Y)], "X": [X], "number": 3, "text": "ab", "dict": {"a": DATASET}, "None": [None]}


@pytest.mark.parametrize("wrong", NO_EVALS.values(), ids=NO_EVALS)
def test_no_matrices_to_evaluate(wrong):
    with pytest.raises(TypeError, match=r"evals must be a list of \(DMatrix, name\) pairs, or None; got"):
        oxgb.train({}, MATRIX, 1, evals=wrong)


@pytest.mark.parametrize("wrong", NO_SETS.values(), ids=NO_SETS)
def test_no_data_sets_to_evaluate(wrong):
    with pytest.raises(TypeError, match=r"valid_sets must be a list of lightgbm.Dataset, or None; got"):
        olgbm.train({}, lightgbm.Dataset(X, Y), 1, valid_sets=wrong)


DOORS = {
    "oxgb.train": lambda *asked: oxgb.train(asked[0], MATRIX, *asked[1:]),
    "oxgb.cv": lambda *asked: oxgb.cv(asked[0], MATRIX, *asked[1:]),
    "olgbm.train": lambda *asked: olgbm.train(asked[0], lightgbm.Dataset(X, Y), *asked[1:]),
    "olgbm.cv": lambda *asked: olgbm.cv(asked[0], lightgbm.Dataset(X, Y), *asked[1:]),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_no_parameters_and_no_number_of_rounds(door):
    for wrong in (None, [("max_depth", 2)], "max_depth"):
        with pytest.raises(TypeError, match=f"params must be a dict of names and values; got {type(wrong).__name__}"):
            door(wrong, 1)
    for wrong, error in (("a", TypeError), (None, TypeError), (2.5, TypeError), (True, TypeError), (-1, ValueError)):
        with pytest.raises(error, match=f"num_boost_round must be an integer at least .; got {wrong!r}"):
            door({}, wrong)
