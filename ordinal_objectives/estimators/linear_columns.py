"""Columns of a table as numbers of one scale and codes of categories, for a linear score."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from ordinal_objectives.estimators.category_levels import codes_in, in_order, occurring
from ordinal_objectives.estimators.column_types import column_kinds, refuse_but_numbers
from ordinal_objectives.row_blocks import RowBlocks

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Encoded:
    """A table for a linear score.

    Attributes
    ----------
    numbers : ndarray of float64, shape (n_samples, n_numbers)
        Of mean 0 and variance 1 in the training; 0 where a value is missing.
    codes : list of ndarray of int, shape (n_samples,) each
        Level of each category; -1 where it is missing or unknown.
    """

    numbers: FloatArray
    codes: list[NDArray[np.intp]]


@dataclass(frozen=True)
class LinearColumns:
    """How a table becomes numbers of one scale.

    Attributes
    ----------
    n_features : int
    places : ndarray of int, shape (n_numbers,)
        Columns of numbers.
    mean, scale, low, high : ndarray of float64, shape (n_numbers,)
        Of each: mean, standard deviation, smallest and largest value of the training. Values outside count as these.
    levels : dict of int to list
        Levels of each column of categories.
    """

    n_features: int
    places: NDArray[np.intp]
    mean: FloatArray
    scale: FloatArray
    low: FloatArray
    high: FloatArray
    levels: dict[int, list[Any]]

    @classmethod
    def of(cls, X: Any, weight: FloatArray | None, categories: Collection[int], missing: float) -> LinearColumns:
        """Find the scale of each column of numbers and the levels of the others.

        Parameters
        ----------
        X : array or table, shape (n_samples, n_features)
        weight : ndarray of float64, shape (n_samples,), or None
        categories : collection of int
            Columns that hold categories, whatever their type.
        missing : float
            A number that stands for a missing value, beside NaN.
        """
        if issparse(X) or isinstance(X, RowBlocks):
            kind = "RowBlocks" if isinstance(X, RowBlocks) else "a sparse matrix"
            raise ValueError(f"X must be an array or a table where linear is not False; got {kind}")
        kinds = {i: kind for i, (_, _, kind) in enumerate(column_kinds(X))}
        of_levels = [i for i in range(X.shape[1]) if i in categories or kinds.get(i, "number") != "number"]
        places = np.setdiff1d(np.arange(X.shape[1]), of_levels)
        values = _numbers(X, places, missing)
        known = np.isfinite(values)
        share = known * (1.0 if weight is None else weight[:, np.newaxis])
        total = np.maximum(share.sum(axis=0), np.finfo(np.float64).tiny)
        filled = np.where(known, values, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):  # of numbers near the largest, whose column is left out
            mean = (share * filled).sum(axis=0) / total
            scale = np.sqrt((share * np.where(known, values - mean, 0.0) ** 2).sum(axis=0) / total)
        counts = share > 0
        low = np.where(counts, filled, np.inf).min(axis=0, initial=np.inf)
        high = np.where(counts, filled, -np.inf).max(axis=0, initial=-np.inf)
        usable = np.isfinite(mean) & np.isfinite(scale) & (scale > 0.0)
        mean, scale = np.where(usable, mean, 0.0), np.where(usable, scale, 1.0)
        low, high = np.where(usable, low, 0.0), np.where(usable, high, 0.0)
        levels = {place: in_order(occurring(X, place)) for place in of_levels}
        return cls(X.shape[1], places, mean, scale, low, high, levels)

    def encode(self, X: Any, missing: float) -> Encoded:
        """Return a table as numbers and codes."""
        values = np.clip(_numbers(X, self.places, missing), self.low, self.high)
        numbers: FloatArray = np.nan_to_num((values - self.mean) / self.scale, copy=False, nan=0.0)
        return Encoded(numbers, [codes_in(X, place, levels) for place, levels in self.levels.items()])


def _numbers(X: Any, places: NDArray[np.intp], missing: float) -> FloatArray:
    """Return columns of numbers, NaN where they are missing."""
    if hasattr(X, "iloc"):
        X = X.iloc[:, places]
    elif hasattr(X, "schema"):  # polars and Arrow
        names = list(X.schema.names() if callable(X.schema.names) else X.schema.names)
        X = X.select([names[place] for place in places])
    else:
        X = X[:, places]
    if not len(places):
        return np.zeros((X.shape[0] if X.shape[0] else 0, 0))
    if hasattr(X, "columns"):
        refuse_but_numbers(X, name="X", hint="The linear part was fitted to numbers there")
    values: FloatArray = check_array(
        X, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0, copy=True, input_name="X"
    )
    if missing == missing:
        values[values == missing] = np.nan
    return values
