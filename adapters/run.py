"""One run of a training: thresholds learned beside the trees, recorded for every iteration.

A run belongs to one training matrix. Iteration t is the state after t trees: the score f_t, and the thresholds that
belong to it. All adapters drive a run the same way:

    advance(f_t, t)    moves the thresholds to those of t, once
    gradient(f_t, t)   what the next tree is grown on; advances first if nobody has

How a round moves leaves and thresholds is decided by the update of the run: see `updates/`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters.evaluation import EvaluationSets
from ordinal_objectives.adapters.recognition import SeenScores
from ordinal_objectives.adapters.round_state import RoundState
from ordinal_objectives.adapters.row_placement import RowPlacement
from ordinal_objectives.adapters.updates import Update
from ordinal_objectives.adapters.updates.newton import step_thresholds
from ordinal_objectives.losses import RoundSums
from ordinal_objectives.rows.device import on_cpu
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threshold_solver import Diagnostics, ThresholdLearner, ThresholdRecord
from ordinal_objectives.utils.validation import check_thresholds, check_total_weight, check_two_classes


def score_of_rows(score: ArrayLike) -> NDArray[Any]:
    """Return a framework's score; without rows, where XGBoost 3.4 passes the shape (0, 0), its shape is (0,)."""
    score = np.asarray(score)
    return score if score.size else score.reshape(0)


class TrainingRun:
    """State of one run.

    Parameters
    ----------
    spec : OrdinalSpec
        Loss, curvature, and the thresholds of the first iteration; None computes them from the class shares (thesis,
        eq. 3.5).
    y : array-like of int, shape (n_samples,)
        Class codes of the training rows.
    n_classes : int
        Number of classes K.
    sample_weight : array-like of float, shape (n_samples,), or None
    update : Update
        How a round moves leaves and thresholds; it belongs to this run alone.
    previous : ThresholdRecord or None
        Record of the model that is continued: the run starts at its last thresholds, and its history precedes that of
        the run.
    placement : RowPlacement or None, default=None
        Device and workers of the rows; None for the memory of this machine.

    Attributes
    ----------
    first_iteration : int
        Iteration at which the run began: 0, or that of the model it continues.
    history : list of ndarray
        Thresholds of every iteration so far.
    training_loss : list of float
        Weighted mean loss of every iteration so far; among several workers, NaN for the newest until it is asked for.
    seen : SeenScores
        What the trees were grown on.
    """

    def __init__(
        self,
        spec: OrdinalSpec,
        y: ArrayLike,
        n_classes: int,
        sample_weight: ArrayLike | None = None,
        *,
        update: Update[Any],
        previous: ThresholdRecord | None = None,
        placement: RowPlacement | None = None,
    ) -> None:
        self.spec, self.update = spec, update
        self.placement = placement = placement or RowPlacement()
        rows = update.rows_of(placement, spec.loss, y, n_classes, sample_weight)
        check_total_weight(rows.class_weights)
        check_two_classes(rows.class_weights, name="the training labels")
        self.first_iteration = 0 if previous is None else previous.n_iterations
        start = spec.thresholds if previous is None else previous.at(self.first_iteration)
        self._given_start = start is not None
        ordered = update.shifts is None
        if start is not None:
            start = check_thresholds(start, n_classes, ordered=spec.loss.ordered and ordered).copy()
        learner = ThresholdLearner(spec.loss, rows.class_weights, start, ordered=ordered)
        self._state = RoundState(spec, (y, n_classes, sample_weight), rows, learner, placement)
        update.begin(self._state, previous)
        self.history: list[NDArray[np.float64]] = previous.thresholds[:-1] if previous else []
        self.training_loss: list[float] = previous.training_loss[:-1] if previous else []
        self.seen = SeenScores(self.first_iteration)
        # No cycle: the rows of a training that is gone are freed at once, on a GPU too.
        rows_of = partial(update.rows_of, placement, spec.loss)
        self._sets = EvaluationSets(n_classes, rows_of, placement.workers)
        self._recorded_loss: float | None = None  # the sum of the newest record of this run

    @property
    def thresholds(self) -> NDArray[np.float64]:
        """The newest thresholds, float64 (n_classes - 1,)."""
        return self._state.thresholds

    @property
    def diagnostics(self) -> Diagnostics:
        """Counters."""
        return self._state.diagnostics

    def gradient(self, raw_prediction: ArrayLike, iteration: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return gradient and Hessian, float32 (n_samples,) or a column for each output, of the next tree.

        ``raw_prediction`` is the framework's score after ``iteration`` trees. A host that drops trees (dart) asks at
        the score without them, and its loss is then not the one recorded for the iteration. The arrays are reused by
        the next call.
        """
        self.advance(raw_prediction, iteration)
        state = self._state
        if self.update.follows:
            # Kept until the tree is grown: the step is taken from the same sums as the tree.
            return self.update.gradients(state, state.now())
        self.seen.note_tree(raw_prediction, iteration)
        recorded = self.placement.grows_on_recorded
        if recorded is None:
            recorded = self.seen.grows_on_recorded()
        statistics = state.newest
        if statistics is None or not recorded:
            statistics = state.evaluate(self.update.score_of(None, raw_prediction), self.thresholds)
        state.forget()
        return self.update.gradients(state, statistics)

    def advance(self, raw_prediction: ArrayLike, iteration: int) -> None:
        """Learn the thresholds of ``iteration`` from its score, unless that is done already.

        The loss is evaluated with them; that pass is also the one the next tree is grown on.
        """
        if iteration < len(self.history):
            return
        if iteration > self.first_iteration:
            score = self.update.take(self._state, raw_prediction, iteration)
        else:
            score = self.update.start(self._state, raw_prediction, iteration)
            self._state.begun()
            self._fit_start(score)
        self._record(raw_prediction, score)

    def refit_thresholds(self, raw_prediction: ArrayLike, iteration: int) -> None:
        """Fit the thresholds of ``iteration`` to its score, where earlier ones belong to other scores."""
        if iteration < len(self.history):
            return
        self._state.forget()
        score = self.update.start(self._state, raw_prediction, iteration)
        if self._learns:
            self._fit(score)
        self._record(raw_prediction, score)

    def forget_loss(self) -> None:
        """Let the newest record have no loss: its score was not that of the iteration."""
        self.training_loss[-1] = float("nan")

    def has_labels(self, label: ArrayLike) -> bool:
        """Tell whether these are the labels of the training rows."""
        return np.array_equal(self._state.rows.y, np.asarray(label))

    def mean_loss_of(self, matrix: Any, raw_prediction: NDArray[Any], label: Any, weight: Any) -> float:
        """Return the weighted mean loss of an evaluation set, at the framework's score and the newest thresholds."""
        score = self.update.score_of(matrix, raw_prediction)
        rows = self._sets.rows(matrix, label, weight)
        if self.update.shifts is None:
            loss = rows(score, self.thresholds, self.spec.hessian).loss
        else:
            loss = rows.loss_of_prediction(score, self.thresholds)
        mean: float = loss / rows.total_weight
        return mean

    def proba_of(self, matrix: Any, raw_prediction: NDArray[Any]) -> NDArray[np.float64]:
        """Return class probabilities of any matrix, (n_samples, n_classes), at the framework's score."""
        score, loss = on_cpu(self.update.score_of(matrix, raw_prediction)), self.spec.loss
        if self.update.shifts is None:
            return loss.predict_proba(score.astype(np.float64), self.thresholds)
        return loss.margin_proba(self.thresholds - score)

    def newest_loss(self) -> float:
        """Return the weighted mean loss of the training rows in the newest iteration; called by all workers."""
        self._collect()
        return self.training_loss[-1]

    def record(self, *, by_all: bool = True) -> ThresholdRecord:
        """Return a record of the run as it is now; called by all workers, or by one that leaves the newest loss out."""
        if by_all:
            self._collect()
        spec = self.spec
        record = ThresholdRecord.of(
            spec.loss, spec.hessian, spec.threshold_update, self.history, self.training_loss, self.diagnostics.as_dict()
        )
        return replace(record, **self.update.kept())

    @property
    def _learns(self) -> bool:
        return self.spec.threshold_update != "fixed"

    def _record(self, raw_prediction: ArrayLike, score: Any) -> None:
        state = self._state
        self.seen.note_record(raw_prediction)
        self.training_loss.append(float("nan"))  # until the sums are known
        # Once an iteration is recorded, a step looks at the scores before the record does: they are known to be sound.
        under_way = len(self.history) > self.first_iteration and self._learns
        if state.newest is None and self.placement.defers_loss and under_way and not self.update.follows:
            state.keep(state.rows.deferred(self._note_sums, score, self.thresholds, state.hessian))
        else:
            newest = state.newest or state.keep(state.evaluate(score, self.thresholds))
            self._note_loss(newest.loss)
        self.history.append(self.thresholds)

    def _note_sums(self, sums: RoundSums) -> None:
        """Take over what the pass of the newest record found."""
        self.diagnostics.add(n_clipped=sums.n_clipped, n_floored=sums.n_floored)
        self._note_loss(sums.loss)

    def _note_loss(self, loss: float) -> None:
        """Write the loss sum of the newest record."""
        rows = self._state.rows
        self.training_loss[-1] = loss / rows.total_weight
        if self._recorded_loss is not None:
            self.diagnostics.add(n_raised=int(rows.is_higher(loss, self._recorded_loss)))
        self._recorded_loss = loss

    def _collect(self) -> None:
        """Bring the sums of the newest record, if they are still to be sent."""
        if self.placement.workers is not None:
            self._state.rows.collect()

    def _fit_start(self, score: Any) -> None:
        """Fit the thresholds to scores that do not start at zero (an offset, a model continued)."""
        if self._given_start or not self._learns:
            return
        middle = self._middle_of(score)
        if middle is not None:
            # From a start far away, steps would not converge where the loss is flat or steep.
            self._state.learner.set_thresholds(self.thresholds + middle)
            self._fit(score)

    def _middle_of(self, score: Any) -> float | None:
        """Return the median of the training scores, or the mean of the workers' medians; None if all are 0."""
        n_not_zero, middle = self.placement.device.middle(score)
        workers = self.placement.workers
        if workers is None:
            return middle if n_not_zero else None
        size = float(np.prod(score.shape))
        n_of_all, n, total = workers.sum(np.array([n_not_zero, size, size * middle]))
        return float(total / n) if n_of_all else None

    def _fit(self, score: Any) -> None:
        self._state.learner.settle(lambda: step_thresholds(self._state, score))
