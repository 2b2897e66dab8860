"""Metrics of decisions, predicted classes beside the true ones, and of scores of any scale."""

from __future__ import annotations

import numpy as np

from ordinal_objectives.aliases import ArrayLike, FloatArray, IndexArray, LabelArray, NDArray
from ordinal_objectives.metrics.table import METRICS, check_decisions, check_scores, undefined
from ordinal_objectives.utils.shared_docs import documented


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
        only differences count, other numbers that are one apart from class to class, such as stars from 1 to 5,
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
    true, predicted, weight = check_decisions(y_true, y_pred, sample_weight, labels, nearest=True)
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
    return float(np.mean(_error_within_classes(y_true, y_pred, sample_weight, labels)))


@METRICS.entry("max_mae", judges="decisions")
@documented(like=mean_absolute_error)
def maximum_mean_absolute_error(
    y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None, *, labels: ArrayLike | None = None
) -> float:
    """Mean absolute error within the observed class where it is largest [1]_.

    Parameters
    ----------
    <<y_true, y_pred, sample_weight, labels>>

    Returns
    -------
    float
        At least that of `macro_mean_absolute_error`, lower is better.

    Raises
    ------
    ValueError
        If an array has the wrong shape or values, or labels have no known order; the message names it.

    References
    ----------
    .. [1] M. Cruz-Ramírez, C. Hervás-Martínez, J. Sánchez-Monedero and P. A. Gutiérrez, "Metrics to guide a
       multi-objective evolutionary algorithm for ordinal classification", Neurocomputing 135 (2014), 21-31.

    Examples
    --------
    >>> from ordinal_objectives.metrics import maximum_mean_absolute_error
    >>> maximum_mean_absolute_error([0, 0, 0, 2], [0, 0, 1, 0])
    2.0
    """
    return float(np.max(_error_within_classes(y_true, y_pred, sample_weight, labels)))


def _error_within_classes(
    y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None, labels: ArrayLike | None
) -> FloatArray:
    """Return the mean absolute error within each class that has weight."""
    true, predicted, weight = check_decisions(y_true, y_pred, sample_weight, labels)
    of_class = np.unique(true, return_inverse=True)[1]
    class_weight = np.bincount(of_class, weights=weight)
    error = np.bincount(of_class, weights=weight * np.abs(true - predicted))
    observed = class_weight > 0.0
    return error[observed] / class_weight[observed]


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
    true, predicted, weight = check_decisions(y_true, y_pred, sample_weight, labels, nearest=True)
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

    def mean(values: NDArray[np.number]) -> float:
        return float(np.average(values, weights=weight))

    mean_true, mean_predicted = mean(true), mean(predicted)
    if _are_of_one_class(true, predicted, weight):
        return undefined("kappa", "true and predicted labels are all of one class")
    spread = mean((true - mean_true) ** 2) + mean((predicted - mean_predicted) ** 2)
    by_chance = spread + (mean_true - mean_predicted) ** 2
    return 1.0 - mean((true - predicted) ** 2) / by_chance


def _are_of_one_class(true: LabelArray, predicted: LabelArray, weight: FloatArray) -> bool:
    """Tell whether all labels with weight, true and predicted, are the same: rounding must not decide it."""
    return bool(np.ptp(np.stack([true, predicted])[:, weight > 0.0]) == 0)


@METRICS.entry("lwk", judges="decisions", higher_is_better=True)
@documented(like=mean_absolute_error)
def linear_weighted_kappa(
    y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None, *, labels: ArrayLike | None = None
) -> float:
    r"""Agreement beyond chance, with errors weighted by their size [1]_.

    .. math:: \kappa = 1 - \overline{|y - \hat y|} \; / \; \overline{|y - \hat y'|}

    The denominator is the absolute error that independent draws from the two margins would have: the mean over all
    pairs of a true label and a predicted one.

    Parameters
    ----------
    <<y_true, y_pred, sample_weight, labels>>

    Returns
    -------
    float
        1 where all agree, 0 for chance, higher is better; NaN if `y_true` and `y_pred` hold only one class, the same.

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
    .. [1] D. Cicchetti and T. Allison, "A new procedure for assessing reliability of scoring EEG sleep recordings",
       American Journal of EEG Technology 11 (1971), 101-109.

    Examples
    --------
    >>> from ordinal_objectives.metrics import linear_weighted_kappa
    >>> round(linear_weighted_kappa([0, 1, 2, 3], [0, 1, 3, 3]), 4)
    0.8182
    """
    true, predicted, weight = check_decisions(y_true, y_pred, sample_weight, labels)
    if _are_of_one_class(true, predicted, weight):
        return undefined("kappa", "true and predicted labels are all of one class")
    levels, level = np.unique(np.concatenate([true, predicted]), return_inverse=True)
    of_true, of_predicted = (np.bincount(part, weight, levels.size) for part in np.split(level, 2))
    below, below_predicted = (np.cumsum(share)[:-1] / weight.sum() for share in (of_true, of_predicted))
    apart = below * (1.0 - below_predicted) + below_predicted * (1.0 - below)
    return 1.0 - float(np.average(np.abs(true - predicted), weights=weight)) / float(apart @ np.diff(levels))


@METRICS.entry("tau_b", judges="decisions", higher_is_better=True)
@documented(like=mean_absolute_error)
def kendall_tau_b(
    y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None, *, labels: ArrayLike | None = None
) -> float:
    r"""Kendall's rank correlation of predicted and true classes, corrected for ties [1]_.

    .. math:: \tau_b = \frac{C - D}{\sqrt{P_y \, P_{\hat y}}}

    C and D are the pairs of rows that both put in the same and in the opposite order, :math:`P_y` and
    :math:`P_{\hat y}` those with different true and different predicted classes. A pair weighs the product of its
    weights. It takes O(n log n log K) steps, and equals `scipy.stats.kendalltau`, which takes no weights.

    Parameters
    ----------
    <<y_true, y_pred, sample_weight, labels>>

    Returns
    -------
    float
        In [-1, 1], higher is better; NaN if `y_true` or `y_pred` holds only one class.

    Raises
    ------
    ValueError
        If an array has the wrong shape or values, or labels have no known order; the message names it.

    Warns
    -----
    UndefinedMetricWarning
        If it is NaN.

    Notes
    -----
    Only the order counts: predictions that are all one class too high lose nothing. Read it beside an error.

    References
    ----------
    .. [1] M. Kendall, "The treatment of ties in ranking problems", Biometrika 33 (1945), 239-251.

    Examples
    --------
    >>> from ordinal_objectives.metrics import kendall_tau_b
    >>> round(kendall_tau_b([0, 1, 2, 2], [0, 1, 1, 2]), 4)
    0.8
    """
    true, predicted, weight = check_decisions(y_true, y_pred, sample_weight, labels)
    if any(np.ptp(codes[weight > 0.0]) == 0 for codes in (true, predicted)):
        return undefined("rank correlation", "true or predicted labels are all of one class")
    pairs = _differing_pairs(true, weight)
    excess = 2.0 * _concordant_pairs(true, predicted, weight) - pairs
    # A root each, since the product of two small numbers may be none.
    return float(excess / np.sqrt(pairs) / np.sqrt(_differing_pairs(predicted, weight)))


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
    true, values, weight = check_scores(y_true, score, sample_weight, labels)
    if np.unique(true[weight > 0.0]).size < 2:
        return undefined("concordance", "all true labels are of one class")
    return _concordant_pairs(true, values, weight) / _differing_pairs(true, weight)


def _differing_pairs(labels: LabelArray, weight: FloatArray) -> float:
    """Weight of the pairs of rows whose labels differ."""
    of_label = np.bincount(np.unique(labels, return_inverse=True)[1], weights=weight)
    return float(of_label[1:] @ np.cumsum(of_label)[:-1])


def _concordant_pairs(labels: LabelArray, score: LabelArray, weight: FloatArray) -> float:
    """Weight of the pairs of differing labels that the score puts in their order; equal scores count one half."""
    true = np.unique(labels, return_inverse=True)[1]
    order = np.argsort(score, kind="stable")
    return _pairs_of_classes(true[order], score[order], weight[order], 0, int(true.max()) + 1)


def _pairs_of_classes(true: IndexArray, score: LabelArray, weight: FloatArray, lowest: int, beyond: int) -> float:
    """Weight of the concordant pairs among rows of classes lowest..beyond - 1, sorted by score.

    Each pair is counted once: where halving the range of classes separates its two rows.
    """
    if beyond - lowest < 2 or true.size == 0:
        return 0.0
    middle = (lowest + beyond) // 2
    low = true < middle
    weight_up_to = np.concatenate([[0.0], np.cumsum(weight[low])])
    smaller, not_greater = (weight_up_to[np.searchsorted(score[low], score[~low], side)] for side in ("left", "right"))
    parted = 0.5 * float(weight[~low] @ (smaller + not_greater))
    below = _pairs_of_classes(true[low], score[low], weight[low], lowest, middle)
    return parted + below + _pairs_of_classes(true[~low], score[~low], weight[~low], middle, beyond)
