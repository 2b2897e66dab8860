"""Thresholds before the first tree, in closed form."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ordinal_objectives.links import Link
from ordinal_objectives.losses import OrdinalLoss, get_loss
from ordinal_objectives.losses.initial_thresholds import ClassWeights, InitialThresholds
from ordinal_objectives.threshold_solver.checks import as_vector
from ordinal_objectives.utils.validation import NEGLIGIBLE_SHARE


def initial_thresholds(
    class_weights: ArrayLike, link: str | Link = "logit", loss: str | OrdinalLoss = "all_threshold"
) -> InitialThresholds:
    r"""Thresholds that minimise the loss while the score is 0 everywhere.

    For the all-threshold and the cumulative-link loss
    :math:`\theta_k = G^{-1}(\sum_{l \le k} n_l / \sum_l n_l)`, for the immediate-threshold loss
    :math:`\theta_k = G^{-1}(n_k / (n_k + n_{k+1}))`, with n the weight of each class.

    Nothing in the data places a threshold that has no weight on one side: half a row is assumed there (less
    if a class weighs less than one row), shared out if several classes are empty. The data do not separate two
    thresholds around an empty inner class, and estimated alone they would cross: they are tied. With the cumulative
    link, whose loss needs a gap, half a row is assumed between them.

    Parameters
    ----------
    class_weights : array-like of shape (n_classes,), float64
        n, the sum of sample weights of each class; at least two of them positive.
    link : str or Link, default="logit"
        Link G^{-1}; see :func:`ordinal_objectives.links.get_link`.
    loss : str or OrdinalLoss, default="all_threshold"
        See :func:`ordinal_objectives.losses.get_loss`; an instance brings its own link. A loss of one's own starts
        like the all-threshold loss, unless it has a method ``start``.

    Returns
    -------
    InitialThresholds
        Thresholds with their masks `active` and `tied`, which the steps take.

    Raises
    ------
    ValueError
        If `class_weights` is not a vector, has a negative or infinite entry or fewer than two positive ones,
        or `link` or `loss` is unknown.

    Examples
    --------
    >>> from ordinal_objectives.threshold_solver import initial_thresholds
    >>> start = initial_thresholds([25, 50, 25, 0])
    >>> start.thresholds.round(3), start.active
    (array([-1.099,  1.099,  5.293]), array([ True,  True, False]))
    """
    n = as_vector("class_weights", class_weights)
    of_loss = get_loss(loss, link)
    if np.any(n < 0.0):
        raise ValueError(f"class_weights must be at least 0, got {n.tolist()}")
    total = n.sum()
    observed = np.flatnonzero(n > NEGLIGIBLE_SHARE * total)
    if observed.size < 2:
        raise ValueError(
            f"class_weights must have at least two positive entries, got {n.tolist()}; "
            f"a class with less than {NEGLIGIBLE_SHARE:g} of all weight counts as empty"
        )
    half_a_row = 0.5 * min(max(1.0, NEGLIGIBLE_SHARE * total), n[observed].min())
    return of_loss.start_at(ClassWeights(n, observed, half_a_row))
