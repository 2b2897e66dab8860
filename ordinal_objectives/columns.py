"""The columns of a training: names, which are categories, and their levels; every table as numbers by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ordinal_objectives.aliases import BoolArray, Level, Table
from ordinal_objectives.estimators import arguments, tables
from ordinal_objectives.estimators.labels import are_missing, marks, present
from ordinal_objectives.utils.validation import first_few

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
                found[place] |= tables.occurring(table, place, marks(missing))
        levels = {
            place: present(tables.in_order(found[place]), missing) if place in found else tables.levels_in(X, place)[0]
            for place in places
        }
        for place, of_column in levels.items():
            if any(isinstance(level, float) and not np.isfinite(level) for level in of_column):
                raise ValueError(f"{tables.called(X, place)} must hold finite categories; got an infinite one")
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

    def encode(self, X: Table, *, name: str = "X", refuse_new: bool = False, **checks: Any) -> Any:
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
        arguments.refuse_other_order(self.names, X, name=name)
        known, given = self.names or [], tables.column_names(X) or []
        if given and given != known and not all(map(str.isdecimal, known)):  # scikit-learn compares no numbers
            raise ValueError(
                f"{name} must have the columns of the training, {first_few(known)}; got {first_few(given)}"
            )
        others = [place for place in tables.places_of(X, tables.FROM_DTYPE) if place not in self.levels]
        if others:
            raise ValueError(
                f"{name} must have numbers where the training takes numbers; got categories in "
                f"{first_few([tables.called(X, place) for place in others])}"
            )
        codes = {place: self._codes(X, place, levels, name, refuse_new) for place, levels in self.levels.items()}
        table = X if issparse(X) else tables.with_columns(X, codes)
        numbers = tables.read_numbers(table, name=name, **{"accept_sparse": "csr", **checks})
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
        """Return the codes of a column, float64 (n_samples,)."""
        known = {level: code for code, level in enumerate(levels)}
        if not np.isnan(self.missing) and not any(isinstance(level, str) for level in levels):
            known = dict.fromkeys(marks(self.missing), len(levels)) | known
        codes = tables.codes_in(X, place, known, name=name, refuse=refuse)
        return np.where((codes < 0) | (codes == len(levels)), np.nan, codes)

    def to_json(self) -> list[list[Any]]:
        """Return the levels in JSON's types."""
        return [[place, list(levels)] for place, levels in self.levels.items()]

    @classmethod
    def from_json(
        cls,
        content: Iterable[list[Any]],
        n_features: int,
        names: Iterable[str] | None = None,
        missing: float = np.nan,
        most: float = np.inf,
    ) -> Columns:
        """Read what :meth:`to_json` wrote; raise ValueError if it is damaged, or has columns of more levels."""
        levels: dict[int, list[Level]] = {}
        for place, column_levels in content:
            plain = all(isinstance(level, tables.PLAIN) for level in column_levels)
            if type(place) is not int or not 0 <= place < n_features or place in levels:
                raise ValueError(f"it has categories of the column {place!r}, and {n_features} features")
            if not plain or len(set(column_levels)) != len(column_levels) or len(column_levels) > most:
                raise ValueError(f"the categories of column {place} must differ, and be at most {most}")
            levels[place] = list(column_levels)
        return cls(n_features, levels, None if names is None else list(names), missing)
