"""Thresholds before the first tree, in closed form."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.links import Link, get_link
from ordinal_objectives.threshold_solver.checks import as_vector
from ordinal_objectives.validation import NEGLIGIBLE_SHARE, check_choice

_LOSSES = ("all_threshold", "cumulative_link", "immediate_threshold")


class InitialThresholds(NamedTuple):
    """Start values of the thresholds, and which of them may move how.

    Attributes
    ----------
    thresholds : ndarray of shape (n_classes - 1,), float64
        Cut points. Increasing for the all-threshold loss, with equal ones around an empty inner class;
        strictly increasing for the cumulative link; in any order for the immediate-threshold loss.
    active : ndarray of shape (n_classes - 1,), bool
        Whether a threshold has weight on both sides. The loss pulls one that has not to infinity, so no
        step is solved for it.
    tied : ndarray of shape (n_classes - 1,), bool
        Whether a threshold moves together with the one below it, because the class between them is empty.
    """

    thresholds: NDArray[np.float64]
    active: NDArray[np.bool_]
    tied: NDArray[np.bool_]


def initial_thresholds(
    class_weights: ArrayLike, link: str | Link = "logit", loss: str = "all_threshold"
) -> InitialThresholds:
    r"""Thresholds that minimise the loss while the score is 0 everywhere.

    For the all-threshold and the cumulative-link loss
    :math:`\theta_k = G^{-1}(\sum_{l \le k} n_l / \sum_l n_l)`, for the immediate-threshold loss
    :math:`\theta_k = G^{-1}(n_k / (n_k + n_{k+1}))`, with n the weight of each class.

    Nothing in the data places a threshold that has no weight on one side: half a row is assumed there (less
    if a class weighs less than one row), shared out if several classes are empty. Two thresholds around an
    empty inner class are one question to the data, and would cross if each answered alone: they are tied.
    With the cumulative link, whose loss needs a gap, half a row is assumed between them.

    Parameters
    ----------
    class_weights : array-like of shape (n_classes,), float64
        n, the sum of sample weights of each class; at least two of them positive.
    link : {"logit", "probit", "cloglog", "loglog", "cauchit"} or Link, default="logit"
        Link G^{-1}.
    loss : {"all_threshold", "cumulative_link", "immediate_threshold"}, default="all_threshold"
        Loss.

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
    inverse_of = get_link(link).link
    if np.any(n < 0.0):
        raise ValueError(f"class_weights must be at least 0, got {n.tolist()}")
    check_choice(loss, _LOSSES, name="loss")
    total = n.sum()
    observed = np.flatnonzero(n > NEGLIGIBLE_SHARE * total)
    if observed.size < 2:
        raise ValueError(
            f"class_weights must have at least two positive entries, got {n.tolist()}; "
            f"a class with less than {NEGLIGIBLE_SHARE:g} of all weight counts as empty"
        )
    half_a_row = 0.5 * min(max(1.0, NEGLIGIBLE_SHARE * total), n[observed].min())

    if loss == "immediate_threshold":
        has_weight = np.isin(np.arange(n.size), observed)
        filled = np.where(has_weight, n, half_a_row)
        share = filled[:-1] / (filled[:-1] + filled[1:])
        return InitialThresholds(inverse_of(share), has_weight[:-1] & has_weight[1:], np.zeros(n.size - 1, dtype=bool))

    first, last = observed[0], observed[-1]
    index = np.arange(n.size - 1)
    active = (index >= first) & (index < last)
    tied = np.zeros_like(active)
    below = np.cumsum(n)[:-1]
    below[:first] = half_a_row * np.arange(1, first + 1) / max(first, 1)
    n_above = n.size - 1 - last
    below[last:] = total - half_a_row * np.arange(n_above, 0, -1) / max(n_above, 1)
    for lower, upper in itertools.pairwise(observed):
        tied[lower + 1 : upper] = True
        if loss == "cumulative_link" and upper - lower > 1:
            below[lower:upper] += half_a_row * np.linspace(-0.5, 0.5, upper - lower)
    return InitialThresholds(inverse_of(below / total), active, tied)
