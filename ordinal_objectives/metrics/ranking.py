"""How well a score orders the rows, whatever its scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.metrics.inputs import check_scores, undefined
from ordinal_objectives.shared_docs import documented


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
    return _concordant_weight(true[order], values[order], weight[order], 0, int(true.max()) + 1) / float(pairs)


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
