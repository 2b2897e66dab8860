"""Third and fourth derivatives of the losses in the score, for leaf steps beyond Newton's."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ordinal_objectives.links import FloatArray
from ordinal_objectives.losses.base import OrdinalLoss
from ordinal_objectives.utils.read_only import call_read_only
from ordinal_objectives.utils.validation import as_floats, check_integer


def check_order(loss: OrdinalLoss, hessian: str, order: int) -> None:
    """Raise unless a loss has the derivatives of leaf steps of this order.

    Parameters
    ----------
    loss : OrdinalLoss
        What is minimised, with its link.
    hessian : {"exact", "majorized"}
        Second derivative by which steps are taken.
    order : {2, 3, 4}
        Highest derivative of the loss that is needed.

    Raises
    ------
    ValueError
        If order > 2 is combined with a majorised Hessian, or a link other than the logit.

    Examples
    --------
    >>> from ordinal_objectives import AllThreshold
    >>> check_order(AllThreshold(), "exact", 4)
    """
    if check_integer("order", order, 2, 4) == 2:
        return
    if hessian != "exact":
        raise ValueError(
            f"order={order} continues the Taylor series of the loss: it needs hessian='exact'; got {hessian!r}"
        )
    if loss.highest_order < order:
        raise ValueError(
            f"order={order} needs link='logit'; got {loss.link.name!r}. Use order=2 with other links"
            if loss.is_built_in
            else f"loss {loss.identity!r} has no derivatives of order={order}; use order=2"
        )


def higher_derivatives(loss: OrdinalLoss, raw_prediction: ArrayLike, y: ArrayLike, thresholds: ArrayLike) -> FloatArray:
    """Return third and fourth derivatives of each row's loss in the score, unweighted.

    Parameters
    ----------
    loss : OrdinalLoss
        A loss that has them: one of this package, with the logit link.
    raw_prediction : array-like of float, shape (n_samples,)
        Scores f(x).
    y : array-like of int, shape (n_samples,)
        Class codes.
    thresholds : array-like of float, shape (n_classes - 1,)
        Lowest first, on the scale of the scores.

    Returns
    -------
    ndarray of float64, shape (n_samples, 2)

    Raises
    ------
    ValueError
        If the link is another one, or the rows do not fit together.

    Examples
    --------
    >>> from ordinal_objectives import AllThreshold
    >>> higher_derivatives(AllThreshold(), [0.5], [1], [0.0]).round(4)
    array([[-0.0576, -0.0964]])
    """
    check_order(loss, "exact", 4)
    loss.gradient(raw_prediction, y, thresholds)  # checks the rows
    f, theta = (as_floats(x, name="scores") for x in (raw_prediction, thresholds))
    return call_read_only(loss.owner, loss.higher, f, np.asarray(y, dtype=np.int32), theta)
