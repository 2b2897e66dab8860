"""Order of the thresholds: check, and repair by sorting."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.threshold_solver.checks import as_vector


def is_ordered(thresholds: ArrayLike, strict: bool = False) -> bool:
    """Tell whether thresholds increase.

    Parameters
    ----------
    thresholds : array-like of shape (n_classes - 1,), float64
        Cut points.
    strict : bool, default=False
        Whether equal neighbours count as out of order, as they do for the cumulative-link loss.

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
    return increases(as_vector("thresholds", thresholds), strict=strict)


def repair_order(thresholds: ArrayLike) -> tuple[NDArray[np.float64], int]:
    """Sort thresholds that a partial step left out of order.

    Sorting never raises the all-threshold loss. Only rows of the classes between two crossing thresholds depend on
    their order, and for these the loss is lower in order; for all other rows the sum of both terms is the same.
    Projections that move thresholds to new values, such as isotonic regression, have no such property.

    Parameters
    ----------
    thresholds : array-like of shape (n_classes - 1,), float64
        Cut points in any order; not changed.

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
    return in_order(as_vector("thresholds", thresholds))


def increases(thresholds: NDArray[np.float64], *, strict: bool) -> bool:
    """Do what `is_ordered` does, for checked thresholds."""
    gaps = np.diff(thresholds)
    return bool(np.all(gaps > 0.0 if strict else gaps >= 0.0))


def in_order(thresholds: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Do what `repair_order` does, for checked thresholds."""
    return np.sort(thresholds), int(np.count_nonzero(np.diff(thresholds) < 0.0))
