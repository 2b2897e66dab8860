"""Types of the columns of frames and Arrow tables, as declared, or else read from their values."""

from __future__ import annotations

import numbers
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from ordinal_objectives.utils.validation import first_few, is_no_number, refuse_masked

NUMBERS = (numbers.Real, Decimal, np.bool_)
# Of Arrow's types, polars' and pandas' own.
_NUMBER = re.compile(r"u?int\d+|halffloat|float|double|bool|null|decimal\d*\(.*\)|Boolean|Null")
_CATEGORY = re.compile(r"category|dictionary<.*|Categorical.*|Enum.*")
_TEXT = re.compile(r"(large_)?(string|utf8|binary).*|str|String|Utf8|Binary")
_DATE = re.compile(r"(timestamp|date|time|duration|period|Date|Time|Duration).*")


_OF_ENGINE = (
    "The engine takes categories in columns of a category type, or of any type that categorical_features names; encode "
    "dates, and strings that are no categories, as numbers"
)


def column_kinds(X: Any) -> Iterator[tuple[Any, Any, str]]:
    """Yield name, type and kind of every column.

    Parameters
    ----------
    X : pandas or polars frame, or Arrow table

    Yields
    ------
    (str or int, type, {"number", "category", "text", "date", "other"})
        Booleans are numbers, durations are dates. A column of Python objects is read: it holds numbers if all of
        them are, and text if one of them is.
    """
    if _is_arrow(X):
        for name, dtype in zip(X.schema.names, X.schema.types, strict=True):
            yield name, dtype, _kind(dtype)
        return
    if not hasattr(X, "dtypes"):
        return
    for i, (name, dtype) in enumerate(zip(X.columns, X.dtypes, strict=True)):
        kind = _kind(dtype)
        if isinstance(dtype, np.dtype) and dtype.kind == "O" and hasattr(X, "iloc"):
            values = X.iloc[:, i].dropna()
            if all(isinstance(value, NUMBERS) for value in values):
                kind = "number"
            elif any(isinstance(value, str) for value in values):
                kind = "text"
        yield name, dtype, kind


def column_names(X: Any) -> list[str] | None:
    """Return the names of the columns of a frame or an Arrow table; None unless all are strings, as scikit-learn."""
    names = X.schema.names if _is_arrow(X) else getattr(X, "columns", None)
    return None if names is None or not all(isinstance(name, str) for name in names) else list(names)


def called(X: Any, place: int) -> str:
    """Return a column's name, or else its number, in the words of a message."""
    names = X.schema.names if _is_arrow(X) else getattr(X, "columns", None)
    return f"column {place}" if names is None else f"column {names[place]!r}"


def without_rows(X: Any) -> Any:
    """Return a table with the columns of X and no rows, which does not keep X in memory as a slice would."""
    if _is_arrow(X):
        return X.schema.empty_table()
    return X.clear() if hasattr(X, "clear") else X[:0].copy()  # polars; pandas, NumPy


def columns_of(X: Any, *kinds: str) -> list[str]:
    """Return name and type of the columns of some kinds, in the words of a message."""
    return [f"column {name!r} of type {dtype}" for name, dtype, kind in column_kinds(X) if kind in kinds]


def refuse_text_and_dates(X: Any, *, name: str = "X") -> None:
    """Raise ValueError for columns that neither XGBoost nor LightGBM takes, naming columns and types.

    Parameters
    ----------
    X : array, pandas or polars frame, or Arrow table
    name : str
        The argument's name in messages.

    Raises
    ------
    TypeError
        If an array of objects holds what is neither a string nor a number.
    """
    allowed = f"{name} must hold numbers, booleans and categories"
    strange = _strange(X, ("text", "date"), allowed)
    if strange:
        raise ValueError(
            f"{allowed}; got {first_few(strange)}. Make strings categories, in pandas by X[name].astype('category'), "
            f"and dates numbers"
        )


def read_numbers(X: Any, **checks: Any) -> NDArray[np.floating]:
    """Return features that are numbers as float32 or float64, (n_samples, n_features).

    NumPy would read the codes or the labels of a category, the digits of a string and the ticks of a date as
    numbers. Values are checked only in columns of Python objects.

    Parameters
    ----------
    X : array-like, pandas or polars frame, or Arrow table, shape (n_samples, n_features)
    **checks
        As in scikit-learn's ``check_array``. NaN and infinity pass.

    Raises
    ------
    ValueError
        If the shape is wrong, entries are masked, or a column holds anything but numbers, booleans and missing values.
    TypeError
        If an array of objects holds what is neither a string nor a number.
    """
    refuse_masked(X, name="X")
    X = np.asarray(X) if isinstance(X, (list, tuple)) else X
    check_table(X)
    refuse_but_numbers(X, name="X", hint=_OF_ENGINE)
    numbers_of = check_array(X, input_name="X", ensure_all_finite=False, dtype=[np.float64, np.float32], **checks)
    features: NDArray[np.floating] = np.require(numbers_of, requirements="A")
    return features  # any strides of whole entries: fields of records have others


def refuse_but_numbers(values: Any, *, name: str, hint: str) -> None:
    """Raise ValueError if features or targets hold anything but numbers, booleans and missing values.

    Parameters
    ----------
    values : array-like, pandas or polars series or frame, or Arrow table
    name : str
        The argument's name in messages.
    hint : str
        What else to do.

    Raises
    ------
    TypeError
        If an array of objects holds what is neither a string nor a number.
    """
    if hasattr(values, "to_frame") and not hasattr(values, "columns"):  # a series
        values = values.to_frame("values")
    elif isinstance(values, (list, tuple)):
        values = np.asarray(values)
    allowed = f"{name} must hold numbers, booleans and missing values"
    strange = _strange(values, ("category", "text", "date", "other"), allowed)
    if strange:
        raise ValueError(f"{allowed}; got {first_few(strange)}. {hint}")


def check_table(X: Any, *, name: str = "X") -> None:
    """Raise ValueError if features are complex, or columns have one name."""
    if getattr(getattr(X, "dtype", None), "kind", None) == "c":
        raise ValueError(f"Complex data not supported: {name} must hold real numbers; got an array of type {X.dtype}")
    names = X.schema.names if _is_arrow(X) else getattr(X, "columns", ())
    twice = [repr(name) for name, n in Counter(names).items() if n > 1]
    if twice:
        raise ValueError(f"{name} must have columns of different names; got more than one called {first_few(twice)}")


def _strange(X: Any, kinds: tuple[str, ...], allowed: str) -> list[str]:
    """Return the columns of some kinds, or what an array holds that is no number, in the words of a message."""
    if hasattr(X, "columns"):
        return columns_of(X, *kinds)
    if is_no_number(X):
        return [f"an array of type {X.dtype}"]
    if not isinstance(X, np.ndarray) or X.dtype.kind != "O":
        return []
    strange = [value for value in X.ravel() if value is not None and not isinstance(value, NUMBERS)][:1]
    if strange and not isinstance(strange[0], (str, bytes)):
        raise TypeError(
            f"{allowed}; got the value {strange[0]!r}, and an argument must be a string or a number to be read as one"
        )
    return [f"the value {value!r}" for value in strange]


def _is_arrow(X: Any) -> bool:
    return hasattr(getattr(X, "schema", None), "types")


def _kind(dtype: Any) -> str:
    if getattr(dtype, "kind", None) in tuple("biuf"):  # pandas
        return "number"
    if hasattr(dtype, "is_numeric") and dtype.is_numeric():  # polars
        return "number"
    name = str(getattr(dtype, "pyarrow_dtype", dtype))
    for kind, pattern in (("number", _NUMBER), ("category", _CATEGORY), ("text", _TEXT), ("date", _DATE)):
        if pattern.fullmatch(name):
            return kind
    return "other"
