"""Metrics of class probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import betaincinv

from ordinal_objectives.aliases import ArrayLike, BoolArray, FloatArray, IndexArray, IntArray, RealArray
from ordinal_objectives.metrics.table import METRICS, OfWeights, check_forecasts, check_intervals
from ordinal_objectives.ordinal_labels import OrdinalLabels
from ordinal_objectives.utils import documented, validation


def _ranked(
    y_true: ArrayLike, proba: ArrayLike, sample_weight: ArrayLike | None, labels: ArrayLike | None
) -> OfWeights:
    if isinstance(y_true, OrdinalLabels) and y_true.between:  # thresholds inside an interval tell nothing
        lower, upper, P, weight = check_intervals(y_true, proba, sample_weight, labels)
    else:
        true, P, weight = check_forecasts(y_true, proba, sample_weight, labels)
        lower = upper = true[:, np.newaxis]
    k, cumulative = np.arange(P.shape[1] - 1), np.cumsum(P, axis=1, dtype=np.float64)[:, :-1]
    known, happened = (k < lower) | (k >= upper), k >= upper
    return OfWeights.mean((known * (cumulative - happened) ** 2).sum(axis=1), weight)


@METRICS.entry("rps", judges="probabilities", of_intervals=True, by_weights=_ranked)
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
    return _ranked(y_true, proba, sample_weight, labels).value()


def _log_loss(
    y_true: ArrayLike, proba: ArrayLike, sample_weight: ArrayLike | None, labels: ArrayLike | None
) -> OfWeights:
    of_truth: RealArray
    if isinstance(y_true, OrdinalLabels) and y_true.between:
        *_, P, weight = check_intervals(y_true, proba, sample_weight, labels)
        of_truth = (y_true.shares[y_true.codes] * P).sum(axis=1)
    else:
        true, P, weight = check_forecasts(y_true, proba, sample_weight, labels)
        of_truth = P[np.arange(true.size), true]
    of_truth = np.clip(of_truth.astype(np.float64), np.finfo(P.dtype).eps, 1.0)
    return OfWeights.mean(-np.log(of_truth), weight)


@METRICS.entry(
    "log_loss",
    judges="probabilities",
    of_intervals=True,
    by_weights=_log_loss,
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
    return _log_loss(y_true, proba, sample_weight, labels).value()


def _calibration_error(
    y_true: ArrayLike,
    proba: ArrayLike,
    sample_weight: ArrayLike | None,
    labels: ArrayLike | None,
    n_bins: int = 10,
) -> OfWeights:
    true, P, weight = check_forecasts(y_true, proba, sample_weight, labels)
    stated, happened, places = _binned(true, P, validation.check_integer("n_bins", n_bins, 1))
    n_rows, n_thresholds = stated.shape
    ends = np.arange(0, n_rows * n_thresholds + 1, n_thresholds)
    shape = n_rows, n_thresholds * n_bins
    excess = csr_matrix(((stated - happened).ravel(), places.ravel(), ends), shape=shape)
    return OfWeights(weight, lambda weight: np.abs(weight @ excess).sum(axis=-1) / weight.sum(axis=-1))


@METRICS.entry("ece", judges="probabilities", by_weights=_calibration_error, grows_with_noise=True)
@documented(like=ranked_probability_score)
def cumulative_calibration_error(
    y_true: ArrayLike,
    proba: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    labels: ArrayLike | None = None,
    n_bins: int = 10,
) -> float:
    """Distance of P(y <= k) from the shares that happen, summed over the thresholds: expected calibration error.

    For each threshold the rows are put into bins by their probability P(y <= k). In a bin, the mean probability is
    compared with the share of rows with y <= k. The absolute differences are averaged over the rows [1]_, and summed
    over the thresholds. Some authors take the mean over thresholds; a class without rows would then lower the error.

    Parameters
    ----------
    <<y_true, proba, sample_weight, labels>>
    n_bins : int
        Number of bins; they divide [0, 1] evenly.

    Returns
    -------
    float
        In [0, n_classes - 1], lower is better.

    Raises
    ------
    ValueError
        If an array has the wrong shape or values, or labels have no known order; the message names it.
    TypeError
        If `n_bins` is no integer.

    Notes
    -----
    It is no proper score: the shares of the classes, given to every row, are well calibrated. Read it beside the ranked
    probability score. With few rows in a bin their share differs from its expectation by chance, so that the error of a
    perfect model is not 0; compare models on the same rows.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun and K. Weinberger, "On calibration of modern neural networks", ICML (2017).

    Examples
    --------
    >>> from ordinal_objectives.metrics import cumulative_calibration_error
    >>> P = [[0.5, 0.5, 0.0]] * 4
    >>> cumulative_calibration_error([0, 0, 1, 1], P, labels=range(3))
    0.0
    >>> cumulative_calibration_error([0, 0, 0, 0], P, labels=range(3))
    0.5
    """
    return _calibration_error(y_true, proba, sample_weight, labels, n_bins).value()


class Bins(NamedTuple):
    """Sums over the rows of each bin, (n_classes - 1, n_bins): of P(y <= k), y <= k, weights, and their squares."""

    stated: FloatArray
    happened: FloatArray
    weight: FloatArray
    squared_weight: FloatArray


def _binned(true: IntArray, proba: RealArray, n_bins: int) -> tuple[FloatArray, BoolArray, IndexArray]:
    """Return P(y <= k), whether y <= k, and the number of the bin among those of all thresholds, for each row and k."""
    stated = np.cumsum(proba, axis=1, dtype=np.float64)[:, :-1]
    thresholds = np.arange(stated.shape[1])
    # Sums such as 0.1 + 0.2 belong to the bin that 0.3 begins.
    inside = np.clip(np.round(stated * n_bins, 6), 0, n_bins - 1).astype(np.intp)
    return stated, true[:, np.newaxis] <= thresholds, thresholds * n_bins + inside


def in_bins(true: IntArray, proba: RealArray, weight: FloatArray, n_bins: int) -> Bins:
    """Return the sums over rows whose P(y <= k) lies in the same of ``n_bins`` even parts of [0, 1]."""
    stated, happened, places = _binned(true, proba, n_bins)
    n_thresholds = stated.shape[1]
    every = np.broadcast_to(weight[:, np.newaxis], stated.shape)

    def sums(values: FloatArray) -> FloatArray:
        total = np.bincount(places.ravel(), values.ravel(), n_thresholds * n_bins)
        return total.reshape(-1, n_bins).astype(np.float64, copy=False)

    return Bins(sums(every * stated), sums(every * happened), sums(every), sums(every**2))


_MOST_BINS = 10_000


@dataclass(frozen=True)
class CumulativeReliability:
    """Stated probabilities and shares in bins; row k belongs to P(y <= k), each column to a bin.

    Parameters
    ----------
    stated : ndarray of float64, shape (n_classes - 1, n_bins)
        Mean of P(y <= k) over the rows of the bin; NaN where it has none.
    happened : ndarray of float64, shape (n_classes - 1, n_bins)
        Share of these rows with y <= k; NaN where the bin has none.
    low, high : ndarray of float64, shape (n_classes - 1, n_bins)
        Confidence interval of the share.
    count : ndarray of float64, shape (n_classes - 1, n_bins)
        Rows of the bin. With weights it is the number of equally weighted rows whose share would vary as much.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.decisions import cumulative_reliability
    >>> rng = np.random.default_rng(0)
    >>> low = rng.uniform(size=1000)  # P(y <= 0)
    >>> y = (rng.uniform(size=1000) > low).astype(int)
    >>> found = cumulative_reliability(y, np.column_stack([low, 1 - low]), n_bins=2)
    >>> found.stated.round(2), found.happened.round(2)
    (array([[0.26, 0.75]]), array([[0.26, 0.76]]))
    """

    stated: FloatArray
    happened: FloatArray
    low: FloatArray
    high: FloatArray
    count: FloatArray


@documented
def cumulative_reliability(
    y_true: ArrayLike,
    proba: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    labels: ArrayLike | None = None,
    n_bins: int = 10,
    level: float = 0.95,
) -> CumulativeReliability:
    """Compare P(y <= k) with the share of rows with y <= k, in bins of the probability, for each threshold.

    Parameters
    ----------
    y_true : array-like, shape (n_samples,)
        Labels; class codes 0..n_classes - 1 unless `labels` or an ordered categorical `y_true` says otherwise.
    proba : array-like of float, shape (n_samples, n_classes)
        P(y = k), columns from the lowest class to the highest, as `predict_proba_ordered` has them.
    sample_weight : array-like of float, shape (n_samples,), or None
        Weights; None for ones.
    labels : array-like of shape (n_classes,), or None
        The classes from lowest to highest, one for each column of `proba`; ``range(n_classes)`` for codes.
    n_bins : int
        Number of bins; they divide [0, 1] evenly.
    level : float
        Level of the confidence intervals, those of Clopper and Pearson, in (0, 1).

    Returns
    -------
    CumulativeReliability

    Raises
    ------
    TypeError, ValueError
        If an array has the wrong shape or values, labels have no known order, or a number is out of bounds.

    Notes
    -----
    The mean distance of `stated` and `happened`, weighted by the rows of the bins and added up over the thresholds, is
    :func:`ordinal_objectives.metrics.cumulative_calibration_error`.

    Examples
    --------
    >>> from ordinal_objectives.decisions import cumulative_reliability
    >>> found = cumulative_reliability([0, 1, 1, 2], [[0.2, 0.5, 0.3]] * 4, n_bins=2)
    >>> found.stated.round(2).tolist(), found.happened.tolist(), found.count.tolist()
    ([[0.2, nan], [nan, 0.7]], [[0.25, nan], [nan, 0.75]], [[4.0, 0.0], [0.0, 4.0]])
    """
    true, P, weight = check_forecasts(y_true, proba, sample_weight, labels)
    n_bins = validation.check_integer("n_bins", n_bins, 1, _MOST_BINS)
    level = validation.check_number("level", level, above=0.0, below=1.0)
    bins = in_bins(true, P, weight, n_bins)
    filled = bins.weight > 0.0
    stated, happened = (
        np.divide(sums, bins.weight, out=np.full(sums.shape, np.nan), where=filled)
        for sums in (bins.stated, bins.happened)
    )
    count = np.divide(bins.weight**2, bins.squared_weight, out=np.zeros(filled.shape), where=filled)
    seen, beyond = happened * count, (1.0 - level) / 2.0
    # Without rows y <= k the interval begins at 0, and with nothing else it ends at 1: there is no quantile there.
    low = np.where(seen > 0.0, betaincinv(seen, count - seen + 1.0, beyond), seen)
    high = np.where(seen < count, betaincinv(seen + 1.0, count - seen, 1.0 - beyond), happened)
    return CumulativeReliability(stated, happened, low, high, count)
