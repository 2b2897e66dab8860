"""Thresholds of one training run: learned beside the trees, recorded for every iteration.

A run belongs to one training matrix. Iteration t is the state after t trees: the score f_t, and the
thresholds that belong to it. Both adapters drive a run the same way:

    advance(f_t, t)    learns the thresholds of t, once
    gradient(f_t, t)   what the next tree is grown on; advances first if nobody has
"""

from __future__ import annotations

import weakref
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters.evaluation import EvaluatedRows
from ordinal_objectives.losses import OrdinalLoss, RoundStatistics, RoundSums
from ordinal_objectives.rows import CPU, Device, Workers, parted
from ordinal_objectives.rows.device import on_cpu
from ordinal_objectives.threshold_solver import Diagnostics, ThresholdLearner, ThresholdRecord
from ordinal_objectives.validation import check_thresholds, check_total_weight, check_two_classes

# Given scores that do not start at zero, the thresholds that fit them are found before the first tree.
_MAX_START_STEPS = 100
_START_TOLERANCE = 1e-10
# So many rows of a score are kept, to know it again.
_SAMPLE = 1024
# Relative difference of a score that was added up again in another order.
SAME_SCORE = 1e-4


def sample_of(score: Any) -> NDArray[Any]:
    """Return a copy of some 1,000 entries of a score of any device, evenly spread."""
    return np.array(on_cpu(score[:: score.shape[0] // _SAMPLE + 1]))


def score_of_rows(score: ArrayLike) -> NDArray[Any]:
    """Return a framework's score; that of no rows, which XGBoost 3.4 gives the shape (0, 0), has the shape (0,)."""
    score = np.asarray(score)
    return score if score.size else score.reshape(0)


class NewtonRun:
    """State of one training run.

    Parameters
    ----------
    loss : OrdinalLoss
        Loss and link.
    y : array-like of int, shape (n_samples,)
        Class codes of the training rows.
    n_classes : int
        Number of classes K.
    sample_weight : array-like of float, shape (n_samples,), or None
    hessian : {"majorized", "exact"}
        Curvature given to the framework.
    threshold_update : {"newton", "fixed", "schur", "joint"}
        How thresholds move; the last two need :class:`.joint_run.JointRun`.
    start_thresholds : array-like of float, shape (n_classes - 1,), or None
        Thresholds of the first iteration; None computes them from the class shares (thesis, eq. 3.5).
    previous : ThresholdRecord or None
        Record of the model that is continued: its last thresholds are where this run starts, and its
        history comes first in this run's.
    device : Device, default=CPU()
        Where the rows' arrays are kept.
    workers : Workers or None, default=None
        Those who train together, each on its own rows; None if all rows are here.

    Attributes
    ----------
    first_iteration : int
        Iteration at which the run began: 0, or that of the model it continues.
    history : list of ndarray
        Thresholds of every iteration so far.
    training_loss : list of float
        Weighted mean loss of every iteration so far; among several workers, NaN for the newest until it is asked for.
    n_grown : int
        Number of trees that :meth:`gradient` was asked for.
    grown_at : int
        Iteration at which it was asked last.
    start_sample, grown_on : ndarray
        Entries of the score that the first and the newest of these trees were grown on; see :func:`sample_of`.
    """

    # Whether thresholds must stay in order.
    _keeps_order: ClassVar[bool] = True
    # Whether the next step reads the sums of a record. Where it does not, workers send them with that step's.
    _reads_sums: ClassVar[bool] = False

    def __init__(
        self,
        loss: OrdinalLoss,
        y: ArrayLike,
        n_classes: int,
        sample_weight: ArrayLike | None = None,
        *,
        hessian: str = "majorized",
        threshold_update: str = "newton",
        start_thresholds: ArrayLike | None = None,
        previous: ThresholdRecord | None = None,
        device: Device | None = None,
        workers: Workers | None = None,
    ) -> None:
        self.loss = loss
        self.hessian = hessian
        self.threshold_update = threshold_update
        self.device = CPU() if device is None else device
        self._workers = workers
        self._rows: Any = self._rows_of(y, n_classes, sample_weight)
        check_total_weight(self._rows.class_weights)
        check_two_classes(self._rows.class_weights, name="the training labels")
        self.first_iteration = 0 if previous is None else previous.n_iterations
        if previous is not None:
            start_thresholds = previous.at(self.first_iteration)
        self._given_start = start_thresholds is not None
        if start_thresholds is not None:
            ordered = loss.ordered and self._keeps_order
            start_thresholds = check_thresholds(start_thresholds, n_classes, ordered=ordered).copy()
        self._learner = ThresholdLearner(loss, self._rows.class_weights, start_thresholds, ordered=self._keeps_order)
        self.history: list[NDArray[np.float64]] = previous.thresholds[:-1] if previous else []
        self.training_loss: list[float] = previous.training_loss[:-1] if previous else []
        self._evaluated: RoundStatistics | None = None  # at the newest (score, thresholds)
        self._recorded_at: NDArray[Any] = np.empty(0)  # entries of the newest score
        self.n_grown = 0
        self.grown_at = self.first_iteration
        self.start_sample: NDArray[Any] = np.empty(0)
        self.grown_on: NDArray[Any] = np.empty(0)
        self._learns = threshold_update != "fixed"
        # Whether trees grow on the recorded scores, where workers must not find out one by one; None compares.
        self.grows_on_recorded: bool | None = None
        # Whether the loss of a record may wait for the next step's sums: all workers ask for the record at the end.
        self.defers_loss = False
        self._sets: weakref.WeakKeyDictionary[Any, EvaluatedRows] = weakref.WeakKeyDictionary()
        self._recorded_loss: float | None = None  # the sum of the newest record of this run

    @property
    def thresholds(self) -> NDArray[np.float64]:
        """The newest thresholds, float64 (n_classes - 1,)."""
        return self._learner.thresholds

    @property
    def diagnostics(self) -> Diagnostics:
        """Counters."""
        return self._learner.diagnostics

    def gradient(self, raw_prediction: ArrayLike, iteration: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return gradient and Hessian, float32 (n_samples,) each, for the tree after ``iteration`` trees.

        A host that drops trees (dart) asks at the score without them, and its loss is then not the one
        recorded for the iteration. The arrays are reused by the next call.
        """
        self.advance(raw_prediction, iteration)
        self.n_grown += 1
        self.grown_at = iteration
        self.grown_on = sample_of(raw_prediction)
        if self.n_grown == 1:
            self.start_sample = self.grown_on
        recorded = self.grows_on_recorded
        if recorded is None:
            recorded = np.array_equal(self.grown_on, self._recorded_at)
        if self._evaluated is None or not recorded:
            self._evaluated = self._evaluate(raw_prediction, self.thresholds)
        statistics, self._evaluated = self._evaluated, None
        return statistics.gradient, statistics.hessian

    def advance(self, raw_prediction: ArrayLike, iteration: int) -> None:
        """Learn the thresholds of ``iteration`` from its score, unless that is done already.

        The loss is evaluated with them; that pass is also the one the next tree is grown on.
        """
        if iteration < len(self.history):
            return
        self._evaluated = None
        if iteration == self.first_iteration:
            self._start(raw_prediction)
        elif self._learns:
            self._step(raw_prediction)
        self._record(raw_prediction)

    def settle(self, raw_prediction: ArrayLike, iteration: int) -> None:
        """Fit the thresholds of ``iteration`` to its score, where earlier ones belong to other scores."""
        if iteration < len(self.history):
            return
        self._evaluated = None
        if self._learns:
            self._fit(raw_prediction)
        self._record(raw_prediction)

    def has_labels(self, label: ArrayLike) -> bool:
        """Tell whether these are the labels of the training rows."""
        return np.array_equal(self._rows.y, np.asarray(label))

    def was_grown_on(self, raw_prediction: ArrayLike) -> bool:
        """Tell whether this is the score that the newest tree was grown on, up to the rounding of its sums."""
        return self.off_grown_on(raw_prediction) <= SAME_SCORE

    def off_grown_on(self, raw_prediction: ArrayLike) -> float:
        """Return how far a score is from that the newest tree was grown on, relative to the larger of the two."""
        sample = sample_of(raw_prediction)
        if sample.shape != self.grown_on.shape:
            return np.inf
        largest = max(float(np.abs(self.grown_on).max()), float(np.abs(sample).max()))
        return float(np.abs(sample - self.grown_on).max()) / (largest or 1.0)

    def starts_at(self, raw_prediction: ArrayLike) -> bool:
        """Tell whether this is the score that the first tree was grown on."""
        return np.array_equal(sample_of(raw_prediction), self.start_sample)

    def begins_again(self, raw_prediction: ArrayLike) -> bool:
        """Tell whether a score is that of the first tree again, though trees have changed it since."""
        return self.starts_at(raw_prediction) and not np.array_equal(self._recorded_at, self.start_sample)

    def score_of(self, matrix: Any, score: NDArray[Any]) -> NDArray[Any]:
        """Return the model's score of any matrix, given the framework's: here the same."""
        return score

    def mean_loss_of(self, matrix: Any, raw_prediction: NDArray[Any], label: Any, weight: Any) -> float:
        """Return the weighted mean loss of an evaluation set, at the framework's score and the newest thresholds."""
        kept = self._sets.get(matrix)
        score = self.score_of(matrix, raw_prediction)
        if kept is None or not kept.belong_to(label, weight):
            kept = self._sets[matrix] = EvaluatedRows(
                label, weight, self.thresholds.shape[0] + 1, self._rows_of, self._workers
            )
        mean: float = self._loss_of(kept.rows, score) / kept.rows.total_weight
        return mean

    def proba_of(self, matrix: Any, raw_prediction: NDArray[Any]) -> NDArray[np.float64]:
        """Return class probabilities of any matrix, (n_samples, n_classes), at the framework's score."""
        score = on_cpu(self.score_of(matrix, raw_prediction)).astype(np.float64)
        return self.loss.predict_proba(score, self.thresholds)

    def newest_loss(self) -> float:
        """Return the weighted mean loss of the training rows in the newest iteration; called by all workers."""
        self._collect()
        return self.training_loss[-1]

    def record(self) -> ThresholdRecord:
        """Return a record of the run as it is now; called by all workers."""
        self._collect()
        return ThresholdRecord.of(
            self.loss,
            self.hessian,
            self.threshold_update,
            self.history,
            self.training_loss,
            self.diagnostics.as_dict(),
        )

    def _rows_of(self, y: ArrayLike, n_classes: int, weight: Any) -> Any:
        """Return the pass over some rows that this run learns from and evaluates with."""
        return parted(self.device.row_pass, self._workers, self.loss, y, n_classes, weight)

    def _loss_of(self, rows: Any, score: Any) -> float:
        loss: float = rows(score, self.thresholds, self.hessian).loss
        return loss

    def _record(self, raw_prediction: ArrayLike) -> None:
        self._recorded_at = sample_of(raw_prediction)
        self.training_loss.append(float("nan"))  # until the sums are known
        # Once an iteration is recorded, a step looks at the scores before the record does: they are known to be sound.
        under_way = len(self.history) > self.first_iteration
        if self._evaluated is None and self.defers_loss and self._learns and under_way and not self._reads_sums:
            self._evaluated = self._rows.deferred(self._note_sums, raw_prediction, self.thresholds, self.hessian)
        else:
            if self._evaluated is None:
                self._evaluated = self._evaluate(raw_prediction, self.thresholds)
            self._note_loss(self._evaluated.loss)
        self.history.append(self.thresholds)

    def _note_sums(self, sums: RoundSums) -> None:
        """Take over what the pass of the newest record found."""
        self.diagnostics.add(n_clipped=sums.n_clipped, n_floored=sums.n_floored)
        self._note_loss(sums.loss)

    def _note_loss(self, loss: float) -> None:
        """Write the loss sum of the newest record."""
        self.training_loss[-1] = loss / self._rows.total_weight
        if self._recorded_loss is not None:
            self.diagnostics.add(n_raised=int(self._rows.is_higher(loss, self._recorded_loss)))
        self._recorded_loss = loss

    def _collect(self) -> None:
        """Bring the sums of the newest record, if they are still to be sent."""
        if self._workers is not None:
            self._rows.collect()

    def _start(self, raw_prediction: ArrayLike) -> None:
        """Fit the thresholds to scores that do not start at zero (an offset, a model continued)."""
        if self._given_start or not self._learns:
            return
        middle = self._middle_of(on_cpu(raw_prediction))
        if middle is not None:
            # From a start far away, steps would not get there where the loss is flat or steep.
            self._learner.thresholds = self.thresholds + middle
            self._fit(raw_prediction)

    def _middle_of(self, score: NDArray[Any]) -> float | None:
        """Return the median of the training scores, or the mean of the workers' medians; None if all are 0."""
        middle = float(np.median(score)) if score.any() else 0.0
        if self._workers is None:
            return middle if score.any() else None
        n_not_zero, n, total = self._workers.sum(np.array([np.count_nonzero(score), score.size, score.size * middle]))
        return float(total / n) if n_not_zero else None

    def _fit(self, raw_prediction: ArrayLike) -> None:
        for _ in range(_MAX_START_STEPS):
            before = self.thresholds
            self._step(raw_prediction)
            if np.abs(self.thresholds - before).max() <= _START_TOLERANCE * (1 + np.abs(before).max()):
                return

    def _step(self, raw_prediction: ArrayLike, now: RoundStatistics | None = None) -> None:
        """One conditional Newton step on the thresholds given the score, and what is known at it."""
        learner = self._learner
        if now is None:
            now = self._rows(raw_prediction, self.thresholds, learner.step_hessian, want_loss=learner.newton_may_rise)
        self._evaluated = None

        def loss_at(thresholds: NDArray[np.float64]) -> float:
            # The last trial is the accepted one, unless all are rejected; its pass is what the next tree needs.
            self._evaluated = self._evaluate(raw_prediction, thresholds)
            return self._evaluated.loss

        if not learner.newton(now, loss_at, self._rows.highest_loss):
            self._evaluated = None

    def _evaluate(self, raw_prediction: ArrayLike, thresholds: NDArray[np.float64]) -> RoundStatistics:
        statistics: RoundStatistics = self._rows(raw_prediction, thresholds, self.hessian)
        self.diagnostics.add(n_clipped=statistics.n_clipped, n_floored=statistics.n_floored)
        return statistics
