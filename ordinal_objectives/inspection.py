"""Which feature moves which threshold of a fitted model, and its score and shifts along one feature."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import hstack, issparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.estimators.column_types import column_kinds
from ordinal_objectives.utils.seeds import random_numbers
from ordinal_objectives.utils.validation import collected

__all__ = [
    "FeatureEffect",
    "ThresholdImportances",
    "feature_effect",
    "partial_probabilities",
    "threshold_importances",
]


class ThresholdImportances(NamedTuple):
    """How far each feature moves each threshold; see :func:`threshold_importances`.

    Attributes
    ----------
    importances : ndarray of float64, shape (n_features, n_classes - 1)
        On the scale of the margins, lowest threshold first.
    shift_share : ndarray of float64, shape (n_features,)
        Share, between 0 and 1, of what a feature moves that is shift of single thresholds; the rest is score, which
        moves all alike. 0 for a feature that moves nothing.
    """

    importances: NDArray[np.float64]
    shift_share: NDArray[np.float64]


class FeatureEffect(NamedTuple):
    """The score and the shifts along one feature, averaged over rows; see :func:`feature_effect`.

    Attributes
    ----------
    values : ndarray of float64 or object, shape (n_values,)
        Of the feature, increasing; of categories in their own order, else sorted.
    score : ndarray of float64, shape (n_values,)
        Partial dependence of f.
    shifts : ndarray of float64, shape (n_values, n_classes - 1)
        Partial dependence of each v_k.
    """

    values: NDArray[Any]
    score: NDArray[np.float64]
    shifts: NDArray[np.float64]


def threshold_importances(
    estimator: Any, X: Any, *, n_repeats: int = 5, random_state: Any = None
) -> ThresholdImportances:
    r"""Return how far each feature moves each threshold of a fitted classifier.

    Each row is given a feature's value of another row, drawn at random, which moves its margin of threshold k by
    :math:`D_{ik}`. The importance of the feature for the threshold is

    .. math:: I_k = \sqrt{ \tfrac{1}{2n} \sum_i D_{ik}^2 } ,

    averaged over the repeats before the root: Jansen's estimator of Sobol's total effect [1]_. Where a feature's
    effect on the margin of k is b_k(x), added to those of the others, this estimates the standard deviation of b_k(x)
    over the rows: for a linear effect the absolute coefficient times that of the feature. Equal entries of a row say
    that the feature acts on all thresholds alike, which the test of Brant [2]_ asks of linear models.

    Since shifts sum to zero over the thresholds, the mean over k of D_ik^2 is the squared change of the score plus
    the mean squared change of the shifts, and ``shift_share`` is the second part's share in both.

    The importances describe the model, not the data: they need no labels, and rows kept out of the training show what
    the model does with new ones. Impurity importances add up gains tree by tree, also of trees that cancel each other,
    and each library stores other weights of its nodes. As in every permutation, features that depend on each other are
    combined in ways that the data do not have.

    Parameters
    ----------
    estimator : fitted classifier of this package, or a pipeline or search that ends in one
        The features are those that the pipeline is given.
    X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
        At least two rows. The cost is ``n_features * n_repeats + 1`` predictions of them.
    n_repeats : int, default=5
        How often each feature is permuted.
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations. None takes NumPy's global state.

    Returns
    -------
    ThresholdImportances

    Raises
    ------
    NotFittedError
        Before ``fit``.
    TypeError
        If the estimator has no margins.
    ValueError
        If ``n_repeats`` is not a positive integer, or X has fewer than two rows.

    References
    ----------
    .. [1] Jansen, Analysis of variance designs for model output, Computer Physics Communications 117, 1999.
    .. [2] Brant, Assessing proportionality in the proportional odds model for ordinal logistic regression,
       Biometrics 46, 1990.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.inspection import threshold_importances
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> margins = np.array([-2.0, 2.0]) - X[:, [0]] - np.array([1.5, 0.0]) * np.tanh(X[:, [1]])
    >>> y = (rng.logistic(size=(2000, 1)) > margins).sum(axis=1)
    >>> model = HistGradientBoostingOrdinalClassifier(proportional=False, max_iter=50, max_leaf_nodes=4).fit(X, y)
    >>> found = threshold_importances(model, X, random_state=0)
    >>> found.importances.argmax(axis=0).tolist(), (found.shift_share > 0.2).tolist()
    ([0, 0], [False, True])
    """
    model, prepared = unwrapped(estimator)
    X = _rows(X)
    if not isinstance(n_repeats, int | np.integer) or isinstance(n_repeats, bool) or n_repeats < 1:
        raise ValueError(f"n_repeats must be a positive integer; got {n_repeats!r}")
    random, before = random_numbers(random_state), model.predict_linear_predictors(prepared(X))
    n_samples, n_thresholds = before.shape
    if n_samples < 2:
        raise ValueError(f"X must have at least 2 rows; got {n_samples}")
    total, of_score = np.zeros((X.shape[1], n_thresholds)), np.zeros(X.shape[1])
    for _ in range(n_repeats):
        order, others = random.permutation(n_samples), np.empty(n_samples, np.intp)
        others[order] = np.roll(order, 1)  # one cycle through all rows: none is its own
        for feature in range(X.shape[1]):
            moved = model.predict_linear_predictors(prepared(_with_column_of(X, feature, others))) - before
            total[feature] += np.mean(moved**2, axis=0)
            of_score[feature] += np.mean(moved.mean(axis=1) ** 2)
    mean = total.mean(axis=1)
    score_share = np.divide(of_score, mean, out=np.ones_like(mean), where=mean > 0.0)
    return ThresholdImportances(np.sqrt(total / (2 * n_repeats)), np.clip(1.0 - score_share, 0.0, 1.0))


def feature_effect(estimator: Any, X: Any, feature: int | str, *, grid_resolution: int = 50) -> FeatureEffect:
    """Return the partial dependence of the score and of every shift on a feature of numbers or categories.

    Parameters
    ----------
    estimator : fitted classifier of this package, or a pipeline or search that ends in one
        The features are those that the pipeline is given.
    X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
        Rows to average over. The cost is one prediction of them for each value.
    feature : int or str
        Column, or its name.
    grid_resolution : int, default=50
        At most so many values: those that occur in X nearest to equally spaced ones between the 5th and the 95th
        percentile. Of a feature of categories, or of text, all that occur in X.

    Returns
    -------
    FeatureEffect

    Raises
    ------
    NotFittedError
        Before ``fit``.
    TypeError
        If the estimator has no margins.
    ValueError
        If there is no such feature, it holds neither numbers nor categories, or more categories than
        ``grid_resolution``, or that is not an integer of at least 2.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.inspection import feature_effect
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0], [-1.0, 0.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20).fit(X, y)
    >>> effect = feature_effect(model, X, 0)
    >>> bool(effect.score[-1] > effect.score[0]), effect.shifts.shape
    (True, (50, 3))
    """
    model, prepared = unwrapped(estimator)
    values, tables = _along(estimator, X, feature, grid_resolution)
    margins = [model.predict_linear_predictors(prepared(table)) for table in tables]
    scores = np.array([(model.thresholds_ - of_value).mean(axis=0) for of_value in margins])
    score = scores.mean(axis=1)
    return FeatureEffect(values, score, scores - score[:, np.newaxis])


def partial_probabilities(
    estimator: Any, X: Any, feature: int | str, *, grid_resolution: int = 50
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the partial dependence of the class probabilities on a feature of numbers or categories.

    Parameters
    ----------
    estimator : fitted classifier of this package, or a pipeline or search that ends in one
        The features are those that the pipeline is given.
    X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
        Rows to average over.
    feature : int or str
        Column, or its name.
    grid_resolution : int, default=50
        At most so many values, as in :func:`feature_effect`, which also says what is raised.

    Returns
    -------
    values : ndarray, shape (n_values,)
        Of the feature.
    proba : ndarray of float64, shape (n_values, n_classes)
        Means over the rows, lowest class first.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.inspection import partial_probabilities
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0], [-1.0, 0.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20).fit(X, y)
    >>> values, proba = partial_probabilities(model, X, 0, grid_resolution=10)
    >>> bool(proba[0, 0] > proba[-1, 0]), proba.shape
    (True, (10, 4))
    """
    model, prepared = unwrapped(estimator)
    values, tables = _along(estimator, X, feature, grid_resolution)
    return values, np.array([model.predict_proba_ordered(prepared(table)).mean(axis=0) for table in tables])


def _along(estimator: Any, X: Any, feature: int | str, grid_resolution: int) -> tuple[NDArray[Any], Iterator[Any]]:
    """Return values of a feature, and X with each of them in all rows."""
    X = _rows(X)
    if not isinstance(grid_resolution, int | np.integer) or isinstance(grid_resolution, bool) or grid_resolution < 2:
        raise ValueError(f"grid_resolution must be an integer of at least 2; got {grid_resolution!r}")
    column = column_of(estimator, X, feature)
    kind = next((kind for i, (_, _, kind) in enumerate(column_kinds(X)) if i == column), "number")
    by_category = getattr(estimator, "is_categorical_", ())  # numbers of categories too; a pipeline has none
    values, rows = (
        _categories(X, column, feature, grid_resolution)
        if kind in ("category", "text") or (column < len(by_category) and by_category[column])
        else _grid(_numbers(X, column, feature), grid_resolution)
    )
    return values, (_with_column_of(X, column, np.full(X.shape[0], row)) for row in rows)


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
            f"estimator must be a classifier of ordinal_objectives, or a pipeline or search that ends in one and is "
            f"fitted; got {type(estimator).__name__}"
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


def column_of(estimator: Any, X: Any, feature: int | str) -> int:
    """Return the number of a column given by its number or name; raise ValueError if there is none."""
    if isinstance(feature, int | np.integer) and not isinstance(feature, bool) and 0 <= feature < X.shape[1]:
        return int(feature)
    names = feature_names(estimator, X)
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    named = f" or one of {', '.join(map(repr, names))}" if names else ""
    raise ValueError(f"feature must be a column from 0 to {X.shape[1] - 1}{named}; got {feature!r}")


def _rows(X: Any) -> Any:
    """Return X such that its columns can be replaced."""
    X = collected(X)
    return X.tocsr() if issparse(X) else X if hasattr(X, "columns") else np.asanyarray(X)


def _with_column_of(X: Any, column: int, rows: NDArray[np.intp]) -> Any:
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


def _column(X: Any, column: int) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[:, column]
    if hasattr(X, "columns"):
        return X.to_series(column) if hasattr(X, "to_series") else X.column(column)
    return X[:, [column]].toarray().ravel() if issparse(X) else X[:, column]


def _numbers(X: Any, column: int, feature: int | str) -> NDArray[np.float64]:
    """Return one column, (n_samples,)."""
    values = _column(X, column)
    try:
        if getattr(getattr(values, "dtype", None), "kind", "f") in "mM":
            raise TypeError
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        kind = getattr(values, "dtype", None) or getattr(values, "type", None)
        raise ValueError(f"feature {feature!r} must hold numbers or categories; it is of type {kind}") from None


def _categories(X: Any, column: int, feature: int | str, most: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the categories that occur in a column, in their own order or sorted, and a row that has each."""
    values = _column(X, column)
    order = getattr(getattr(values, "dtype", None), "categories", None)
    first: dict[Any, int] = {}
    for row, value in enumerate(np.asarray(values, dtype=object).tolist()):
        if value is not None and value == value:  # NaN is missing
            first.setdefault(value, row)
    known = sorted(first) if order is None else [label for label in order if label in first]
    if not 0 < len(known) <= most:
        raise ValueError(
            f"feature {feature!r} must have between 1 and grid_resolution={most} categories in X; it has {len(known)}"
        )
    return np.array([*known, None], dtype=object)[:-1], np.array([first[label] for label in known])


def _grid(column: NDArray[np.float64], resolution: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
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
