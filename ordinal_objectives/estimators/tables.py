"""Tables of every kind: types and names of columns, levels of categories, and categories as numbers."""

from __future__ import annotations

import numbers
import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from ordinal_objectives.aliases import Column, IndexArray, Level, Table
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


def _names(X: Table) -> Any:
    """Return the names of the columns of a frame or an Arrow table; None of what names none."""
    return X.schema.names if _is_arrow(X) else getattr(X, "columns", None)


def _types(X: Table) -> Any:
    return X.schema.types if _is_arrow(X) else getattr(X, "dtypes", None)


def _is_arrow(X: Table) -> bool:
    return hasattr(getattr(X, "schema", None), "types")


def column_kinds(X: Table) -> Iterator[tuple[Level, object, str]]:
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
    types = _types(X)
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
    dtype = list(_types(X))[place]
    return bool(getattr(getattr(dtype, "pyarrow_dtype", dtype), "ordered", False))


def column_names(X: Table) -> list[str] | None:
    """Return the names of the columns of a frame or an Arrow table; None unless all are strings, as scikit-learn."""
    names = _names(X)
    return None if names is None or not all(isinstance(name, str) for name in names) else list(names)


def names_as_text(X: Table) -> list[str] | None:
    """Return the names of the columns, numbers as text; None of what names none."""
    names = _names(X)
    return None if names is None else [str(name) for name in names]


def called(X: Table, place: int) -> str:
    """Return a column's name, or else its number, in the words of a message."""
    names = _names(X)
    return f"column {place}" if names is None else f"column {names[place]!r}"


def without_rows(X: Table) -> Table:
    """Return a table with the columns of X and no rows, which does not keep X in memory as a slice would."""
    if _is_arrow(X):
        return X.schema.empty_table()
    return X.clear() if callable(getattr(X, "clear", None)) else X[:0].copy()  # polars; pandas, NumPy


def refuse_text_and_dates(X: Table, *, name: str = "X", hint: str = OF_HOSTS) -> None:
    """Raise ValueError for masked entries, and for columns that neither XGBoost nor LightGBM takes, by name and type.

    ``name`` is that of the argument, ``hint`` what else to do. An array of objects of other types is a TypeError.
    """
    refuse_masked(X, name=name)
    allowed = f"{name} must hold numbers, booleans and categories"
    strange = _strange(X, ("text", "date"), allowed)
    if strange:
        raise ValueError(f"{allowed}; got {first_few(strange)}. {hint}")


def read_numbers(X: Table, *, name: str = "X", hint: str = _OF_ENGINE, **checks: object) -> Any:
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
    X = as_table(X)
    refuse_but_numbers(X, name=name, hint=hint)
    if hasattr(X, "iloc"):  # scikit-learn warns of sparse columns
        sparse = [i for i, dtype in enumerate(X.dtypes) if str(dtype).startswith("Sparse")]
        X = with_columns(X, {i: np.asarray(X.iloc[:, i]) for i in sparse})
    numbers_of = check_array(X, input_name=name, ensure_all_finite=False, dtype=[np.float64, np.float32], **checks)
    if issparse(numbers_of):
        return numbers_of
    return np.require(numbers_of, requirements="A")  # any strides of whole entries: fields of records have others


def refuse_but_numbers(values: Column, *, name: str, hint: str) -> None:
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


def as_table(X: Table, *, name: str = "X") -> Table:
    """Return features as an array, a sparse matrix, a frame or an Arrow table; raise ValueError if they are none.

    Anything else, such as a list or a tensor, is read by the protocol of arrays.
    """
    X = collected(X, name=name)
    is_series = hasattr(X, "iloc")
    if not (isinstance(X, np.ndarray) or issparse(X) or hasattr(X, "columns")):
        X = arrays.as_array(X, name=name)
    if len(X.shape) != 2:
        ways = "X.to_frame(), a row X.iloc[[i]]" if is_series else "X.reshape(-1, 1), a row X.reshape(1, -1)"
        raise ValueError(
            f"Expected 2D array or table {name}; got shape {X.shape}. Reshape your data: a column is {ways}"
        )
    check_table(X, name=name)
    return X


def check_table(X: Table, *, name: str = "X") -> None:
    """Raise ValueError if features are masked or complex, or columns have one name."""
    refuse_masked(X, name=name)
    if getattr(getattr(X, "dtype", None), "kind", None) == "c":
        raise ValueError(f"Complex data not supported: {name} must hold real numbers; got an array of type {X.dtype}")
    names = _names(X)
    twice = [] if names is None else [repr(name) for name, n in Counter[Level](names).items() if n > 1]
    if twice:
        raise ValueError(f"{name} must have columns of different names; got more than one called {first_few(twice)}")


def _strange(X: Table, kinds: tuple[str, ...], allowed: str) -> list[str]:
    """Return the columns of some kinds, or what an array holds that is no number, in the words of a message."""
    if hasattr(X, "columns"):
        return [f"column {name!r} of type {dtype}" for name, dtype, kind in column_kinds(X) if kind in kinds]
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


# Levels that a file holds as they are; others are known by their text.
PLAIN = (str, bool, int, float)
# Older files hold dates of pandas with it.
_MIDNIGHT = " 00:00:00"
# Types of floats by the names that NumPy, pandas, polars and Arrow give them.
_FLOATS: dict[str, type] = {
    **dict.fromkeys(("float16", "Float16", "halffloat"), np.float16),
    **dict.fromkeys(("float32", "Float32", "float"), np.float32),
    **dict.fromkeys(("float64", "Float64", "double"), np.float64),
}


def levels_in(X: Table, place: int, known: Collection[Level] = ()) -> tuple[list[Level], IndexArray]:
    """Return levels of a column, and which of them each row has.

    Bytes, lists, records, and numbers so large that their type of floats rounds them, unless known, are a ValueError.

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
    try:
        levels, which = _levels_in(column_at(X, place))
    except TypeError as error:  # of a list or a record, whose text depends on the kind of table
        raise ValueError(f"{called(X, place)} must hold text or numbers, no lists or records: {error}") from None
    of_bytes = next((level for level in levels if isinstance(level, bytes)), None)
    if of_bytes is not None:  # their text would be b'...', which no other table holds
        raise ValueError(f"{called(X, place)} must hold text or numbers; got {of_bytes!r}: decode bytes")
    floats = float_type(X, place) or np.float64
    first_rounded = 2.0 ** (np.finfo(floats).nmant + 1)
    large = [level for level in levels if isinstance(level, float) and first_rounded <= abs(level) < np.inf]
    if any(level not in known for level in large):
        raise ValueError(
            f"{called(X, place)} holds levels of {first_rounded:.0f} and more, which {floats.__name__} rounds, so that "
            f"one may be mistaken for another: pass integers or text"
        )
    return levels, which


def _levels_in(column: Column) -> tuple[list[Level], IndexArray]:
    dictionary = as_dictionary(column)
    if dictionary is not None:
        return _distinct(dictionary.dictionary.to_pylist(), dictionary.indices.cast("int64").fill_null(-1).to_numpy())
    if hasattr(column, "to_physical") and str(column.dtype).startswith(("Enum", "Categorical")):  # polars
        numbers_of = np.nan_to_num(column.to_physical().to_numpy().astype(np.float64), nan=-1.0).astype(np.intp)
        if str(column.dtype).startswith("Enum"):
            return _distinct(column.dtype.categories.to_list(), numbers_of)
        present = column.drop_nulls().unique(maintain_order=True)
        places = {int(number): i for i, number in enumerate(present.to_physical().to_list())}
        found, inverse = np.unique(numbers_of, return_inverse=True)
        found_places = np.array([places.get(int(number), -1) for number in found], np.intp)
        return _distinct(present.to_list(), found_places[inverse])
    if hasattr(column, "iloc") and hasattr(column, "cat"):  # pandas
        return _distinct(column.cat.categories.astype(object), column.cat.codes.to_numpy(np.intp))
    dtype = getattr(column, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        values, which = np.unique(np.asarray(column), return_inverse=True)
        n_known = int(np.count_nonzero(values == values))
        return values[:n_known].tolist(), np.where(which < n_known, which, -1)
    given = _values(column)
    return _distinct(given, np.arange(len(given)))


def codes_in(
    X: Table, place: int, known: Mapping[Level, int] | Collection[Level], *, name: str = "X", refuse: bool = False
) -> IndexArray:
    """Return the code that each row's level has among the known ones, (n_samples,); -1 where it is missing or unknown.

    Levels are the same if their values are: 1, 1.0 and True, and a float and what float32 makes of it where either the
    rows or the training had that type. So are a date and its midnight.

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
    found, which = levels_in(X, place, number)
    present = np.unique(which[which >= 0])
    levels = [found[i] for i in present]
    _check_kinds(called(X, place), levels, number)
    codes = np.full(len(found) + 1, -1, dtype=np.intp)
    codes[present] = [number.get(level, number.get(f"{level}{_MIDNIGHT}", -1)) for level in levels]
    if any(isinstance(level, float) for level in levels):
        rows_type, training_type = float_type(X, place) or float, _narrow_type(number)
        in_rows: dict[Level, list[Level]] = {}  # which may have rounded levels of the training
        for level in number:
            if not isinstance(level, str):
                in_rows.setdefault(_rounded(level, rows_type), []).append(level)
        for i, level in zip(present, levels, strict=True):
            if isinstance(level, float):
                same = in_rows.get(level, [level])
                if len({number[one] for one in same if one in number}) > 1:
                    raise ValueError(
                        f"{called(X, place)} holds {level!r} as {rows_type.__name__}, which may be any of the "
                        f"training's levels {first_few(same, repr)}; pass the type of the training"
                    )
                codes[i] = number.get(same[0], -1)
                if codes[i] < 0 and training_type is not None:
                    codes[i] = number.get(_rounded(level, training_type), -1)
    if refuse and (codes[present] < 0).any():
        others = in_order(level for level, code in zip(levels, codes[present], strict=True) if code < 0)
        raise ValueError(
            f"{name} must have the levels of the training in {called(X, place)}, {first_few(list(number))}; got "
            f"{first_few(others)}"
        )
    return codes[which]


def occurring(X: Table, place: int, known: Collection[Level] = ()) -> set[Level]:
    """Return the levels that rows of a column have; of which some may be known, as :func:`levels_in` has it."""
    found, which = levels_in(X, place, known)
    return {found[i] for i in np.unique(which[which >= 0])}


def in_order(levels: Iterable[Level]) -> list[Level]:
    """Return levels with numbers first, then text, both increasing."""
    return sorted(levels, key=lambda level: (isinstance(level, str), level))


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
    if hasattr(X, "isetitem"):  # pandas
        X = X.copy(deep=False)
    for place, values in columns.items():
        if hasattr(X, "isetitem"):
            X.isetitem(place, getattr(values, "array", values))  # without the index of a series
        elif hasattr(X, "with_columns"):  # polars
            column = X.to_series(place)
            X = X.with_columns(type(column)(column.name, values))
        else:
            X = X.set_column(place, X.schema.names[place], values if hasattr(values, "type") else [values])
    return X


def _check_kinds(column: str, levels: list[Level], known: Collection[Level]) -> None:
    """Raise ValueError if rows hold text and no known level is text, or numbers and no known level is one."""
    if not known:
        return
    for is_text in (True, False):
        given = [level for level in levels if isinstance(level, str) is is_text]
        if given and not any(isinstance(level, str) is is_text for level in known):
            raise ValueError(
                f"{column} holds categories that are {_kind_of(given)}; those of the training are {_kind_of(known)} "
                f"(got {first_few(given, repr)} for {first_few(list(known), repr)})"
            )


def _kind_of(levels: Collection[Level]) -> str:
    if any(isinstance(level, str) for level in levels):
        return "text"
    return "booleans" if all(isinstance(level, bool) for level in levels) else "numbers"


def _rounded(level: Level, kind: type) -> float:
    try:
        with np.errstate(over="ignore"):
            return float(kind(level))
    except OverflowError:  # an integer that no row holds
        return np.inf


def _narrow_type(known: Collection[Level]) -> type | None:
    """Return the type of floats shorter than float64 that the levels of the training had; None if it was none.

    A fraction that came from a shorter type has more digits in float64 than there, as .1 has.
    """
    fractions = [level for level in known if isinstance(level, float) and not level.is_integer()]
    for kind in (np.float16, np.float32):
        fits = all(_rounded(level, kind) == level for level in fractions)
        if fits and any(len(repr(level)) > len(str(kind(level))) for level in fractions):
            return kind
    return None


def float_type(X: Table, place: int) -> type | None:
    """Return the type of floats that a column, or its categories, are declared to have; None for any other."""
    types = _types(X)
    dtype = X.dtype if types is None else list(types)[place]
    dtype = getattr(getattr(dtype, "categories", None), "dtype", dtype)
    dtype = getattr(dtype, "pyarrow_dtype", dtype)
    return _FLOATS.get(str(getattr(dtype, "value_type", dtype)))


def column_at(X: Table, place: int) -> Column:
    """Return one column; what a sparse matrix does not store is missing."""
    if hasattr(X, "iloc"):
        return X.iloc[:, place]
    if hasattr(X, "to_series"):  # polars
        return X.to_series(place)
    if hasattr(X, "schema"):  # Arrow
        return readable(X.column(place), name="X")
    if not issparse(X):
        return X[:, place]
    stored, column = X[:, [place]].tocoo(), np.full(X.shape[0], np.nan)
    column[stored.row] = stored.data
    return column


def as_dictionary(column: Column) -> Column:
    """Return a column of Arrow, or of pandas with Arrow's types, as one dictionary array; None if it is none."""
    arrow_type = getattr(getattr(column, "dtype", None), "pyarrow_dtype", getattr(column, "type", None))
    if not hasattr(arrow_type, "value_type") or not hasattr(arrow_type, "index_type"):
        return None
    return readable(column.array.__arrow_array__() if hasattr(column, "array") else column, name="X")


def _distinct(levels: Iterable[Level], which: IndexArray) -> tuple[list[Level], IndexArray]:
    """Return levels in plain types, each once, and which of them rows have."""
    number: dict[Level, int] = {None: -1}
    places = [number.setdefault(plain_level(level), len(number) - 1) for level in levels]
    return list(number)[1:], np.array([*places, -1], dtype=np.intp)[which]


def _values(column: Column) -> list[Level]:
    """Return the values of one column, None where they are missing."""
    if hasattr(column, "notna"):
        return column.astype(object).where(column.notna(), None).tolist()  # pandas.NA is not comparable
    if getattr(getattr(column, "dtype", None), "time_unit", None) == "ns":  # polars would cut them to microseconds
        column = column.to_arrow()
    if isinstance(column, np.ndarray) and column.dtype.kind in "mM":  # nanoseconds would become integers
        return list(column)
    name = next(name for name in ("to_pylist", "to_list", "tolist") if hasattr(column, name))
    return list(getattr(column, name)())


def plain_level(value: Level) -> Level:
    """Return a level in one of the types that files hold; bytes, lists and records as they are."""
    if isinstance(value, bytes) or not isinstance(value, Hashable):
        return value
    if value is None or value != value:
        return None
    if isinstance(value, (np.datetime64, np.timedelta64)):  # of any unit
        kind: Any = f"{value.dtype.kind}8[us]"
        value = value.astype(kind).item() if value.astype(kind) == value else str(value).replace("T", " ")
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, numbers.Integral) or (isinstance(value, Decimal) and value == int(value)):
        return int(value)
    if isinstance(value, timedelta) and not getattr(value, "nanoseconds", 0):  # libraries write durations differently
        return str(timedelta(value.days, value.seconds, value.microseconds))
    if isinstance(value, datetime) and value.tzinfo is not None:
        return str(value.astimezone(timezone.utc))
    if isinstance(value, datetime) and getattr(value, "nanosecond", 0) == 0:
        return str(value).removesuffix(_MIDNIGHT)  # a date, which some tables hold as a time
    return float(value) if isinstance(value, (numbers.Real, Decimal)) else str(value)


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
