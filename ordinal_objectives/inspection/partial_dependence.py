"""The score, the shifts and the class probabilities along one feature, averaged over rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.inspection.rows import unwrapped
from ordinal_objectives.inspection.values import along


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
    score: NDArray[np.float64]
    shifts: NDArray[np.float64]


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
    values, tables = along(estimator, X, feature, grid_resolution)
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
    values, tables = along(estimator, X, feature, grid_resolution)
    return values, np.array([model.predict_proba_ordered(prepared(table)).mean(axis=0) for table in tables])
