"""The columns of a training: names, which are categories, and their levels; every table as numbers by them."""

from __future__ import annotations

import numbers
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ordinal_objectives import tables
from ordinal_objectives.aliases import BoolArray, Column, IndexArray, Level, Table
from ordinal_objectives.utils.validation import first_few, readable

__all__ = ["Columns"]


@dataclass(frozen=True)
class Columns:
    """The columns of a training: names, which are categories, and their levels.

    A fitted classifier has them as ``columns_``. XGBoost, LightGBM and the native engine grow their trees on what
    :meth:`encode` returns, so that ``booster_`` predicts it without the classifier.

    Attributes
    ----------
    n_features : int
    levels : mapping of int to list
        Of each column of categories, in the order of their codes 0, 1, ...: text, integers, floats and booleans.
    names : list of str or None
        Names of the columns, numbers as text; None where the training had none.
    missing : float
        A number that stands for a missing value in columns of numbers, beside NaN.

    Examples
    --------
    >>> import pandas as pd
    >>> from ordinal_objectives.columns import Columns
    >>> X = pd.DataFrame({"income": [1.5, 2.0], "town": pd.Categorical(["Bonn", "Aachen"])})
    >>> columns = Columns.learn(X, "from_dtype")
    >>> columns.levels
    {1: ['Aachen', 'Bonn']}
    >>> columns.encode(X).tolist()
    [[1.5, 1.0], [2.0, 0.0]]
    """

    n_features: int
    levels: Mapping[int, list[Level]] = field(default_factory=dict)
    names: list[str] | None = None
    missing: float = np.nan

    @classmethod
    def learn(
        cls,
        X: Table,
        asked: Any = tables.FROM_DTYPE,
        *,
        blocks: Iterable[Table] = (),
        declared: bool = False,
        missing: float = np.nan,
    ) -> Columns:
        """Return the columns of a table, with the levels that occur.

        Parameters
        ----------
        X : array, sparse matrix, frame or Arrow table, shape (n_samples, n_features)
        asked : None, "from_dtype", or array-like of bool, int or str
            The columns of categories: those of a category type, a mask, numbers or names of columns.
        blocks : iterable of tables
            More rows of the same columns.
        declared : bool
            Whether a column of a category type has all levels that it declares, in its order. Other levels are in
            increasing order, numbers first.
        missing : float

        Raises
        ------
        ValueError
            If a column is not there, or holds no levels; the message names it.
        """
        places = tables.places_of(X, asked)
        of_type = tables.places_of(X, tables.FROM_DTYPE) if declared else []
        found = {place: set[Level]() for place in places if place not in of_type}
        for table in chain([X], blocks) if found else ():
            for place in found:
                found[place] |= occurring(table, place, missing_numbers(missing))
        levels = {
            place: without_missing(in_order(found[place]), missing) if place in found else levels_in(X, place)[0]
            for place in places
        }
        for place, of_column in levels.items():
            if any(isinstance(level, float) and not np.isfinite(level) for level in of_column):
                raise ValueError(f"{tables.describe_column(X, place)} must hold finite categories; got an infinite one")
        return cls(X.shape[1], levels, tables.names_as_text(X), missing)

    @property
    def sizes(self) -> dict[int, int]:
        """How many levels each of the columns of categories has, at least 1."""
        return {place: max(1, len(levels)) for place, levels in self.levels.items()}

    @property
    def mask(self) -> BoolArray:
        """Which features are categories, (n_features,)."""
        return np.isin(np.arange(self.n_features), list(self.levels))

    @property
    def missing_in_codes(self) -> float:
        """The number that stands for a missing value in what :meth:`encode` returns, beside NaN."""
        return np.nan if self.levels else self.missing

    def encode(self, X: object, *, name: str = "X", refuse_new: bool = False, **checks: Any) -> Any:
        """Return a table as the trees read it.

        Levels are the same if their values are: 1, 1.0 and True, but not 1 and "1". A level that the training did not
        have counts as missing.

        Parameters
        ----------
        X : array-like, sparse matrix, pandas or polars frame, or Arrow table, shape (n_samples, n_features)
            Anything with the protocol of arrays, such as a tensor, or of Arrow.
        name : str
            The argument's name in messages.
        refuse_new : bool
            Whether a level that the training did not have is an error.
        **checks
            As in scikit-learn's ``check_array``.

        Returns
        -------
        ndarray or csr_matrix of float32 or float64, shape (n_samples, n_features)
            Codes in place of levels, NaN where they are missing or unknown. An array of the right kind without
            categories is returned as it is, and not copied.

        Raises
        ------
        ValueError
            If the columns are others; if one holds text where the levels are numbers, or numbers where they are text,
            or categories where the training had numbers; if a float is one of several levels rounded; or for a new
            level, where that is refused.
        """
        X = tables.as_table(X, name=name)
        if X.shape[1] != self.n_features:
            raise ValueError(f"{name} has {X.shape[1]} features, and the training had {self.n_features}")
        tables.refuse_other_order(self.names, X, name=name)
        known, given = self.names or [], tables.column_names(X) or []
        if given and given != known and not all(map(str.isdecimal, known)):  # scikit-learn compares no numbers
            raise ValueError(
                f"{name} must have the columns of the training, {first_few(known)}; got {first_few(given)}"
            )
        others = [place for place in tables.places_of(X, tables.FROM_DTYPE) if place not in self.levels]
        if others:
            raise ValueError(
                f"{name} must have numbers where the training takes numbers; got categories in "
                f"{first_few([tables.describe_column(X, place) for place in others])}"
            )
        codes = {place: self._codes(X, place, levels, name, refuse_new) for place, levels in self.levels.items()}
        table = X if issparse(X) else tables.with_columns(X, codes)
        numbers = tables.read_numbers(table, name=name, **{"accept_sparse": "csr", **checks})
        if issparse(numbers) and not numbers.has_canonical_format:  # LightGBM reads one entry of a place, not their sum
            numbers = numbers.copy()
            numbers.sum_duplicates()
        if not codes:
            return numbers
        values, places = numbers, np.arange(self.n_features)
        if issparse(X):
            numbers = numbers.copy()
            values, places = numbers.data, numbers.indices
            rows = np.repeat(np.arange(X.shape[0]), np.diff(numbers.indptr))
            for place, of_rows in codes.items():
                values[places == place] = of_rows[rows[places == place]]
        elif not values.flags.writeable:  # one column of codes, as pandas keeps it
            numbers = values = values.copy()
        if not np.isnan(self.missing):
            values[are_missing(values, self.missing) & ~np.isin(places, list(codes))] = np.nan
        return numbers

    def _codes(self, X: Table, place: int, levels: list[Level], name: str, refuse: bool) -> Any:
        """Return the codes of a column, (n_samples,), float32 where it holds them: a frame of float32 stays one."""
        codes = codes_in(X, place, levels, missing=self.missing, name=name, refuse=refuse)
        return np.where(codes < 0, np.nan, codes).astype(np.float32 if len(levels) <= 2**24 else np.float64)

    def check(self, most: float = np.inf) -> None:
        """Raise ValueError unless the levels are those of columns, and at most so many: a file may be damaged."""
        for place, levels in self.levels.items():
            if not 0 <= place < self.n_features:
                raise ValueError(f"it has categories of the column {place}, and {self.n_features} features")
            if len(set(levels)) != len(levels) or len(levels) > most:
                raise ValueError(f"the categories of column {place} must differ, and be at most {most}")


# Codes of a level that the training did not have, and of a missing one.
NEW, MISSING = -1, -2
# Levels that are kept as they are; others are known by their text.
PLAIN = (str, bool, int, float)
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
        levels, which = _levels_in(tables.column_at(X, place))
    except TypeError as error:  # of a list or a record, whose text depends on the kind of table
        raise ValueError(
            f"{tables.describe_column(X, place)} must hold text or numbers, no lists or records: {error}"
        ) from None
    of_bytes = next((level for level in levels if isinstance(level, bytes)), None)
    if of_bytes is not None:  # their text would be b'...', which no other table holds
        raise ValueError(
            f"{tables.describe_column(X, place)} must hold text or numbers; got {of_bytes!r}: decode bytes"
        )
    floats = float_type(X, place) or np.float64
    first_rounded = 2.0 ** (np.finfo(floats).nmant + 1)
    large = [level for level in levels if isinstance(level, float) and first_rounded <= abs(level) < np.inf]
    if any(level not in known for level in large):
        raise ValueError(
            f"{tables.describe_column(X, place)} holds levels of {first_rounded:.0f} and more, which "
            f"{floats.__name__} rounds, so that one may be mistaken for another: pass integers or text"
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
    X: Table, place: int, known: list[Level], *, missing: float = np.nan, name: str = "X", refuse: bool = False
) -> IndexArray:
    """Return the code that each row's level has among the known ones, (n_samples,); else NEW or MISSING.

    Levels are the same if their values are: 1, 1.0 and True, and a float and what float32 makes of it where either the
    rows or the training had that type. So are a date and its midnight.

    Parameters
    ----------
    X : array or table, shape (n_samples, n_features)
    place : int
    known : list
        Levels, whose codes are their places.
    missing : float
        A number that stands for a missing value among numbers, beside NaN, unless it is a known level.
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
    number = {level: code for code, level in enumerate(known)}
    if not np.isnan(missing) and not any(isinstance(level, str) for level in known):
        number = dict.fromkeys(missing_numbers(missing), MISSING) | number
    found, which = levels_in(X, place, number)
    present = _present(which, len(found))
    levels = [found[i] for i in present]
    _check_kinds(tables.describe_column(X, place), levels, number)
    codes = np.full(len(found) + 1, MISSING, dtype=np.intp)
    codes[present] = [number.get(level, NEW) for level in levels]
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
                        f"{tables.describe_column(X, place)} holds {level!r} as {rows_type.__name__}, which may be any "
                        f"of the training's levels {first_few(same, repr)}; pass the type of the training"
                    )
                codes[i] = number.get(same[0], NEW)
                if codes[i] == NEW and training_type is not None:
                    codes[i] = number.get(_rounded(level, training_type), NEW)
    if refuse and (codes[present] == NEW).any():
        others = in_order(level for level, code in zip(levels, codes[present], strict=True) if code == NEW)
        raise ValueError(
            f"{name} must have the levels of the training in {tables.describe_column(X, place)}, "
            f"{first_few(known)}; got {first_few(others)}"
        )
    return codes[which]


def occurring(X: Table, place: int, known: Collection[Level] = ()) -> set[Level]:
    """Return the levels that rows of a column have; of which some may be known, as :func:`levels_in` has it."""
    found, which = levels_in(X, place, known)
    return {found[i] for i in _present(which, len(found))}


def _present(which: IndexArray, n_levels: int) -> IndexArray:
    """Return the places of the levels that rows have, in order: counted, which is faster than sorting the rows."""
    return np.flatnonzero(np.bincount(which[which >= 0], minlength=n_levels))


def in_order(levels: Iterable[Level]) -> list[Level]:
    """Return levels with numbers first, then text, both increasing."""
    return sorted(levels, key=lambda level: (isinstance(level, str), level))


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
    types = tables.types_of(X)
    dtype = getattr(X, "dtype", None) if types is None else list(types)[place]
    dtype = getattr(getattr(dtype, "categories", None), "dtype", dtype)
    dtype = getattr(dtype, "pyarrow_dtype", dtype)
    return _FLOATS.get(str(getattr(dtype, "value_type", dtype)))


def as_dictionary(column: Column) -> Any:
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
        return str(value.astimezone(UTC))
    if isinstance(value, datetime) and getattr(value, "nanosecond", 0) == 0:
        return str(value).removesuffix(" 00:00:00")  # a date, which some tables hold as a time
    return float(value) if isinstance(value, (numbers.Real, Decimal)) else str(value)


def are_missing(values: object, missing: float) -> BoolArray:
    """Tell which numbers are the one that stands for a missing value, as XGBoost compares them: in float32."""
    with np.errstate(over="ignore"):
        return np.asarray(np.asarray(values).astype(np.float32) == np.float32(missing))


def missing_numbers(missing: float) -> tuple[float, float]:
    """Return the number that stands for a missing value, and what float32 makes of it."""
    with np.errstate(over="ignore"):
        return missing, float(np.float32(missing))


def without_missing(levels: Iterable[Level], missing: float) -> list[Level]:
    """Return the levels but a number that stands for a missing value."""
    return [level for level in levels if isinstance(level, str) or not are_missing(level, missing)]
