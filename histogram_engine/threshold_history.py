"""Thresholds after each tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass
class ThresholdHistory:
    """Thresholds of every iteration, and what was counted on the way.

    Attributes
    ----------
    thresholds : ndarray of float64, shape (n_iter + 1, n_classes - 1)
    diagnostics : dict of str to int
    """

    thresholds: NDArray[np.float64]
    diagnostics: dict[str, int]

    def at(self, iteration: int) -> NDArray[np.float64]:
        """Return the thresholds that belong to the score after ``iteration`` trees."""
        thresholds: NDArray[np.float64] = self.thresholds[iteration]
        return thresholds
