r"""Leaves with d outputs (Zhang and Jung, GBDT-MO): each output has its own step, or only those with the largest gains.

With a leaf's sums G and H of the outputs' derivatives the step w minimises

.. math:: G'w + \tfrac12 w'(H + \lambda I)w, \qquad \lVert w\rVert_0 \le k .

H is diagonal, so that the outputs are separate and the k largest of :math:`G_j^2 / (H_j + \lambda)` move; or, for all
outputs, a matrix.
"""

from __future__ import annotations

import numpy as np

from ordinal_objectives.aliases import ArrayLike, BoolArray, FloatArray
from ordinal_objectives.leaves import scalar

SEARCHES = ("restricted", "unrestricted")


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
    >>> from ordinal_objectives.leaves import multi_output
    >>> multi_output.output_values([[2.0, -4.0]], [[1.0, 3.0]], 1.0).tolist()
    [[1.0, 2.0]]
    """
    G = np.asarray(gradient, dtype=np.float64)
    return -0.5 * G * scalar.weights(G, hessian, reg_lambda)


def largest(values: FloatArray, max_outputs: int) -> BoolArray:
    """Tell which are the ``max_outputs`` largest of each row, the first ones among equals, in the shape of ``values``.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.leaves import multi_output
    >>> multi_output.largest(np.array([[1.0, 3.0, 2.0]]), 2).tolist()
    [[False, True, True]]
    """
    chosen = np.zeros(values.shape, np.bool_)
    np.put_along_axis(chosen, np.argsort(-values, axis=1, kind="stable")[:, :max_outputs], True, axis=1)
    return chosen


def steps(gradient: ArrayLike, hessian: ArrayLike, reg_lambda: float, outputs: BoolArray | None = None) -> FloatArray:
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
    >>> from ordinal_objectives.leaves import multi_output
    >>> multi_output.steps([[2.0, -4.0]], [[1.0, 3.0]], 1.0).tolist()
    [[-1.0, 1.0]]
    >>> multi_output.steps([[2.0, -4.0]], [[[1.0, 1.0], [1.0, 1.0]]], 1.0).round(4).tolist()
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


def values(gradient: ArrayLike, leaf_steps: FloatArray) -> FloatArray:
    """Return the decrease of the quadratic model at the steps of :func:`steps`, -1/2 G.w, (n_leaves,).

    A split gains the values of its two sides less that of the leaf it splits, at the step that each has in the model.
    With few outputs these are not always the leaf's own best: restricted, a leaf moves those that it shares with its
    sibling.
    """
    return -0.5 * np.sum(np.asarray(gradient, dtype=np.float64) * leaf_steps, axis=1)
