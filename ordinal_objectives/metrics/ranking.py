"""Pairs of rows of different classes, and those that a score puts in the right order; a pair weighs the product."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def differing_pairs(labels: NDArray[Any], weight: NDArray[np.float64]) -> float:
    """Weight of the pairs of rows whose labels differ."""
    of_label = np.bincount(np.unique(labels, return_inverse=True)[1], weights=weight)
    return float(of_label[1:] @ np.cumsum(of_label)[:-1])


def concordant_pairs(labels: NDArray[Any], score: NDArray[Any], weight: NDArray[np.float64]) -> float:
    """Weight of the pairs of differing labels that the score puts in their order; equal scores count one half."""
    true = np.unique(labels, return_inverse=True)[1]
    order = np.argsort(score, kind="stable")
    return _of_classes(true[order], score[order], weight[order], 0, int(true.max()) + 1)


def _of_classes(true: NDArray[Any], score: NDArray[Any], weight: NDArray[Any], lowest: int, beyond: int) -> float:
    """Weight of the concordant pairs among rows of classes lowest..beyond - 1, sorted by score.

    Each pair is counted once: where halving the range of classes separates its two rows.
    """
    if beyond - lowest < 2 or true.size == 0:
        return 0.0
    middle = (lowest + beyond) // 2
    low = true < middle
    weight_up_to = np.concatenate([[0.0], np.cumsum(weight[low])])
    smaller, not_greater = (weight_up_to[np.searchsorted(score[low], score[~low], side)] for side in ("left", "right"))
    parted = 0.5 * float(weight[~low] @ (smaller + not_greater))
    below = _of_classes(true[low], score[low], weight[low], lowest, middle)
    return parted + below + _of_classes(true[~low], score[~low], weight[~low], middle, beyond)
