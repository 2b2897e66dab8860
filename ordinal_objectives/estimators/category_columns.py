"""Columns of categories: each becomes the numbers 0, 1, ... of its levels, which are known by their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.estimators.category_levels import PLAIN, codes_in, in_order, occurring, with_columns
from ordinal_objectives.estimators.column_types import called, column_kinds, column_names, without_rows
from ordinal_objectives.utils.validation import first_few

FROM_DTYPE = "from_dtype"
MOST = 254  # levels of a column: with the missing values each has a bin, and a bin is a byte


@dataclass(frozen=True)
class CategoryColumns:
    """The levels of each column of categories.

    Attributes
    ----------
    levels : mapping of int to list
        Of each such column, in the order of their numbers: text, integers, floats and booleans.
    """

    levels: Mapping[int, list[Any]] = field(default_factory=dict)

    @classmethod
    def learn(cls, tables: Iterable[Any], asked: Any, max_bins: int) -> CategoryColumns:
        """Return the levels that occur in a table, or in the blocks of one.

        Parameters
        ----------
        tables : iterable of array, frame or Arrow table, shape (n_samples, n_features)
            At least one; they are read once.
        asked : None, "from_dtype", or array-like of bool, int or str
            The columns of categories: those of a category type, a mask, numbers or names of columns.
        max_bins : int
            Levels that a column may have.

        Raises
        ------
        ValueError
            If a column is not there, or has too many levels; the message names it.
        """
        header, levels = None, dict[int, set[Any]]()
        for table in tables:
            if header is None:
                header, levels = without_rows(table), {place: set() for place in places_of(table, asked)}
            for place, of_column in levels.items():
                of_column |= occurring(table, place)
        return cls({place: _learned(header, place, in_order(found), max_bins) for place, found in levels.items()})

    @property
    def sizes(self) -> dict[int, int]:
        """How many levels each of the columns has, at least 1."""
        return {place: max(1, len(levels)) for place, levels in self.levels.items()}

    def mask(self, n_features: int) -> NDArray[np.bool_]:
        """Tell which features are categories, (n_features,)."""
        return np.isin(np.arange(n_features), list(self.levels))

    def encode(self, X: Any) -> Any:
        """Return a table with numbers in place of levels, NaN for a level that is missing or unknown.

        Raises
        ------
        ValueError
            If a column holds text where the levels are numbers, or numbers where they are text, or a float that is
            one of several levels rounded.
        """
        codes = {place: codes_in(X, place, levels) for place, levels in self.levels.items()}
        return with_columns(X, {place: np.where(of < 0, np.nan, of) for place, of in codes.items()})

    def to_json(self) -> list[list[Any]]:
        """Return the levels in JSON's types."""
        return [[place, list(levels)] for place, levels in self.levels.items()]

    @classmethod
    def from_json(cls, content: Iterable[Any], n_features: int) -> CategoryColumns:
        """Read what :meth:`to_json` wrote; raise ValueError if it is damaged."""
        levels: dict[int, list[Any]] = {}
        for place, of_column in content:
            plain = all(isinstance(level, PLAIN) for level in of_column)
            if type(place) is not int or not 0 <= place < n_features or place in levels:
                raise ValueError(f"it has categories of the column {place!r}, and {n_features} features")
            if not plain or len(set(of_column)) != len(of_column) or len(of_column) > MOST:
                raise ValueError(f"the categories of column {place} must differ, and be at most {MOST}")
            levels[place] = list(of_column)
        return cls(levels)


def places_of(X: Any, asked: Any) -> list[int]:
    """Return the columns of a table that ``categorical_features`` asks for, in increasing order."""
    if asked is None:
        return []
    if isinstance(asked, str):
        if asked != FROM_DTYPE:
            raise ValueError(f"categorical_features must be None, {FROM_DTYPE!r}, or a list; got {asked!r}")
        return [place for place, (_, _, kind) in enumerate(column_kinds(X)) if kind == "category"]
    given = np.asarray(asked, dtype=object).tolist()
    n_features = X.shape[1]
    if not isinstance(given, list):
        raise ValueError(f"categorical_features must be None, {FROM_DTYPE!r}, or a list; got {asked!r}")
    if given and all(isinstance(one, (bool, np.bool_)) for one in given):
        if len(given) != n_features:
            raise ValueError(f"categorical_features as a mask must have {n_features} entries; got {len(given)}")
        return [place for place, one in enumerate(given) if one]
    names = column_names(X) or []
    places = [names.index(one) if isinstance(one, str) and one in names else one for one in given]
    for one, place in zip(given, places, strict=True):
        is_number = isinstance(place, Integral) and not isinstance(place, (bool, np.bool_))
        if not is_number or not 0 <= place < n_features:
            named = f", or names among {first_few([repr(name) for name in names])}" if names else ""
            raise ValueError(
                f"categorical_features must be numbers of columns from 0 to {n_features - 1}{named}; got {one!r}"
            )
    return sorted({int(place) for place in places})


def _learned(X: Any, place: int, levels: list[Any], max_bins: int) -> list[Any]:
    """Return the levels of a column, or raise ValueError if they are not what the engine takes."""
    if any(isinstance(level, float) and not np.isfinite(level) for level in levels):
        raise ValueError(f"{called(X, place)} must hold finite categories; got an infinite one")
    most = min(MOST, max_bins)
    if len(levels) > most:
        because = "" if max_bins >= MOST else f", as max_bins={max_bins} says"
        raise ValueError(
            f"{called(X, place)} has {len(levels)} categories, and the engine takes at most {most}{because}: join rare "
            f"ones, or encode them as numbers, for instance by scikit-learn's TargetEncoder, and leave the column out "
            f"of categorical_features"
        )
    return levels
