"""Groups of rows and their effects: the column that names them, what a training has found, and scores with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from scipy.sparse import issparse

from ordinal_objectives import tables
from ordinal_objectives.aliases import DataFrame, Estimator, FloatArray, IndexArray, Level, Table
from ordinal_objectives.columns import MISSING, codes_in, in_order, occurring
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.row_blocks import RowBlocks
from ordinal_objectives.utils import arrays, extras, validation
from ordinal_objectives.utils.json_of import Plain, Within

# Nodes of the Gauss-Hermite quadrature over the effect of a new group.
_NODES = 31


@dataclass(frozen=True)
class GroupColumn:
    """The column that names the group of each row.

    Attributes
    ----------
    place : int
    groups : list
        Those of the training, in the order of their codes.
    missing : float
        The number that stands for no group, beside NaN.
    name : str or None
        None of a column of an array.
    """

    place: Annotated[int, Within(0)]
    groups: list[Plain]
    missing: float = np.nan
    name: str | None = None

    def __post_init__(self) -> None:
        if len(set(self.groups)) != len(self.groups):
            raise ValueError("the groups of the random effects must differ")

    @classmethod
    def learn(
        cls, X: object, asked: object, known: Sequence[GroupColumn] = (), missing: float = np.nan
    ) -> tuple[GroupColumn, ...]:
        """Return the columns that ``random_intercept`` asks for; none where X is no table.

        Columns that are ``known`` to a model that is continued keep its groups, before those that are new.

        Raises
        ------
        ValueError, TypeError
            If there is no such column, or it names no groups.
        """
        if asked is None:
            return ()
        if isinstance(X, RowBlocks):
            raise ValueError(f"random_intercept must be None for RowBlocks; got {asked!r}")
        X = tables.as_table(X)
        if len(X.shape) != 2:  # refused where features are checked
            return ()
        if issparse(X):
            raise ValueError(f"random_intercept must be None for sparse matrices; got {asked!r}")
        found = tuple(
            cls._of(X, one, known, missing) for one in (asked if isinstance(asked, (list, tuple)) else [asked])
        )
        if not found or len({one.place for one in found}) < len(found):
            raise ValueError(f"random_intercept must name different columns, at least one; got {asked!r}")
        return found

    @classmethod
    def with_new(cls, X: Table, known: Sequence[GroupColumn]) -> tuple[GroupColumn, ...]:
        """Return known columns with the groups of a table that they lack, after theirs."""
        return tuple(cls._of(X, column.place, known, column.missing) for column in known)

    @classmethod
    def _of(cls, X: Table, asked: object, known: Sequence[GroupColumn], missing: float) -> GroupColumn:
        names = tables.column_names(X) or []
        place = names.index(asked) if isinstance(asked, str) and asked in names else asked
        if isinstance(place, (bool, np.bool_)) or not isinstance(place, (int, np.integer)):
            raise ValueError(f"random_intercept must be names or numbers of columns of X; got {asked!r}")
        column = int(place)
        if not 0 <= column < X.shape[1]:
            raise ValueError(f"random_intercept must be a column from 0 to {X.shape[1] - 1}; got {asked!r}")
        groups = [group for group in in_order(occurring(X, column)) if group != missing]
        if any(isinstance(group, float) and not group.is_integer() for group in groups):
            raise ValueError(
                f"random_intercept must name a column of groups; {tables.describe_column(X, column)} holds fractions"
            )
        groups = [int(group) if isinstance(group, float) else group for group in groups]
        name = names[column] if names else None
        for earlier in known:
            if earlier.place == column:
                earlier.encode(X)  # groups are named as they were
                seen = set(earlier.groups)
                return cls(column, [*earlier.groups, *(group for group in groups if group not in seen)], missing, name)
        if not 2 <= len(groups) < X.shape[0]:
            raise ValueError(
                f"random_intercept must name a column of at least two groups, and fewer than rows; "
                f"{tables.describe_column(X, column)} has {len(groups)} in {X.shape[0]} rows"
            )
        return cls(column, groups, missing, name)

    def encode(self, X: Table) -> Table:
        """Return a table with codes in the place of the groups."""
        codes = codes_in(X, self.place, self.groups, missing=self.missing)
        return tables.with_columns(X, {self.place: codes.astype(np.float64)})

    def codes(self, X: Table) -> IndexArray:
        """Return the codes of the groups in a table that has been encoded, (n_samples,)."""
        return np.asarray(tables.column_at(X, self.place)).astype(np.intp)

    def numbers(self, X: Table) -> IndexArray:
        """Return the codes as places among ``len(groups) + 2``; rows without a known group have the last two."""
        return self.codes(X) % (len(self.groups) + 2)


def as_groups(given: object) -> Table:
    """Return groups that stand beside the features, an array or a frame, as a table with a column for each effect."""
    groups = validation.readable(given, name="random_intercept")
    if hasattr(groups, "shape") and len(groups.shape) == 2:
        return tables.as_table(groups)
    array = arrays.as_array(groups, name="random_intercept")
    return tables.as_table(array if array.ndim == 2 else array.reshape(-1, 1))


def codes_beside(given: object, columns: Sequence[GroupColumn]) -> Table:
    """Return the codes of groups that stand beside the features."""
    X, known = as_groups(given), [column.name for column in columns]
    if X.shape[1] != len(columns):
        raise ValueError(f"random_intercept must have the {len(columns)} columns of the training; got {X.shape[1]}")
    names = tables.column_names(X)
    if names is not None and None not in known and names != known:
        raise ValueError(f"random_intercept must have the columns of the training, {known}; got {names}")
    return encoded(X, columns)


def check_rows(X: Table, n_rows: int) -> None:
    """Raise ValueError unless there is a group for each row."""
    if X.shape[0] != n_rows:
        raise ValueError(f"random_intercept must have an entry for each of {n_rows} rows; got {X.shape[0]}")


def encoded(X: Table, columns: Sequence[GroupColumn]) -> Table:
    """Return a table with codes in the place of the groups."""
    for column in columns:
        X = column.encode(X)
    return X


def without_groups(X: Table, columns: Sequence[GroupColumn]) -> Table:
    """Return checked features that tell nothing about the groups."""
    return tables.with_columns(X, {column.place: np.zeros(X.shape[0]) for column in columns})


@dataclass(frozen=True, repr=False)
class RandomEffects:
    """Effects of the groups of a training, shrunk towards 0.

    Attributes
    ----------
    column : GroupColumn
    effects : ndarray of float64, shape (n_groups,)
        What each group adds to the score: the mode of its posterior distribution.
    standard_errors : ndarray of float64, shape (n_groups,)
        Of the errors of the effects as deviations from their mean over the groups, given the score. 1.645 of them on
        both sides are an interval of level 0.9.
    variance : float
        Of the effects in the population of groups, tau^2.
    variance_error : float
        Its standard error.
    history : tuple of (int, ndarray, float)
        Number of trees from which on there were other effects, these, and their variance.
    """

    column: GroupColumn
    effects: FloatArray
    standard_errors: FloatArray
    variance: Annotated[float, Within(0)]
    variance_error: Annotated[float, Within(0)]
    history: tuple[tuple[Annotated[int, Within(0)], FloatArray, float], ...] = ()

    def __post_init__(self) -> None:
        shapes = {of.shape for of in (self.effects, self.standard_errors)}
        if shapes != {(len(self.groups),)} or any(len(of) > len(self.groups) for _, of, _ in self.history):
            raise ValueError(f"random effects must be one for each of {len(self.groups)} groups")
        if not self.history or self.history[0][0] > 0:
            raise ValueError("the history of random effects must begin before the first tree")

    def __repr__(self) -> str:
        name = self.column.place if self.column.name is None else repr(self.column.name)
        return f"RandomEffects(column {name}, {len(self.groups)} groups, variance {self.variance:.4g})"

    @property
    def groups(self) -> list[Level]:
        """Those of the training."""
        return self.column.groups

    def to_frame(self) -> DataFrame:
        """Return effects and standard errors as a pandas frame with a row for each group."""
        found = {"effect": self.effects, "standard_error": self.standard_errors}
        return extras.optional("pandas", "demo").DataFrame(found, index=self.groups)

    def at(self, n_trees: int) -> RandomEffects:
        """Return the effects that belong to the score after so many trees; standard errors are the last ones."""
        _, effects, variance = [one for one in self.history if one[0] <= n_trees][-1]
        effects = np.pad(effects, (0, len(self.groups) - len(effects)))  # groups that a continued training added
        return replace(self, effects=effects, variance=variance)

    def at_end(self, n_trees: int) -> RandomEffects:
        """Return the effects as those of the last tree."""
        before = tuple(one for one in self.history if one[0] < n_trees)
        return replace(self, history=(*before, (n_trees, self.effects, self.variance)))

    def of_rows(self, X: Table) -> FloatArray:
        """Return the effect of each checked row's group, (n_samples,): 0 without one, or where it is new."""
        return np.append(self.effects, [0.0, 0.0])[self.column.codes(X)]


def _of_model(model: Estimator) -> RandomEffects | dict[int, RandomEffects] | None:
    """Effects of the groups that ``random_intercept`` names, with their variance; None without it."""
    effects = model.fitted_effects()
    return {one.column.place: one for one in effects} if len(effects) > 1 else effects[0] if effects else None


# ``random_effects_`` of the classifiers that have them: of one column, or of each by its place.
random_effects_of_model = property(_of_model)


def with_effects(
    scores: FloatArray, X: Table, effects: Sequence[RandomEffects], loss: OrdinalLoss, thresholds: FloatArray
) -> FloatArray:
    """Return scores of checked rows with the effects of their groups; a row without a group has 0, the average one.

    Where rows are of new groups, all have a score for each threshold, (n_samples, n_classes - 1): that gives those rows
    their mean probabilities over the groups. A group whose training rows had no weight has the effect 0, and is new.
    """
    if not effects:
        return scores
    check_rows(X, len(scores))
    variance = np.zeros(len(scores))
    for one in effects:
        of_rows = one.of_rows(X)
        is_new = (of_rows == 0.0) & (one.column.codes(X) != MISSING)
        scores, variance = scores + of_rows, variance + one.variance * is_new
    is_new = variance > 0.0
    if not is_new.any():
        return scores
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    margins, sd, link = thresholds - scores[is_new, np.newaxis], np.sqrt(variance[is_new, np.newaxis]), loss.link
    below, above = np.zeros_like(margins), np.zeros_like(margins)
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        below += weight * link.inverse(margins - sd * node)
        above += weight * link.complement(margins - sd * node)
    found = np.repeat(scores[:, np.newaxis], len(thresholds), axis=1)
    # Each tail by the side that keeps its digits: the other one's sum may round to more than 1, and this one's to 0.
    tail = np.maximum(np.minimum(below, above), np.finfo(np.float64).tiny)
    found[is_new] = thresholds - np.where(below < above, link.link(tail), -link.mirror_link.link(tail))
    return found
