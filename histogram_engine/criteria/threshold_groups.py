"""Groups of neighbouring thresholds by which splits are judged, where leaves shift single thresholds.

A row carries a gradient and a Hessian for each group of neighbouring thresholds, their sums, and splits are judged as
if these thresholds were shifted by the same amount: the value of a leaf is at most the true one, and little less
where the best shifts of neighbours are similar. Leaves are then fitted to all thresholds, by exact sums.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Groups that fill the eight columns of a row: two each and the count, or one each beside gradient, Hessian and count.
MOST = {"vector": 3, "joint": 5}


def neighbours(curvature: NDArray[np.float64], units: NDArray[np.int32], most: int) -> NDArray[np.int32]:
    """Merge neighbouring units of thresholds, always the two with the least curvature together, until few are left.

    Parameters
    ----------
    curvature : ndarray of float64, shape (n_thresholds,)
        V, the sum over the rows of each threshold's second derivative: the possible gain of its shift grows with it.
    units : ndarray of int32, shape (n_thresholds,)
        Increasing from 0 in steps of at most 1; -1 for thresholds that are not to be grouped.
    most : int

    Returns
    -------
    ndarray of int32, shape (n_thresholds,)
        The group of each threshold, in the form of ``units``.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.histogram_engine.criteria.threshold_groups import neighbours
    >>> neighbours(np.array([1.0, 1.0, 9.0, 2.0]), np.arange(4, dtype=np.int32), 3).tolist()
    [0, 0, 1, 2]
    """
    grouped = units >= 0
    mass = np.bincount(units[grouped], curvature[grouped]).tolist() if grouped.any() else []
    group = np.arange(len(mass))
    while len(mass) > max(most, 1):
        i = int(np.argmin(np.add(mass[:-1], mass[1:])))
        mass[i : i + 2] = [mass[i] + mass[i + 1]]
        group[group > i] -= 1
    found = np.full(len(units), -1, np.int32)
    found[grouped] = group[units[grouped]]
    return found
