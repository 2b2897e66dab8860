r"""Steps that minimise a quadratic model of the loss: of the thresholds alone, and with the leaf weights of one tree.

The conditional Newton step moves the thresholds while the score stays. In the joint step thresholds and leaf weights
move together (thesis, eqs. 3.8 to 3.13): its model of leaf weights w and threshold step delta is

.. math:: \sum_j G_j w_j + u'\delta + \tfrac12 \sum_j (H_j + \lambda) w_j^2 + \tfrac12 \delta' V \delta
          + \sum_j w_j L_j'\delta .

Eliminating the leaf weights gives S delta = -r for the thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dptsv as ptsv

from ordinal_objectives.aliases import ArrayLike, BoolArray, FloatArray, IndexArray, IntArray
from ordinal_objectives.leaves import scalar
from ordinal_objectives.threshold_solver.record import Diagnostics
from ordinal_objectives.utils.validation import check_finite, check_shape

# Sums of float32 rows determine the common shift of score and thresholds no better; the native criterion has the same
# number.
GAUGE_TOLERANCE = 1e-6


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
        active, tied = _as_mask("active", active, n, default=True), _as_mask("tied", tied, n, default=False)
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
    return _move_outer_thresholds(step, u, is_active)


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
        solution = _divide(free_right, sizes)
    return np.where(moves, solution[group], 0.0), fell_back


def _divide(right: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return right / sizes, 0 where that is not finite."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        quotient = right / sizes
    return np.where(np.isfinite(quotient), quotient, 0.0)


def _move_outer_thresholds(step: FloatArray, threshold_gradient: FloatArray, active: BoolArray) -> FloatArray:
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
    check_shape(name, array, tuple("n" if want is None else want for want in shape))
    check_finite(array, name, "it must be finite")
    return array


def _as_mask(name: str, value: ArrayLike | None, size: int, default: bool) -> BoolArray:
    """Return `value` as a boolean vector of the given size, filled with `default` where it is None."""
    if value is None:
        return np.full(size, default)
    mask = np.asarray(value)
    if mask.shape != (size,) or mask.dtype != np.bool_:
        raise ValueError(f"{name} must be a boolean array of shape ({size},), got {mask.dtype} {mask.shape}")
    return mask


class JointStep(NamedTuple):
    """Leaf weights and threshold step that minimise the joint quadratic model.

    Attributes
    ----------
    leaf_weights : ndarray of shape (n_leaves,), float64
        w, on the scale of the score.
    threshold_step : ndarray of shape (n_classes - 1,), float64
        delta.
    decrease : float
        Decrease of the quadratic model by the full step, at least 0 if the model is convex.

    Examples
    --------
    >>> from ordinal_objectives.threshold_solver import JointQuadratic, schur_step
    >>> model = JointQuadratic.of([1.0, -1.0], [2.0, 2.0], [[-2.0], [-2.0]], [0.0], [4.0])
    >>> leaf_weights, threshold_step, decrease = schur_step(model)
    >>> leaf_weights, threshold_step
    (array([-0.5,  0.5]), array([0.]))
    """

    leaf_weights: FloatArray
    threshold_step: FloatArray
    decrease: float


@dataclass
class JointQuadratic:
    """The joint quadratic model of a set of rows: sums of each node of a tree, and of the thresholds.

    Where thresholds have no part in it, ``n_cross`` is 0. Numbers of a pass are not checked; :meth:`of` checks those of
    other callers.

    Attributes
    ----------
    G, H : ndarray of shape (n_nodes,)
        First and second derivatives in the score, summed over the rows of each node.
    L : ndarray of shape (n_nodes, n_cross)
        Mixed second derivatives of score and thresholds; not positive for the losses here.
    u : ndarray of shape (n_cross,)
        First derivatives in the thresholds, summed over the same rows.
    V : ndarray of shape (n_cross, n_cross)
        Second derivatives.

    Examples
    --------
    >>> from ordinal_objectives.threshold_solver import JointQuadratic
    >>> model = JointQuadratic.of([1.0, -1.0], [2.0, 2.0], [[-2.0], [-2.0]], [0.0], [4.0])  # two leaves, one threshold
    >>> model.L.shape, model.V.shape
    ((2, 1), (1, 1))
    """

    G: FloatArray
    H: FloatArray
    L: FloatArray
    u: FloatArray
    V: FloatArray

    @classmethod
    def of(
        cls,
        leaf_gradient: ArrayLike,
        leaf_hessian: ArrayLike,
        leaf_cross: ArrayLike,
        threshold_gradient: ArrayLike,
        threshold_hessian: ArrayLike,
        threshold_hessian_off: ArrayLike | None = None,
    ) -> JointQuadratic:
        """Return the model of checked sums.

        Parameters
        ----------
        leaf_gradient, leaf_hessian : array-like of shape (n_leaves,), float64
            G and H.
        leaf_cross : array-like of shape (n_leaves, n_classes - 1), float64
            L.
        threshold_gradient : array-like of shape (n_classes - 1,), float64
            u.
        threshold_hessian : array-like of shape (n_classes - 1,), float64
            Diagonal of V.
        threshold_hessian_off : array-like of shape (n_classes - 2,), float64, or None
            V next to the diagonal, for the cumulative-link loss.

        Raises
        ------
        ValueError
            If an array has the wrong shape or is not finite.
        """
        G = as_array("leaf_gradient", leaf_gradient, None)
        u = as_array("threshold_gradient", threshold_gradient, None)
        H = as_array("leaf_hessian", leaf_hessian, G.size)
        L = as_array("leaf_cross", leaf_cross, G.size, u.size)
        off = None
        if threshold_hessian_off is not None and u.size > 1:
            off = as_array("threshold_hessian_off", threshold_hessian_off, u.size - 1)
        return cls(G, H, L, u, tridiagonal(as_array("threshold_hessian", threshold_hessian, u.size), off))

    def at(self, nodes: IndexArray) -> JointQuadratic:
        """Return the model over some nodes as leaves."""
        return replace(self, G=self.G[nodes], H=self.H[nodes], L=self.L[nodes])

    def of_all_nodes(self, left: IntArray) -> JointQuadratic:
        """Return the sums with those of the leaves added up into their ancestors; children follow parents."""
        G, H, L = (added_up(sums, left) for sums in (self.G, self.H, self.L))
        return replace(self, G=G, H=H, L=L)

    def solve(
        self,
        leaves: IndexArray,
        reg_lambda: float,
        active: BoolArray,
        tied: BoolArray,
        diagnostics: Diagnostics | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the leaf weights and the threshold step that minimise the model over some nodes as leaves.

        Of several sets of leaves, (n_sets, n_leaves), weights are (n_sets, n_leaves) and steps (n_sets, n_cross).
        """
        model = self.at(leaves)
        counts = Diagnostics() if diagnostics is None else diagnostics
        if self.u.size == 0:
            counts.add(n_flat_leaves=_n_flat(model, reg_lambda))
            return scalar.weights(model.G, model.H, reg_lambda), np.zeros((*leaves.shape[:-1], 0))
        if leaves.ndim == 2:
            return _joint_steps(model, reg_lambda, active, tied, counts)
        step = schur_step(model, reg_lambda, active, tied, diagnostics=counts)
        return step.leaf_weights, step.threshold_step

    def slope(self, leaves: IndexArray, weights: FloatArray, delta: FloatArray) -> float:
        """Return g'beta."""
        return float(self.G[leaves] @ weights + self.u @ delta)

    def curvature(self, leaves: IndexArray, weights: FloatArray, delta: FloatArray) -> float:
        """Return beta'H beta."""
        mixed = weights @ (self.L[leaves] @ delta)
        return float(self.H[leaves] @ weights**2 + delta @ self.V @ delta + 2.0 * mixed)

    def changes(self, leaves: IndexArray, weights: FloatArray, delta: FloatArray) -> FloatArray:
        """Return Q(beta) of several sets of leaves, (n_sets, n_leaves), with a step each: (n_sets,)."""
        mixed = (self.L[leaves] @ delta[:, :, np.newaxis])[:, :, 0]
        of_leaves = (self.G[leaves] + 0.5 * self.H[leaves] * weights + mixed) * weights
        return of_leaves.sum(axis=1) + delta @ self.u + 0.5 * ((delta @ self.V) * delta).sum(1)


@dataclass
class VectorQuadratic:
    """The quadratic model of a set of rows: sums of each node of a tree and threshold. Thresholds have no part in it.

    Attributes
    ----------
    G, H : ndarray of float64, shape (n_nodes, n_thresholds)
    """

    G: FloatArray
    H: FloatArray

    def of_all_nodes(self, left: IntArray) -> VectorQuadratic:
        """Return the sums with those of the leaves added up into their ancestors; children follow parents."""
        return VectorQuadratic(added_up(self.G, left), added_up(self.H, left))

    def slope(self, leaves: IndexArray, weights: FloatArray, delta: FloatArray) -> float:
        """Return g'beta."""
        return float(np.sum(self.G[leaves] * weights))

    def curvature(self, leaves: IndexArray, weights: FloatArray, delta: FloatArray) -> float:
        """Return beta'H beta."""
        return float(np.sum(self.H[leaves] * weights**2))

    def changes(self, leaves: IndexArray, weights: FloatArray, delta: FloatArray) -> FloatArray:
        """Return Q(beta) of several sets of leaves, (n_sets, n_leaves), with a step each: (n_sets,)."""
        of_leaves: FloatArray = (self.G[leaves] + 0.5 * self.H[leaves] * weights) * weights
        return of_leaves.sum(axis=(1, 2))


def added_up(sums: FloatArray, left: IntArray) -> FloatArray:
    """Return sums of nodes with those of the leaves added up into their ancestors; children follow parents."""
    total = sums.copy()
    for node in reversed(np.flatnonzero(left >= 0)):
        total[node] = total[left[node]] + total[left[node] + 1]
    return total


def schur_step(
    sums: JointQuadratic,
    reg_lambda: float = 0.0,
    active: ArrayLike | None = None,
    tied: ArrayLike | None = None,
    *,
    gauge_tolerance: float = GAUGE_TOLERANCE,
    diagnostics: Diagnostics | None = None,
) -> JointStep:
    r"""Joint Newton step of leaf weights and thresholds, from the sums of one tree.

    With :math:`h_j = H_j + \lambda`,

    .. math::

        S = V - \sum_j L_j L_j' / h_j, \quad r = u - \sum_j G_j L_j / h_j, \quad
        \delta = -S^{-1} r, \quad w_j = -(G_j + L_j'\delta) / h_j .

    Score and thresholds can be shifted together without changing the model, so S may be singular along
    the all-ones direction. There the step with :math:`\sum_k \delta_k = 0` is taken.

    Parameters
    ----------
    sums : JointQuadratic
        Over the leaves; :meth:`JointQuadratic.of` makes it of arrays and checks them.
    reg_lambda : float, default=0.0
        L2 penalty lambda of the leaf weights, at least 0.
    active, tied : array-like of shape (n_classes - 1,), bool, or None
        Thresholds to solve for, and those that move with the one below, as in `newton_step`.
    gauge_tolerance : float, default=1e-6
        S counts as singular along the ones if \|S 1\| is at most this times the trace of V.
    diagnostics : Diagnostics or None
        `n_fallback` and `n_flat_leaves` are raised here.

    Returns
    -------
    JointStep
        A leaf with :math:`h_j = 0` has weight 0.

    Raises
    ------
    ValueError
        If `active` or `tied` has the wrong shape, or `reg_lambda` is negative.

    Examples
    --------
    Two leaves, K = 2: the shift of the threshold is left to the leaves, where a common part belongs.

    >>> from ordinal_objectives.threshold_solver import JointQuadratic, schur_step
    >>> step = schur_step(JointQuadratic.of([1.0, -1.0], [2.0, 2.0], [[-2.0], [-2.0]], [0.0], [4.0]))
    >>> step.leaf_weights.tolist(), step.threshold_step.tolist(), step.decrease
    ([-0.5, 0.5], [0.0], 0.5)
    """
    if not 0.0 <= reg_lambda < np.inf:
        raise ValueError(f"reg_lambda must be finite and at least 0, got {reg_lambda}")
    is_active = _as_mask("active", active, sums.u.size, default=True)
    is_tied = _as_mask("tied", tied, sums.u.size, default=False)
    G, H, L, u = sums.G, sums.H, sums.L, sums.u
    E = free_directions(is_active, is_tied)
    V, cross, inverse_h = E.T @ sums.V @ E, L @ E, scalar.inverse_curvature(H, reg_lambda)
    S = V - (cross * inverse_h[:, np.newaxis]).T @ cross
    r = E.T @ u - cross.T @ (G * inverse_h)
    free_step, fell_back = _solve_gauge(S, -r, E.sum(axis=0), np.trace(V), gauge_tolerance)
    threshold_step = E @ free_step
    leaf_weights = -(G + L @ threshold_step) * inverse_h
    decrease = float(0.5 * np.sum(G * G * inverse_h) - r @ free_step - 0.5 * free_step @ S @ free_step)
    if diagnostics is not None:
        diagnostics.add(n_fallback=int(fell_back), n_flat_leaves=_n_flat(sums, reg_lambda))
    return JointStep(leaf_weights, _move_outer_thresholds(threshold_step, u, is_active), decrease)


def _joint_steps(
    sums: JointQuadratic, reg_lambda: float, active: BoolArray, tied: BoolArray, diagnostics: Diagnostics
) -> tuple[FloatArray, FloatArray]:
    """Return the joint step of each of many sets of leaves at once; one by one where a system is indefinite."""
    E = free_directions(active, tied)
    V, sizes = E.T @ sums.V @ E, E.sum(axis=0)
    inverse_h = scalar.inverse_curvature(sums.H, reg_lambda)
    over_h = np.swapaxes((sums.L @ E) * inverse_h[:, :, np.newaxis], 1, 2)
    S = V - over_h @ (sums.L @ E)
    r = E.T @ sums.u - (over_h @ sums.G[:, :, np.newaxis])[:, :, 0]
    n, trace = max(sizes.sum(), 1.0), np.trace(V)
    singular = np.linalg.norm(S.sum(axis=2), axis=1) <= GAUGE_TOLERANCE * trace
    S[singular] += trace / n**2 * np.outer(sizes, sizes)
    try:
        np.linalg.cholesky(S)
    except np.linalg.LinAlgError:
        each = [replace(sums, G=sums.G[i], H=sums.H[i], L=sums.L[i]) for i in range(len(S))]
        steps = [schur_step(one, reg_lambda, active, tied, diagnostics=diagnostics) for one in each]
        return np.array([step.leaf_weights for step in steps]), np.array([step.threshold_step for step in steps])
    free_steps = np.linalg.solve(S, -r[:, :, np.newaxis])[:, :, 0]
    free_steps[singular] -= (free_steps[singular] @ sizes / n)[:, np.newaxis]
    diagnostics.add(n_flat_leaves=_n_flat(sums, reg_lambda))
    delta = free_steps @ E.T
    weights = -(sums.G + (sums.L @ delta[:, :, np.newaxis])[:, :, 0]) * inverse_h
    return weights, np.array([_move_outer_thresholds(one, sums.u, active) for one in delta])


def _n_flat(sums: JointQuadratic, reg_lambda: float) -> int:
    """Count the leaves that have a gradient and no curvature."""
    return int(np.count_nonzero((sums.H + reg_lambda <= 0.0) & (sums.G != 0.0)))


def _solve_gauge(
    S: FloatArray, right: FloatArray, sizes: FloatArray, trace: float, tolerance: float
) -> tuple[FloatArray, bool]:
    """Solve S step = right; where S is singular along the ones, for the step whose sum is 0."""
    if np.linalg.norm(S.sum(axis=1)) > tolerance * trace:
        return solve_positive_definite(S, right)
    n = sizes.sum()
    step, fell_back = solve_positive_definite(S + trace / max(n * n, 1.0) * np.outer(sizes, sizes), right)
    return step - sizes @ step / max(n, 1.0), fell_back


def tridiagonal(diagonal: FloatArray, off_diagonal: FloatArray | None) -> FloatArray:
    """Return V as a full matrix, for a joint step, which fills it anyway."""
    matrix = np.diag(diagonal)
    if off_diagonal is not None and diagonal.size > 1:
        off = np.diag(off_diagonal, k=1)
        matrix += off + off.T
    return matrix


def free_directions(active: BoolArray, tied: BoolArray) -> FloatArray:
    """Return the 0/1 matrix E (n_thresholds, m) with step = E times a step of m free numbers."""
    group = free_groups(active, tied)
    return np.equal.outer(group, np.arange(group.max(initial=-1) + 1)).astype(np.float64)


def solve_positive_definite(matrix: FloatArray, right: FloatArray) -> tuple[FloatArray, bool]:
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
