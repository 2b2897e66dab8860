r"""Leaves that move several numbers: outputs, each with a step of its own, or every threshold's margin.

Of d outputs (Zhang and Jung, GBDT-MO) each moves, or only those with the largest gains. With a leaf's sums G and H of
the outputs' derivatives the step w minimises

.. math:: G'w + \tfrac12 w'(H + \lambda I)w, \qquad \lVert w\rVert_0 \le k .

H is diagonal, so that the outputs are separate and the k largest of :math:`G_j^2 / (H_j + \lambda)` move; or, for all
outputs, a matrix.

Margins take a step of the score and shrunken shifts of single thresholds. A leaf moves the margins
:math:`\theta_k - f - v_k` of its rows by :math:`-u_k` with :math:`u_k = w + s_k`: w, the mean of u, moves the score f,
and the shifts s, which sum to zero, move single thresholds. With the leaf's sums G_k and H_k of each threshold's
derivatives in f, u minimises

.. math:: \sum_k \left[ G_k u_k + \tfrac12 H_k u_k^2 \right] + \tfrac12 \lambda w^2 + \tfrac12 \lambda_v P(u) .

P is :math:`\sum_k (u_k - w)^2` ("ridge") or :math:`\sum_k (u_{k+1} - u_k)^2` ("smooth"). "sparse" is the ridge with all
but a few thresholds shifted alike: those with the k largest :math:`(G_k + H_k w_0)^2 / (H_k + \lambda_v)`, the gain of
a single shift at the step :math:`w_0` of the score alone, have a shift of their own. With the other penalties, k groups
of neighbouring thresholds are shifted alike: many thresholds, few directions. A large :math:`\lambda_v` gives
the scalar leaf, proportional odds; :math:`\lambda = T l, \lambda_v = l` with the ridge are T separate leaves with the
penalty l, those of GBDT-MO.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ordinal_objectives.aliases import ArrayLike, BoolArray, FloatArray, IntArray
from ordinal_objectives.leaves import scalar
from ordinal_objectives.utils.validation import check_choice, check_number

# Whether both sides of a split move the same few outputs, or each its own.
SEARCHES = ("restricted", "unrestricted")
PENALTIES = ("ridge", "smooth", "sparse")
DEFAULT_SHIFT_L2 = 10.0
DEFAULT_SHIFT_PENALTY = "ridge"
# Relative to the penalties: with less curvature than this the shifts are rounding.
_NO_CURVATURE = 1e-12


def output_values(gradient: ArrayLike, hessian: ArrayLike, reg_lambda: float) -> FloatArray:
    """Return the decrease by each output's own step, 1/2 G^2 / (H + lambda), (n_leaves, n_outputs).

    Parameters
    ----------
    gradient : array-like of float, shape (n_leaves, n_outputs)
    hessian : array-like of float, shape (n_leaves, n_outputs) or (n_leaves, 1)
        One column where all outputs have the same.
    reg_lambda : float
        L2 penalty lambda, not negative.

    Examples
    --------
    >>> from ordinal_objectives.leaves import vector
    >>> vector.output_values([[2.0, -4.0]], [[1.0, 3.0]], 1.0).tolist()
    [[1.0, 2.0]]
    """
    G = np.asarray(gradient, dtype=np.float64)
    return -0.5 * G * scalar.weights(G, hessian, reg_lambda)


def largest(values: FloatArray, max_outputs: int) -> BoolArray:
    """Tell which are the ``max_outputs`` largest of each row, the first ones among equals, in the shape of ``values``.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.leaves import vector
    >>> vector.largest(np.array([[1.0, 3.0, 2.0]]), 2).tolist()
    [[False, True, True]]
    """
    chosen = np.zeros(values.shape, np.bool_)
    np.put_along_axis(chosen, np.argsort(-values, axis=1, kind="stable")[:, :max_outputs], True, axis=1)
    return chosen


def output_steps(
    gradient: ArrayLike, hessian: ArrayLike, reg_lambda: float, outputs: BoolArray | None = None
) -> FloatArray:
    """Return the step of each leaf, without shrinkage.

    Parameters
    ----------
    gradient : array-like of float, shape (n_leaves, n_outputs)
    hessian : array-like of float, shape (n_leaves, n_outputs), (n_leaves, 1) or (n_leaves, n_outputs, n_outputs)
        Diagonal Hessians, those that all outputs share, or matrices.
    reg_lambda : float
        L2 penalty lambda, not negative; positive with matrices.
    outputs : ndarray of bool, shape (n_leaves, n_outputs), or None
        Those that move; None for all. Not with matrices.

    Returns
    -------
    ndarray of float64, shape (n_leaves, n_outputs)
        0 where H + lambda is not positive.

    Raises
    ------
    ValueError
        If ``reg_lambda`` is negative, or 0 with matrices, or these come with ``outputs``.

    Examples
    --------
    >>> from ordinal_objectives.leaves import vector
    >>> vector.output_steps([[2.0, -4.0]], [[1.0, 3.0]], 1.0).tolist()
    [[-1.0, 1.0]]
    >>> vector.output_steps([[2.0, -4.0]], [[[1.0, 1.0], [1.0, 1.0]]], 1.0).round(4).tolist()
    [[-2.6667, 3.3333]]
    """
    G, H = np.asarray(gradient, dtype=np.float64), np.asarray(hessian, dtype=np.float64)
    if not reg_lambda >= 0.0:
        raise ValueError(f"reg_lambda must be at least 0; got {reg_lambda!r}")
    if H.ndim == 3:
        if outputs is not None or not reg_lambda > 0.0:
            raise ValueError("matrices of Hessians need a positive reg_lambda and outputs=None")
        damped = H + reg_lambda * np.eye(G.shape[1])
        return np.asarray(np.linalg.solve(damped, -G[:, :, np.newaxis])[:, :, 0], dtype=np.float64)
    w = scalar.weights(G, H, reg_lambda)
    return w if outputs is None else np.where(outputs, w, 0.0)


def decrease(gradient: ArrayLike, leaf_steps: FloatArray) -> FloatArray:
    """Return the decrease of the quadratic model at the steps of :func:`output_steps`, -1/2 G.w, (n_leaves,).

    A split gains the values of its two sides less that of the leaf it splits, at the step that each has in the model.
    With few outputs these are not always the leaf's own best: restricted, a leaf moves those that it shares with its
    sibling.
    """
    return -0.5 * np.sum(np.asarray(gradient, dtype=np.float64) * leaf_steps, axis=1)


@dataclass(frozen=True)
class Shifts:
    """How thresholds move with x.

    Attributes
    ----------
    l2 : float
        Penalty lambda_v of the shifts, positive; the larger, the closer to proportional odds.
    penalty : {"ridge", "smooth", "sparse"}
        What is penalised: their distance to the mean, or the distance between neighbours. "sparse" is the former, with
        few shifts.
    most : int or None
        With "sparse", the thresholds of a leaf that have a shift of their own, None for 1; otherwise the groups of
        neighbouring thresholds that are shifted alike, None for one each.
    """

    l2: float = DEFAULT_SHIFT_L2
    penalty: str = DEFAULT_SHIFT_PENALTY
    most: int | None = None

    def __post_init__(self) -> None:
        check_penalty(self.l2, self.penalty)

    def shared(self, n_thresholds: int, before: FloatArray | None = None) -> IntArray | None:
        """Return which shift each threshold has, int32 (n_thresholds,), or None where each may have its own.

        Parameters
        ----------
        n_thresholds : int
        before : ndarray, shape (n, n_thresholds), or None
            Scores of rows, or values of leaves, of the model that is continued; where it shifted such thresholds apart,
            each has its own.
        """
        found = None if self.penalty == "sparse" else shared(n_thresholds, self.most)
        if found is None or before is None:
            return found
        together = np.flatnonzero(np.diff(found) == 0)
        return found if all(np.allclose(before[:, k], before[:, k + 1]) for k in together) else None


def steps(
    gradient: ArrayLike,
    hessian: ArrayLike,
    reg_lambda: float,
    shift_l2: float,
    shift_penalty: str = "ridge",
    active: ArrayLike | None = None,
    max_shifts: int | None = None,
) -> FloatArray:
    """Return u of each leaf, the step of f + v_k for every threshold.

    Parameters
    ----------
    gradient, hessian : array-like of float, shape (n_leaves, n_thresholds)
        G and H: sums over the rows of each leaf of the derivatives of each threshold's loss in the score.
    reg_lambda : float
        L2 penalty lambda of the mean w, not negative.
    shift_l2 : float
        L2 penalty lambda_v of the shifts, positive.
    shift_penalty : {"ridge", "smooth", "sparse"}, default="ridge"
        Of their distance to the mean, or of the distance between neighbours; "sparse" is the former, with few shifts.
    active : array-like of bool, shape (n_thresholds,), or None
        Thresholds with weight on both sides; the others take no shift, u_k = w. None for all.
    max_shifts : int or None, default=None
        With "sparse", the thresholds of a leaf that have a shift of their own, None for 1; the others are shifted
        alike. Otherwise the number of :func:`shared`, None for one each.

    Returns
    -------
    ndarray of float64, shape (n_leaves, n_thresholds)
        0 for a leaf without curvature.

    Raises
    ------
    ValueError
        If `reg_lambda` is out of range; the penalty of the shifts is that of :class:`Shifts`, checked there.

    Examples
    --------
    >>> from ordinal_objectives.leaves import vector
    >>> vector.steps([[2.0, -1.0]], [[1.0, 1.0]], reg_lambda=1.0, shift_l2=2.0).round(4).tolist()
    [[-0.8333, 0.1667]]
    >>> vector.steps([[2.0, -1.0]], [[1.0, 1.0]], reg_lambda=1.0, shift_l2=1e9).round(4).tolist()
    [[-0.3333, -0.3333]]
    """
    G, H = np.asarray(gradient, dtype=np.float64), np.asarray(hessian, dtype=np.float64)
    if not reg_lambda >= 0.0:
        raise ValueError(f"reg_lambda must be at least 0; got {reg_lambda!r}")
    shifted = np.ones(G.shape[1], bool) if active is None else np.asarray(active, dtype=bool)
    of_threshold = None if shift_penalty == "sparse" else shared(G.shape[1], max_shifts)
    if of_threshold is not None:
        size, first = np.bincount(of_threshold).astype(np.float64), np.flatnonzero(np.diff(of_threshold, prepend=-1))
        shifted = np.logical_or.reduceat(shifted, first)
        G, H = np.add.reduceat(G, first, axis=1), np.add.reduceat(H, first, axis=1)
        return _steps(G, H, reg_lambda, shift_l2, shift_penalty, shifted, 1, size)[:, of_threshold]
    return _steps(G, H, reg_lambda, shift_l2, shift_penalty, shifted, max_shifts or 1, np.ones(G.shape[1]))


def shared(n_thresholds: int, max_shifts: int | None) -> IntArray | None:
    """Return which shift each threshold has, int32 (n_thresholds,), or None where each has its own.

    Neighbours share one, as nearly the same number of them as possible.

    Examples
    --------
    >>> from ordinal_objectives.leaves.vector import shared
    >>> shared(8, 3).tolist()
    [0, 0, 0, 1, 1, 1, 2, 2]
    """
    if max_shifts is None or max_shifts >= n_thresholds:
        return None
    return (np.arange(n_thresholds) * max_shifts // n_thresholds).astype(np.int32)


def _steps(
    G: FloatArray,
    H: FloatArray,
    reg_lambda: float,
    shift_l2: float,
    shift_penalty: str,
    shifted: BoolArray,
    max_shifts: int,
    size: FloatArray,
) -> FloatArray:
    """Return u of groups of so many thresholds; those that are not shifted move with the mean."""
    n, size = int(size[shifted].sum()), size[shifted]
    if len(size) < 2:
        return np.repeat(scalar.weights(G.sum(axis=1), H.sum(axis=1), reg_lambda)[:, np.newaxis], G.shape[1], axis=1)
    of_mean: FloatArray | float = reg_lambda
    if shifted.all():
        g, h = np.add(G, 0.0, order="F"), np.array(H, order="F")  # as columns that are picked lie in memory
    else:
        # Thresholds without a shift move with the mean: their sums are added to its gradient and its penalty.
        g = G[:, shifted] + size * (G[:, ~shifted].sum(axis=1, keepdims=True) / n)
        h = H[:, shifted]
        of_mean = reg_lambda + H[:, ~shifted].sum(axis=1)
    if shift_penalty == "sparse" and max_shifts < n - 1:
        of_shifted = _sparse(g, h, of_mean, shift_l2, max_shifts)
    elif shift_penalty == "smooth":
        of_shifted = _smooth(g, h, of_mean, shift_l2, n, size)
    else:
        of_shifted = _ridge(g, h, of_mean, shift_l2, n, size)
    u: FloatArray = np.array(of_shifted, order="C")
    if not shifted.all():
        u = np.empty_like(G)
        u[:, shifted] = of_shifted
        u[:, ~shifted] = (size * of_shifted).sum(axis=1, keepdims=True) / n
    flat = h.sum(axis=1) <= _NO_CURVATURE * (of_mean + shift_l2)
    if flat.any():
        u[flat] = scalar.weights(G[flat].sum(axis=1), H[flat].sum(axis=1), reg_lambda)[:, np.newaxis]
    return u


def values(
    gradient: ArrayLike,
    hessian: ArrayLike,
    reg_lambda: float,
    shift_l2: float,
    shift_penalty: str = "ridge",
    active: ArrayLike | None = None,
    max_shifts: int | None = None,
) -> FloatArray:
    """Return the decrease of the quadratic model at the step of each leaf, -1/2 G.u, (n_leaves,).

    A split gains the values of its two sides less that of the leaf it splits. Parameters are those of :func:`steps`.

    Examples
    --------
    >>> from ordinal_objectives.leaves import vector
    >>> vector.values([[2.0, -1.0]], [[1.0, 1.0]], reg_lambda=1.0, shift_l2=2.0).round(4).tolist()
    [0.9167]
    """
    G = np.asarray(gradient, dtype=np.float64)
    return -0.5 * np.sum(G * steps(gradient, hessian, reg_lambda, shift_l2, shift_penalty, active, max_shifts), axis=1)


def mean_shift(leaf_steps: FloatArray, leaf_weights: FloatArray) -> FloatArray:
    """Return the mean over the rows of a tree's shifts, u_k less the mean of u, (n_thresholds,).

    It is moved from the leaves to the thresholds: this changes no margin, and the shifts of a model have mean zero over
    its training rows.

    Parameters
    ----------
    leaf_steps : ndarray of float64, shape (n_leaves, n_thresholds)
    leaf_weights : ndarray of float64, shape (n_leaves,)
        Sum of the weights of each leaf's rows.
    """
    of_leaves = leaf_steps.sum(axis=1, keepdims=True) / leaf_steps.shape[1]
    return leaf_weights @ (leaf_steps - of_leaves) / leaf_weights.sum()


def contrasts(
    n_thresholds: int, reg_lambda: float, shift_l2: float, shift_penalty: str = "ridge", active: ArrayLike | None = None
) -> FloatArray:
    r"""Return shifts as contrasts, for trainers with a single penalty: C, float64 (n_thresholds, n_thresholds - 1).

    A trainer whose leaves hold T numbers, each :math:`-G / (H + \lambda)`, fits the scores of T thresholds as
    :math:`u = w 1 + C z`, with the score w and T - 1 contrasts z. The columns of C sum to zero and are orthogonal,
    scaled such that :math:`\lambda |z|^2` is the penalty :math:`\lambda_v P(C z)` of the shifts. Cosines are the
    eigenvectors of both penalties.

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
    >>> from ordinal_objectives.leaves.vector import contrasts
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


def check_penalty(shift_l2: object, shift_penalty: str) -> None:
    """Raise ValueError or TypeError unless the penalty of the shifts is one of those allowed."""
    check_choice(shift_penalty, PENALTIES, name="shift_penalty")
    check_number("shift_l2", shift_l2, above=0.0)


def _ridge(
    g: FloatArray, h: FloatArray, of_mean: FloatArray | float, shift_l2: float, n: int, size: FloatArray | float = 1.0
) -> FloatArray:
    """Solve the ridge of groups of ``size`` of the n thresholds, each with one shift."""
    D = h + shift_l2 * np.maximum(size, 1.0)
    c = (of_mean / n - shift_l2) / n
    p = (size * g / D).sum(axis=1)
    q = (size * h / D).sum(axis=1) / n + of_mean / n**2 * (size**2 / D).sum(axis=1)
    share = np.divide(c * p, q, out=np.zeros_like(q), where=q > 0.0)
    return -(g - share[:, np.newaxis] * size) / D


def _sparse(g: FloatArray, h: FloatArray, of_mean: FloatArray | float, shift_l2: float, max_shifts: int) -> FloatArray:
    """Solve the ridge of the chosen thresholds and of the others as one group, that is, of one shift."""
    w = scalar.weights(g.sum(axis=1), h.sum(axis=1) + of_mean)
    own = largest((g + h * w[:, np.newaxis]) ** 2 / (h + shift_l2), max_shifts)

    def grouped(x: FloatArray) -> FloatArray:
        """Return the entries of those chosen, 0 for the others, and behind them the others' sum."""
        return np.column_stack([np.where(own, x, 0.0), np.where(own, 0.0, x).sum(axis=1)])

    u = _ridge(grouped(g), grouped(h), of_mean, shift_l2, g.shape[1], grouped(np.ones_like(g)))
    return np.where(own, u[:, :-1], u[:, -1:])


def _smooth(
    g: FloatArray, h: FloatArray, of_mean: FloatArray | float, shift_l2: float, n_thresholds: int, size: FloatArray
) -> FloatArray:
    """Solve (diag h + lambda_v P + a ss') u = -g, s the sizes: a tridiagonal system and a term of rank one."""
    n = g.shape[1]
    neighbours = np.full(n, 2.0)
    neighbours[[0, -1]] = 1.0
    diagonal = h + shift_l2 * neighbours
    x, z = g.copy(), np.ones_like(g) * size
    # Elimination of all leaves at once; the matrices are diagonally dominant.
    for k in range(1, n):
        factor = shift_l2 / diagonal[:, k - 1]
        diagonal[:, k] -= factor * shift_l2
        x[:, k] += factor * x[:, k - 1]
        z[:, k] += factor * z[:, k - 1]
    with np.errstate(divide="ignore", invalid="ignore"):  # no curvature at all: replaced by the caller
        for k in reversed(range(n)):
            above = shift_l2 if k + 1 < n else 0.0
            beyond = min(k + 1, n - 1)
            x[:, k] = (x[:, k] + above * x[:, beyond]) / diagonal[:, k]
            z[:, k] = (z[:, k] + above * z[:, beyond]) / diagonal[:, k]
        a = of_mean / n_thresholds**2
        share = a * (size * x).sum(axis=1) / (1.0 + a * (size * z).sum(axis=1))
        u: FloatArray = share[:, np.newaxis] * z - x
    return u
