"""Tables of every kind: types and names of their columns, and their numbers."""

from __future__ import annotations

import numbers
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeGuard

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from ordinal_objectives.aliases import Column, Level, Table
from ordinal_objectives.utils import arrays, validation
from ordinal_objectives.utils.validation import collected, first_few, is_no_number, readable, refuse_masked

NUMBERS = (numbers.Real, Decimal, np.bool_)
# How Arrow, polars and pandas call their types.
_KINDS = {
    "number": re.compile(r"u?int\d+|halffloat|float|double|bool|null|decimal\d*\(.*\)|Boolean|Null"),
    "category": re.compile(r"category|dictionary<.*|Categorical.*|Enum.*"),
    "text": re.compile(r"(large_)?(string|utf8|binary).*|str|String|Utf8|Binary"),
    "date": re.compile(r"(timestamp|date|time|duration|period|Date|Time|Duration).*"),
}
OF_HOSTS = """Make strings categories, in pandas by X[name] = X[name].astype("category"), \
and dates numbers, by X[name] = (X[name] - pandas.Timestamp("2020-01-01")).dt.days"""
_OF_ENGINE = f"{OF_HOSTS}; columns that categorical_features names may hold strings"


def _names(X: object) -> Any:
    """Return the names of the columns of a frame or an Arrow table; None of what names none."""
    return X.schema.names if _is_arrow(X) else getattr(X, "columns", None)


def types_of(X: object) -> Any:
    """Return the types of the columns of a frame or an Arrow table; None of what has one for all."""
    return X.schema.types if _is_arrow(X) else getattr(X, "dtypes", None)


def _is_arrow(X: object) -> TypeGuard[Any]:
    return hasattr(getattr(X, "schema", None), "types")


def column_kinds(X: object) -> Iterator[tuple[Level, object, str]]:
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
    types = types_of(X)
    for i, (name, dtype) in enumerate(() if types is None else zip(_names(X), types, strict=True)):
        kind = _kind(dtype)
        if isinstance(dtype, np.dtype) and dtype.kind == "O" and hasattr(X, "iloc"):
            values = X.iloc[:, i].dropna()
            if all(isinstance(value, NUMBERS) for value in values):
                kind = "number"
            elif any(isinstance(value, str) for value in values):
                kind = "text"
        yield name, dtype, kind


def _kind(dtype: object) -> str:
    if getattr(dtype, "kind", None) in tuple("biuf") or (hasattr(dtype, "is_numeric") and dtype.is_numeric()):
        return "number"  # of pandas, and of polars
    name = str(getattr(dtype, "pyarrow_dtype", dtype))
    return next((kind for kind, pattern in _KINDS.items() if pattern.fullmatch(name)), "other")


def is_ordered(X: Table, place: int) -> bool:
    """Tell whether a column has a category type with an order."""
    dtype = list(types_of(X))[place]
    return bool(getattr(getattr(dtype, "pyarrow_dtype", dtype), "ordered", False))


def column_names(X: object) -> list[str] | None:
    """Return the names of the columns of a frame or an Arrow table; None unless all are strings, as scikit-learn."""
    names = _names(X)
    return None if names is None or not all(isinstance(name, str) for name in names) else list(names)


def names_as_text(X: object) -> list[str] | None:
    """Return the names of the columns, numbers as text; None of what names none."""
    names = _names(X)
    return None if names is None else [str(name) for name in names]


def describe_column(X: object, place: int) -> str:
    """Return a column's name, or else its number, in the words of a message."""
    names = _names(X)
    return f"column {place}" if names is None else f"column {names[place]!r}"


def without_rows(X: Table) -> Table:
    """Return a table with the columns of X and no rows, which does not keep X in memory as a slice would."""
    if _is_arrow(X):
        return X.schema.empty_table()
    clear = getattr(X, "clear", None)
    return clear() if callable(clear) else X[:0].copy()  # polars; pandas, NumPy


def refuse_text_and_dates(X: object, *, name: str = "X", hint: str = OF_HOSTS) -> None:
    """Raise ValueError for masked entries, and for columns that neither XGBoost nor LightGBM takes, by name and type.

    ``name`` is that of the argument, ``hint`` what else to do. An array of objects of other types is a TypeError.
    """
    refuse_masked(X, name=name)
    allowed = f"{name} must hold numbers, booleans and categories"
    strange = _strange(X, ("text", "date"), allowed)
    if strange:
        raise ValueError(f"{allowed}; got {first_few(strange)}. {hint}")


def read_numbers(X: object, *, name: str = "X", hint: str = _OF_ENGINE, **checks: object) -> Any:
    """Return features that are numbers as float32 or float64, (n_samples, n_features), an array or a sparse matrix.

    NumPy would read the codes or the labels of a category, the digits of a string and the ticks of a date as
    numbers. Values are checked only in columns of Python objects. An array of the right kind is not copied.

    Parameters
    ----------
    X : array-like, sparse matrix, pandas or polars frame, or Arrow table, shape (n_samples, n_features)
    name, hint : str
        The argument's name in messages, and what else to do.
    **checks
        As in scikit-learn's ``check_array``. NaN and infinity pass.

    Raises
    ------
    ValueError
        If the shape is wrong, entries are masked, or a column holds anything but numbers, booleans and missing values.
    TypeError
        If an array of objects holds what is neither a string nor a number.
    """
    table = as_table(X)
    refuse_but_numbers(table, name=name, hint=hint)
    if hasattr(table, "iloc"):  # scikit-learn warns of sparse columns
        sparse = [i for i, dtype in enumerate(types_of(table)) if str(dtype).startswith("Sparse")]
        table = with_columns(table, {i: np.asarray(table.iloc[:, i]) for i in sparse})
    numbers_of = check_array(table, input_name=name, ensure_all_finite=False, dtype=[np.float64, np.float32], **checks)
    if issparse(numbers_of):
        return numbers_of
    return np.require(numbers_of, requirements="A")  # any strides of whole entries: fields of records have others


def refuse_but_numbers(values: object, *, name: str, hint: str) -> None:
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


def as_table(X: object, *, name: str = "X") -> Table:
    """Return features as an array, a sparse matrix, a frame or an Arrow table; raise ValueError if they are none.

    Anything else, such as a list or a tensor, is read by the protocol of arrays.
    """
    given = collected(X, name=name)
    is_table = isinstance(given, np.ndarray) or issparse(given) or hasattr(given, "columns")
    table: Table = given if is_table else arrays.as_array(given, name=name)
    if len(table.shape) != 2:
        is_series = hasattr(given, "iloc")
        ways = "X.to_frame(), a row X.iloc[[i]]" if is_series else "X.reshape(-1, 1), a row X.reshape(1, -1)"
        raise ValueError(
            f"Expected 2D array or table {name}; got shape {table.shape}. Reshape your data: a column is {ways}"
        )
    check_table(table, name=name)
    return table


def check_table(X: object, *, name: str = "X") -> None:
    """Raise ValueError if features are masked or complex, or columns have one name."""
    refuse_masked(X, name=name)
    dtype = getattr(X, "dtype", None)
    if getattr(dtype, "kind", None) == "c":
        raise ValueError(f"Complex data not supported: {name} must hold real numbers; got an array of type {dtype}")
    names = _names(X)
    twice = [] if names is None else [repr(name) for name, n in Counter[Level](names).items() if n > 1]
    if twice:
        raise ValueError(f"{name} must have columns of different names; got more than one called {first_few(twice)}")


def _strange(X: object, kinds: tuple[str, ...], allowed: str) -> list[str]:
    """Return the columns of some kinds, or what an array holds that is no number, in the words of a message."""
    if hasattr(X, "columns"):
        return [f"column {name!r} of type {dtype}" for name, dtype, kind in column_kinds(X) if kind in kinds]
    if is_no_number(X):
        return [f"an array of type {getattr(X, 'dtype', None)}"]
    if not isinstance(X, np.ndarray) or X.dtype.kind != "O":
        return []
    strange = [value for value in X.ravel() if value is not None and not isinstance(value, NUMBERS)][:1]
    if strange and not isinstance(strange[0], (str, bytes)):
        raise TypeError(
            f"{allowed}; got the value {strange[0]!r}, and an argument must be a string or a number to be read as one"
        )
    return [f"the value {value!r}" for value in strange]


def with_columns(X: Table, columns: Mapping[int, Column]) -> Table:
    """Return a table with others in place of some columns: arrays, or columns of tables of its kind."""
    if not columns:
        return X
    if isinstance(X, np.ndarray):
        kind = X.dtype.kind
        X = X.astype(f"{kind}8[us]") if kind in "mM" else X  # nanoseconds would become integers
        numbers_as = np.result_type(X.dtype, np.float32) if kind == "f" else np.float64  # float16 rounds codes
        changed = X.astype(object if kind in "OUSmM" else numbers_as)
        for place, values in columns.items():
            changed[:, place] = values
        return changed
    frame: Any = X
    if hasattr(frame, "isetitem"):  # pandas
        frame = frame.copy(deep=False)
    for place, values in columns.items():
        if hasattr(frame, "isetitem"):
            frame.isetitem(place, getattr(values, "array", values))  # without the index of a series
        elif hasattr(frame, "with_columns"):  # polars
            column = frame.to_series(place)
            frame = frame.with_columns(type(column)(column.name, values))
        else:
            frame = frame.set_column(place, frame.schema.names[place], values if hasattr(values, "type") else [values])
    return frame


def column_at(X: Table, place: int) -> Column:
    """Return one column; what a sparse matrix does not store is missing."""
    if hasattr(X, "iloc"):
        return X.iloc[:, place]
    if hasattr(X, "to_series"):  # polars
        return X.to_series(place)
    if _is_arrow(X):
        return readable(X.column(place), name="X")
    if not issparse(X):
        return X[:, place]
    stored, column = X[:, [place]].tocoo(), np.full(X.shape[0], np.nan)
    column[stored.row] = stored.data
    return column


FROM_DTYPE = "from_dtype"


def places_of(X: Table, asked: object, *, name: str = "categorical_features") -> list[int]:
    """Return the columns of a table that an argument asks for, in increasing order."""
    if asked is None:
        return []
    if isinstance(asked, str) and asked == FROM_DTYPE:
        return [place for place, (_, _, kind) in enumerate(column_kinds(X)) if kind == "category"]
    given, n_features = validation.as_objects(asked, name=name).tolist(), X.shape[1]
    if not isinstance(given, list):
        raise ValueError(f"{name} must be None, {FROM_DTYPE!r}, or a list; got {asked!r}")
    if given and all(isinstance(entry, (bool, np.bool_)) for entry in given):
        if len(given) != n_features:
            raise ValueError(f"{name} as a mask must have {n_features} entries; got {len(given)}")
        return [place for place, is_category in enumerate(given) if is_category]
    names = column_names(X) or []
    places = [names.index(entry) if isinstance(entry, str) and entry in names else entry for entry in given]
    for entry, place in zip(given, places, strict=True):
        is_number = isinstance(place, numbers.Integral) and not isinstance(place, (bool, np.bool_))
        if not is_number or not 0 <= place < n_features:
            named = f", or names among {first_few([repr(name) for name in names])}" if names else ""
            raise ValueError(f"{name} must be numbers of columns from 0 to {n_features - 1}{named}; got {entry!r}")
    return sorted({int(place) for place in places})


def refuse_other_order(known: Sequence[str] | None, X: object, *, name: str = "X") -> None:
    """Raise ValueError if rows have the columns of the training in another order, also where their names are numbers.

    Parameters
    ----------
    known : sequence of str or None
        The text of the training's names; None where there were none.
    X : object
        The rows; without names they pass.
    name : str
        The argument's name in messages.
    """
    names = names_as_text(X)
    if known is None or names is None or names == list(known) or sorted(names) != sorted(known):
        return
    raise ValueError(
        f"{name} must have its columns in the order of the training, {first_few(list(known))}; got {first_few(names)}"
    )
