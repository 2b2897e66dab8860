"""Conformal sets of ordered classes: how far a class lies from the median, and which distances rows have had."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.decision import decide
from ordinal_objectives.estimators.on_codes import FittedMember

# Sums of probabilities that are equal but for rounding are ties.
_DECIMALS = 12


def tail_scores(proba: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of all classes nearer to the median's side of each class, the median's own being 0.

    P(y < k) for a class k above the median, P(y > k) for one below: it grows on both sides, whatever the
    probabilities are, so that the classes below any bound are an interval around the median.

    Parameters
    ----------
    proba : ndarray of float64, shape (n_samples, n_classes)
        Lowest class first.

    Returns
    -------
    ndarray of float64, shape (n_samples, n_classes)
    """
    up_to = np.cumsum(np.maximum(proba, 0.0), axis=1)
    below = np.column_stack([np.zeros(len(proba)), up_to[:, :-1]])
    middle, classes = decide(proba)[:, np.newaxis], np.arange(proba.shape[1])
    scores: NDArray[np.float64] = np.where(classes > middle, below, np.where(classes < middle, 1.0 - up_to, 0.0))
    return scores.round(_DECIMALS)


@dataclass(frozen=True)
class CalibratedMember:
    """A classifier, and the scores of rows that it was not trained on.

    Attributes
    ----------
    member : FittedMember
    scores : ndarray of float64, shape (n_rows,)
        That of each row's own class, sorted.
    codes : ndarray of int32, shape (n_rows,)
        Class codes of these rows, in the same order.
    misses : ndarray of float64
        Scores of every class from a row's own to its median, which is left out, of all rows, sorted: a set of the
        classes up to a bound misses by as many classes as there are larger ones.
    """

    member: FittedMember
    scores: NDArray[np.float64]
    codes: NDArray[np.int32]
    misses: NDArray[np.float64]

    @classmethod
    def of(cls, member: FittedMember, X: Any, codes: NDArray[np.int32], n_classes: int) -> CalibratedMember:
        """Return a classifier with the scores of some rows."""
        proba = member.proba(X, n_classes)
        scores, middle = tail_scores(proba), decide(proba)
        own = scores[np.arange(len(codes)), codes]
        order = np.argsort(own, kind="stable")
        classes = np.arange(n_classes)
        lowest, highest = (side[:, np.newaxis] for side in (np.minimum(codes, middle), np.maximum(codes, middle)))
        missed = (lowest <= classes) & (classes <= highest) & (classes != middle[:, np.newaxis])
        return cls(member, own[order], codes[order], np.sort(scores[missed]))

    def count(self, scores: NDArray[np.float64], by_class: bool) -> NDArray[np.intp]:
        """Return how many rows score at least as much, (n_samples, n_classes); ``by_class`` those of the class."""
        if not by_class:
            return _at_least(self.scores, scores)
        counted = [_at_least(self.scores[self.codes == k], scores[:, k]) for k in range(scores.shape[1])]
        return np.column_stack(counted)

    def bound_of_misses(self, severity: float, n_classes: int) -> float:
        """Return the least bound on scores by which sets miss the class by at most ``severity`` classes on average.

        Infinite where the rows are too few to say so.
        """
        n_allowed = floor(severity * (len(self.codes) + 1)) - (n_classes - 1)
        if n_allowed < 0:
            return math.inf
        return float(self.misses[-1 - n_allowed]) if n_allowed < len(self.misses) else 0.0


def _at_least(known: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.intp]:
    counts: NDArray[np.intp] = len(known) - np.searchsorted(known, scores, side="left")
    return counts


def floor(value: float) -> int:
    """Return the largest integer up to a product, whose rounding must not decide it."""
    return math.floor(value + 1e-9)


def hull(included: NDArray[np.bool_], middle: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the lowest and the highest class of each row's set, with its middle and all between."""
    included = included | (np.arange(included.shape[1]) == middle[:, np.newaxis])
    return np.argmax(included, axis=1), included.shape[1] - 1 - np.argmax(included[:, ::-1], axis=1)
