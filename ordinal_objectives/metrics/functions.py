"""Scores of ordinal predictions.

All metrics average over rows with `sample_weight`. Those of `y_pred` judge decisions, those of `proba` judge
class probabilities, and `concordance` judges a score of any scale. `labels` gives the classes from lowest to
highest; without it an ordered categorical `y_true` brings its own order, and other labels must be class codes
0, 1, 2, ... The order of strings is not guessed.

`METRICS` is the table of all of them. :mod:`ordinal_objectives.scorers` makes scikit-learn scorers of its entries,
which find the order in the estimator, and `eval_metric` takes by name those of decisions and probabilities.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.metrics.inputs import check_decisions, check_forecasts, check_scores, undefined
from ordinal_objectives.metrics.ranking import concordant_weight
from ordinal_objectives.metrics.table import MetricTable
from ordinal_objectives.utils.shared_docs import documented

METRICS = MetricTable()


@METRICS.entry("mae", judges="decisions", stands_for=("l1",))
@documented
def mean_absolute_error(
    y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None, *, labels: ArrayLike | None = None
) -> float:
    r"""Mean number of classes between prediction and truth, :math:`\overline{|y - \hat y|}`.

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n_samples,)
        Labels; class codes 0, 1, 2, ... unless `labels` or an ordered categorical `y_true` says otherwise. Since
        differences alone count, other numbers that are one apart from class to class, such as stars from 1 to 5,
        are right as well.
    sample_weight : array-like of float, shape (n_samples,), or None
        Weights; None for ones.
    labels : array-like of shape (n_classes,), or None
        The classes from lowest to highest, also those without rows.

    Returns
    -------
    float
        At least 0, lower is better.

    Raises
    ------
    ValueError
        If an array has the wrong shape or values, or labels have no known order; the message names it.

    Examples
    --------
    >>> from ordinal_objectives.metrics import mean_absolute_error
    >>> mean_absolute_error([0, 1, 2, 2], [0, 1, 1, 0])
    0.75
    >>> mean_absolute_error(["low", "high"], ["high", "high"], labels=["low", "middle", "high"])
    1.0
    """
    true, predicted, weight = check_decisions(y_true, y_pred, sample_weight, labels)
    return float(np.average(np.abs(true - predicted), weights=weight))


@METRICS.entry("macro_mae", judges="decisions")
@documented(like=mean_absolute_error)
def macro_mean_absolute_error(
    y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None, *, labels: ArrayLike | None = None
) -> float:
    """Mean over the observed classes of the mean absolute error within each [1]_.

    Rare classes count as much as frequent ones, so always predicting the most frequent class gives a large error.

    Parameters
    ----------
    <<y_true, y_pred, sample_weight, labels>>

    Returns
    -------
    float
        At least 0, lower is better.

    Raises
    ------
    ValueError
        If an array has the wrong shape or values, or labels have no known order; the message names it.

    References
    ----------
    .. [1] S. Baccianella, A. Esuli and F. Sebastiani, "Evaluation measures for ordinal regression", ISDA (2009).

    Examples
    --------
    >>> from ordinal_objectives.metrics import macro_mean_absolute_error
    >>> macro_mean_absolute_error([0, 0, 0, 2], [0, 0, 0, 0])
    1.0
    """
    true, predicted, weight = check_decisions(y_true, y_pred, sample_weight, labels)
    of_class = np.unique(true, return_inverse=True)[1]
    class_weight = np.bincount(of_class, weights=weight)
    error = np.bincount(of_class, weights=weight * np.abs(true - predicted))
    observed = class_weight > 0.0
    return float(np.mean(error[observed] / class_weight[observed]))


@METRICS.entry("zero_one", judges="decisions", stands_for=("error", "merror", "multi_error", "binary_error"))
@documented(like=mean_absolute_error)
def zero_one_error(
    y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None, *, labels: ArrayLike | None = None
) -> float:
    """Share of wrong predictions, 1 - accuracy.

    Parameters
    ----------
    <<y_true, y_pred, sample_weight, labels>>

    Returns
    -------
    float
        In [0, 1], lower is better.

    Raises
    ------
    ValueError
        If an array has the wrong shape or values, or labels have no known order; the message names it.

    Examples
    --------
    >>> from ordinal_objectives.metrics import zero_one_error
    >>> zero_one_error([0, 1, 2, 2], [0, 1, 1, 0])
    0.5
    """
    true, predicted, weight = check_decisions(y_true, y_pred, sample_weight, labels)
    return float(np.average(true != predicted, weights=weight))


@METRICS.entry("qwk", judges="decisions", higher_is_better=True)
@documented(like=mean_absolute_error)
def quadratic_weighted_kappa(
    y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None, *, labels: ArrayLike | None = None
) -> float:
    r"""Agreement beyond chance, with errors weighted by their square [1]_.

    .. math:: \kappa = 1 - \frac{\overline{(y - \hat y)^2}}
                                {\mathrm{var}\,y + \mathrm{var}\,\hat y + (\bar y - \bar{\hat y})^2}

    The denominator is the squared error that independent draws from the two margins would have.

    Parameters
    ----------
    <<y_true, y_pred, sample_weight, labels>>

    Returns
    -------
    float
        At most 1, higher is better, 0 for chance; NaN if `y_true` and `y_pred` hold only one class, the same.

    Raises
    ------
    ValueError
        If an array has the wrong shape or values, or labels have no known order; the message names it.

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
    true, predicted, weight = check_decisions(y_true, y_pred, sample_weight, labels)

    def mean(values: NDArray[Any]) -> float:
        return float(np.average(values, weights=weight))

    mean_true, mean_predicted = mean(true), mean(predicted)
    if np.ptp(np.stack([true, predicted])[:, weight > 0.0]) == 0:
        return undefined("kappa", "true and predicted labels are all of one class")
    by_chance = (
        mean((true - mean_true) ** 2) + mean((predicted - mean_predicted) ** 2) + (mean_true - mean_predicted) ** 2
    )
    return 1.0 - mean((true - predicted) ** 2) / by_chance


@METRICS.entry("rps", judges="probabilities")
@documented
def ranked_probability_score(
    y_true: ArrayLike, proba: ArrayLike, sample_weight: ArrayLike | None = None, *, labels: ArrayLike | None = None
) -> float:
    r"""Mean squared error of the cumulative probabilities, summed over thresholds [1]_.

    .. math:: \overline{\sum_{k=0}^{K-2} (P(y \le k) - 1[y \le k])^2}

    It is a proper score in units of classes. It equals the absolute error when all probabilities are 0 or 1, and the
    Brier score when K = 2. Some authors divide by K - 1; this one does not.

    Parameters
    ----------
    y_true : array-like, shape (n_samples,)
        Labels; class codes 0..n_classes - 1 unless `labels` or an ordered categorical `y_true` says otherwise.
    proba : array-like of float, shape (n_samples, n_classes)
        P(y = k), float32 or float64, columns from the lowest class to the highest, as `predict_proba_ordered` has
        them. Those of `predict_proba` are sorted by label.
    sample_weight : array-like of float, shape (n_samples,), or None
        Weights; None for ones.
    labels : array-like of shape (n_classes,), or None
        The classes from lowest to highest, one for each column of `proba`; ``range(n_classes)`` for codes. None
        asks for codes among which 0 and n_classes - 1 occur, see the notes.

    Returns
    -------
    float
        In [0, n_classes - 1], lower is better.

    Raises
    ------
    ValueError
        If an array has the wrong shape or values, or labels have no known order; the message names it.

    Notes
    -----
    Codes 1 to 4 beside five columns may just as well be stars from 1 to 5 without a 5, and taken for codes they would
    all be off by one. Of the ways to number classes one apart only the codes hold 0 and n_classes - 1. So a sample of
    codes that lacks one of them, as a small fold may, needs ``labels=range(n_classes)``. That is less than
    `sklearn.metrics.log_loss` asks for, which wants every class or `labels`.

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
    true, P, weight = check_forecasts(y_true, proba, sample_weight, labels)
    cumulative = np.cumsum(P, axis=1, dtype=np.float64)[:, :-1]
    happened = true[:, np.newaxis] <= np.arange(P.shape[1] - 1)
    return float(np.average(((cumulative - happened) ** 2).sum(axis=1), weights=weight))


@METRICS.entry(
    "log_loss", judges="probabilities", stands_for=("logloss", "mlogloss", "multi_logloss", "binary_logloss")
)
@documented(like=ranked_probability_score)
def ordinal_log_loss(
    y_true: ArrayLike, proba: ArrayLike, sample_weight: ArrayLike | None = None, *, labels: ArrayLike | None = None
) -> float:
    r"""Mean negative log probability of the true class, :math:`-\overline{\log P(y = y_i)}`.

    Probabilities below the machine epsilon of their type are raised to it, as scikit-learn does: one class of
    probability 0 would make the mean infinite.

    Parameters
    ----------
    <<y_true, proba, sample_weight, labels>>

    Returns
    -------
    float
        At least 0, lower is better.

    Raises
    ------
    ValueError
        If an array has the wrong shape or values, or labels have no known order; the message names it.

    Examples
    --------
    >>> from ordinal_objectives.metrics import ordinal_log_loss
    >>> round(ordinal_log_loss([0, 1], [[0.5, 0.5], [0.75, 0.25]]), 4)
    1.0397
    """
    true, P, weight = check_forecasts(y_true, proba, sample_weight, labels)
    of_truth = np.clip(P[np.arange(true.size), true].astype(np.float64), np.finfo(P.dtype).eps, 1.0)
    return float(np.average(-np.log(of_truth), weights=weight))


@METRICS.entry("concordance", judges="scores", higher_is_better=True)
@documented
def concordance(
    y_true: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None = None, *, labels: ArrayLike | None = None
) -> float:
    """Share of the pairs of rows of different classes that the score puts in the right order.

    Equal scores count one half; a pair weighs the product of its weights. It is the area under the ROC curve when
    K = 2, and (1 + d) / 2 with Somers' d of the score given the classes. It takes O(n log n log K) steps.

    Parameters
    ----------
    y_true : array-like, shape (n_samples,)
        Labels; integers in the order of the classes unless `labels` or an ordered categorical `y_true` says
        otherwise.
    score : array-like of float, shape (n_samples,)
        Score that should grow with the class, such as `predict_raw`.
    sample_weight : array-like of float, shape (n_samples,), or None
        Weights; None for ones.
    labels : array-like of shape (n_classes,), or None
        The classes from lowest to highest.

    Returns
    -------
    float
        In [0, 1], higher is better; NaN if all rows are of one class.

    Raises
    ------
    ValueError
        If an array has the wrong shape or values, or labels have no known order; the message names it.

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
    codes, values, weight = check_scores(y_true, score, sample_weight, labels)
    true = np.unique(codes, return_inverse=True)[1]
    of_class = np.bincount(true, weights=weight)
    pairs = of_class[1:] @ np.cumsum(of_class)[:-1]
    if np.unique(true[weight > 0.0]).size < 2:
        return undefined("concordance", "all true labels are of one class")
    order = np.argsort(values, kind="stable")
    return concordant_weight(true[order], values[order], weight[order], 0, int(true.max()) + 1) / float(pairs)
