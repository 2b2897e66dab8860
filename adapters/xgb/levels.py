"""Levels of categories that a model knows, kept with its booster, and rows whose levels are the model's codes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import xgboost
from scipy.sparse import issparse

from ordinal_objectives.adapters.xgb.trees import categories_of
from ordinal_objectives.estimators.tables import (
    PLAIN,
    called,
    codes_in,
    column_kinds,
    levels_in,
    occurring,
    with_columns,
)
from ordinal_objectives.utils.validation import check_integer, first_few

# By column: the code of each level; None where a model was trained on codes and nobody knows which.
Levels = Mapping[int, Mapping[Any, int] | None]

_ATTRIBUTE = "ordinal_levels"


def learned(X: Any, feature_types: Any, missing: float) -> Levels:
    """Return the levels of the rows of a training: those of a category type, and numbers that are said to be codes."""
    named = [place for place, (_, _, kind) in enumerate(column_kinds(X)) if kind == "category"]
    levels = {place: {level: code for code, level in enumerate(levels_in(X, place)[0])} for place in named}
    codes = [i for i, kind in enumerate(feature_types or ()) if kind == "c" and i < X.shape[1] and i not in levels]
    for place in codes:
        levels[place] = {value: value for value in sorted(occurring(X, place)) if value != missing}
    return levels


def attributes(levels: Levels) -> dict[str, str]:
    """Return what a booster says of levels: XGBoost's own names of them are cut where text of pandas is not ASCII."""
    content = [[place, None if known is None else list(known.items())] for place, known in levels.items()]
    return {_ATTRIBUTE: json.dumps(content)} if levels else {}


def levels_of(booster: xgboost.Booster) -> Levels:
    """Return the levels that a booster was trained on, by its attribute, or else as XGBoost keeps them.

    Raises
    ------
    ValueError
        If the attribute is damaged.
    """
    text = booster.attr(_ATTRIBUTE)
    if text is not None:
        found = dict[int, Any]()
        for place, pairs in json.loads(text):
            known = None if pairs is None else dict(pairs)
            plain = all(isinstance(one, PLAIN) for pair in (known or {}).items() for one in pair)
            if not plain or len(known or ()) != len(pairs or ()):
                raise ValueError("levels must be text or numbers, and differ")
            found[check_integer("levels", place, 0, booster.num_features() - 1)] = known
        return found
    stored = _stored(booster)
    codes = [place for place, kind in enumerate(booster.feature_types or ()) if kind == "c"]
    return {
        place: {level: code for code, level in enumerate(stored[place])} if place in stored else None for place in codes
    }


def coded(X: Any, levels: Levels, missing: float = np.nan, *, name: str = "X") -> Any:
    """Return rows with the model's codes in place of their levels.

    Raises
    ------
    ValueError
        If a column has a level that the model does not know, or categories where it had numbers, or text in place of
        numbers; the message names column and level. If ``missing`` is the code of a level, which XGBoost would take
        for missing.
    """
    kinds = dict(enumerate(column_kinds(X)))
    differ = [
        f"{called(X, place)} of type {dtype}, which had numbers in fit"
        for place, (_, dtype, kind) in kinds.items()
        if kind == "category" and place not in levels
    ]
    for place, known in levels.items():
        _, dtype, kind = kinds.get(place, (None, None, "category"))
        has_text = any(isinstance(level, str) for level in known or ())
        if kind == "number" and has_text and occurring(X, place):
            differ.append(f"{called(X, place)} of type {dtype}, which had categories in fit")
    if differ:
        raise ValueError(f"{name} must have categories in the columns of fit that had them; got {first_few(differ)}")
    columns = {}
    for place, known in levels.items():
        here = _own_codes(X, place) if known is None else known
        as_they_are = _are_codes(here) and kinds.get(place, (None, None, "number"))[2] == "number"
        if as_they_are and missing == missing:
            here = {**here, missing: 0}
        codes = codes_in(X, place, here, name=name, refuse=True)
        if not as_they_are:
            if missing in here.values():
                raise ValueError(
                    f"missing must not be a code, 0 to {len(here) - 1}, by which XGBoost reads the levels of "
                    f"{called(X, place)}; got {missing}. Make missing values NaN"
                )
            columns[place] = np.where(codes < 0, np.nan, codes)
    if columns and issparse(X):
        raise ValueError(f"{name} is a sparse matrix, and {called(X, next(iter(columns)))} has levels; pass a table")
    return with_columns(X, columns)


def named(X: Any, levels: Levels, continued: xgboost.Booster | None, missing: float) -> Any:
    """Return rows to train on, with levels in their columns as XGBoost can hold them, in the order of their codes.

    Raises
    ------
    ValueError
        As :func:`coded`, and if the names that ``continued`` has for its levels cannot be given to it.
    """
    rows = coded(X, levels, missing)
    stored = {} if continued is None else _stored(continued)
    of_type = [place for place, (_, _, kind) in enumerate(column_kinds(X)) if kind == "category"]
    by_name = {place: levels[place] or {} for place in (of_type if continued is None else stored) if levels[place]}
    if by_name and not hasattr(X, "columns"):
        raise ValueError(
            f"X must be a table with categories in {called(X, next(iter(by_name)))}, as the training of xgb_model; got "
            f"{type(X).__name__}"
        )
    columns = {}
    for place, known in by_name.items():
        codes, names = codes_in(X, place, known), _names(known)
        if hasattr(X, "iloc"):
            if continued is not None and stored[place] != names:
                names = [str(level) for level in known]
            same = continued is None or stored[place] in (names, as_stored(names))
            columns[place] = _categorical(codes, names)
        else:
            import pyarrow as pa  # XGBoost reads polars and Arrow by it

            rows = rows.to_arrow() if hasattr(rows, "to_arrow") else rows
            names = [str(one) for one in names]
            columns[place] = pa.DictionaryArray.from_arrays(
                pa.array(codes, mask=codes < 0), pa.array(names, pa.string())
            )
            same = continued is None or stored[place] == names
        if not same:
            raise ValueError(
                f"{called(X, place)} must come in the kind of table that xgb_model was trained on, pandas or another: "
                f"XGBoost keeps the levels {first_few(list(known), repr)} otherwise there"
            )
    return with_columns(rows, columns)


def as_stored(names: list[Any]) -> list[Any]:
    """Return names of levels as XGBoost 3.2 keeps those of pandas: it counts letters and cuts bytes."""
    if all(isinstance(name, int) for name in names):
        return names
    text = "".join(map(str, names)).encode()
    ends = np.cumsum([0, *(len(str(one)) for one in names)])
    return [text[a:b].decode("utf-8", "surrogateescape") for a, b in pairwise(ends)]


def _stored(booster: xgboost.Booster) -> dict[int, list[Any]]:
    """Return the names of levels that XGBoost keeps in a booster, in the order of their codes."""
    found = dict[int, list[Any]]()
    for place, of_column in enumerate((categories_of(booster) or {}).get("enc", [])):
        values, ends = of_column["values"], of_column.get("offsets")
        if ends:
            text = np.array(values, dtype=np.int16).astype(np.uint8).tobytes()
            found[place] = [text[a:b].decode("utf-8", "surrogateescape") for a, b in pairwise(ends)]
        elif ends is None:
            found[place] = list(values)
    return found


def _names(known: Mapping[Any, int]) -> list[Any]:
    """Return levels as XGBoost can hold them: integers, or text."""
    if all(isinstance(level, int) and not isinstance(level, bool) for level in known):
        return list(known)
    return [str(level) for level in known]


def _categorical(codes: Any, names: list[Any]) -> Any:
    import pandas as pd

    return pd.Categorical.from_codes(codes, pd.Index(names, dtype=None if names else object))


def _are_codes(known: Mapping[Any, int]) -> bool:
    """Tell whether levels are their own codes, as numbers in a column that feature_types calls categories."""
    return all(level == code and not isinstance(level, bool) for level, code in known.items())


def _own_codes(X: Any, place: int) -> Mapping[Any, int]:
    """Return the levels of rows as codes of a model whose levels nobody knows."""
    found = occurring(X, place)
    wrong = [level for level in found if isinstance(level, str) or level < 0 or level != int(level)]
    if wrong:
        raise ValueError(
            f"{called(X, place)} must hold codes, the numbers 0, 1, ... that the model was trained on; got "
            f"{first_few(wrong, repr)}"
        )
    return {level: int(level) for level in found}
