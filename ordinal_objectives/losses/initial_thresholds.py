"""Thresholds that minimise a loss while the score is 0 everywhere, in closed form."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.links import FloatArray, Link


class ClassWeights(NamedTuple):
    """Weights of the classes, from which the start thresholds are computed.

    Attributes
    ----------
    weights : ndarray of float64, shape (n_classes,)
        Sum of the weights of each class.
    observed : ndarray of int
        Classes that do not count as empty, in order; at least two.
    half_a_row : float
        Weight that is assumed where the data do not determine a threshold.
    """

    weights: FloatArray
    observed: NDArray[np.intp]
    half_a_row: float


class InitialThresholds(NamedTuple):
    """Start values of the thresholds, and which of them may move how.

    Attributes
    ----------
    thresholds : ndarray of shape (n_classes - 1,), float64
        Cut points. Increasing for the all-threshold loss, with equal ones around an empty inner class;
        strictly increasing for the cumulative link; in any order for the immediate-threshold loss.
    active : ndarray of shape (n_classes - 1,), bool
        Whether a threshold has weight on both sides. Without it the loss has no minimum in that threshold, so no step
        is solved for it.
    tied : ndarray of shape (n_classes - 1,), bool
        Whether a threshold moves together with the one below it, because the class between them is empty.

    Examples
    --------
    >>> from ordinal_objectives.threshold_solver import initial_thresholds
    >>> start = initial_thresholds([30, 0, 70])  # the class between the thresholds is empty
    >>> start.thresholds.round(3), start.tied
    (array([-0.847, -0.847]), array([False,  True]))
    """

    thresholds: NDArray[np.float64]
    active: NDArray[np.bool_]
    tied: NDArray[np.bool_]


def from_shares(link: Link, classes: ClassWeights, *, with_gaps: bool) -> InitialThresholds:
    """Return G^-1 of the share of all classes up to each threshold.

    Parameters
    ----------
    link : Link
    classes : ClassWeights
    with_gaps : bool
        Whether thresholds around an empty inner class must differ.
    """
    n, observed, half_a_row = classes
    total, first, last = n.sum(), observed[0], observed[-1]
    index = np.arange(n.size - 1)
    active = (index >= first) & (index < last)
    tied = np.zeros_like(active)
    below = np.cumsum(n)[:-1]
    below[:first] = half_a_row * np.arange(1, first + 1) / max(first, 1)
    n_above = n.size - 1 - last
    below[last:] = total - half_a_row * np.arange(n_above, 0, -1) / max(n_above, 1)
    for lower, upper in itertools.pairwise(observed):
        tied[lower + 1 : upper] = True
        if with_gaps and upper - lower > 1:
            below[lower:upper] += half_a_row * np.linspace(-0.5, 0.5, upper - lower)
    return InitialThresholds(link.link(below / total), active, tied)


def from_costs(link: Link, classes: ClassWeights, costs: FloatArray) -> InitialThresholds:
    """Return G^-1 of the share that the classes up to each threshold have of its costs.

    With convex costs these shares increase, also around empty classes, whose thresholds differ: nothing is tied.

    Parameters
    ----------
    link : Link
    classes : ClassWeights
    costs : ndarray of shape (n_classes, n_classes - 1)
        What each threshold weighs for a row of each class.
    """
    thresholds, active, tied = from_shares(link, classes, with_gaps=False)
    of_costs = classes.weights[:, np.newaxis] * costs
    up_to = np.triu(of_costs).sum(axis=0)
    share = up_to[active] / of_costs.sum(axis=0)[active]
    # Around an empty class shares may be equal, and rounding must not put them out of order.
    thresholds[active] = link.link(np.maximum.accumulate(share))
    first, last = np.flatnonzero(active)[[0, -1]]
    thresholds[:first] = np.minimum(thresholds[:first], thresholds[first])
    thresholds[last + 1 :] = np.maximum(thresholds[last + 1 :], thresholds[last])
    return InitialThresholds(thresholds, active, np.zeros_like(tied))


def from_neighbours(link: Link, classes: ClassWeights) -> InitialThresholds:
    """Return G^-1 of the share of each class among itself and the next one."""
    n, observed, half_a_row = classes
    has_weight = np.isin(np.arange(n.size), observed)
    filled = np.where(has_weight, n, half_a_row)
    share = filled[:-1] / (filled[:-1] + filled[1:])
    return InitialThresholds(link.link(share), has_weight[:-1] & has_weight[1:], np.zeros(n.size - 1, dtype=bool))
