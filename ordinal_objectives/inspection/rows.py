"""What inspections read and change: the classifier in a pipeline, the columns of X, rows with other values in one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import hstack, issparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.utils.validation import collected


def unwrapped(estimator: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the classifier in which a pipeline or a search ends, and what makes its features of theirs.

    Raises
    ------
    TypeError
        If it is none of this package.
    """
    if hasattr(estimator, "best_estimator_"):
        return unwrapped(estimator.best_estimator_)
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        model, prepared = unwrapped(estimator[-1])
        return model, lambda X: prepared(estimator[:-1].transform(X))
    if isinstance(estimator, Pipeline):
        return unwrapped(estimator[-1])
    if not hasattr(estimator, "predict_linear_predictors"):
        raise TypeError(
            f"estimator must be a classifier of ordinal_objectives, no ensemble or wrapper, which have no linear "
            f"predictors, or a pipeline or search that ends in one and is fitted; got {type(estimator).__name__}"
        )
    if isinstance(estimator, BaseEstimator):  # whatever else has linear predictors will do
        check_is_fitted(estimator)
    return estimator, lambda X: X


def feature_names(estimator: Any, X: Any) -> list[str]:
    """Return the names of the columns of X, or else those of the training; an empty list where there are none."""
    names = getattr(X, "column_names", None) or getattr(X, "columns", None)  # Arrow's columns are no names
    if names is None:
        names = getattr(estimator, "feature_names_in_", None)
    return [] if names is None else [str(name) for name in names]


def name_of(estimator: Any, X: Any, feature: int | str) -> str:
    """Return the name of a feature that is given by it or by its column; "feature 0", ... where there are no names."""
    names = feature_names(estimator, X)
    return feature if isinstance(feature, str) else names[feature] if names else f"feature {feature}"


def column_of(estimator: Any, X: Any, feature: int | str) -> int:
    """Return the number of a column given by its number or name; raise ValueError if there is none."""
    if isinstance(feature, int | np.integer) and not isinstance(feature, bool) and 0 <= feature < X.shape[1]:
        return int(feature)
    names = feature_names(estimator, X)
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    named = f" or one of {', '.join(map(repr, names))}" if names else ""
    raise ValueError(f"feature must be a column from 0 to {X.shape[1] - 1}{named}; got {feature!r}")


def names_of_model(estimator: Any, model: Any) -> list[str]:
    """Return names of the features that the classifier at the end of an estimator is given."""
    estimator, names = getattr(estimator, "best_estimator_", estimator), getattr(model, "feature_names_in_", None)
    if names is None and isinstance(estimator, Pipeline) and len(estimator) > 1:
        try:
            names = estimator[:-1].get_feature_names_out()
        except (AttributeError, ValueError):  # a step that does not know them
            names = None
    if names is not None and len(names) == model.n_features_in_:
        return [str(name) for name in names]
    return [f"feature {column}" for column in range(model.n_features_in_)]


def as_rows(X: Any) -> Any:
    """Return X such that its columns can be replaced."""
    X = collected(X)
    return X.tocsr() if issparse(X) else X if hasattr(X, "columns") else np.asanyarray(X)


def with_column_of(X: Any, column: int, rows: NDArray[np.intp]) -> Any:
    """Return X with the values of one column taken from the given rows, in their order."""
    if hasattr(X, "isetitem"):  # pandas
        changed = X.copy(deep=False)
        changed.isetitem(column, X.iloc[rows, column].array)
        return changed
    if hasattr(X, "with_columns"):  # polars
        return X.with_columns(X.to_series(column).gather(rows))
    if hasattr(X, "set_column"):  # Arrow
        return X.set_column(column, X.schema.field(column), X.column(column).take(rows))
    if issparse(X):
        return hstack([X[:, :column], X[rows][:, [column]], X[:, column + 1 :]], format="csr")
    changed = X.copy()
    changed[:, column] = X[rows, column]
    return changed


def with_numbers(X: Any, column: int, values: NDArray[np.float64]) -> Any:
    """Return X with the given numbers, (n_samples,), as one column."""
    if hasattr(X, "isetitem"):  # pandas
        changed = X.copy(deep=False)
        changed.isetitem(column, values)
        return changed
    if hasattr(X, "with_columns"):  # polars
        name = X.columns[column]
        return X.with_columns(type(X.to_series(column))(name, values))
    if hasattr(X, "set_column"):  # Arrow
        return X.set_column(column, X.column_names[column], type(X).from_pydict({"": values}).column(0))
    if issparse(X):
        return hstack([X[:, :column], values[:, np.newaxis], X[:, column + 1 :]], format="csr")
    changed = X.astype(np.result_type(X.dtype, np.float64)) if X.dtype != object else X.copy()
    changed[:, column] = values
    return changed
