"""Types that many signatures name: of arrays, tables, estimators and seeds."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import (
    ArrayLike as ArrayLike,  # noqa: PLC0414, for others to import from here
    NDArray as NDArray,  # noqa: PLC0414
)

FloatArray: TypeAlias = NDArray[np.float64]
# Of the type that a kernel computes in: float32 or float64.
RealArray: TypeAlias = NDArray[np.floating]
# Class codes, or the leaves of rows.
IntArray: TypeAlias = NDArray[np.int32]
# Numbers of rows, columns or nodes.
IndexArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]
# Labels, or the values of a feature: numbers, text or objects.
LabelArray: TypeAlias = NDArray[np.generic]
# Features: an array, a sparse matrix, a frame of pandas or polars, or an Arrow table, told apart by what they have; and
# one column of them, or labels.
Table: TypeAlias = Any
Column: TypeAlias = Any
# Of a category: text, a number or a boolean.
Level: TypeAlias = Any
# Of any library, with the methods that scikit-learn's estimators have.
Estimator: TypeAlias = Any
# A model of XGBoost, LightGBM or treelite.
Booster: TypeAlias = Any
# What ``random_state`` takes.
Seed: TypeAlias = int | np.random.RandomState | None
# Parameters, or other keywords, by name.
Params: TypeAlias = dict[str, Any]
# An object of a file in JSON.
JSON: TypeAlias = dict[str, Any]
