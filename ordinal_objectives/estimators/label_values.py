"""Labels before encoding: checks, distinct values, and the order of categoricals."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import column_or_1d

_MOST_EXACT = 2.0**53
# Distinct strings for which comparing all rows with one costs less than making Python strings of the rows.
_FEW = 8


class DistinctLabels(NamedTuple):
    """The distinct labels, and the number of the label of each row."""

    distinct: NDArray[Any]
    inverse: NDArray[np.intp]


def distinct_labels(name: str, y: ArrayLike, *, warn: bool = False) -> DistinctLabels:
    """Return the labels of :func:`as_labels`, told apart; equal ones, such as 1 and 1.0, are one."""
    # pandas tells its own types apart in milliseconds; to make Python strings of a million rows takes longer.
    if getattr(y, "ndim", 0) != 1 or not hasattr(y, "factorize") or isinstance(getattr(y, "dtype", None), np.dtype):
        return _tell_apart(as_labels(name, y, warn=warn))
    inverse, found = y.factorize()
    if (inverse < 0).any():
        raise ValueError(f"{name} contains missing labels (None, NaN or NA); every row needs a label")
    return DistinctLabels(as_labels(name, np.asarray(found)), inverse)


def _tell_apart(values: NDArray[Any]) -> DistinctLabels:
    if values.dtype.kind in "biuf":
        return DistinctLabels(*np.unique(values, return_inverse=True))
    inverse = np.full(len(values), -1, dtype=np.intp)
    found: list[Any] = []
    while values.dtype.kind in "US" and len(found) < _FEW and inverse[row := int(inverse.argmin())] < 0:
        inverse[values == values[row]] = len(found)
        found.append(values[row])
    rest = np.flatnonzero(inverse < 0)
    labels = values[rest].tolist()
    number = {label: i for i, label in enumerate(dict.fromkeys(labels), len(found))}
    inverse[rest] = np.fromiter(map(number.__getitem__, labels), dtype=np.intp, count=len(labels))
    distinct = np.empty(len(found) + len(number), dtype=values.dtype)
    for i, label in enumerate([*found, *number]):
        distinct[i] = label
    return DistinctLabels(distinct, inverse)


def as_labels(name: str, y: ArrayLike, *, warn: bool = False) -> NDArray[Any]:
    """Return labels as a one-dimensional array without missing values; ``warn`` of a column that is made flat."""
    try:
        given = np.asarray(y)
    except ValueError as error:  # lists of different lengths
        raise ValueError(f"{name} must be one-dimensional: {error}") from None
    if given.ndim == 0:
        hint = "; pass a list, in the order of the classes" if isinstance(y, set | frozenset | Iterator) else ""
        raise ValueError(f"{name} must be one-dimensional; got {y!r}{hint}")
    if given.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} must hold labels with an order")
    values: NDArray[Any] = column_or_1d(y, warn=warn)
    if np.ma.is_masked(y):
        raise ValueError(f"{name} contains missing labels (masked); every row needs a label")
    if len(values) == 0:
        raise ValueError(f"{name} must hold labels; got none (0 samples)")
    if values.dtype.kind in "OT":
        labels = values.tolist()
        try:
            distinct = dict.fromkeys(labels)
        except TypeError as error:  # of a list, a dict, or a signalling NaN
            raise ValueError(f"{name} must hold labels that can be told apart; got one that cannot: {error}") from None
        if any(map(_is_missing, distinct)):
            raise ValueError(f"{name} contains missing labels (None, NaN or NA); every row needs a label")
        if all(issubclass(kind, numbers.Real) for kind in set(map(type, labels))):
            values = np.asarray(labels)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"{name} contains NaN or infinity; labels must be finite")
    if values.dtype.kind == "f" and float(np.abs(values).max()) > _MOST_EXACT:
        raise ValueError(f"{name} holds numbers beyond 2**53, where floats do not tell integers apart")
    if values.dtype.kind not in "biufUSOT":
        raise ValueError(f"Unknown label type: {values.dtype}; {name} must hold numbers, strings or a categorical")
    return values


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True  # the truth of pandas.NA is undefined


def ordered_categories(y: Any) -> NDArray[Any] | None:
    """Return the categories of an ordered categorical, lowest first, without importing its library.

    Raises
    ------
    ValueError
        If the chunks of an Arrow dictionary have different categories.
    """
    y = _only_column(y)
    dtype: Any = getattr(y, "dtype", None)
    if hasattr(dtype, "pyarrow_dtype"):  # pandas over Arrow
        y = getattr(y, "array", y).__arrow_array__()
    if getattr(getattr(y, "type", None), "ordered", False):  # an Arrow dictionary
        categories = [chunk.dictionary.to_pylist() for chunk in getattr(y, "chunks", [y])]
        differing = [other for other in categories if other != categories[0]]
        if differing:
            raise ValueError(
                f"labels in chunks must have the same categories; got {categories[0]} and {differing[0]}, which have "
                f"no common order. Pass the order of the classes"
            )
        return np.array(categories[0]) if categories else None
    is_ordered = getattr(dtype, "ordered", type(dtype).__name__ == "Enum")
    return np.array(dtype.categories) if is_ordered and hasattr(dtype, "categories") else None


def _only_column(y: Any) -> Any:
    """Return the column of a pandas or polars frame or an Arrow table that has a single one, else `y` itself."""
    if isinstance(y, np.ndarray) or len(getattr(y, "shape", ())) != 2 or y.shape[1] != 1:
        return y
    if hasattr(y, "iloc"):
        return y.iloc[:, 0]
    return y.to_series() if hasattr(y, "to_series") else y.column(0) if hasattr(y, "column") else y
