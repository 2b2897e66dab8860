"""The curvature of the thresholds in the directions that may move, and its solve."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ordinal_objectives.threshold_solver.checks import as_mask, as_vector


def free_directions(
    n_thresholds: int, active: ArrayLike | None = None, tied: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Return the 0/1 matrix E (n_thresholds, m) with step = E times a step of m free numbers.

    A column stands for one threshold or for several tied ones; all of them stay if one is not active.
    """
    is_active = as_mask("active", active, n_thresholds, default=True)
    is_tied = as_mask("tied", tied, n_thresholds, default=False)
    if n_thresholds and is_tied[0]:
        raise ValueError("tied[0] must be False: there is no threshold below the first one")
    group = np.cumsum(~is_tied) - 1
    directions = np.equal.outer(group, np.unique(group)).astype(np.float64)
    free: NDArray[np.float64] = directions[:, ~np.any(directions[~is_active] > 0.0, axis=0)]
    return free


def give_way(
    step: NDArray[np.float64], threshold_gradient: NDArray[np.float64], active: ArrayLike | None
) -> NDArray[np.float64]:
    """Move thresholds beyond the outermost active ones outwards with these, where that lowers their own loss.

    A threshold without weight on one side has no best place, but it must not block the way of the others,
    which spread as the score does. Since it moves downhill alone, no promise of the step is lost.
    """
    free = np.flatnonzero(as_mask("active", active, step.size, default=True))
    if 0 < free.size < step.size:
        index = np.arange(step.size)
        outwards = np.sign(index - np.clip(index, free[0], free[-1]))
        neighbour = step[np.clip(index, free[0], free[-1])]
        step = np.where((neighbour * outwards > 0.0) & (threshold_gradient * outwards <= 0.0), neighbour, step)
    return step


def tridiagonal(diagonal: ArrayLike, off_diagonal: ArrayLike | None, size: int) -> NDArray[np.float64]:
    """Return V (size, size) as a full matrix: K is small, and a joint step fills it anyway."""
    matrix = np.diag(as_vector("threshold_hessian", diagonal, size))
    if off_diagonal is not None and size > 1:
        off = np.diag(as_vector("threshold_hessian_off", off_diagonal, size - 1), k=1)
        matrix += off + off.T
    return matrix


def solve_positive_definite(
    matrix: NDArray[np.float64], right: NDArray[np.float64]
) -> tuple[NDArray[np.float64], bool]:
    """Solve by Cholesky; return the solution and whether the fallback was needed.

    The fallback divides by the absolute row sums: by Gershgorin's theorem their diagonal matrix bounds any
    symmetric matrix from above, so the step is a descent direction and never too long for the quadratic
    model. A row of zeros gets 0.
    """
    if right.size == 0:
        return right.copy(), False
    try:
        solution = cho_solve(cho_factor(matrix), right)
        if np.all(np.isfinite(solution)):
            return solution, False
    except LinAlgError:
        pass
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        solution = right / np.abs(matrix).sum(axis=1)
    return np.where(np.isfinite(solution), solution, 0.0), True
