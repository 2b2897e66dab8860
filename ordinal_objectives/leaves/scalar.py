"""Leaves that move the score only, as in any booster."""

from __future__ import annotations

import numpy as np

from ordinal_objectives.aliases import ArrayLike, FloatArray


def inverse_curvature(hessian: ArrayLike, reg_lambda: float) -> FloatArray:
    """Return 1 / (H + lambda), float64 (n_leaves,), and 0 for a leaf without curvature, which does not move."""
    h = np.asarray(hessian, dtype=np.float64) + reg_lambda
    return np.divide(1.0, h, out=np.zeros_like(h), where=h > 0.0)


def weights(gradient: ArrayLike, hessian: ArrayLike, reg_lambda: float = 0.0) -> FloatArray:
    """Return w = -G / (H + lambda) of each leaf.

    Parameters
    ----------
    gradient, hessian : array-like of float, shape (n_leaves,)
        G and H, sums over the rows of each leaf.
    reg_lambda : float, default=0.0
        L2 penalty lambda of the weights.

    Returns
    -------
    ndarray of float64, shape (n_leaves,)
        0 where H + lambda is not positive.

    Examples
    --------
    >>> from ordinal_objectives.leaves import scalar
    >>> scalar.weights([2.0, 1.0], [3.0, 0.0], reg_lambda=1.0).tolist()
    [-0.5, -1.0]
    """
    G = np.asarray(gradient, dtype=np.float64)
    h = np.asarray(hessian, dtype=np.float64) + reg_lambda
    return -np.divide(G, h, out=np.zeros_like(G), where=h > 0.0)


def value(gradient: ArrayLike, hessian: ArrayLike, reg_lambda: float = 0.0) -> float:
    """Return the decrease of the quadratic model, 1/2 sum_j G_j^2 / (H_j + lambda).

    Parameters are those of :func:`weights`. A split gains the value of the tree with it, less the value without,
    less gamma.

    Examples
    --------
    >>> from ordinal_objectives.leaves import scalar
    >>> scalar.value([2.0, -2.0], [3.0, 3.0], reg_lambda=1.0)
    1.0
    """
    G = np.asarray(gradient, dtype=np.float64)
    return float(0.5 * np.sum(G * G * inverse_curvature(hessian, reg_lambda)))
