"""Levels of the categories of pandas frames that a LightGBM model was trained on, in its order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import lightgbm
import numpy as np
from scipy.sparse import issparse

from ordinal_objectives.adapters.arguments import check_same_names
from ordinal_objectives.estimators.tables import (
    PLAIN,
    called,
    codes_in,
    column_kinds,
    column_names,
    levels_in,
    plain_level,
    with_columns,
)
from ordinal_objectives.utils.validation import first_few


def category_places(X: Any) -> list[int]:
    """Return the columns of a pandas frame that have a category type."""
    return [i for i, (_, _, kind) in enumerate(column_kinds(X)) if kind == "category"] if hasattr(X, "iloc") else []


def learned(X: Any) -> list[list[Any]]:
    """Return the levels of each column of categories, as LightGBM keeps them in ``pandas_categorical``.

    Levels that its files do not hold, such as intervals, dates and tuples, are known by their text.
    """
    columns = [(getattr(X.dtypes.iloc[place], "categories", None), place) for place in category_places(X)]
    return [
        list(levels) if levels is not None and _are_held(levels) else levels_in(X, place)[0]
        for levels, place in columns
    ]


def check_levels(train_set: lightgbm.Dataset, name: str) -> None:
    """Raise ValueError for categories of a pandas frame that LightGBM cannot write into its model."""
    X = train_set.data
    strange = [
        f"{called(X, place)} of type {X.dtypes.iloc[place]}"
        for place in category_places(X)
        if not _are_held(getattr(X.dtypes.iloc[place], "categories", ()))
    ]
    if strange:
        raise ValueError(
            f"{name} must have categories that are text, numbers or booleans, as LightGBM's files hold; got "
            f"{first_few(strange)}. Convert them, in pandas by X[name].astype(str).astype('category')"
        )


def check_same_levels(valid_set: lightgbm.Dataset, train_set: lightgbm.Dataset, name: str) -> None:
    """Raise ValueError if rows to evaluate have columns or categories that the training set has not.

    LightGBM takes 0 for columns that lack, codes of their own for categories where the training set is no frame, and
    missing values for levels of another type.
    """
    X, trained = valid_set.data, train_set.data
    here, there = (getattr(one, "shape", (0, 0)) for one in (X, trained))
    if len(here) == len(there) == 2 and here[1] != there[1] and here[1] * there[1]:
        raise ValueError(f"{name} must have the {there[1]} columns of the training set; got {here[1]}")
    if column_names(X) is not None:
        check_same_names(column_names(trained), column_names(X), name=name)
    places, in_fit = category_places(X), category_places(trained)
    is_frame = hasattr(trained, "iloc")
    if is_frame and hasattr(X, "iloc") and places != in_fit:
        differ = [called(X, place) for place in sorted({*places} ^ {*in_fit})]
        raise ValueError(
            f"{name} must have categories where the training set has them; got others in {first_few(differ)}"
        )
    if places:
        levels = learned(trained) if is_frame else train_set.pandas_categorical
        with_levels(X, in_fit if is_frame else None, levels, name=name)


def _are_held(levels: Iterable[Any]) -> bool:
    return all(isinstance(level, (*PLAIN, np.integer, np.floating)) for level in levels)


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
        If the model holds no levels, or a column has categories that had numbers in fit, text in place of numbers, or
        numbers in place of text.
    """
    here, levels, from_fit = category_places(X), levels or [], places is not None
    places = here if places is None else places
    if here and not levels and not from_fit:
        raise ValueError(
            f"{name} has categories in {first_few([called(X, place) for place in here])}, and the model holds no "
            f"levels: it was trained on codes, or on a binary file, which keeps none. Pass the codes of the training"
        )
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
