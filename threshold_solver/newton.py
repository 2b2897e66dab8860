"""The conditional Newton step: thresholds move, the score stays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.threshold_solver.checks import as_mask, as_vector
from ordinal_objectives.threshold_solver.curvature import free_groups, move_outer_thresholds, solve_tridiagonal
from ordinal_objectives.threshold_solver.diagnostics import Diagnostics


def newton_step(
    threshold_gradient: ArrayLike,
    threshold_hessian: ArrayLike,
    threshold_hessian_off: ArrayLike | None = None,
    active: ArrayLike | None = None,
    tied: ArrayLike | None = None,
    *,
    diagnostics: Diagnostics | None = None,
) -> NDArray[np.float64]:
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
    u = as_vector("threshold_gradient", threshold_gradient)
    v = as_vector("threshold_hessian", threshold_hessian, u.size)
    off = None
    if threshold_hessian_off is not None and u.size > 1:
        off = as_vector("threshold_hessian_off", threshold_hessian_off, u.size - 1)
    is_active = as_mask("active", active, u.size, default=True)
    is_tied = as_mask("tied", tied, u.size, default=False)
    return conditional_step(u, v, off, is_active, is_tied, Diagnostics() if diagnostics is None else diagnostics)


def conditional_step(
    u: NDArray[np.float64],
    v: NDArray[np.float64],
    off: NDArray[np.float64] | None,
    active: NDArray[np.bool_],
    tied: NDArray[np.bool_],
    diagnostics: Diagnostics,
) -> NDArray[np.float64]:
    """Do what `newton_step` does, for the sums of a pass."""
    if off is None and active.all() and not tied.any() and v.min() > 0.0:
        with np.errstate(over="ignore"):
            step = (0.0 - u) / v  # as the solver does it: no negative zero
        if np.isfinite(step).all():
            return step
    step, fell_back = solve_tridiagonal(v, off, -u, free_groups(active, tied))
    diagnostics.add(n_fallback=int(fell_back))
    return move_outer_thresholds(step, u, active)
