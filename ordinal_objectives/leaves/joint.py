r"""Leaves that move together with the thresholds.

The quadratic model of leaf weights w and threshold step delta is

.. math:: \sum_j G_j w_j + u'\delta + \tfrac12 \sum_j (H_j + \lambda) w_j^2 + \tfrac12 \delta' V \delta
          + \sum_j w_j L_j'\delta .

Eliminating the leaf weights gives S delta = -r for the thresholds (thesis, eqs. 3.8 to 3.13).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.leaves.scalar import inverse_curvature

FloatArray = NDArray[np.float64]


def system(
    gradient: FloatArray, hessian: FloatArray, cross: FloatArray, u: FloatArray, V: FloatArray, reg_lambda: float
) -> tuple[FloatArray, FloatArray]:
    """Return S = V - sum_j L_j L_j' / h_j and r = u - sum_j G_j L_j / h_j, with h = H + lambda.

    Parameters
    ----------
    gradient, hessian : ndarray of float64, shape (n_leaves,)
        G and H.
    cross : ndarray of float64, shape (n_leaves, n_thresholds)
        L.
    u : ndarray of float64, shape (n_thresholds,)
    V : ndarray of float64, shape (n_thresholds, n_thresholds)
    reg_lambda : float

    Returns
    -------
    S : ndarray of float64, shape (n_thresholds, n_thresholds)
    r : ndarray of float64, shape (n_thresholds,)

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.leaves import joint
    >>> S, r = joint.system(np.ones(1), np.ones(1), -np.ones((1, 1)), np.zeros(1), np.full((1, 1), 2.0), 1.0)
    >>> S.tolist(), r.tolist()
    ([[1.5]], [0.5])
    """
    inverse_h = inverse_curvature(hessian, reg_lambda)
    S: FloatArray = V - (cross * inverse_h[:, np.newaxis]).T @ cross
    r: FloatArray = u - cross.T @ (gradient * inverse_h)
    return S, r


def weights(
    gradient: FloatArray, hessian: FloatArray, cross: FloatArray, delta: FloatArray, reg_lambda: float
) -> FloatArray:
    """Return w_j = -(G_j + L_j.delta) / (H_j + lambda), (n_leaves,); parameters as in :func:`system`."""
    w: FloatArray = -(gradient + cross @ delta) * inverse_curvature(hessian, reg_lambda)
    return w


def value(
    gradient: FloatArray, hessian: FloatArray, S: FloatArray, r: FloatArray, delta: FloatArray, reg_lambda: float
) -> float:
    """Return the decrease of the quadratic model at the threshold step delta and the leaf weights that go with it."""
    own = np.sum(gradient * gradient * inverse_curvature(hessian, reg_lambda))
    return float(0.5 * own - r @ delta - 0.5 * delta @ S @ delta)
