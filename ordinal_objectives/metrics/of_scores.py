"""Metrics of a score of any scale."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ordinal_objectives.metrics.inputs import check_scores, undefined
from ordinal_objectives.metrics.ranking import concordant_pairs, differing_pairs
from ordinal_objectives.metrics.table import METRICS
from ordinal_objectives.utils.shared_docs import documented


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
    return concordant_pairs(true, values, weight) / differing_pairs(true, weight)
