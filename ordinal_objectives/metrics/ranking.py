"""Number of pairs of rows that a score puts in the right order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def concordant_weight(true: NDArray[Any], score: NDArray[Any], weight: NDArray[Any], lowest: int, beyond: int) -> float:
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
    below = concordant_weight(true[low], score[low], weight[low], lowest, middle)
    return parted + below + concordant_weight(true[~low], score[~low], weight[~low], middle, beyond)
