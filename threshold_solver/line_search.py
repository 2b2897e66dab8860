"""The longest step that the loss and the order of the thresholds allow, and that order: check, repair by sorting."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ordinal_objectives.aliases import ArrayLike, FloatArray
from ordinal_objectives.threshold_solver.diagnostics import Diagnostics
from ordinal_objectives.threshold_solver.newton import as_array

MAX_HALVINGS = 30


def longest_step(
    thresholds: ArrayLike,
    delta: ArrayLike,
    loss_at: Callable[[float, FloatArray], float],
    highest: float,
    *,
    ordered: bool = True,
    strictly_ordered: bool = False,
    max_halvings: int = MAX_HALVINGS,
    diagnostics: Diagnostics | None = None,
    check_input: bool = True,
) -> tuple[FloatArray, float]:
    """Take the longest of the steps delta, delta/2, delta/4, ... after which the loss is not above `highest`.

    Where a step leaves thresholds out of order, they are sorted if the loss is defined without order, since sorting
    never raises the all-threshold loss; otherwise the step is halved.

    Parameters
    ----------
    thresholds : array-like of shape (n_classes - 1,), float64
        Cut points before the step; not changed.
    delta : array-like of shape (n_classes - 1,), float64
        Step to try first.
    loss_at : callable
        ``loss_at(share, thresholds)`` returns the training loss after the given share of the step; `thresholds`
        are in order. Whatever else moves, as leaf values do in a joint step, moves by the same share.
    highest : float
        Largest loss that is allowed: the one before the step, and its rounding.
    ordered : bool, default=True
        Whether thresholds must be in order. With the immediate-threshold loss they need not.
    strictly_ordered : bool, default=False
        Whether the loss is defined for strictly increasing thresholds only, as that of the cumulative link. A step
        that breaks this is halved without a call of `loss_at`.
    max_halvings : int, default=30
        Halvings before the step is given up. With 0 the step is only tried, and no rejection is counted.
    diagnostics : Diagnostics or None
        `n_halved`, `n_rejected` and `n_repaired` are raised here.
    check_input : bool, default=True
        Whether arrays and numbers are checked; False for those of a training.

    Returns
    -------
    new_thresholds : ndarray of shape (n_classes - 1,), float64
        A copy of `thresholds` if no step was accepted.
    share : float
        Of the step that was accepted; 0 if none was.

    Raises
    ------
    ValueError
        If an array has the wrong shape or is not finite, `highest` is NaN, `max_halvings` is negative, or
        `thresholds` are out of order to begin with.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.threshold_solver import longest_step
    >>> loss_at = lambda share, thresholds: float(np.sum((thresholds - [0.0, 1.0]) ** 2))
    >>> start = np.array([1.0, 2.0])
    >>> longest_step(start, [-4.0, -4.0], loss_at, loss_at(0.0, start), strictly_ordered=True)
    (array([-1.,  0.]), 0.5)
    """
    if check_input:
        thresholds = as_array("thresholds", thresholds, None)
        delta = as_array("delta", delta, thresholds.size)
        if np.isnan(highest):
            raise ValueError(f"highest must be a number, got {highest}")
        if max_halvings < 0:
            raise ValueError(f"max_halvings must be at least 0, got {max_halvings}")
    theta, step = np.asarray(thresholds), np.asarray(delta)
    counts = Diagnostics() if diagnostics is None else diagnostics
    if (ordered or strictly_ordered) and not is_ordered(theta, strictly_ordered, check_input=False):
        how = "strictly " if strictly_ordered else ""
        raise ValueError(f"thresholds must increase {how}before the step, got {theta.tolist()}")
    n_repaired = 0
    for n_halvings in range(max_halvings + 1):
        share = 0.5**n_halvings
        candidate = theta + share * step
        if strictly_ordered and not is_ordered(candidate, strict=True, check_input=False):
            continue
        if ordered:
            candidate, repaired = repair_order(candidate, check_input=False)
            n_repaired += repaired
        # A loss that is not a number fails the comparison, so it is never accepted.
        if loss_at(share, candidate) <= highest:
            if n_halvings or n_repaired:
                counts.add(n_halved=n_halvings, n_repaired=n_repaired)
            return candidate, share
    counts.add(n_halved=max_halvings, n_rejected=int(max_halvings > 0), n_repaired=n_repaired)
    return theta.copy(), 0.0


def is_ordered(thresholds: ArrayLike, strict: bool = False, *, check_input: bool = True) -> bool:
    """Tell whether thresholds increase.

    Parameters
    ----------
    thresholds : array-like of shape (n_classes - 1,), float64
        Cut points.
    strict : bool, default=False
        Whether equal neighbours count as out of order, as they do for the cumulative-link loss.
    check_input : bool, default=True
        Whether thresholds are checked.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        If `thresholds` is not a finite vector.

    Examples
    --------
    >>> from ordinal_objectives.threshold_solver import is_ordered
    >>> is_ordered([-1.0, 0.5, 0.5]), is_ordered([-1.0, 0.5, 0.5], strict=True)
    (True, False)
    """
    gaps = np.diff(as_array("thresholds", thresholds, None) if check_input else thresholds)
    return bool(np.all(gaps > 0.0 if strict else gaps >= 0.0))


def repair_order(thresholds: ArrayLike, *, check_input: bool = True) -> tuple[FloatArray, int]:
    """Sort thresholds that a partial step left out of order.

    Sorting never raises the all-threshold loss. Only rows of the classes between two crossing thresholds depend on
    their order, and for these the loss is lower in order; for all other rows the sum of both terms is the same.
    Projections that move thresholds to new values, such as isotonic regression, have no such property.

    Parameters
    ----------
    thresholds : array-like of shape (n_classes - 1,), float64
        Cut points in any order; not changed.
    check_input : bool, default=True
        Whether thresholds are checked.

    Returns
    -------
    sorted_thresholds : ndarray of shape (n_classes - 1,), float64
        A sorted copy.
    n_repairs : int
        Neighbouring pairs that were out of order; 0 means that nothing moved.

    Raises
    ------
    ValueError
        If `thresholds` is not a finite vector.

    Examples
    --------
    >>> from ordinal_objectives.threshold_solver import repair_order
    >>> thresholds, n_repairs = repair_order([0.4, 0.1, 2.0])
    >>> thresholds.tolist(), n_repairs
    ([0.1, 0.4, 2.0], 1)
    """
    theta = as_array("thresholds", thresholds, None) if check_input else np.asarray(thresholds)
    return np.sort(theta), int(np.count_nonzero(np.diff(theta) < 0.0))
