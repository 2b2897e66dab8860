"""Scores that a training was grown on, by which it is recognised."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.rows.device import on_cpu

# Number of rows of a score that are kept to recognise it.
_SAMPLE = 1024
# Relative difference of a score that is added up in another order.
SAME_SCORE = 1e-4


def sample_of(score: Any) -> NDArray[Any]:
    """Return a copy of some 1,000 entries of a score of any device, evenly spread."""
    return np.array(on_cpu(score[:: score.shape[0] // _SAMPLE + 1]))


class SeenScores:
    """Entries of the scores that a training has seen.

    Parameters
    ----------
    iteration : int
        Iteration at which the training began.

    Attributes
    ----------
    n_grown : int
        Number of trees that gradients were asked for.
    grown_at : int
        Iteration at which they were asked for last.
    """

    def __init__(self, iteration: int) -> None:
        self.n_grown = 0
        self.grown_at = iteration
        self._start: NDArray[Any] = np.empty(0)  # what the first tree was grown on
        self._grown_on: NDArray[Any] = np.empty(0)  # and the newest
        self._recorded: NDArray[Any] = np.empty(0)  # what the newest record was made at

    def note_tree(self, raw_prediction: ArrayLike, iteration: int) -> None:
        """Note the score that a tree is grown on."""
        self.n_grown += 1
        self.grown_at = iteration
        self._grown_on = sample_of(raw_prediction)
        if self.n_grown == 1:
            self._start = self._grown_on

    def note_record(self, raw_prediction: ArrayLike) -> None:
        """Note the score of a record."""
        self._recorded = sample_of(raw_prediction)

    def grows_on_recorded(self) -> bool:
        """Tell whether the newest tree grows on the recorded score; where trees are dropped (dart) it does not."""
        return np.array_equal(self._grown_on, self._recorded)

    def was_grown_on(self, raw_prediction: ArrayLike) -> bool:
        """Tell whether this is the score that the newest tree was grown on, up to the rounding of its sums."""
        return self.off_grown_on(raw_prediction) <= SAME_SCORE

    def off_grown_on(self, raw_prediction: ArrayLike) -> float:
        """Return how far a score is from that the newest tree was grown on, relative to the larger of the two."""
        sample = sample_of(raw_prediction)
        if sample.shape != self._grown_on.shape:
            return np.inf
        largest = max(float(np.abs(self._grown_on).max()), float(np.abs(sample).max()))
        return float(np.abs(sample - self._grown_on).max()) / (largest or 1.0)

    def starts_at(self, raw_prediction: ArrayLike) -> bool:
        """Tell whether this is the score that the first tree was grown on."""
        return np.array_equal(sample_of(raw_prediction), self._start)

    def begins_again(self, raw_prediction: ArrayLike) -> bool:
        """Tell whether a score is that of the first tree again, though trees have changed it since."""
        return self.starts_at(raw_prediction) and not np.array_equal(self._recorded, self._start)
