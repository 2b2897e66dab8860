"""One run of a training: thresholds learned beside the trees, recorded for every iteration.

A run belongs to one training matrix. Iteration t is the state after t trees: the score f_t, and the thresholds that
belong to it. All adapters drive a run the same way:

    advance(f_t, t)    moves the thresholds to those of t, once
    gradient(f_t, t)   what the next tree is grown on; advances first if nobody has

How a round moves leaves and thresholds is decided by the update of the run: see `updates.py`.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ordinal_objectives import predictions
from ordinal_objectives.aliases import ArrayLike, FloatArray, IntArray, NDArray, RealArray
from ordinal_objectives.leaves.vector import Shifts
from ordinal_objectives.losses import RoundStatistics, RoundSums
from ordinal_objectives.metrics import ordinal_log_loss
from ordinal_objectives.ordinal_labels import OrdinalLabels
from ordinal_objectives.rows import CPU, Array, Device, Workers, checked_rows, distributed_pass, fail_together
from ordinal_objectives.rows.device import on_cpu
from ordinal_objectives.rows.soft_rows import judged_loss
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threshold_solver import ThresholdLearner, ThresholdRecord
from ordinal_objectives.utils.validation import check_codes, check_thresholds, check_total_weight, check_two_classes


def score_of_rows(score: ArrayLike) -> RealArray:
    """Return a framework's score; without rows, where XGBoost 3.4 passes the shape (0, 0), its shape is (0,)."""
    score = np.asarray(score)
    return score if score.size else score.reshape(0)


@dataclass(frozen=True)
class RowPlacement:
    """Device of the rows, their workers, and settings that must be the same on all workers.

    Attributes
    ----------
    device : Device
        Device that holds the rows' arrays.
    workers : Workers or None
        The workers of the training, each with its own rows; None if all rows are on this machine.
    grows_on_recorded : bool
        Whether trees grow on the recorded scores: not where the framework drops trees for a round, as dart does.
    """

    device: Device = field(default_factory=CPU)
    workers: Workers | None = None
    grows_on_recorded: bool = True


class Update:
    """How the rounds of one run move leaves and thresholds.

    An update defines four things: what the rows carry (``shifts``), how the tree's leaves are valued
    (:meth:`gradients`, and in :meth:`take` where they are renewed), what is summed for a step, and how the thresholds
    are solved (both in :meth:`take`). The other methods begin a run and return its results. This one takes the
    framework's trees and scores, and no step.

    Attributes
    ----------
    follows : bool
        Whether the model's own score is followed beside the framework's, over the newest tree's leaves.
    renews : bool
        Whether leaves are renewed.
    shifts : Shifts or None
        How thresholds move with x, or None if they do not. Rows have a score for each threshold where they do.
    leaf_values : list of ndarray of float64, shape (n_leaves,)
        Renewed values of every tree of the run; empty where leaves are not renewed.
    in_doubles : bool
        Whether scores for each threshold must be float64.
    score_of_threshold : ndarray of int32, shape (n_classes - 1,), or None
        Which score each threshold has, where neighbours share one.
    columns : array of shape (n_samples, 2 (n_classes - 1)), or None
        Filled by the passes that trees are grown on, and no others, with the gradients of all thresholds and the
        Hessians.
    """

    follows = renews = False
    shifts: Shifts | None = None
    in_doubles = False
    score_of_threshold: NDArray[np.int32] | None = None
    columns: Array = None

    def __init__(self) -> None:
        self.leaf_values: list[FloatArray] = []

    def begin(self, run: TrainingRun, previous: ThresholdRecord | None) -> None:
        """Restore the state of a model that is continued, beside its thresholds."""

    def start(self, run: TrainingRun, raw_prediction: Array, iteration: int) -> Array:
        """Return the training rows' scores before the first tree of the run, given the framework's."""
        return raw_prediction

    def take(self, run: TrainingRun, raw_prediction: Array, iteration: int) -> Array:
        """Take the step of an iteration; return the training rows' scores after it, given the framework's."""
        run.forget()
        return raw_prediction

    def gradients(self, run: TrainingRun, statistics: RoundStatistics) -> tuple[RealArray, RealArray]:
        """Return the gradient and the Hessian that the framework values the next tree's leaves by."""
        return statistics.gradient, statistics.hessian

    def score_of(self, matrix: object, raw_prediction: Array) -> Array:
        """Return the model's score of a matrix from the framework's. Where none is followed, the matrix may be None."""
        return raw_prediction

    def kept_in(self, record: ThresholdRecord) -> ThresholdRecord:
        """Return a record of thresholds and losses with what the update keeps beside them."""
        return record


class _EvaluationSet(NamedTuple):
    """Rows of an evaluation set, and the labels and weights that they were read with."""

    codes: IntArray | OrdinalLabels
    weight: RealArray | None
    rows: Any

    def has(self, label: ArrayLike, weight: ArrayLike | None) -> bool:
        is_soft = isinstance(self.codes, OrdinalLabels) or isinstance(label, OrdinalLabels)
        same = self.codes is label if is_soft else np.array_equal(self.codes, label)
        if self.weight is None or weight is None:
            return self.weight is weight and same
        return np.array_equal(self.weight, weight) and same


class TrainingRun:
    """State of one run.

    Parameters
    ----------
    spec : OrdinalSpec
        Loss, curvature, and the thresholds of the first iteration; None computes them from the class shares (thesis,
        eq. 3.5).
    y : array-like of int, or OrdinalLabels, shape (n_samples,)
        Class codes of the training rows.
    n_classes : int
        Number of classes K.
    sample_weight : array-like of float, shape (n_samples,), or None
    update : Update
        How a round moves leaves and thresholds; it belongs to this run only.
    previous : ThresholdRecord or None
        Record of the model that is continued: the run starts at its last thresholds, and its history precedes that of
        the run.
    placement : RowPlacement or None, default=None
        Device and workers of the rows; None for the memory of this machine.

    Attributes
    ----------
    rows : RowPass or MarginPass
        Pass over the training rows, with one score each, or with shifts one for every threshold.
    learner : ThresholdLearner
    diagnostics : Diagnostics
        Counters.
    newest : RoundStatistics or None
        The pass at the newest score and thresholds; None after they change or the next tree reuses its arrays.
    first_iteration : int
        Iteration at which the run began: 0, or that of the model it continues.
    history : list of ndarray
        Thresholds of every iteration so far.
    training_loss : list of float
        Weighted mean loss of every iteration so far; among several workers, NaN for the newest until it is asked for.
    n_grown : int
        Number of trees that gradients were asked for.
    """

    def __init__(
        self,
        spec: OrdinalSpec,
        y: ArrayLike,
        n_classes: int,
        sample_weight: ArrayLike | None = None,
        *,
        update: Update,
        previous: ThresholdRecord | None = None,
        placement: RowPlacement | None = None,
    ) -> None:
        self.spec, self.update = spec, update
        self.placement = placement = placement or RowPlacement()
        # Freed with the first tree.
        self._labels: tuple[ArrayLike, int, ArrayLike | None] | None = (y, n_classes, sample_weight)
        self.rows = rows = self._pass_over(y, n_classes, sample_weight)
        check_total_weight(rows.class_weights)
        check_two_classes(rows.class_weights, name="the training labels")
        self.first_iteration = 0 if previous is None else previous.n_iterations
        start = spec.thresholds if previous is None else previous.at(self.first_iteration)
        self._given_start = start is not None
        ordered = update.shifts is None
        if start is not None:
            start = check_thresholds(start, n_classes, ordered=spec.loss.ordered and ordered).copy()
        self.learner = ThresholdLearner(spec, rows.class_weights, start, ordered=ordered)
        self.diagnostics = self.learner.diagnostics
        self.newest: Any = None
        update.begin(self, previous)
        self.history: list[FloatArray] = previous.thresholds[:-1] if previous else []
        self.training_loss: list[float] = previous.training_loss[:-1] if previous else []
        self.n_grown = 0
        self._sets: weakref.WeakKeyDictionary[object, _EvaluationSet] = weakref.WeakKeyDictionary()
        self._recorded_loss: float | None = None  # the sum of the newest record of this run

    @property
    def thresholds(self) -> FloatArray:
        """The newest thresholds, float64 (n_classes - 1,)."""
        return self.learner.thresholds

    def gradient(self, raw_prediction: ArrayLike, iteration: int) -> tuple[RealArray, RealArray]:
        """Return gradient and Hessian, float32 (n_samples,) or a column for each output, of the next tree.

        ``raw_prediction`` is the framework's score after ``iteration`` trees. A host that drops trees (dart) asks at
        the score without them, and its loss is then not the one recorded for the iteration. The arrays are reused by
        the next call.
        """
        self.advance(raw_prediction, iteration)
        self.n_grown = iteration + 1 - self.first_iteration
        if self.update.follows:
            # Kept until the tree is grown: the step is taken from the same sums as the tree.
            return self.update.gradients(self, self.newest)
        statistics = self.newest
        if statistics is None or not self.placement.grows_on_recorded:
            statistics = self.evaluate(self.update.score_of(None, raw_prediction), self.thresholds)
        self.newest = None
        return self.update.gradients(self, statistics)

    def advance(self, raw_prediction: ArrayLike, iteration: int) -> None:
        """Learn the thresholds of ``iteration`` from its score, unless that is done already.

        The loss is evaluated with them; that pass is also the one the next tree is grown on.
        """
        if iteration < len(self.history):
            return
        if iteration > self.first_iteration:
            score = self.update.take(self, raw_prediction, iteration)
        else:
            score = self.update.start(self, raw_prediction, iteration)
            self._labels = None
            self._fit_start(score)
        self._record(score)

    def refit_thresholds(self, raw_prediction: ArrayLike, iteration: int) -> None:
        """Fit the thresholds of ``iteration`` to its score, where earlier ones belong to other scores."""
        if iteration < len(self.history):
            return
        self.newest = None
        score = self.update.start(self, raw_prediction, iteration)
        if self.spec.learns:
            self._fit(score)
        self._record(score)

    # What updates read and change

    def read_again(self) -> None:
        """Make the pass over the rows anew, before the first tree: the update needs another one now."""
        assert self._labels is not None
        self.rows = self._pass_over(*self._labels)

    def reorder(self, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        """Take the training rows in another order, that of the labels and of the scores from now on."""
        self.rows = self._pass_over(y, self.rows.n_classes, sample_weight)
        self.newest = None

    def evaluate(self, scores: Array, thresholds: FloatArray) -> RoundStatistics:
        """Return the pass at scores and thresholds that a tree is grown on, the newest; what it clipped is counted."""
        columns = {} if self.update.columns is None else {"columns": self.update.columns}
        statistics: RoundStatistics = self.rows(scores, thresholds, self.spec.hessian, **columns)
        if (sums := statistics.sums).n_clipped or sums.n_floored:
            self.diagnostics.add(n_clipped=sums.n_clipped, n_floored=sums.n_floored)
        self.newest = statistics
        return statistics

    def step_thresholds(self, scores: Array, now: RoundStatistics | None = None) -> None:
        """Take one conditional Newton step on the thresholds, given the training rows' scores.

        Parameters
        ----------
        scores : array
            As the rows' pass takes them.
        now : RoundStatistics or None
            The pass at these scores and the newest thresholds with the learner's curvature, if it is known.
        """
        learner = self.learner
        if now is None:
            wanted = {"want_loss": learner.newton_may_rise}
            wanted |= {} if self.update.columns is None else {"want_rows": False}
            now = self.rows(scores, learner.thresholds, learner.step_hessian, **wanted)
        self.newest = None

        def loss_at(thresholds: FloatArray) -> float:
            # The last trial is the accepted one, unless all are rejected; its pass is what the next tree needs.
            return self.evaluate(scores, thresholds).sums.loss

        if not learner.newton(now, loss_at, self.rows.highest_loss):
            self.newest = None

    def forget(self) -> None:
        """Forget the newest pass: scores or thresholds have changed."""
        self.newest = None

    # What others ask of a run

    def has_labels(self, label: ArrayLike) -> bool:
        """Tell whether these are the labels of the training rows."""
        return np.array_equal(self.rows.y, np.asarray(label))

    def mean_loss_of(
        self, matrix: object, raw_prediction: RealArray, label: ArrayLike, weight: ArrayLike | None
    ) -> float:
        """Return the weighted mean loss of an evaluation set, at the framework's score and the newest thresholds."""
        score = self.update.score_of(matrix, raw_prediction)
        known = self._sets.get(matrix)
        if known is None or not known.has(label, weight):  # read once, and again if labels or weights change
            known = self._sets[matrix] = self._read(label, weight)
        rows = known.rows
        if score.ndim == 2 and self.update.shifts is None:  # there are rows of new groups
            proba = predictions.proba(self.spec.loss, score, self.thresholds)
            return ordinal_log_loss(known.codes, proba, sample_weight=known.weight)
        return judged_loss(rows, score, self.thresholds, self.spec.hessian) / float(rows.total_weight)

    def proba_of(self, matrix: object, raw_prediction: RealArray) -> FloatArray:
        """Return class probabilities of any matrix, (n_samples, n_classes), at the framework's score."""
        scores = on_cpu(self.update.score_of(matrix, raw_prediction)).astype(np.float64)
        if self.update.score_of_threshold is not None:
            scores = scores[:, self.update.score_of_threshold]
        return predictions.proba(self.spec.loss, scores, self.thresholds)

    def newest_loss(self) -> float:
        """Return the weighted mean loss of the training rows in the newest iteration; called by all workers."""
        self._collect()
        return self.training_loss[-1]

    def record(self, *, by_all: bool = True) -> ThresholdRecord:
        """Return a record of the run as it is now; called by all workers, or by one that leaves the newest loss out."""
        if by_all:
            self._collect()
        found = list(self.history), list(self.training_loss), self.diagnostics.as_dict()
        return self.update.kept_in(ThresholdRecord(self._decided, *found))

    @cached_property
    def _decided(self) -> OrdinalSpec:
        return self.spec.decided(self.update.shifts)

    def _pass_over(self, y: ArrayLike, n_classes: int, weight: ArrayLike | None) -> Any:
        """Return the pass over some rows, for steps and for evaluation."""
        device, workers, given = self.placement.device, self.placement.workers, (self.spec.loss, y, n_classes, weight)
        if self.update.shifts is None:
            return distributed_pass(device.row_pass, workers, *given)
        shared = self.update.score_of_threshold
        options = {} if shared is None else {"score_of": shared}
        return distributed_pass(device.margin_pass, workers, *given, in_doubles=self.update.in_doubles, **options)

    def _read(self, label: ArrayLike, weight: ArrayLike | None) -> _EvaluationSet:
        """Return the rows of an evaluation set; raise ValueError for labels that are no codes, and weights of 0."""
        workers, name, n_classes = self.placement.workers, "an evaluation set", self.rows.n_classes
        part = workers is not None
        codes: Any = label
        if not isinstance(label, OrdinalLabels):
            codes = fail_together(workers, lambda: check_codes(np.array(label), n_classes, name=name, part=part))
        weight = None if weight is None else np.array(weight)
        if not part:
            check_total_weight(weight, name=f"the weight of {name}")
        rows = self._pass_over(codes, n_classes, weight)
        if part:
            check_total_weight(rows.class_weights, name=f"the weight of {name}")
        return _EvaluationSet(codes, weight, rows)

    def _record(self, score: Array) -> None:
        self.training_loss.append(float("nan"))  # until the sums are known
        waits = self.placement.workers is not None and not self.update.follows
        # Once an iteration is recorded, a step looks at the scores before the record does: they are known to be sound.
        if waits and self.newest is None and len(self.history) > self.first_iteration and self.spec.learns:
            self.newest = self.rows.deferred(self._note_sums, score, self.thresholds, self.spec.hessian)
        else:
            self._note_loss((self.newest or self.evaluate(score, self.learner.thresholds)).sums.loss)
        self.history.append(self.learner.thresholds)

    def _note_sums(self, sums: RoundSums) -> None:
        """Count and write what the pass of the newest record summed up."""
        self.diagnostics.add(n_clipped=sums.n_clipped, n_floored=sums.n_floored)
        self._note_loss(sums.loss)

    def _note_loss(self, loss: float) -> None:
        """Write the loss sum of the newest record."""
        self.training_loss[-1] = loss / self.rows.total_weight
        before = self._recorded_loss
        if before is not None and loss > self.rows.highest_loss(before, checked_rows.MOST_ROUNDING):
            self.diagnostics.add(n_raised=1)
        self._recorded_loss = loss

    def _collect(self) -> None:
        """Bring the sums of the newest record, if they are still to be sent."""
        if self.placement.workers is not None:
            self.rows.collect()

    def _fit_start(self, score: Array) -> None:
        """Fit the thresholds to scores that do not start at zero (an offset, a model continued)."""
        if self._given_start or not self.spec.learns:
            return
        middle = self._middle_of(score)
        if middle is not None:
            # From a start far away, steps would not converge where the loss is flat or steep.
            self.learner.set_thresholds(self.thresholds + middle)
            self._fit(score)

    def _middle_of(self, score: Array) -> float | None:
        """Return the median of the training scores, or the mean of the workers' medians; None if all are 0."""
        n_not_zero, middle = self.placement.device.middle(score)
        workers = self.placement.workers
        if workers is None:
            return middle if n_not_zero else None
        size = float(np.prod(score.shape))
        n_of_all, n, total = workers.sum(np.array([n_not_zero, size, size * middle]))
        return float(total / n) if n_of_all else None

    def _fit(self, score: Array) -> None:
        self.learner.settle(lambda: self.step_thresholds(score))
