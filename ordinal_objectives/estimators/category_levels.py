"""Levels of categories in a column, whatever the table: text, numbers and booleans; others by their text."""

from __future__ import annotations

import numbers
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ordinal_objectives.estimators.column_types import called
from ordinal_objectives.utils.validation import first_few

# Levels that a file holds as they are; others are known by their text.
PLAIN = (str, bool, int, float)
# Types of floats by the names that NumPy, pandas, polars and Arrow give them.
_FLOATS: dict[str, Any] = {
    **dict.fromkeys(("float16", "Float16", "halffloat"), np.float16),
    **dict.fromkeys(("float32", "Float32", "float"), np.float32),
    **dict.fromkeys(("float64", "Float64", "double"), np.float64),
}


def levels_in(X: Any, place: int) -> tuple[list[Any], NDArray[np.intp]]:
    """Return levels of a column, and which of them each row has.

    Parameters
    ----------
    X : array, sparse matrix, pandas or polars frame, or Arrow table, shape (n_samples, n_features)
    place : int

    Returns
    -------
    levels : list
        All that occur, and those that a column of a category type declares, in its order.
    which : ndarray of int, shape (n_samples,)
        -1 where the level is missing, and where a sparse matrix stores none.
    """
    column = _column(X, place)
    dictionary = _as_dictionary(column)
    if dictionary is not None:
        return _distinct(dictionary.dictionary.to_pylist(), dictionary.indices.cast("int64").fill_null(-1).to_numpy())
    if hasattr(column, "to_physical") and str(column.dtype).startswith(("Enum", "Categorical")):  # polars
        numbers_of = np.nan_to_num(column.to_physical().to_numpy().astype(np.float64), nan=-1.0).astype(np.intp)
        if str(column.dtype).startswith("Enum"):
            return _distinct(column.dtype.categories.to_list(), numbers_of)
        present = column.drop_nulls().unique(maintain_order=True)
        places = {int(number): i for i, number in enumerate(present.to_physical().to_list())}
        found, inverse = np.unique(numbers_of, return_inverse=True)
        return _distinct(present.to_list(), np.array([places.get(int(one), -1) for one in found], np.intp)[inverse])
    if hasattr(column, "iloc") and hasattr(column, "cat"):  # pandas
        return _distinct(column.cat.categories.astype(object), column.cat.codes.to_numpy(np.intp))
    dtype = getattr(column, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        values, which = np.unique(np.asarray(column), return_inverse=True)
        n_known = int(np.count_nonzero(values == values))
        return values[:n_known].tolist(), np.where(which < n_known, which, -1)
    number: dict[Any, int] = {None: -1}
    of_rows = [number.setdefault(plain_level(value), len(number) - 1) for value in _values(column)]
    return list(number)[1:], np.array(of_rows, dtype=np.intp)


def codes_in(
    X: Any, place: int, known: Mapping[Any, int] | Collection[Any], *, name: str = "X", refuse: bool = False
) -> NDArray[np.intp]:
    """Return the code that each row's level has among the known ones, (n_samples,); -1 where it is missing or unknown.

    Levels are the same if their values are: 1, 1.0 and True, and a float and what float32 makes of it where either the
    rows or the training had that type.

    Parameters
    ----------
    X : array or table, shape (n_samples, n_features)
    place : int
    known : mapping of level to int, or list of levels, whose codes are their places
    name : str
        The argument's name in messages.
    refuse : bool
        Whether an unknown level is an error.

    Raises
    ------
    ValueError
        If rows have text where the known levels are numbers, or numbers where they are text; if a float may be one of
        several levels; or if a level is unknown and this is refused. The message names the column.
    """
    number = known if isinstance(known, Mapping) else {level: code for code, level in enumerate(known)}
    found, which = levels_in(X, place)
    present = np.unique(which[which >= 0])
    levels = [found[i] for i in present]
    _check_kinds(called(X, place), levels, number)
    codes = np.full(len(found) + 1, -1, dtype=np.intp)
    codes[present] = [_code_of(level, number, X, place) for level in levels]
    if refuse and (codes[present] < 0).any():
        others = in_order(level for level, code in zip(levels, codes[present], strict=True) if code < 0)
        raise ValueError(
            f"{name} must have the levels of the training in {called(X, place)}, {first_few(list(number))}; got "
            f"{first_few(others)}"
        )
    return codes[which]


def occurring(X: Any, place: int) -> set[Any]:
    """Return the levels that rows of a column have."""
    found, which = levels_in(X, place)
    return {found[i] for i in np.unique(which[which >= 0])}


def in_order(levels: Iterable[Any]) -> list[Any]:
    """Return levels with numbers first, then text, both increasing."""
    return sorted(levels, key=lambda level: (isinstance(level, str), level))


def with_columns(X: Any, columns: Mapping[int, Any]) -> Any:
    """Return a table with arrays in place of some columns: numbers, in a pandas frame of any type."""
    if not columns:
        return X
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
            X = X.set_column(place, X.schema.names[place], values if hasattr(values, "type") else [values])
    return X


def _check_kinds(column: str, levels: list[Any], known: Collection[Any]) -> None:
    """Raise ValueError if rows hold text and no known level is text, or numbers and no known level is one."""
    if not known:
        return
    for is_text in (True, False):
        given = [level for level in levels if isinstance(level, str) is is_text]
        if given and not any(isinstance(level, str) is is_text for level in known):
            raise ValueError(
                f"{column} holds categories that are {_kind(given)}; those of the training are {_kind(known)} (got "
                f"{first_few(given, repr)} for {first_few(list(known), repr)})"
            )


def _kind(levels: Collection[Any]) -> str:
    if any(isinstance(level, str) for level in levels):
        return "text"
    return "booleans" if all(isinstance(level, bool) for level in levels) else "numbers"


def _code_of(level: Any, known: Mapping[Any, int], X: Any, place: int) -> int:
    """Return the code of a level; -1 if it is unknown."""
    exact = known.get(level, -1)
    if not isinstance(level, float):
        return exact
    kind = _float_type(X, place)
    if kind is not None:  # the rows' type may have rounded levels of the training
        same = {one: code for one, code in known.items() if not isinstance(one, str) and _rounded(one, kind) == level}
        if len(same) > 1:
            raise ValueError(
                f"{called(X, place)} holds {level!r} as {kind.__name__}, which may be any of the training's levels "
                f"{first_few(list(same), repr)}; pass the type of the training"
            )
        if same:
            return next(iter(same.values()))
    narrow = _narrow_type(known)
    return exact if exact >= 0 or narrow is None else known.get(_rounded(level, narrow), -1)


def _rounded(level: Any, kind: Any) -> float:
    with np.errstate(over="ignore"):
        return float(kind(level))


def _narrow_type(known: Collection[Any]) -> Any:
    """Return the type of floats shorter than float64 that the levels of the training had; None if it was none.

    A fraction that came from a shorter type has more digits in float64 than there, as .1 has.
    """
    fractions = [level for level in known if isinstance(level, float) and not level.is_integer()]
    for kind in (np.float16, np.float32):
        fits = all(_rounded(level, kind) == level for level in fractions)
        if fits and any(len(repr(level)) > len(str(kind(level))) for level in fractions):
            return kind
    return None


def _float_type(X: Any, place: int) -> Any:
    """Return the type of floats that a column, or its categories, are declared to have; None for any other."""
    if hasattr(X, "iloc"):
        dtype = X.dtypes.iloc[place]
    elif hasattr(X, "to_series"):
        dtype = X.dtypes[place]
    else:
        dtype = X.schema.types[place] if hasattr(X, "schema") else X.dtype
    dtype = getattr(getattr(dtype, "categories", None), "dtype", dtype)
    dtype = getattr(dtype, "pyarrow_dtype", dtype)
    return _FLOATS.get(str(getattr(dtype, "value_type", dtype)))


def _column(X: Any, place: int) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[:, place]
    if hasattr(X, "to_series"):  # polars
        return X.to_series(place)
    if hasattr(X, "schema"):  # Arrow
        return X.column(place)
    if not issparse(X):
        return X[:, place]
    stored, column = X[:, [place]].tocoo(), np.full(X.shape[0], np.nan)
    column[stored.row] = stored.data
    return column


def _as_dictionary(column: Any) -> Any:
    """Return a column of Arrow, or of pandas with Arrow's types, as one dictionary array; None if it is none."""
    of_arrow = getattr(getattr(column, "dtype", None), "pyarrow_dtype", getattr(column, "type", None))
    if not hasattr(of_arrow, "value_type") or not hasattr(of_arrow, "index_type"):
        return None
    chunks = column.array.__arrow_array__() if hasattr(column, "array") else column
    return chunks.combine_chunks() if hasattr(chunks, "combine_chunks") else chunks


def _distinct(levels: Iterable[Any], which: NDArray[np.intp]) -> tuple[list[Any], NDArray[np.intp]]:
    """Return levels in plain types, each once, and which of them rows have."""
    number: dict[Any, int] = {None: -1}
    places = [number.setdefault(plain_level(level), len(number) - 1) for level in levels]
    return list(number)[1:], np.array([*places, -1], dtype=np.intp)[which]


def _values(column: Any) -> list[Any]:
    """Return the values of one column, None where they are missing."""
    if hasattr(column, "notna"):
        column = column.astype(object)
        known: list[Any] = column.where(column.notna(), None).tolist()  # pandas.NA is not comparable
        return known
    return list(
        column.to_pylist()
        if hasattr(column, "to_pylist")
        else column.to_list()
        if hasattr(column, "to_list")
        else column.tolist()
    )


def plain_level(value: Any) -> Any:
    """Return a level in one of the types that files hold."""
    if value is None or value != value:
        return None
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (numbers.Integral, numbers.Real, Decimal)):
        return (
            int(value)
            if isinstance(value, numbers.Integral) or (isinstance(value, Decimal) and value == int(value))
            else float(value)
        )
    return str(value)
