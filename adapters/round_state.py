"""State that the steps of a training read and change: rows, thresholds, and the newest pass over the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.adapters.row_placement import RowPlacement
from ordinal_objectives.losses import RoundStatistics
from ordinal_objectives.rows import Pass
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threshold_solver import Diagnostics, ThresholdLearner


class RoundState(Generic[Pass]):
    """State of a training in one round.

    Parameters
    ----------
    spec : OrdinalSpec
    labels : tuple of (y, n_classes, sample_weight)
        Of the training rows.
    rows : RowPass or MarginPass
        Of the training rows.
    learner : ThresholdLearner
    placement : RowPlacement

    Attributes
    ----------
    newest : RoundStatistics or None
        The pass at the newest score and thresholds; None after they change or the next tree reuses its arrays.
    """

    def __init__(
        self,
        spec: OrdinalSpec,
        labels: tuple[Any, int, Any],
        rows: Pass,
        learner: ThresholdLearner,
        placement: RowPlacement,
    ) -> None:
        self.loss, self.hessian = spec.loss, spec.hessian
        self._labels: tuple[Any, int, Any] | None = labels
        self.rows, self.learner, self.placement = rows, learner, placement
        self.newest: RoundStatistics | None = None
        self._columns: Any = None

    @property
    def thresholds(self) -> NDArray[np.float64]:
        """The newest thresholds, float64 (n_classes - 1,)."""
        return self.learner.thresholds

    @property
    def diagnostics(self) -> Diagnostics:
        """Counters."""
        return self.learner.diagnostics

    def read_again(self, rows_of: Callable[..., Pass]) -> None:
        """Pass over the same rows in another way, before the first tree."""
        assert self._labels is not None
        self.rows = rows_of(self.placement, self.loss, *self._labels)

    def begun(self) -> None:
        """Free the labels and weights that the rows were read from."""
        self._labels = None

    def fill(self, columns: Any) -> None:
        """Make the passes that trees are grown on fill columns, (n_samples, 2 (n_classes - 1)), and no others."""
        self._columns = columns

    def evaluate(self, scores: Any, thresholds: NDArray[np.float64]) -> RoundStatistics:
        """Return the pass at scores and thresholds that a tree is grown on; what it clipped and floored is counted."""
        columns: dict[str, Any] = {} if self._columns is None else {"columns": self._columns}
        statistics = self.rows(scores, thresholds, self.hessian, **columns)
        self.diagnostics.add(n_clipped=statistics.n_clipped, n_floored=statistics.n_floored)
        return statistics

    def sums_for_step(self, scores: Any) -> RoundStatistics:
        """Return the pass at scores and the newest thresholds that a conditional step is taken from."""
        learner = self.learner
        options: dict[str, Any] = {"want_loss": learner.newton_may_rise}
        if self._columns is not None:
            options["want_rows"] = False
        return self.rows(scores, self.thresholds, learner.step_hessian, **options)

    def keep(self, statistics: RoundStatistics) -> RoundStatistics:
        """Keep a pass as the newest, and return it."""
        self.newest = statistics
        return statistics

    def forget(self) -> None:
        """Forget the newest pass: scores or thresholds have changed."""
        self.newest = None

    def now(self) -> RoundStatistics:
        """Return the newest pass.

        Raises
        ------
        RuntimeError
            If there is none yet.
        """
        if self.newest is None:
            raise RuntimeError("a run must be advanced to its first iteration before a tree is grown on it")
        return self.newest

    def highest_now(self) -> float:
        """Return the loss above which a step from the newest pass is shortened."""
        return self.rows.highest_loss(self.now().loss)
