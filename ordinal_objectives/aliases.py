"""Types that many signatures name: of arrays, tables, estimators and seeds."""

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import (
    ArrayLike as ArrayLike,  # noqa: PLC0414, for others to import from here
    NDArray as NDArray,  # noqa: PLC0414
)

if TYPE_CHECKING:
    import pandas

type FloatArray = NDArray[np.float64]
# Of the type that a kernel computes in: float32 or float64.
type RealArray = NDArray[np.floating]
# Class codes, or the leaves of rows.
type IntArray = NDArray[np.int32]
# Numbers of rows, columns or nodes.
type IndexArray = NDArray[np.intp]
type BoolArray = NDArray[np.bool_]
# Labels, or the values of a feature: numbers, text or objects.
type LabelArray = NDArray[np.generic]
# One column of a table, read by the methods of its library: an array, a series of pandas or polars, an array of Arrow.
type Column = Any
# Of pandas: results that users are given, and what is read from a file.
type DataFrame = pandas.DataFrame
type Series = pandas.Series
# Of a category: text, a number or a boolean.
type Level = Any
# Of any library, with the methods that scikit-learn's estimators have.
type Estimator = Any
# A model of XGBoost, LightGBM or treelite.
type Booster = Any
# What ``random_state`` takes.
type Seed = int | np.random.RandomState | np.random.Generator | None
# Parameters, or other keywords, by name.
type Params = dict[str, Any]
# An object of a file in JSON.
type JSON = dict[str, Any]


class Table(Protocol):
    """Features: an array, a sparse matrix, a frame of pandas or polars, or an Arrow table.

    The libraries have no more in common, and are told apart by what else they have. What a user may pass for features,
    such as a list, is an object until :func:`.tables.as_table` has read it.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""

    def __getitem__(self, place: Any, /) -> Any: ...
