"""Decision rules: from class probabilities to a class, by the cost of errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import as_floats, check_choice, check_proba

RULES = ("median", "mode", "mean")


@documented
def decide(proba: ArrayLike, rule: str = "median", cost_matrix: ArrayLike | None = None) -> NDArray[np.intp]:
    r"""Choose a class for every row.

    ========== ============================================================ ======================
    rule       class                                                        least expected
    ========== ============================================================ ======================
    median     smallest k with :math:`P(y \le k) \ge 1/2`                   absolute error
    mode       most probable k                                              zero-one error
    mean       :math:`\sum_k k P(y = k)`, rounded                           squared error
    cost       :math:`\arg\min_k \sum_j P(y = j) C_{jk}`                    cost C
    ========== ============================================================ ======================

    For a symmetric link the median is the number of thresholds below the score (thesis, eq. 2.2). Of two
    classes that are equally good the lower one is chosen; the median and the mean count sums within rounding
    of a tie as a tie.

    Parameters
    ----------
    proba : array-like of float, shape (n_samples, n_classes)
        P(y = k), rows summing to 1, columns from the lowest class to the highest, as ``predict_proba_ordered`` has
        them; float32 or float64.
    rule : {"median", "mode", "mean"}, default="median"
        The rule, unless there is a cost matrix.
    cost_matrix : array-like of float, shape (n_classes, n_classes), or None
        Cost of predicting column k where row j is true. It takes the place of `rule`, which must be left at
        its default.

    Returns
    -------
    ndarray of intp, shape (n_samples,)
        Class codes 0..n_classes - 1.

    Raises
    ------
    ValueError
        If `proba` holds no probabilities, `rule` is unknown or given beside `cost_matrix`, or `cost_matrix`
        has the wrong shape or is not finite.

    Examples
    --------
    >>> from ordinal_objectives.decision import decide
    >>> proba = [[0.4, 0.0, 0.3, 0.3]]
    >>> [decide(proba, rule).tolist() for rule in ("median", "mode", "mean")]
    [[2], [0], [1]]
    >>> decide(proba, cost_matrix=[[0, 1, 1, 1], [9, 0, 1, 1], [9, 1, 0, 1], [9, 1, 1, 0]]).tolist()
    [2]
    """
    P = check_proba(proba)
    check_choice(rule, RULES, name="rule")
    if cost_matrix is not None:
        if rule != RULES[0]:
            raise ValueError(f"rule={rule!r} and cost_matrix are two different rules; give one of them")
        codes: NDArray[np.intp] = np.argmin(P @ _check_cost_matrix(cost_matrix, P.shape[1]), axis=1)
        return codes
    if rule == "mode":
        codes = np.argmax(P, axis=1)
        return codes
    rounding = 2 * P.shape[1] ** 2 * float(np.finfo(P.dtype).eps)
    if rule == "mean":
        mean: NDArray[np.float64] = P @ np.arange(P.shape[1])
        codes = np.maximum(np.ceil(mean - 0.5 - rounding), 0.0).astype(np.intp)
        return codes
    codes = np.argmax(np.cumsum(P, axis=1, dtype=np.float64) >= 0.5 - rounding, axis=1)
    return codes


def _check_cost_matrix(cost_matrix: ArrayLike, n_classes: int) -> NDArray[np.float64]:
    cost = as_floats(cost_matrix, name="cost_matrix")
    if cost.shape != (n_classes, n_classes):
        raise ValueError(f"cost_matrix must have shape ({n_classes}, {n_classes}), true by predicted; got {cost.shape}")
    if not np.isfinite(cost).all():
        raise ValueError("cost_matrix holds NaN or infinite values; costs must be finite")
    return cost
