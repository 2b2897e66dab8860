"""Halve a threshold step until it keeps its promises."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.threshold_solver.checks import as_vector
from ordinal_objectives.threshold_solver.diagnostics import Diagnostics
from ordinal_objectives.threshold_solver.order import is_ordered


def safeguarded_step(
    thresholds: ArrayLike,
    delta: ArrayLike,
    loss_at: Callable[[NDArray[np.float64]], float],
    current_loss: float,
    *,
    strictly_ordered: bool,
    ordered: bool = True,
    max_halvings: int = 30,
    relative_tolerance: float = 1e-12,
    diagnostics: Diagnostics | None = None,
) -> tuple[NDArray[np.float64], int]:
    """Take the longest of the steps delta, delta/2, delta/4, ... that does not raise the loss.

    Parameters
    ----------
    thresholds : array-like of shape (n_classes - 1,), float64
        Cut points before the step; not changed.
    delta : array-like of shape (n_classes - 1,), float64
        Step to try first.
    loss_at : callable
        Training loss at given thresholds, ``loss_at(thresholds) -> float``.
    current_loss : float
        Loss before the step.
    strictly_ordered : bool
        Whether the loss exists for strictly increasing thresholds alone, as that of the cumulative link.
    ordered : bool, default=True
        Whether thresholds may not cross. The immediate-threshold loss lets them; all others do not. A
        step out of order is halved without a call of `loss_at`.
    max_halvings : int, default=30
        Halvings before the step is given up.
    relative_tolerance : float, default=1e-12
        Rise of the loss, relative to its size, that still counts as rounding.
    diagnostics : Diagnostics or None
        `n_halved` and `n_rejected` are raised here.

    Returns
    -------
    new_thresholds : ndarray of shape (n_classes - 1,), float64
        A copy of `thresholds` if no step was accepted.
    n_halvings : int
        Halvings of the accepted step, `max_halvings` if none was.

    Raises
    ------
    ValueError
        If an array has the wrong shape or is not finite, `current_loss` is not finite, `max_halvings` is
        negative, or `thresholds` are out of order to begin with.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.threshold_solver import safeguarded_step
    >>> loss_at = lambda thresholds: float(np.sum((thresholds - [0.0, 1.0]) ** 2))
    >>> start = np.array([1.0, 2.0])
    >>> safeguarded_step(start, [-4.0, -4.0], loss_at, loss_at(start), strictly_ordered=True)
    (array([-1.,  0.]), 1)
    """
    theta = as_vector("thresholds", thresholds)
    step = as_vector("delta", delta, theta.size)
    if not np.isfinite(current_loss):
        raise ValueError(f"current_loss must be finite, got {current_loss}")
    if max_halvings < 0:
        raise ValueError(f"max_halvings must be at least 0, got {max_halvings}")

    def in_order(candidate: NDArray[np.float64]) -> bool:
        return is_ordered(candidate, strict=strictly_ordered) or not (ordered or strictly_ordered)

    if not in_order(theta):
        how = "strictly " if strictly_ordered else ""
        raise ValueError(f"thresholds must increase {how}before the step, got {theta.tolist()}")

    highest = current_loss + relative_tolerance * abs(current_loss)
    for n_halvings in range(max_halvings + 1):
        candidate = theta + step / 2.0**n_halvings
        # A loss that is not a number fails the comparison, so it is never accepted.
        if in_order(candidate) and loss_at(candidate) <= highest:
            if diagnostics is not None:
                diagnostics.add(n_halved=n_halvings)
            return candidate, n_halvings
    if diagnostics is not None:
        diagnostics.add(n_halved=max_halvings, n_rejected=1)
    return theta.copy(), max_halvings
