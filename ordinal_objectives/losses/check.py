"""Check of a loss by finite differences."""

from __future__ import annotations

import numpy as np
from scipy.optimize import approx_fprime

from ordinal_objectives.aliases import FloatArray
from ordinal_objectives.links import check_link
from ordinal_objectives.links.check import compare, step_of
from ordinal_objectives.losses import base, quantities
from ordinal_objectives.utils.validation import check_n_classes

_MOST_CLASSES = 60


def check_loss(loss: base.OrdinalLoss, n_classes: int = 5) -> None:
    """Raise ValueError if a formula of a loss is not the derivative of another, by SciPy's finite differences.

    Parameters
    ----------
    loss : OrdinalLoss
        Its link is checked first, if it is not one of this package.
    n_classes : int, default=5
        Number of classes of the rows that it is checked on, 2 to 60.

    Raises
    ------
    ValueError
        If a first or second derivative in the score or in the thresholds is wrong, the loss is no function of
        theta_k - f, or formulas of margins are not those of rows; the message names the quantity, with the numbers.

    Notes
    -----
    Rows of each class with scores of usual size are checked. Majorisers, floors and start thresholds are not.

    Examples
    --------
    >>> from ordinal_objectives import CumulativeLink
    >>> from ordinal_objectives.losses import check_loss
    >>> check_loss(CumulativeLink("probit"))
    """
    loss.check_needs()
    check_n_classes(n_classes, _MOST_CLASSES)
    if not loss.link.is_built_in:
        check_link(loss.link)
    rng, n = np.random.default_rng(0), 2 * n_classes
    step, y = step_of(loss.link), np.arange(n, dtype=np.int32) % n_classes
    unit = step / 1e-6
    f: FloatArray = 1.5 * unit * rng.normal(size=n)
    theta: FloatArray = unit * (np.arange(n_classes - 1, dtype=np.float64) - 0.5 * n_classes)
    loss.check_formulas(f, y, theta)

    def at(point: FloatArray) -> quantities.RowDerivatives:
        return loss.row_derivatives(point[:n], y, point[n:])

    def slopes(name: str) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of a quantity by the score of its row, and by the thresholds."""
        point = np.concatenate([f, theta])
        every = approx_fprime(point, lambda p: np.ravel(getattr(at(p), name)), step).reshape(n, -1, len(point))
        return np.squeeze(every[np.arange(n), :, np.arange(n)]), every[:, :, n:]

    rows = at(np.concatenate([f, theta]))
    (gradient, by_thresholds), (hessian, cross), (_, V) = map(slopes, ("value", "gradient", "threshold_gradient"))
    expected = {
        "gradient": (rows.gradient, gradient),
        "threshold_gradient": (rows.threshold_gradient, by_thresholds[:, 0]),
        "gradient, minus the sum of threshold_gradient,": (rows.gradient, -rows.threshold_gradient.sum(axis=1)),
        "cross": (rows.cross, cross[:, 0]),
        "the Hessian in the score, minus the sum of cross,": (rows.hessian, hessian),
        "curvature": (rows.curvature, np.diagonal(V, axis1=1, axis2=2)),
    }
    if n_classes > 2:
        expected["curvature_next"] = rows.curvature_next, np.diagonal(V, 1, 1, 2)
    if loss.takes_shifts:
        of_margins = loss.rows_of_margins(theta - f[:, None], y)
        for name in ("value", "threshold_gradient", "curvature"):
            expected[f"{name} of _of_margins"] = getattr(of_margins, name), getattr(rows, name)
    compare(loss.owner, expected)
