"""Levels of categories in a column, whatever the table: text, numbers and booleans; others by their text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.utils.validation import check_integer, first_few

# Levels that a file holds as they are; others are known by their text.
PLAIN = (str, bool, int, float)


def levels_in(X: Any, place: int) -> tuple[list[Any], NDArray[np.intp]]:
    """Return levels of a column, and which of them each row has.

    Parameters
    ----------
    X : array, pandas or polars frame, or Arrow table, shape (n_samples, n_features)
    place : int

    Returns
    -------
    levels : list
        All that occur, and those that a pandas column declares.
    which : ndarray of int, shape (n_samples,)
        -1 where the level is missing.
    """
    column: Any = X.iloc[:, place] if hasattr(X, "iloc") else X[:, place] if isinstance(X, np.ndarray) else None
    if hasattr(column, "cat"):
        return [_level(value) for value in column.cat.categories.astype(object)], column.cat.codes.to_numpy(np.intp)
    dtype = getattr(column, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        values, which = np.unique(np.asarray(column), return_inverse=True)
        n_known = int(np.count_nonzero(values == values))
        return values[:n_known].tolist(), np.where(which < n_known, which, -1)
    number: dict[Any, int] = {None: -1}
    of_rows = [number.setdefault(_level(value), len(number) - 1) for value in _values(X, place)]
    return list(number)[1:], np.array(of_rows, dtype=np.intp)


def coded(found: list[Any], which: NDArray[np.intp], known: list[Any]) -> NDArray[np.intp]:
    """Return the place of each row's level among the known ones, (n_samples,); -1 for any other.

    The first two are what :func:`levels_in` returns.
    """
    number = {level: code for code, level in enumerate(known)}
    return np.array([*(number.get(level, -1) for level in found), -1], dtype=np.intp)[which]


def occurring(X: Any, place: int) -> set[Any]:
    """Return the levels that rows of a column have."""
    return _of_rows(*levels_in(X, place))


def declared(X: Any) -> dict[int, list[Any]]:
    """Return the levels of each column of a pandas frame that has a category type, in their order."""
    return {place: levels_in(X, place)[0] for place, dtype in _pandas_types(X) if hasattr(dtype, "categories")}


def with_known_levels(X: Any, known: Mapping[int, list[Any]]) -> Any:
    """Return a pandas frame whose columns of categories list the known levels, in their order; another table as it is.

    Raises
    ------
    ValueError
        If rows have other levels; the message names column and levels.
    """
    columns = {}
    for place in [place for place, dtype in _pandas_types(X) if place in known and hasattr(dtype, "categories")]:
        found, which = levels_in(X, place)
        if found == known[place]:
            continue
        others = in_order(_of_rows(found, which) - set(known[place]))
        if others:
            raise ValueError(
                f"X must have the levels of the training in column {X.columns[place]!r}, {first_few(known[place])}; "
                f"got {first_few(others)}"
            )
        categorical = type(X.iloc[:, place].array)
        columns[place] = categorical.from_codes(coded(found, which, known[place]), categories=known[place])
    return with_columns(X, columns) if columns else X


def levels_from_json(content: Any, n_features: int) -> dict[int, list[Any]]:
    """Return the levels that a file names for some columns; a ValueError says that it is damaged."""
    levels = {check_integer("levels", place, 0, n_features - 1): list(of) for place, of in content}
    if not all(isinstance(level, PLAIN) for of in levels.values() for level in of):
        raise ValueError("levels must be text or numbers")
    return levels


def in_order(levels: Iterable[Any]) -> list[Any]:
    """Return levels with numbers first, then text, both increasing."""
    return sorted(levels, key=lambda level: (isinstance(level, str), level))


def with_columns(X: Any, columns: Mapping[int, Any]) -> Any:
    """Return a table with arrays in place of some columns: numbers, in a pandas frame of any type."""
    if isinstance(X, np.ndarray):
        changed = X.astype(X.dtype if X.dtype.kind in "fO" else object if X.dtype.kind in "US" else np.float64)
        for place, values in columns.items():
            changed[:, place] = values
        return changed
    if hasattr(X, "isetitem"):  # pandas
        X = X.copy(deep=False)
    for place, values in columns.items():
        if hasattr(X, "isetitem"):
            X.isetitem(place, values)
        elif hasattr(X, "with_columns"):  # polars
            column = X.to_series(place)
            X = X.with_columns(type(column)(column.name, values))
        else:
            X = X.set_column(place, X.schema.names[place], [values])
    return X


def _of_rows(found: list[Any], which: NDArray[np.intp]) -> set[Any]:
    return {found[i] for i in np.unique(which[which >= 0])}


def _pandas_types(X: Any) -> list[tuple[int, Any]]:
    return list(enumerate(X.dtypes)) if hasattr(X, "iloc") else []


def _values(X: Any, place: int) -> list[Any]:
    """Return the values of one column, None where they are missing."""
    if hasattr(X, "iloc"):
        column = X.iloc[:, place].astype(object)
        known: list[Any] = column.where(column.notna(), None).tolist()  # pandas.NA is not comparable
        return known
    if hasattr(X, "to_series"):
        return list(X.to_series(place).to_list())
    if hasattr(X, "schema"):
        return list(X.column(place).to_pylist())
    return list(X[:, place].tolist())


def _level(value: Any) -> Any:
    if value is None or value != value:
        return None
    return value if isinstance(value, PLAIN) else str(value)
