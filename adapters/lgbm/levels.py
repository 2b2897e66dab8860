"""Levels of the categories of pandas frames that a LightGBM model was trained on, in its order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ordinal_objectives.estimators.category_levels import codes_in, levels_in, plain_level, with_columns
from ordinal_objectives.estimators.column_types import called, column_kinds
from ordinal_objectives.utils.validation import first_few


def category_places(X: Any) -> list[int]:
    """Return the columns of a pandas frame that have a category type."""
    return [i for i, (_, _, kind) in enumerate(column_kinds(X)) if kind == "category"] if hasattr(X, "iloc") else []


def learned(X: Any) -> list[list[Any]]:
    """Return the levels of each column of categories, as LightGBM keeps them in ``pandas_categorical``."""
    columns = [(X.dtypes.iloc[place], place) for place in category_places(X)]
    return [
        list(dtype.categories) if hasattr(dtype, "categories") else levels_in(X, place)[0] for dtype, place in columns
    ]


def with_levels(
    X: Any, places: Sequence[int] | None, levels: Sequence[list[Any]] | None, *, name: str = "X", refuse: bool = False
) -> Any:
    """Return rows whose categories are listed as in the training; an unknown level is missing.

    LightGBM compares levels by their values alone, so that text is unknown where the training had numbers, and reads
    values of an array as codes.

    Parameters
    ----------
    X : array or table
    places : list of int or None
        The columns of categories, in increasing order; None takes those of a pandas frame that have a category type.
    levels : list of list or None
        Of each column: ``pandas_categorical`` of the booster.
    name : str
        The argument's name in messages.
    refuse : bool
        Whether an unknown level is an error, as where trees are to be grown on it.

    Raises
    ------
    ValueError
        If a column has categories that had numbers in fit, text in place of numbers, or numbers in place of text.
    """
    here, levels = category_places(X), levels or []
    places = here if places is None else places
    others = [f"{called(X, place)} of type {X.dtypes.iloc[place]}" for place in here if place not in places]
    if others or (hasattr(X, "iloc") and len(places) != len(levels)):
        shown = first_few(others) or f"{len(places)} of a category type for {len(levels)}"
        raise ValueError(f"{name} must have categories in the columns of fit that had them; got {shown}")
    columns = dict[int, Any]()
    for place, of_model in zip(places, levels, strict=False):
        dtype = X.dtypes.iloc[place] if hasattr(X, "iloc") else None
        categories = getattr(dtype, "categories", None)
        if categories is not None and list(map(repr, categories)) == list(map(repr, of_model)):
            continue
        if issparse(X):
            raise ValueError(f"{name} is a sparse matrix, and {called(X, place)} has levels; pass a table")
        codes = codes_in(X, place, [plain_level(level) for level in of_model], name=name, refuse=refuse)
        if not hasattr(X, "iloc"):
            columns[place] = np.where(codes < 0, np.nan, codes)
            continue
        import pandas as pd

        index = pd.Index(of_model, dtype=None if of_model else object)
        columns[place] = pd.Categorical.from_codes(codes, index, ordered=bool(getattr(dtype, "ordered", False)))
    return with_columns(X, columns)
