"""Thresholds that take one conditional Newton step a round; the framework's trees stay as they are.

"fixed" thresholds are the same without the step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters.round_state import RoundState
from ordinal_objectives.adapters.row_placement import RowPlacement
from ordinal_objectives.leaves.shifts import Shifts
from ordinal_objectives.losses import OrdinalLoss, RoundStatistics
from ordinal_objectives.rows import RowPass
from ordinal_objectives.threshold_solver import ThresholdRecord


def step_thresholds(state: RoundState[Any], scores: Any, now: RoundStatistics | None = None) -> None:
    """Take one conditional Newton step on the thresholds, given the training rows' scores.

    Parameters
    ----------
    state : RoundState
    scores : array
        As the rows' pass takes them.
    now : RoundStatistics or None
        The pass at these scores and the newest thresholds with the learner's curvature, if it is known.
    """
    now = state.sums_for_step(scores) if now is None else now
    state.forget()

    def loss_at(thresholds: NDArray[np.float64]) -> float:
        # The last trial is the accepted one, unless all are rejected; its pass is what the next tree needs.
        return state.keep(state.evaluate(scores, thresholds)).loss

    if not state.learner.newton(now, loss_at, state.rows.highest_loss):
        state.forget()


class NewtonUpdate:
    """The conditional step, given the framework's score.

    Parameters
    ----------
    learns : bool, default=True
        Whether thresholds move.
    """

    def __init__(self, *, learns: bool = True) -> None:
        self.shifts: Shifts | None = None
        self.follows = self.renews = False
        self.leaf_values: list[NDArray[np.float64]] = []
        self._learns = learns

    def rows_of(self, placement: RowPlacement, loss: OrdinalLoss, y: ArrayLike, n_classes: int, weight: Any) -> RowPass:
        """Return a pass over rows with one score each."""
        return placement.rows(loss, y, n_classes, weight)

    def begin(self, state: RoundState[RowPass], previous: ThresholdRecord | None) -> None:
        """Take over nothing: a model of one score has no state but its thresholds."""

    def start(self, state: RoundState[RowPass], raw_prediction: Any, iteration: int) -> Any:
        """Return the framework's score."""
        return raw_prediction

    def take(self, state: RoundState[RowPass], raw_prediction: Any, iteration: int) -> Any:
        """Take the step at the framework's score, and return it."""
        state.forget()
        if self._learns:
            step_thresholds(state, raw_prediction)
        return raw_prediction

    def gradients(self, state: RoundState[RowPass], statistics: RoundStatistics) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return those of the score."""
        return statistics.gradient, statistics.hessian

    def score_of(self, matrix: Any, raw_prediction: Any) -> Any:
        """Return the framework's score."""
        return raw_prediction

    def kept(self) -> dict[str, Any]:
        """Return nothing."""
        return {}
