"""Cumulative reliability: stated P(y <= k) beside the share of rows that have it, one curve for each threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from ordinal_objectives.aliases import ArrayLike, FloatArray
from ordinal_objectives.metrics import of_probabilities, table
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import check_integer, check_number

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
    true, P, weight = table.check_forecasts(y_true, proba, sample_weight, labels)
    n_bins, level = check_integer("n_bins", n_bins, 1, _MOST_BINS), check_number("level", level, above=0.0, below=1.0)
    bins = of_probabilities.in_bins(true, P, weight, n_bins)
    filled = bins.weight > 0.0
    stated, happened = (
        np.divide(sums, bins.weight, out=np.full(sums.shape, np.nan), where=filled)
        for sums in (bins.stated, bins.happened)
    )
    count = np.divide(bins.weight**2, bins.squared_weight, out=np.zeros(filled.shape), where=filled)
    seen, beyond = happened * count, (1.0 - level) / 2.0
    # Without rows y <= k the interval begins at 0, and with nothing else it ends at 1: beta has no value there.
    low = np.where(seen > 0.0, beta.ppf(beyond, seen, count - seen + 1.0), seen)
    high = np.where(seen < count, beta.ppf(1.0 - beyond, seen + 1.0, count - seen), happened)
    return CumulativeReliability(stated, happened, low, high, count)
