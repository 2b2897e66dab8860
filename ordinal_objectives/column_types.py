"""What the columns of frames and Arrow tables hold: by the types that they declare, or if need be by their values."""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np

from ordinal_objectives.validation import first_few

NUMBERS = (numbers.Real, Decimal, np.bool_)
# Of Arrow's types, polars' and pandas' own.
_NUMBER = re.compile(r"u?int\d+|halffloat|float|double|bool|null|decimal\d*\(.*\)|Boolean|Null")
_CATEGORY = re.compile(r"category|dictionary<.*|Categorical.*|Enum.*")
_TEXT = re.compile(r"(large_)?(string|utf8|binary).*|str|String|Utf8|Binary")
_DATE = re.compile(r"(timestamp|date|time|duration|period|Date|Time|Duration).*")


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
    schema: Any = getattr(X, "schema", None)
    if hasattr(schema, "types"):  # Arrow
        for name, dtype in zip(schema.names, schema.types, strict=True):
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


def columns_of(X: Any, *kinds: str) -> list[str]:
    """Return name and type of the columns of some kinds, in the words of a message."""
    return [f"column {name!r} of type {dtype}" for name, dtype, kind in column_kinds(X) if kind in kinds]


def refuse_text_and_dates(X: Any) -> None:
    """Raise ValueError if a column holds what no host library takes, naming it.

    Parameters
    ----------
    X : pandas or polars frame, or Arrow table
    """
    strange = columns_of(X, "text", "date")
    if strange:
        raise ValueError(
            f"X must hold numbers, booleans and categories; got {first_few(strange)}. Make strings categories, in "
            f"pandas by X[name].astype('category'), and dates numbers"
        )


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
