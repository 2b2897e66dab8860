r"""Leaves that move the score only, as in any booster; and those whose steps use third and fourth derivatives [1]_.

With :math:`h = G_2 + \lambda`, the Newton step :math:`w_2 = -G_1 / h`,
:math:`\epsilon = -w_2 G_3 / h = G_1 G_3 / h^2` and :math:`\kappa = w_2^2 G_4 / h = G_1^2 G_4 / h^3`,

.. math::

    w_3 = \frac{w_2}{1 - \epsilon / 2} \text{ (Halley)}, \qquad
    w_4 = w_2 \frac{1 - \epsilon / 2}{1 - \epsilon + \kappa / 6} \text{ (Householder)},

and the Taylor polynomial falls at :math:`w = b w_2` by
:math:`w_2^2 h (b - b^2 / 2 + \epsilon b^3 / 6 - \kappa b^4 / 24)`, the last term of order 4 only. Where thresholds
move too, G_1 is the gradient after their step; it follows from the Newton step of the joint model.

References
----------
.. [1] J. Pachebat and S. Ivanov, "High-order optimization of gradient boosted decision trees" (2022). Equations 9, 10,
   13 and 14; the last term of 14 is :math:`G_1^2 G_4 / 6`, and equation 11 is replaced by the polynomial's value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ordinal_objectives.aliases import ArrayLike, BoolArray, FloatArray

_ORDERS = (2, 3, 4)
_RULES = ("householder", "root", "expanded")
# Where all rows of a leaf are far on the right side, their gradient falls like exp(-w): there a step of order p is p -
# 1 Newton steps long. A longer step is an error of the polynomial. The rest is for rounding.
_SLACK = 1.001


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


class HighOrderStep(NamedTuple):
    """Leaf weights of a high-order step.

    Attributes
    ----------
    weights : ndarray of float64, shape (n_leaves,)
    decrease : ndarray of float64, shape (n_leaves,)
        Decrease of each leaf's Taylor polynomial.
    fell_back : ndarray of bool, shape (n_leaves,)
        Leaves that took the Newton step because the other one does not exist, has the other sign, or is too long.
    """

    weights: FloatArray
    decrease: FloatArray
    fell_back: BoolArray


def high_order_step(
    newton: ArrayLike,
    curvature: ArrayLike,
    third: ArrayLike,
    fourth: ArrayLike = 0.0,
    *,
    order: int = 3,
    rule: str = "householder",
) -> HighOrderStep:
    """Return leaf steps of order 3 or 4.

    Parameters
    ----------
    newton : array-like of float, shape (n_leaves,)
        Newton steps w_2 of :func:`weights`, or of a joint step.
    curvature : array-like of float, shape (n_leaves,)
        h = G_2 + lambda. Leaves where it is not positive keep their Newton step, which is 0.
    third, fourth : array-like of float, shape (n_leaves,)
        G_3 and G_4; order 3 does not read the latter.
    order : {3, 4}
    rule : {"householder", "root", "expanded"}
        Householder's step, for order 3 Halley's. Others of order 3: the polynomial's own minimum (eq. 9), and Halley's
        expanded in epsilon (eq. 10).

    Returns
    -------
    HighOrderStep

    Raises
    ------
    ValueError
        If there is no such order or rule.

    Examples
    --------
    Rows of one label at score f > 0 have the loss n log(1 + exp(-f)): Halley's step goes nearly twice as far.

    >>> from ordinal_objectives.leaves import scalar
    >>> scalar.high_order_step([1.0], [2.0], [-1.8]).weights.round(3)
    array([1.818])
    """
    if order not in _ORDERS[1:] or rule not in (_RULES if order == 3 else _RULES[:1]):
        raise ValueError(f"order must be 3, or 4 with rule 'householder'; got {order!r} with {rule!r}")
    w, h, G3 = (np.asarray(values, dtype=np.float64) for values in (newton, curvature, third))
    bent = h > 0.0
    safe_h = np.where(bent, h, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows falls back
        epsilon = -w * G3 / safe_h
        kappa = w * w * np.asarray(fourth, dtype=np.float64) / safe_h if order == 4 else np.zeros_like(epsilon)
        above, below = _length(epsilon, kappa, order, rule)
        stands = bent & np.isfinite(below) & (above > 0.0) & (above <= (order - 1) * _SLACK * below)
        b = np.where(stands, above, 1.0) / np.where(stands, below, 1.0)
        fall = b * (1.0 - 0.5 * b + b * b * (epsilon / 6.0 - kappa * b / 24.0))
        # A long step can end where the polynomial has risen again; the decrease of Newton's shorter step then counts.
        at_newton = 0.5 + epsilon / 6.0 - kappa / 24.0
        fall = np.where((b > 1.0) & (fall < at_newton), at_newton, fall)
        decrease = np.where(bent, w * w * h * np.where(stands, fall, 0.5), 0.0)
    return HighOrderStep(w * b, decrease, bent & ~stands)


def _length(epsilon: FloatArray, kappa: FloatArray, order: int, rule: str) -> tuple[FloatArray, FloatArray]:
    """Return numerator and denominator of the step's length in Newton steps."""
    one = np.ones_like(epsilon)
    if rule == "root":  # its minus branch, which is the one near 0, without cancellation
        return 2.0 * one, 1.0 + np.sqrt(1.0 - 2.0 * epsilon)
    if rule == "expanded":
        return 1.0 + 0.5 * epsilon, one
    if order == 3:
        return one, 1.0 - 0.5 * epsilon
    return 1.0 - 0.5 * epsilon, 1.0 - epsilon + kappa / 6.0
