"""Cut points of the mean class, found for a metric."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.intp]
# What is to be large, of predicted codes.
Score = Callable[[Codes], float]
_MOST_CANDIDATES, _MOST_PAIRED, _MOST_SWEEPS = 200, 20, 20
# How far a cut point stays from values that it is on but for rounding.
_ROOM, _ROUNDING = 1e-5, 1e-9
_STRETCHES = np.geomspace(0.5, 20.0, 200)


@dataclass(frozen=True)
class CutPoints:
    """A decision by the mean class: the number of cut points that it reaches.

    Attributes
    ----------
    cuts : ndarray of float64, shape (n_classes - 1,)
        They do not decrease.
    """

    cuts: Array

    @classmethod
    def free(cls, proba: Array, shares: Array, score: Score) -> CutPoints:
        """Find the cut points with the highest score, one after the other, from two starts.

        The starts are those of rounding, and those that predict each class as often as it occurs. A cut point moves
        between its neighbours, over at most 200 values between which the same number of rows lie, and two neighbours
        move together over some of them, until none moves.

        Parameters
        ----------
        proba : ndarray of float64, shape (n_samples, n_classes)
            Lowest class first.
        shares : ndarray of float64, shape (n_classes,)
            Of the classes.
        score : callable
        """
        means = mean_class(proba)
        values = np.unique(means)
        between = (values[1:] + values[:-1]) / 2.0
        most = min(len(between), _MOST_CANDIDATES)
        inner = between[np.linspace(0, max(len(between) - 1, 0), most).astype(np.intp)]
        candidates = np.concatenate([[values[0]], inner, [np.nextafter(values[-1], np.inf)]])
        rounding = np.arange(proba.shape[1] - 1) + 0.5
        starts = rounding, np.quantile(means, np.minimum(np.cumsum(shares)[:-1], 1.0))
        found = [_climb(means, start, candidates, score) for start in starts]
        return cls(_off_values(max(found, key=lambda one: one[1])[0], values))

    @classmethod
    def stretched(cls, proba: Array, score: Score) -> CutPoints:
        """Find the stretch of the mean class about its own mean whose rounding has the highest score."""
        means, middle = mean_class(proba), float(mean_class(proba).mean())
        rounding = np.arange(proba.shape[1] - 1) + 0.5
        tried = [middle + (rounding - middle) / stretch for stretch in (1.0, *_STRETCHES)]
        return cls(max(tried, key=lambda cuts: score(_codes(means, cuts))))

    def decide(self, proba: Array) -> Codes:
        """Return class codes, (n_samples,)."""
        return _codes(mean_class(proba), self.cuts)


def mean_class(proba: Array) -> Array:
    """Return the mean of the class codes, (n_samples,)."""
    means: Array = proba @ np.arange(proba.shape[1])
    return means


def _codes(means: Array, cuts: Array) -> Codes:
    return np.searchsorted(cuts, means, side="right").astype(np.intp)


def _off_values(cuts: Array, values: Array) -> Array:
    """Return cut points of which none lies on a value, where rounding would decide for all rows that have it.

    Those that do move away from it, at most to the middle between two values, so that all rows keep their class.
    """
    place = np.searchsorted(values, cuts)
    low, high = np.append(-np.inf, values)[place], np.append(values, np.inf)[place]
    room = np.minimum(_ROOM, (high - low) / 2.0)
    on_value = np.minimum(high - cuts, cuts - low) < _ROUNDING
    off: Array = np.maximum.accumulate(np.where(on_value, np.clip(cuts, low + room, high - room), cuts))
    return off


def _climb(means: Array, cuts: Array, candidates: Array, score: Score) -> tuple[Array, float]:
    """Move one cut point at a time while that raises the score; return them and the score."""
    best = score(_codes(means, cuts))
    for _ in range(_MOST_SWEEPS):
        before = best
        for k in range(len(cuts)):
            for moved in chain(_moved(cuts, k, candidates), _moved_together(cuts, k, candidates)):
                now = score(_codes(means, moved))
                if now > best:
                    cuts, best = moved, now
        if best == before:
            break
    return cuts, best


def _moved_together(cuts: Array, k: int, candidates: Array) -> Iterator[Array]:
    if k + 1 == len(cuts):
        return
    low = cuts[k - 1] if k else -np.inf
    high = cuts[k + 2] if k + 2 < len(cuts) else np.inf
    few = candidates[:: max(1, len(candidates) // _MOST_PAIRED)]
    few = few[(few >= low) & (few <= high)]
    for pair in combinations_with_replacement(few, 2):
        moved = cuts.copy()
        moved[k : k + 2] = pair
        yield moved


def _moved(cuts: Array, k: int, candidates: Array) -> Iterator[Array]:
    low = cuts[k - 1] if k else -np.inf
    high = cuts[k + 1] if k + 1 < len(cuts) else np.inf
    for value in candidates[(candidates >= low) & (candidates <= high)]:
        moved = cuts.copy()
        moved[k] = value
        yield moved
