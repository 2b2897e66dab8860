"""Counters of everything that a training did beside the plain step."""

from __future__ import annotations

import operator
from dataclasses import dataclass


@dataclass
class Diagnostics:
    """Counts of repairs, halvings and other departures from the plain Newton step.

    Every field starts at 0 and only grows.

    Parameters
    ----------
    n_repaired : int
        Neighbouring thresholds found out of order and sorted.
    n_halved : int
        Halvings of a step.
    n_rejected : int
        Steps given up after the last halving.
    n_raised : int
        Rounds after which the training loss was higher than before: trees that a framework grew on a sample or with too
        large a learning rate, and whose leaves this package does not halve. 0 with the joint step and in the native
        engine.
    n_fallback : int
        Systems that were not positive definite, solved with a diagonal bound instead.
    n_flat_leaves : int
        Leaves with a gradient but no curvature, whose weight was set to 0.
    n_merged_leaves : int
        Leaves with the value of another leaf, which took the same renewed value because their rows cannot be
        distinguished.
    n_floored : int
        Curvatures raised to the link's floor.
    n_clipped : int
        Distances from a threshold that were clipped before the exponential.
    n_inactive : int
        Thresholds with no weight on one side, left at their start value.
    n_tied : int
        Thresholds that move together with the one below because no row lies between them.
    n_all_cross_terms : int
        Trees of the native engine whose splits were judged by the cross terms of all thresholds because those of a few
        were not exact enough.
    n_low_order : int
        Leaves that took the Newton step because the step of the higher order did not exist, had the other sign or was
        too long.

    Examples
    --------
    >>> from ordinal_objectives.threshold_solver import Diagnostics
    >>> diagnostics = Diagnostics()
    >>> diagnostics.add(n_halved=3, n_rejected=1)
    >>> diagnostics.add(n_halved=2)
    >>> diagnostics.n_halved, diagnostics.as_dict()["n_rejected"]
    (5, 1)
    """

    n_repaired: int = 0
    n_halved: int = 0
    n_rejected: int = 0
    n_raised: int = 0
    n_fallback: int = 0
    n_flat_leaves: int = 0
    n_merged_leaves: int = 0
    n_floored: int = 0
    n_clipped: int = 0
    n_inactive: int = 0
    n_tied: int = 0
    n_all_cross_terms: int = 0
    n_low_order: int = 0

    def add(self, **counts: int) -> None:
        """Raise the named counters.

        Parameters
        ----------
        **counts : int
            Counter name and how much to add, at least 0.

        Raises
        ------
        AttributeError
            If a counter is unknown.
        ValueError
            If a count is negative.
        """
        for name, count in counts.items():
            if operator.index(count) < 0:
                raise ValueError(f"{name} can only grow, got {count}")
            setattr(self, name, getattr(self, name) + operator.index(count))

    def as_dict(self) -> dict[str, int]:
        """Return the counters by name.

        Returns
        -------
        dict of str to int
        """
        return dict(vars(self))
