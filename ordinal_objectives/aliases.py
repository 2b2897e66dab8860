"""Types that many signatures name: of arrays, tables, estimators and seeds."""

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import (
    ArrayLike as ArrayLike,  # noqa: PLC0414, for others to import from here
    NDArray as NDArray,  # noqa: PLC0414
)

if TYPE_CHECKING:
    import pandas

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
# One column of a table, read by the methods of its library: an array, a series of pandas or polars, an array of Arrow.
Column: TypeAlias = Any
# Of pandas: results that users are given, and what is read from a file.
DataFrame: TypeAlias = "pandas.DataFrame"
Series: TypeAlias = "pandas.Series"
# Of a category: text, a number or a boolean.
Level: TypeAlias = Any
# Of any library, with the methods that scikit-learn's estimators have.
Estimator: TypeAlias = Any
# A model of XGBoost, LightGBM or treelite.
Booster: TypeAlias = Any
# What ``random_state`` takes.
Seed: TypeAlias = int | np.random.RandomState | np.random.Generator | None
# Parameters, or other keywords, by name.
Params: TypeAlias = dict[str, Any]
# An object of a file in JSON.
JSON: TypeAlias = dict[str, Any]


class Table(Protocol):
    """Features: an array, a sparse matrix, a frame of pandas or polars, or an Arrow table.

    The libraries have no more in common, and are told apart by what else they have. What a user may pass for features,
    such as a list, is an object until :func:`.tables.as_table` has read it.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""

    def __getitem__(self, place: Any, /) -> Any: ...
