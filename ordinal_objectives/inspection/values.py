"""Values of one feature that an inspection goes through: a grid of numbers, or the categories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import _safe_indexing

from ordinal_objectives.estimators.held_out import take_rows
from ordinal_objectives.estimators.labels import is_missing
from ordinal_objectives.estimators.tables import column_kinds
from ordinal_objectives.inspection.rows import as_rows, column_of, with_column_of

# So many values of a column are followed through a pipeline.
_MOST_FOLLOWED = 50


def along(estimator: Any, X: Any, feature: int | str, grid_resolution: int) -> tuple[NDArray[Any], Iterator[Any]]:
    """Return values of a feature, and X with each of them in all rows."""
    X = as_rows(X)
    if not isinstance(grid_resolution, int | np.integer) or isinstance(grid_resolution, bool) or grid_resolution < 2:
        raise ValueError(f"grid_resolution must be an integer of at least 2; got {grid_resolution!r}")
    column = column_of(estimator, X, feature)
    values, rows = (
        categories(X, column, feature, grid_resolution)
        if holds_categories(estimator, X, column)
        else grid(numbers(X, column, feature), grid_resolution)
    )
    return values, (with_column_of(X, column, np.full(X.shape[0], row)) for row in rows)


def holds_categories(estimator: Any, X: Any, column: int) -> bool:
    """Tell whether a column holds categories or text, or numbers that are categories to a classifier or an encoder.

    A classifier says so in ``is_categorical_``, an encoder by having ``categories_``. To follow a column through a
    pipeline, its values are exchanged: where it goes, values differ.
    """
    kind = next((kind for i, (_, _, kind) in enumerate(column_kinds(X)) if i == column), "number")
    if kind in ("category", "text"):
        return True
    rows = np.array(list(_first_rows(_column(X, column)).values())[:_MOST_FOLLOWED], dtype=np.intp)
    before = take_rows(X, rows)
    return _reads_categories(estimator, before, with_column_of(before, column, np.roll(np.arange(len(rows)), 1)))


def _reads_categories(step: Any, before: Any, after: Any) -> bool:
    """Tell whether what differs between two tables are categories to a fitted estimator, or to a part of it."""
    step = getattr(step, "best_estimator_", step)
    if isinstance(step, Pipeline):
        for one in (one for _, one in step.steps if one not in (None, "passthrough")):
            if _reads_categories(one, before, after):
                return True
            if hasattr(one, "transform"):
                before, after = one.transform(before), one.transform(after)
        return False
    if isinstance(step, ColumnTransformer):
        parts = [(one, of) for _, one, of in step.transformers_ if not isinstance(one, str) and not isinstance(of, str)]
        return any(
            _reads_categories(one, *(_safe_indexing(X, of, axis=1) for X in (before, after))) for one, of in parts
        )
    if isinstance(step, FeatureUnion):
        return any(
            _reads_categories(one, before, after) for _, one in step.transformer_list if not isinstance(one, str)
        )
    by_category = getattr(step, "is_categorical_", None)
    if by_category is None and not hasattr(step, "categories_"):
        return False
    differs = [column for column in range(before.shape[1]) if _differ(_column(before, column), _column(after, column))]
    return bool(differs) and (by_category is None or bool(np.any(by_category[differs])))


def _differ(before: Any, after: Any) -> bool:
    """Tell whether at least half of the values differ; fewer do where a missing one is filled in from others."""
    pairs = zip(*(map(str, np.asarray(values, dtype=object)) for values in (before, after)), strict=True)
    different = [one != another for one, another in pairs]
    return bool(different) and 2 * sum(different) >= len(different)


def _first_rows(values: Any) -> dict[Any, int]:
    """Return the first row that has each value of a column, without missing ones."""
    first: dict[Any, int] = {}
    for row, value in enumerate(np.asarray(values, dtype=object).tolist()):
        if not is_missing(value):
            first.setdefault(value, row)
    return first


def _column(X: Any, column: int) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[:, column]
    if hasattr(X, "columns"):
        return X.to_series(column) if hasattr(X, "to_series") else X.column(column)
    return X[:, [column]].toarray().ravel() if issparse(X) else X[:, column]


def numbers(X: Any, column: int, feature: int | str) -> NDArray[np.float64]:
    """Return one column, (n_samples,)."""
    values = _column(X, column)
    try:
        if getattr(getattr(values, "dtype", None), "kind", "f") in "mM":
            raise TypeError
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        kind = getattr(values, "dtype", None) or getattr(values, "type", None)
        raise ValueError(f"feature {feature!r} must hold numbers or categories; it is of type {kind}") from None


def categories(X: Any, column: int, feature: int | str, most: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the categories that occur in a column, in their own order or sorted, and a row that has each."""
    values = _column(X, column)
    order = getattr(getattr(values, "dtype", None), "categories", None)
    first = _first_rows(values)
    known = sorted(first) if order is None else [label for label in order if label in first]
    if not 0 < len(known) <= most:
        raise ValueError(
            f"feature {feature!r} must have between 1 and grid_resolution={most} categories in X; it has {len(known)}"
        )
    return np.array([*known, None], dtype=object)[:-1], np.array([first[label] for label in known])


def grid(column: NDArray[np.float64], resolution: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return values of a column, increasing, and a row that has each."""
    values, rows = np.unique(column, return_index=True)
    values, rows = values[np.isfinite(values)], rows[np.isfinite(values)]
    if len(values) == 0:
        raise ValueError("feature must hold a finite number in X; it holds none")
    if len(values) > resolution:
        low, high = np.quantile(column[np.isfinite(column)], [0.05, 0.95])
        right = np.searchsorted(values, np.linspace(low, high, resolution)).clip(1, len(values) - 1)
        wanted = np.linspace(low, high, resolution)
        nearest = np.unique(np.where(wanted - values[right - 1] < values[right] - wanted, right - 1, right))
        values, rows = values[nearest], rows[nearest]
    return values, rows
