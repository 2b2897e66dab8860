r"""Shifts as contrasts, for trainers with a single penalty: coordinates whose penalty is that of the score.

A trainer whose leaves hold T numbers, each :math:`-G / (H + \lambda)`, fits the scores of T thresholds as
:math:`u = w 1 + C z`, with the score w and T - 1 contrasts z. The columns of C sum to zero and are orthogonal, scaled
such that :math:`\lambda |z|^2` is the penalty :math:`\lambda_v P(C z)` of the shifts. Cosines are the eigenvectors of
both penalties of :mod:`.vector`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.leaves.vector import check_penalty
from ordinal_objectives.utils.validation import check_choice


def contrasts(
    n_thresholds: int,
    reg_lambda: float,
    shift_l2: float,
    shift_penalty: str = "ridge",
    active: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Return C, float64 (n_thresholds, n_thresholds - 1).

    Parameters
    ----------
    n_thresholds : int
    reg_lambda : float
        L2 penalty :math:`\lambda` of every number in a leaf, positive.
    shift_l2 : float
        L2 penalty :math:`\lambda_v` of the shifts, positive.
    shift_penalty : {"ridge", "smooth"}, default="ridge"
        Of their distance to the mean, or of the distance between neighbours.
    active : array-like of bool, shape (n_thresholds,), or None
        Thresholds that take a shift. The others have rows of zeros, and the last columns, one for each, are zero.

    Raises
    ------
    ValueError
        If a penalty is out of range.

    Examples
    --------
    >>> from ordinal_objectives.leaves.contrasts import contrasts
    >>> contrasts(3, reg_lambda=1.0, shift_l2=4.0).round(4).tolist()
    [[0.3536, 0.2041], [0.0, -0.4082], [-0.3536, 0.2041]]
    """
    check_penalty(shift_l2, shift_penalty)
    check_choice(shift_penalty, ("ridge", "smooth"), name="shift_penalty")
    if not 0.0 < reg_lambda < np.inf:
        raise ValueError(f"reg_lambda must be positive beside shifts, whose penalty is a multiple; got {reg_lambda!r}")
    shifted = np.ones(n_thresholds, bool) if active is None else np.asarray(active, dtype=bool)
    n = int(shifted.sum())
    C = np.zeros((n_thresholds, n_thresholds - 1))
    if n < 2:
        return C
    frequency = np.pi / n * np.arange(1, n)
    penalty = shift_l2 * (np.ones(n - 1) if shift_penalty == "ridge" else 4.0 * np.sin(frequency / 2.0) ** 2)
    cosines = np.sqrt(2.0 / n) * np.cos(np.outer(np.arange(n) + 0.5, frequency))
    C[shifted, : n - 1] = np.sqrt(reg_lambda / penalty) * cosines
    return C
