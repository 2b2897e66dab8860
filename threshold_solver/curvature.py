"""The curvature of the thresholds in the directions that may move, and its solve."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dptsv as ptsv


def free_groups(active: NDArray[np.bool_], tied: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the number of the unknown that moves each threshold, -1 for those that stay.

    Several tied thresholds are one unknown; all of them stay if one is not active.
    """
    if tied.size and tied[0]:
        raise ValueError("tied[0] must be False: there is no threshold below the first one")
    group = np.cumsum(~tied) - 1
    moves = np.bincount(group, weights=~active, minlength=active.size) == 0.0
    return np.where(moves[group], np.cumsum(moves)[group] - 1, -1)


def free_directions(active: NDArray[np.bool_], tied: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the 0/1 matrix E (n_thresholds, m) with step = E times a step of m free numbers."""
    group = free_groups(active, tied)
    return np.equal.outer(group, np.arange(group.max(initial=-1) + 1)).astype(np.float64)


def move_outer_thresholds(
    step: NDArray[np.float64], threshold_gradient: NDArray[np.float64], active: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Move thresholds beyond the outermost active ones outwards with these, where that lowers their own loss.

    The loss of a threshold without weight on one side has no minimum, but the threshold must not block the others,
    which spread as the score does. It moves only where that lowers the loss, so the step still does not raise the loss.
    """
    free = np.flatnonzero(active)
    if 0 < free.size < step.size:
        index = np.arange(step.size)
        outwards = np.sign(index - np.clip(index, free[0], free[-1]))
        neighbour = step[np.clip(index, free[0], free[-1])]
        step = np.where((neighbour * outwards > 0.0) & (threshold_gradient * outwards <= 0.0), neighbour, step)
    return step


def tridiagonal(diagonal: NDArray[np.float64], off_diagonal: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return V as a full matrix, for a joint step, which fills it anyway."""
    matrix = np.diag(diagonal)
    if off_diagonal is not None and diagonal.size > 1:
        off = np.diag(off_diagonal, k=1)
        matrix += off + off.T
    return matrix


def solve_tridiagonal(
    v: NDArray[np.float64],
    off_diagonal: NDArray[np.float64] | None,
    right: NDArray[np.float64],
    group: NDArray[np.intp],
) -> tuple[NDArray[np.float64], bool]:
    """Solve E'VE x = E'right in time proportional to K; return Ex and whether the fallback was needed.

    Groups of neighbours leave V tridiagonal, and one that stays uncouples those on its sides. The fallback
    is that of `solve_positive_definite`.

    Parameters
    ----------
    v, off_diagonal : ndarray of float64
        V, as in `tridiagonal`.
    right : ndarray of shape (n_thresholds,), float64
    group : ndarray of shape (n_thresholds,), intp
        E, as `free_groups` returns it.
    """
    n_free = int(group.max(initial=-1)) + 1
    if n_free == 0:
        return np.zeros_like(right), False
    off = np.zeros(right.size - 1) if off_diagonal is None else off_diagonal
    moves, low, high = group >= 0, group[:-1], group[1:]
    inside = (low == high) & moves[1:]
    beside = (low < high) & moves[:-1]
    # One more unknown, coupled to no other, because ptsv refuses an empty side diagonal.
    size = n_free + 1
    free_right: NDArray[np.float64] = np.bincount(group[moves], right[moves], size).astype(np.float64)
    free_diagonal = np.bincount(group[moves], v[moves], size) + np.bincount(low[inside], 2.0 * off[inside], size)
    free_diagonal[-1] = 1.0
    free_off = np.bincount(low[beside], off[beside], n_free)
    *_, solution, failed = ptsv(free_diagonal, free_off, free_right)
    fell_back = failed != 0 or not np.all(np.isfinite(solution))
    if fell_back:
        sizes = np.abs(free_diagonal)
        sizes[1:] += np.abs(free_off)
        sizes[:-1] += np.abs(free_off)
        solution = _divide(free_right, sizes)
    return np.where(moves, solution[group], 0.0), fell_back


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
    return _divide(right, np.abs(matrix).sum(axis=1)), True


def _divide(right: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return right / sizes, 0 where that is not finite."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        quotient = right / sizes
    return np.where(np.isfinite(quotient), quotient, 0.0)
