"""Metrics of decisions, predicted classes beside the true ones, and of scores of any scale."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ordinal_objectives.aliases import ArrayLike, BoolArray, FloatArray, IndexArray, LabelArray, NDArray
from ordinal_objectives.metrics.table import METRICS, OfWeights, check_decisions, check_scores, sums_by, undefined
from ordinal_objectives.utils.shared_docs import documented

_Codes = NDArray[np.int64]


def _absolute_error(
    y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None, labels: ArrayLike | None
) -> OfWeights:
    true, predicted, weight = check_decisions(y_true, y_pred, sample_weight, labels, nearest=True)
    return OfWeights.mean(np.abs(true - predicted), weight)


@METRICS.entry("mae", judges="decisions", of_intervals=True, by_weights=_absolute_error)
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
    return _absolute_error(y_true, y_pred, sample_weight, labels).value()


def _of_decisions(
    function: Callable[[_Codes, _Codes, FloatArray], FloatArray],
    y_true: ArrayLike,
    y_pred: ArrayLike,
    sample_weight: ArrayLike | None,
    labels: ArrayLike | None,
) -> OfWeights:
    """Return a function of class codes, predicted ones, and weights (..., n_rows)."""
    true, predicted, weight = check_decisions(y_true, y_pred, sample_weight, labels)
    return OfWeights(weight, partial(function, true, predicted))


def _error_within_classes(true: _Codes, predicted: _Codes, weight: FloatArray) -> FloatArray:
    """Return the mean absolute error within each class, (..., n_classes), NaN where it has no weight."""
    classes, of_class = np.unique(true, return_inverse=True)
    class_weight = sums_by(weight, of_class, classes.size)
    error = sums_by(weight * np.abs(true - predicted), of_class, classes.size)
    return np.divide(error, class_weight, out=np.full_like(error, np.nan), where=class_weight > 0.0)


def _macro_error(true: _Codes, predicted: _Codes, weight: FloatArray) -> FloatArray:
    return np.nanmean(_error_within_classes(true, predicted, weight), axis=-1)


@METRICS.entry("macro_mae", judges="decisions", by_weights=partial(_of_decisions, _macro_error))
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
    return _of_decisions(_macro_error, y_true, y_pred, sample_weight, labels).value()


def _largest_error(true: _Codes, predicted: _Codes, weight: FloatArray) -> FloatArray:
    return np.nanmax(_error_within_classes(true, predicted, weight), axis=-1)


@METRICS.entry("max_mae", judges="decisions", by_weights=partial(_of_decisions, _largest_error))
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
    return _of_decisions(_largest_error, y_true, y_pred, sample_weight, labels).value()


def _wrong(
    y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None, labels: ArrayLike | None
) -> OfWeights:
    true, predicted, weight = check_decisions(y_true, y_pred, sample_weight, labels, nearest=True)
    return OfWeights.mean(true != predicted, weight)


@METRICS.entry(
    "zero_one",
    judges="decisions",
    of_intervals=True,
    by_weights=_wrong,
)
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
    return _wrong(y_true, y_pred, sample_weight, labels).value()


def _are_alike(labels: _Codes, weight: FloatArray) -> BoolArray:
    """Tell whether all labels with weight are the same, (...): rounding must not decide it."""
    every = np.broadcast_to(labels, weight.shape)
    there, (lowest, highest) = weight > 0.0, (np.iinfo(labels.dtype).min, np.iinfo(labels.dtype).max)
    highest_there = np.max(every, axis=-1, where=there, initial=lowest)
    return np.asarray(highest_there <= np.min(every, axis=-1, where=there, initial=highest))


def _are_of_one_class(true: _Codes, predicted: _Codes, weight: FloatArray) -> BoolArray:
    return _are_alike(np.concatenate([true, predicted]), np.concatenate([weight, weight], axis=-1))


def _ratio(numerator: FloatArray, denominator: FloatArray, is_undefined: BoolArray) -> FloatArray:
    """Return quotients, NaN where they are undefined."""
    return np.divide(numerator, denominator, out=np.full(np.shape(numerator), np.nan), where=~is_undefined)


def _quadratic_kappa(true: _Codes, predicted: _Codes, weight: FloatArray) -> FloatArray:
    total = weight.sum(axis=-1)

    def mean(values: NDArray[np.number]) -> FloatArray:
        return np.asarray((weight * values).sum(axis=-1) / total)

    mean_true, mean_predicted = mean(true), mean(predicted)
    spread = mean((true - mean_true[..., np.newaxis]) ** 2) + mean((predicted - mean_predicted[..., np.newaxis]) ** 2)
    by_chance = spread + (mean_true - mean_predicted) ** 2
    return 1.0 - _ratio(mean((true - predicted) ** 2), by_chance, _are_of_one_class(true, predicted, weight))


@METRICS.entry("qwk", judges="decisions", higher_is_better=True, by_weights=partial(_of_decisions, _quadratic_kappa))
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
    value = _of_decisions(_quadratic_kappa, y_true, y_pred, sample_weight, labels).value()
    return undefined("kappa", "true and predicted labels are all of one class") if np.isnan(value) else value


def _linear_kappa(true: _Codes, predicted: _Codes, weight: FloatArray) -> FloatArray:
    levels, level = np.unique(np.concatenate([true, predicted]), return_inverse=True)
    total = weight.sum(axis=-1)
    shares = (sums_by(weight, part, levels.size) / total[..., np.newaxis] for part in np.split(level, 2))
    below, below_predicted = (np.cumsum(share, axis=-1)[..., :-1] for share in shares)
    apart = below * (1.0 - below_predicted) + below_predicted * (1.0 - below)
    error, by_chance = weight @ np.abs(true - predicted) / total, apart @ np.diff(levels)
    return 1.0 - _ratio(error, by_chance, _are_of_one_class(true, predicted, weight))


@METRICS.entry("lwk", judges="decisions", higher_is_better=True, by_weights=partial(_of_decisions, _linear_kappa))
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
    value = _of_decisions(_linear_kappa, y_true, y_pred, sample_weight, labels).value()
    return undefined("kappa", "true and predicted labels are all of one class") if np.isnan(value) else value


def _rank_correlation(true: _Codes, predicted: _Codes, weight: FloatArray) -> FloatArray:
    pairs = _differing_pairs(true, weight)
    excess = 2.0 * _concordant_pairs(true, predicted, weight) - pairs
    # A root each, since the product of two small numbers may be none.
    roots = np.sqrt(pairs), np.sqrt(_differing_pairs(predicted, weight))
    is_undefined = _are_alike(true, weight) | _are_alike(predicted, weight)
    return _ratio(_ratio(excess, roots[0], is_undefined), roots[1], is_undefined)


@METRICS.entry("tau_b", judges="decisions", higher_is_better=True, by_weights=partial(_of_decisions, _rank_correlation))
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
    value = _of_decisions(_rank_correlation, y_true, y_pred, sample_weight, labels).value()
    if np.isnan(value):
        return undefined("rank correlation", "true or predicted labels are all of one class")
    return value


def _share_of_pairs(
    y_true: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None, labels: ArrayLike | None
) -> OfWeights:
    true, values, weight = check_scores(y_true, score, sample_weight, labels)

    classes, of_class = np.unique(true, return_inverse=True)

    def share(weight: FloatArray) -> FloatArray:
        is_undefined = np.count_nonzero(sums_by(weight, of_class, classes.size) > 0.0, axis=-1) < 2
        return _ratio(_concordant_pairs(true, values, weight), _differing_pairs(true, weight), is_undefined)

    return OfWeights(weight, share)


@METRICS.entry("concordance", judges="scores", higher_is_better=True, by_weights=_share_of_pairs)
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
    value = _share_of_pairs(y_true, score, sample_weight, labels).value()
    return undefined("concordance", "all true labels are of one class") if np.isnan(value) else value


def _differing_pairs(labels: LabelArray, weight: FloatArray) -> FloatArray:
    """Weight of the pairs of rows whose labels differ, (...)."""
    levels, level = np.unique(labels, return_inverse=True)
    of_label = sums_by(weight, level, levels.size)
    return np.asarray((of_label[..., 1:] * np.cumsum(of_label, axis=-1)[..., :-1]).sum(axis=-1))


def _concordant_pairs(labels: LabelArray, score: LabelArray, weight: FloatArray) -> FloatArray:
    """Weight of the pairs of differing labels in the order of the score, (...); equal scores count one half."""
    true = np.unique(labels, return_inverse=True)[1]
    order = np.argsort(score, kind="stable")
    return _pairs_of_classes(true[order], score[order], weight[..., order], 0, int(true.max()) + 1)


def _pairs_of_classes(true: IndexArray, score: LabelArray, weight: FloatArray, lowest: int, beyond: int) -> FloatArray:
    """Weight of the concordant pairs among rows of classes lowest..beyond - 1, sorted by score.

    Each pair is counted once: where halving the range of classes separates its two rows.
    """
    if beyond - lowest < 2 or true.size == 0:
        return np.zeros(weight.shape[:-1])
    middle = (lowest + beyond) // 2
    low = true < middle
    of_low, of_high = weight[..., low], weight[..., ~low]
    weight_up_to = np.concatenate([np.zeros((*weight.shape[:-1], 1)), np.cumsum(of_low, axis=-1)], axis=-1)
    places = (np.searchsorted(score[low], score[~low], side) for side in ("left", "right"))
    smaller, not_greater = (weight_up_to[..., place] for place in places)
    parted = 0.5 * (of_high * (smaller + not_greater)).sum(axis=-1)
    below = _pairs_of_classes(true[low], score[low], of_low, lowest, middle)
    return np.asarray(parted + below + _pairs_of_classes(true[~low], score[~low], of_high, middle, beyond))
