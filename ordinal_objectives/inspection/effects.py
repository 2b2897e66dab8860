"""What one feature does along its values: partial dependence and accumulated local effects."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ordinal_objectives.aliases import ArrayLike, Estimator, FloatArray, LabelArray, NDArray
from ordinal_objectives.estimators.held_out import take_rows
from ordinal_objectives.inspection import rows
from ordinal_objectives.utils import validation


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

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.inspection import feature_effect
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.digitize(X[:, 0], [-1.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20, random_state=0).fit(X, y)
    >>> found = feature_effect(model, X, feature=0)
    >>> found.values.shape == found.score.shape
    True
    >>> bool(found.score[-1] > found.score[0])  # larger values, higher classes
    True
    """

    values: NDArray[Any]
    score: FloatArray
    shifts: FloatArray


def feature_effect(
    estimator: Estimator,
    X: object,
    feature: int | str,
    *,
    grid_resolution: int = 50,
    categorical_features: ArrayLike | None = None,
) -> FeatureEffect:
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
    categorical_features : array-like of int, str or bool, or None, default=None
        Columns of X whose numbers are categories, by place or name, or a mask. Text and columns of a category type
        always are. None takes those that the classifier reads as categories, where no steps stand before it.

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
    model, prepared = rows.unwrapped(estimator)
    values, tables = rows.over_grid(estimator, X, feature, grid_resolution, categorical_features)
    margins = [model.predict_linear_predictors(prepared(table)) for table in tables]
    scores = np.array([(model.thresholds_ - margins_at).mean(axis=0) for margins_at in margins])
    score = scores.mean(axis=1)
    return FeatureEffect(values, score, scores - score[:, np.newaxis])


def partial_probabilities(
    estimator: Estimator,
    X: object,
    feature: int | str,
    *,
    grid_resolution: int = 50,
    categorical_features: ArrayLike | None = None,
) -> tuple[LabelArray, FloatArray]:
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
    categorical_features : array-like of int, str or bool, or None, default=None
        Columns whose numbers are categories, as in :func:`feature_effect`.

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
    model, prepared = rows.unwrapped(estimator)
    values, tables = rows.over_grid(estimator, X, feature, grid_resolution, categorical_features)
    return values, np.array([model.predict_proba_ordered(prepared(table)).mean(axis=0) for table in tables])


class LocalEffects(NamedTuple):
    """The score, the shifts and the probabilities along one feature; see :func:`accumulated_local_effects`.

    Each has the mean zero over the rows.

    Attributes
    ----------
    values : ndarray of float64, shape (n_values,)
        Of the feature, increasing.
    score : ndarray of float64, shape (n_values,)
        Effect on f.
    shifts : ndarray of float64, shape (n_values, n_classes - 1)
        Effect on each v_k, lowest threshold first. They sum to zero over the thresholds.
    proba : ndarray of float64, shape (n_values, n_classes)
        Effect on the probability of each class, lowest class first. They sum to zero over the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.inspection import accumulated_local_effects
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.digitize(X[:, 0], [-1.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20, random_state=0).fit(X, y)
    >>> found = accumulated_local_effects(model, X, feature=0)
    >>> len(found.values) == len(found.score) == len(found.proba)
    True
    >>> bool(found.score[-1] > found.score[0])  # larger values, higher classes
    True
    """

    values: FloatArray
    score: FloatArray
    shifts: FloatArray
    proba: FloatArray


def accumulated_local_effects(
    estimator: Estimator,
    X: object,
    feature: int | str,
    *,
    grid_resolution: int = 20,
    categorical_features: ArrayLike | None = None,
) -> LocalEffects:
    r"""Return the accumulated local effects of a feature of numbers on the score, the shifts and the probabilities.

    Quantiles :math:`z_0 < z_1 < \ldots` of the feature cut the rows into intervals N(j). The effect g of a quantity h
    at :math:`z_j` adds up the mean changes of the intervals below,

    .. math:: g(z_j) = \sum_{l \le j} \frac{1}{|N(l)|} \sum_{i \in N(l)}
              h(z_l, x_{i, -j}) - h(z_{l-1}, x_{i, -j}) - c ,

    with c such that the mean over the rows is zero, g being the mean of both ends within an interval (Apley and Zhu
    [1]_). A row is moved only within its own interval. So features that depend on each other are not combined in ways
    that the data do not have, as in partial dependence (:func:`feature_effect`), and the effect of another feature that
    goes along with this one is not in it. Where effects are added up, both are the same up to a constant.

    Parameters
    ----------
    estimator : fitted classifier of this package, or a pipeline or search that ends in one
        The features are those that the pipeline is given.
    X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
        Rows to average over. The cost is two predictions of them.
    feature : int or str
        Column of numbers, or its name. Rows where it is missing or infinite do not count.
    grid_resolution : int, default=20
        Number of intervals, at most; equal quantiles are one.
    categorical_features : array-like of int, str or bool, or None, default=None
        Columns whose numbers are categories, as in :func:`feature_effect`; such a feature is refused.

    Returns
    -------
    LocalEffects

    Raises
    ------
    NotFittedError
        Before ``fit``.
    TypeError
        If the estimator has no margins, or ``grid_resolution`` is no integer.
    ValueError
        If there is no such feature, it holds categories, which have no order to add up along, or fewer than two finite
        values, or ``grid_resolution`` is not positive.

    References
    ----------
    .. [1] Apley and Zhu, Visualizing the effects of predictor variables in black box supervised learning models, JRSS B
       82, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.inspection import accumulated_local_effects
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0], [-1.0, 0.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20).fit(X, y)
    >>> found = accumulated_local_effects(model, X, 0)
    >>> bool(found.score[-1] > found.score[0]), found.shifts.shape, found.proba.shape
    (True, (21, 3), (21, 4))
    """
    (model, prepared), table = rows.unwrapped(estimator), rows.as_rows(X)
    grid_resolution = validation.check_integer("grid_resolution", grid_resolution, 1)
    column = rows.column_of(estimator, table, feature)
    if rows.holds_categories(estimator, table, column, categorical_features):
        raise ValueError(
            f"feature {feature!r} must hold numbers: effects are added up along their order; it holds categories, "
            f"whose effects feature_effect returns"
        )
    values = rows.numbers(estimator, table, column, feature)
    known, stores_zeros = np.flatnonzero(np.isfinite(values)), rows.stores_zeros(table, column, values)
    table, values = take_rows(table, known), values[known]
    # Quantiles that occur in X, so that trees are asked where they were grown.
    edges = np.unique(np.quantile(values, np.linspace(0.0, 1.0, grid_resolution + 1), method="inverted_cdf"))
    interval = np.searchsorted(edges[1:], values)  # the lowest value is in the first

    def at(ends: FloatArray) -> FloatArray:
        moved = prepared(rows.with_column(table, column, ends, stores_zeros))
        scores = model.thresholds_ - model.predict_linear_predictors(moved)
        score = scores.mean(axis=1, keepdims=True)
        return np.column_stack([score, scores - score, model.predict_proba_ordered(moved)])

    changes = at(edges[interval + 1]) - at(edges[interval])
    n_rows = np.bincount(interval, minlength=len(edges) - 1)[:, np.newaxis]
    sums = np.zeros((len(n_rows), changes.shape[1]))
    np.add.at(sums, interval, changes)
    effects = np.vstack([np.zeros(sums.shape[1]), np.cumsum(sums / n_rows, axis=0)])
    effects -= (n_rows * (effects[1:] + effects[:-1]) / 2).sum(axis=0) / len(values)
    n_thresholds = len(model.thresholds_)
    return LocalEffects(edges, effects[:, 0], effects[:, 1 : 1 + n_thresholds], effects[:, 1 + n_thresholds :])
