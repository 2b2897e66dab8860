"""The conditional Newton step: thresholds move, the score stays."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dptsv as ptsv

from ordinal_objectives.aliases import ArrayLike, BoolArray, FloatArray, IndexArray
from ordinal_objectives.threshold_solver.record import Diagnostics


def newton_step(
    threshold_gradient: ArrayLike,
    threshold_hessian: ArrayLike,
    threshold_hessian_off: ArrayLike | None = None,
    active: ArrayLike | None = None,
    tied: ArrayLike | None = None,
    *,
    diagnostics: Diagnostics | None = None,
    check_input: bool = True,
) -> FloatArray:
    r"""Newton step of the thresholds given the score.

    Solves :math:`V \delta = -u` over the thresholds that may move. With a majorised curvature of the
    all-threshold or immediate-threshold loss the full step never raises the loss; with the exact one, and always with
    the cumulative link, it can: use `longest_step`.

    Parameters
    ----------
    threshold_gradient : array-like of shape (n_classes - 1,), float64
        u, the first derivatives of the loss in the thresholds, summed over all rows.
    threshold_hessian : array-like of shape (n_classes - 1,), float64
        Diagonal of V, the second derivatives.
    threshold_hessian_off : array-like of shape (n_classes - 2,), float64, or None
        V next to the diagonal, for the cumulative-link loss; None for a diagonal V.
    active : array-like of shape (n_classes - 1,), bool, or None
        Thresholds with weight on both sides, which the system is solved for; None for all. Those beyond the outermost
        of them move outwards with these if that lowers the loss.
    tied : array-like of shape (n_classes - 1,), bool, or None
        Thresholds that move together with the one below; None for none.
    diagnostics : Diagnostics or None
        `n_fallback` is raised here if V is not positive definite.
    check_input : bool, default=True
        Whether arrays are checked; False for those that a pass over the rows has made, with masks given.

    Returns
    -------
    ndarray of shape (n_classes - 1,), float64
        The step, finite, 0 where there is no curvature.

    Raises
    ------
    ValueError
        If an array has the wrong shape or is not finite.

    Examples
    --------
    >>> from ordinal_objectives.threshold_solver import newton_step
    >>> newton_step([2.0, -1.0], [4.0, 4.0]).tolist()
    [-0.5, 0.25]
    >>> newton_step([2.0, -1.0], [4.0, 4.0], active=[True, False]).tolist()
    [-0.5, 0.0]
    >>> newton_step([-2.0, -1.0], [4.0, 4.0], active=[True, False]).tolist()
    [0.5, 0.5]
    """
    if check_input:
        threshold_gradient = as_array("threshold_gradient", threshold_gradient, None)
        n = threshold_gradient.size
        threshold_hessian = as_array("threshold_hessian", threshold_hessian, n)
        if threshold_hessian_off is not None and n > 1:
            threshold_hessian_off = as_array("threshold_hessian_off", threshold_hessian_off, n - 1)
        active, tied = as_mask("active", active, n, default=True), as_mask("tied", tied, n, default=False)
    u, v, is_active, is_tied = map(np.asarray, (threshold_gradient, threshold_hessian, active, tied))
    off = None if threshold_hessian_off is None or u.size == 1 else np.asarray(threshold_hessian_off)
    if off is None and is_active.all() and not is_tied.any() and v.min() > 0.0:
        with np.errstate(over="ignore"):
            step: FloatArray = (0.0 - u) / v  # as the solver does it: no negative zero
        if np.isfinite(step).all():
            return step
    step, fell_back = solve_tridiagonal(v, off, -u, free_groups(is_active, is_tied))
    if fell_back and diagnostics is not None:
        diagnostics.add(n_fallback=1)
    return move_outer_thresholds(step, u, is_active)


def free_groups(active: BoolArray, tied: BoolArray) -> IndexArray:
    """Return the number of the unknown that moves each threshold, -1 for those that stay.

    Several tied thresholds are one unknown; all of them stay if one is not active.
    """
    if tied.size and tied[0]:
        raise ValueError("tied[0] must be False: there is no threshold below the first one")
    group = np.cumsum(~tied) - 1
    moves = np.bincount(group, weights=~active, minlength=active.size) == 0.0
    return np.where(moves[group], np.cumsum(moves)[group] - 1, -1)


def solve_tridiagonal(
    v: FloatArray, off_diagonal: FloatArray | None, right: FloatArray, group: IndexArray
) -> tuple[FloatArray, bool]:
    """Solve E'VE x = E'right in time proportional to K; return Ex and whether the fallback was needed.

    Groups of neighbours leave V tridiagonal, and one that stays uncouples those on its sides. The fallback
    divides by the absolute row sums, as that of a joint step does.

    Parameters
    ----------
    v, off_diagonal : ndarray of float64
        V, its diagonal and the entries beside it; None for a diagonal V.
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
    free_right: FloatArray = np.bincount(group[moves], right[moves], size).astype(np.float64)
    free_diagonal = np.bincount(group[moves], v[moves], size) + np.bincount(low[inside], 2.0 * off[inside], size)
    free_diagonal[-1] = 1.0
    free_off = np.bincount(low[beside], off[beside], n_free)
    *_, solution, failed = ptsv(free_diagonal, free_off, free_right)
    fell_back = failed != 0 or not np.all(np.isfinite(solution))
    if fell_back:
        sizes = np.abs(free_diagonal)
        sizes[1:] += np.abs(free_off)
        sizes[:-1] += np.abs(free_off)
        solution = divide(free_right, sizes)
    return np.where(moves, solution[group], 0.0), fell_back


def divide(right: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return right / sizes, 0 where that is not finite."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        quotient = right / sizes
    return np.where(np.isfinite(quotient), quotient, 0.0)


def move_outer_thresholds(step: FloatArray, threshold_gradient: FloatArray, active: BoolArray) -> FloatArray:
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


def as_array(name: str, value: ArrayLike, *shape: int | None) -> FloatArray:
    """Return `value` as a finite float64 array of the given shape, where None leaves a length open."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim != len(shape) or any(want not in (None, got) for want, got in zip(shape, array.shape, strict=True)):
        allowed = tuple("n" if want is None else want for want in shape)
        raise ValueError(f"{name} must have shape {allowed}, got {array.shape}".replace("'", ""))
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got {array[~np.isfinite(array)][0]}")
    return array


def as_mask(name: str, value: ArrayLike | None, size: int, default: bool) -> BoolArray:
    """Return `value` as a boolean vector of the given size, filled with `default` where it is None."""
    if value is None:
        return np.full(size, default)
    mask = np.asarray(value)
    if mask.shape != (size,) or mask.dtype != np.bool_:
        raise ValueError(f"{name} must be a boolean array of shape ({size},), got {mask.dtype} {mask.shape}")
    return mask
