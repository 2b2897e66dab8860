"""Scores of ordinal predictions, on class codes 0..K-1.

All metrics average over rows with `sample_weight`. Those of `y_pred` judge decisions, those of `proba` judge
class probabilities, and `concordance` judges a score of any scale. :mod:`ordinal_objectives.scorers` makes
scikit-learn scorers of them, which take any labels.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ordinal_objectives.validation import check_codes, check_proba, check_sample_weight

__all__ = [
    "concordance",
    "macro_mean_absolute_error",
    "mean_absolute_error",
    "ordinal_log_loss",
    "quadratic_weighted_kappa",
    "ranked_probability_score",
    "zero_one_error",
]


def mean_absolute_error(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    r"""Mean number of classes between prediction and truth, :math:`\overline{|y - \hat y|}`.

    Parameters
    ----------
    y_true, y_pred : array-like of int, shape (n_samples,)
        Class codes 0, 1, 2, ...
    sample_weight : array-like of float, shape (n_samples,), or None
        Weights; None for ones.

    Returns
    -------
    float
        At least 0, lower is better.

    Raises
    ------
    ValueError
        If an array has the wrong shape or values; the message names it.

    Examples
    --------
    >>> from ordinal_objectives.metrics import mean_absolute_error
    >>> mean_absolute_error([0, 1, 2, 2], [0, 1, 1, 0])
    0.75
    """
    true, predicted, weight = _check_decisions(y_true, y_pred, sample_weight)
    return float(np.average(np.abs(true - predicted), weights=weight))


def macro_mean_absolute_error(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Mean over the observed classes of the mean absolute error within each [1]_.

    Rare classes count as much as frequent ones, so predicting one class throughout does not pay.

    Parameters
    ----------
    y_true, y_pred, sample_weight : array-like of shape (n_samples,)
        As in `mean_absolute_error`.

    Returns
    -------
    float
        At least 0, lower is better.

    Raises
    ------
    ValueError
        As `mean_absolute_error`.

    References
    ----------
    .. [1] S. Baccianella, A. Esuli and F. Sebastiani, "Evaluation measures for ordinal regression", ISDA (2009).

    Examples
    --------
    >>> from ordinal_objectives.metrics import macro_mean_absolute_error
    >>> macro_mean_absolute_error([0, 0, 0, 2], [0, 0, 0, 0])
    1.0
    """
    true, predicted, weight = _check_decisions(y_true, y_pred, sample_weight)
    class_weight = np.bincount(true, weights=weight)
    error = np.bincount(true, weights=weight * np.abs(true - predicted))
    observed = class_weight > 0.0
    return float(np.mean(error[observed] / class_weight[observed]))


def zero_one_error(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Share of wrong predictions, 1 - accuracy.

    Parameters
    ----------
    y_true, y_pred, sample_weight : array-like of shape (n_samples,)
        As in `mean_absolute_error`.

    Returns
    -------
    float
        In [0, 1], lower is better.

    Raises
    ------
    ValueError
        As `mean_absolute_error`.

    Examples
    --------
    >>> from ordinal_objectives.metrics import zero_one_error
    >>> zero_one_error([0, 1, 2, 2], [0, 1, 1, 0])
    0.5
    """
    true, predicted, weight = _check_decisions(y_true, y_pred, sample_weight)
    return float(np.average(true != predicted, weights=weight))


def quadratic_weighted_kappa(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    r"""Agreement beyond chance, with errors weighted by their square [1]_.

    .. math:: \kappa = 1 - \frac{\overline{(y - \hat y)^2}}
                                {\mathrm{var}\,y + \mathrm{var}\,\hat y + (\bar y - \bar{\hat y})^2}

    The denominator is the squared error that independent draws from the two margins would have.

    Parameters
    ----------
    y_true, y_pred, sample_weight : array-like of shape (n_samples,)
        As in `mean_absolute_error`.

    Returns
    -------
    float
        At most 1, higher is better, 0 for chance; NaN if `y_true` and `y_pred` are one and the same class.

    Raises
    ------
    ValueError
        As `mean_absolute_error`.

    Warns
    -----
    UndefinedMetricWarning
        If the result is NaN.

    References
    ----------
    .. [1] J. Cohen, "Weighted kappa", Psychological Bulletin 70 (1968), 213-220.

    Examples
    --------
    >>> from ordinal_objectives.metrics import quadratic_weighted_kappa
    >>> round(quadratic_weighted_kappa([0, 1, 2, 3], [0, 1, 3, 3]), 4)
    0.9167
    """
    true, predicted, weight = _check_decisions(y_true, y_pred, sample_weight)

    def mean(values: NDArray[Any]) -> float:
        return float(np.average(values, weights=weight))

    mean_true, mean_predicted = mean(true), mean(predicted)
    by_chance = (
        mean((true - mean_true) ** 2) + mean((predicted - mean_predicted) ** 2) + (mean_true - mean_predicted) ** 2
    )
    if by_chance == 0.0:
        return _undefined("kappa", "true and predicted labels are all of one class")
    return 1.0 - mean((true - predicted) ** 2) / by_chance


def ranked_probability_score(y_true: ArrayLike, proba: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    r"""Mean squared error of the cumulative probabilities, summed over thresholds [1]_.

    .. math:: \overline{\sum_{k=0}^{K-2} (P(y \le k) - 1[y \le k])^2}

    It is proper, counts in classes like the absolute error, which it is when all probabilities are 0 or 1, and is
    the Brier score when K = 2. Some authors divide by K - 1; this one does not.

    Parameters
    ----------
    y_true : array-like of int, shape (n_samples,)
        Class codes 0..n_classes - 1.
    proba : array-like of float, shape (n_samples, n_classes)
        P(y = k), float32 or float64.
    sample_weight : array-like of float, shape (n_samples,), or None
        Weights; None for ones.

    Returns
    -------
    float
        In [0, n_classes - 1], lower is better.

    Raises
    ------
    ValueError
        If an array has the wrong shape or values; the message names it.

    References
    ----------
    .. [1] E. Epstein, "A scoring system for probability forecasts of ranked categories", Journal of Applied
       Meteorology 8 (1969), 985-987.

    Examples
    --------
    >>> from ordinal_objectives.metrics import ranked_probability_score
    >>> ranked_probability_score([2, 0], [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])
    0.125
    """
    true, P, weight = _check_forecasts(y_true, proba, sample_weight)
    cumulative = np.cumsum(P, axis=1, dtype=np.float64)[:, :-1]
    happened = true[:, np.newaxis] <= np.arange(P.shape[1] - 1)
    return float(np.average(((cumulative - happened) ** 2).sum(axis=1), weights=weight))


def ordinal_log_loss(y_true: ArrayLike, proba: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    r"""Mean negative log probability of the true class, :math:`-\overline{\log P(y = y_i)}`.

    Probabilities below the machine epsilon of their type are raised to it, as scikit-learn does: one class of
    probability 0 would make the mean infinite.

    Parameters
    ----------
    y_true, proba, sample_weight : array-like
        As in `ranked_probability_score`.

    Returns
    -------
    float
        At least 0, lower is better.

    Raises
    ------
    ValueError
        As `ranked_probability_score`.

    Examples
    --------
    >>> from ordinal_objectives.metrics import ordinal_log_loss
    >>> round(ordinal_log_loss([0, 1], [[0.5, 0.5], [0.75, 0.25]]), 4)
    1.0397
    """
    true, P, weight = _check_forecasts(y_true, proba, sample_weight)
    of_truth = np.clip(P[np.arange(true.size), true].astype(np.float64), np.finfo(P.dtype).eps, 1.0)
    return float(np.average(-np.log(of_truth), weights=weight))


def concordance(y_true: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Share of the pairs of rows of different classes that the score puts in the right order.

    Equal scores count one half; a pair weighs the product of its weights. It is the area under the ROC curve when
    K = 2, and (1 + d) / 2 with Somers' d of the score given the classes. It takes O(n log n log K) steps.

    Parameters
    ----------
    y_true : array-like of int, shape (n_samples,)
        Class codes 0, 1, 2, ...
    score : array-like of float, shape (n_samples,)
        Score that should grow with the class, such as `predict_raw`.
    sample_weight : array-like of float, shape (n_samples,), or None
        Weights; None for ones.

    Returns
    -------
    float
        In [0, 1], higher is better; NaN if all rows are of one class.

    Raises
    ------
    ValueError
        If an array has the wrong shape or values; the message names it.

    Warns
    -----
    UndefinedMetricWarning
        If the result is NaN.

    Examples
    --------
    >>> from ordinal_objectives.metrics import concordance
    >>> concordance([0, 1, 2], [-3.0, 5.0, 4.0]) * 3
    2.0
    """
    true = check_codes(y_true, name="y_true")
    values = column_or_1d(score).astype(np.float64)
    check_consistent_length(true, values)
    if not np.isfinite(values).all():
        raise ValueError("score holds NaN or infinite values; scores must be finite")
    weight = _weights_or_ones(sample_weight, true.size)
    pairs = 0.5 * (weight.sum() ** 2 - (np.bincount(true, weights=weight) ** 2).sum())
    if np.unique(true[weight > 0.0]).size < 2:
        return _undefined("concordance", "all true labels are of one class")
    order = np.argsort(values, kind="stable")
    rank = np.unique(true, return_inverse=True)[1]
    return _concordant_weight(rank[order], values[order], weight[order], 0, int(rank.max()) + 1) / float(pairs)


def _concordant_weight(
    true: NDArray[Any], score: NDArray[Any], weight: NDArray[Any], lowest: int, beyond: int
) -> float:
    """Weight of the concordant pairs among rows of classes lowest..beyond - 1, sorted by score.

    A pair is met once, where halving the range of classes parts its two rows.
    """
    if beyond - lowest < 2 or true.size == 0:
        return 0.0
    middle = (lowest + beyond) // 2
    low = true < middle
    weight_up_to = np.concatenate([[0.0], np.cumsum(weight[low])])
    smaller, not_greater = (weight_up_to[np.searchsorted(score[low], score[~low], side)] for side in ("left", "right"))
    parted = 0.5 * float(weight[~low] @ (smaller + not_greater))
    below = _concordant_weight(true[low], score[low], weight[low], lowest, middle)
    return parted + below + _concordant_weight(true[~low], score[~low], weight[~low], middle, beyond)


def _check_decisions(
    y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    true, predicted = check_codes(y_true, name="y_true"), check_codes(y_pred, name="y_pred")
    check_consistent_length(true, predicted)
    return true.astype(np.int64), predicted.astype(np.int64), _weights_or_ones(sample_weight, true.size)


def _check_forecasts(
    y_true: ArrayLike, proba: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[NDArray[np.int32], NDArray[Any], NDArray[np.float64]]:
    P = check_proba(proba)
    true = check_codes(y_true, P.shape[1], name="y_true")
    check_consistent_length(true, P)
    return true, P, _weights_or_ones(sample_weight, true.size)


def _weights_or_ones(sample_weight: ArrayLike | None, n_samples: int) -> NDArray[np.float64]:
    weight = check_sample_weight(sample_weight, n_samples)
    return np.ones(n_samples) if weight is None else weight


def _undefined(metric: str, reason: str) -> float:
    warnings.warn(f"The {metric} is undefined: {reason}.", UndefinedMetricWarning, stacklevel=3)
    return float("nan")
