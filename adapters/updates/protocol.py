"""Interface of an update."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters.round_state import RoundState
from ordinal_objectives.adapters.row_placement import RowPlacement
from ordinal_objectives.leaves.shifts import Shifts
from ordinal_objectives.losses import OrdinalLoss, RoundStatistics
from ordinal_objectives.rows import Pass
from ordinal_objectives.threshold_solver import ThresholdRecord


class Update(Protocol[Pass]):
    """How the rounds of one run move leaves and thresholds.

    An update defines four things: what the rows carry (:meth:`rows_of`), how the tree's leaves are valued
    (:meth:`gradients`, and in :meth:`take` where they are renewed), what is summed for a step, and how the thresholds
    are solved (both in :meth:`take`). The other methods begin a run and return its results.

    Attributes
    ----------
    follows : bool
        Whether the model's own score is followed beside the framework's, over the newest tree's leaves.
    renews : bool
        Whether leaves are renewed.
    leaf_values : list of ndarray of float64, shape (n_leaves,)
        Renewed values of every tree of the run; empty where leaves are not renewed.
    """

    follows: bool
    renews: bool
    leaf_values: list[NDArray[np.float64]]

    @property
    def shifts(self) -> Shifts | None:
        """How thresholds move with x, or None if they do not. Rows have a score for each threshold where they do."""
        ...

    def rows_of(self, placement: RowPlacement, loss: OrdinalLoss, y: ArrayLike, n_classes: int, weight: Any) -> Pass:
        """Return the pass over some rows, for steps and for evaluation."""
        ...

    def begin(self, state: RoundState[Pass], previous: ThresholdRecord | None) -> None:
        """Take over the state of a model that is continued."""
        ...

    def start(self, state: RoundState[Pass], raw_prediction: Any, iteration: int) -> Any:
        """Return the training rows' scores before the first tree of the run, given the framework's."""
        ...

    def take(self, state: RoundState[Pass], raw_prediction: Any, iteration: int) -> Any:
        """Take the step of an iteration; return the training rows' scores after it, given the framework's."""
        ...

    def gradients(self, state: RoundState[Pass], statistics: RoundStatistics) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the gradient and the Hessian that the framework values the next tree's leaves by."""
        ...

    def score_of(self, matrix: Any, raw_prediction: Any) -> Any:
        """Return the model's score of a matrix from the framework's. Where none is followed, the matrix may be None."""
        ...

    def kept(self) -> dict[str, Any]:
        """Return what the record holds beside thresholds and losses, by its fields."""
        ...
