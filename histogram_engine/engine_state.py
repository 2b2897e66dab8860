"""State of a training of the engine: its rows in bins, their score, the thresholds, and the newest sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.histogram_engine.binning import bin_rows, fill, find_cuts, uneven
from ordinal_objectives.histogram_engine.labelled_rows import LabelledRows, RunStart
from ordinal_objectives.histogram_engine.leaf_step import LeafStep
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.sampling import Sample
from ordinal_objectives.histogram_engine.scores import OneScore, Scores, ShiftedScores
from ordinal_objectives.losses import RoundStatistics
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.threshold_solver import Diagnostics, ThresholdLearner
from ordinal_objectives.trees import Tree
from ordinal_objectives.utils.validation import check_two_classes

FloatArray = NDArray[np.float64]
Pass = TypeVar("Pass")
# The pass at a score and thresholds. It may fill the columns of the next tree.
Evaluate = Callable[[NDArray[Any], FloatArray], RoundStatistics]


def step_thresholds(learner: ThresholdLearner, row_pass: Any, score: NDArray[Any]) -> None:
    """Take one conditional Newton step of the thresholds, given the score."""

    def at(thresholds: FloatArray) -> RoundStatistics:
        now: RoundStatistics = row_pass(score, thresholds, learner.step_hessian)
        return now

    learner.newton(at(learner.thresholds), lambda thresholds: at(thresholds).loss, row_pass.highest_loss)


class EngineState(Generic[Pass]):
    """What a run and its criterion share.

    Parameters
    ----------
    parameters : BoostingParameters
    rows : LabelledRows
    start : RunStart
    seed : int
    n_threads : int or None

    Attributes
    ----------
    row_pass : RowStatistics or MarginStatistics
        Over all rows, whose scores are one for all thresholds or one for each.
    score : ndarray, shape (n_samples,) or (n_samples, n_classes - 1)
        That of the newest iteration.
    learner : ThresholdLearner
        The newest thresholds, and how they move.
    now : RoundStatistics
        Statistics of the newest pass, at the newest score and thresholds.
    engine : _core.Engine
        The rows in bins, and their columns.
    columns : ndarray of float32, shape (n_samples, width)
        Those that the criterion filled last.
    cuts : list of ndarray
        Between the bins.
    leaf_of_row : ndarray of int32, shape (n_samples,)
        Of the newest tree.
    """

    row_pass: Pass
    now: RoundStatistics
    columns: NDArray[np.float32]
    _count: int
    _factors: FloatArray | None = None

    def __init__(
        self, parameters: BoostingParameters, rows: LabelledRows, start: RunStart, *, seed: int, n_threads: int | None
    ) -> None:
        self.parameters, self.rows, self.start, self.n_threads = parameters, rows, start, effective_n_threads(n_threads)
        kind = OneScore if parameters.shifts is None else ShiftedScores
        self._scores: Scores = kind(parameters.spec.loss, n_threads)
        score = np.zeros(len(rows.y)) if start.score is None else start.score.copy()
        of_all: Any = self._scores.row_pass(rows.y, rows.n_classes, rows.sample_weight, score)
        self.row_pass = of_all
        check_two_classes(of_all.class_weights, name="the training labels")
        self._highest_loss: Callable[[float], float] = of_all.highest_loss
        self.score = self._scores.spread(of_all, score)
        self._next_score = np.empty_like(self.score)  # swapped with the score when a step is taken
        ordered = parameters.shifts is None
        self.learner = ThresholdLearner(parameters.spec.loss, of_all.class_weights, start.thresholds, ordered=ordered)
        if start.thresholds is None and start.score is not None and parameters.spec.learns:
            self.learner.set_thresholds(self.thresholds + np.median(start.score))
            self.learner.settle(self._step_thresholds)
        self._seed = seed
        self.cuts = self._find_cuts(rows.sample_weight) if start.cuts is None else start.cuts
        options = {"in_float64": uneven(rows.sample_weight), **parameters.of_categories(rows.categories)}
        self.engine = bin_rows(rows.X, self.cuts, self.n_threads, **options)
        self.leaf_of_row = np.empty(len(rows.y), np.int32)

    @property
    def thresholds(self) -> FloatArray:
        """The newest thresholds, float64 (n_classes - 1,)."""
        return self.learner.thresholds

    @property
    def diagnostics(self) -> Diagnostics:
        """Counters."""
        return self.learner.diagnostics

    @property
    def n_values(self) -> int | None:
        """How many values a leaf has; None for one that is no vector."""
        return self._scores.n_values(self.rows.n_classes)

    def _find_cuts(self, sample_weight: FloatArray | None) -> list[FloatArray]:
        rows = self.rows
        return find_cuts(rows.X, self.parameters.max_bins, sample_weight, self._seed, rows.categories)

    def _step_thresholds(self) -> None:
        step_thresholds(self.learner, self.row_pass, self.score)

    def recut(self) -> None:
        """Cut the features into bins of equal Hessian (thesis, section 4.1.3), unless all Hessians are 0."""
        if self.now.hessian.any():
            self.cuts = self._find_cuts(self.now.hessian.astype(np.float64))
            self.engine.recut([c.tolist() for c in self.cuts])
            fill(self.engine, self.rows.X)

    def set_newest(self, now: RoundStatistics) -> None:
        """Keep the statistics of a pass at the newest score and thresholds."""
        self.now = now

    def count(self, now: RoundStatistics) -> RoundStatistics:
        """Count the rows that a pass clipped, and return its statistics."""
        self.diagnostics.add(n_clipped=now.n_clipped, n_floored=now.n_floored)
        return now

    def new_columns(self, n_columns: int, n_behind: int = 0) -> NDArray[np.float32]:
        """Return the columns of the rows, to be filled: so many, their number, and so many behind it."""
        self.columns, self._count = self.engine.statistics(n_columns, n_behind), n_columns
        return self.columns

    def weights_of(self, rows: NDArray[np.uint32]) -> FloatArray | None:
        """Return the weights of the rows of a sample, by how much each of them counts; None where all are 1."""
        weight, factors = self.rows.weights(rows), self._factors
        return weight if factors is None else factors if weight is None else weight * factors

    @contextmanager
    def sampled(self, sample: Sample) -> Iterator[None]:
        """Let the rows of a sample count as it says, in the columns of the next tree and in passes over them."""
        if sample.rows is None or sample.light is None:
            yield
            return
        light = sample.rows[sample.light]
        before = self.columns[light]
        after = before * np.float32(sample.factor)
        after[:, self._count] = before[:, self._count]
        self._factors = sample.factors()
        try:
            self.columns[light] = after
            yield
        finally:
            self.columns[light], self._factors = before, None

    def pass_over(self, rows: NDArray[np.uint32] | None) -> tuple[Pass, RoundStatistics]:
        """Return the pass over some rows, None for all, and what it says of the newest score and thresholds."""
        if rows is None:
            return self.row_pass, self.now
        score, y, weight = self.score[rows], self.rows.y[rows], self.weights_of(rows)
        some: Any = self._scores.row_pass(y, self.rows.n_classes, weight, score)
        return some, some(score, self.thresholds, self.parameters.spec.hessian, want_loss=False)

    def leaves_of(self, rows: NDArray[np.uint32] | None) -> NDArray[np.int32]:
        """Return the leaf of some rows, None for all."""
        return self.leaf_of_row if rows is None else self.leaf_of_row[rows]

    def move(self, tree: Tree, step: LeafStep, scale: float, evaluate: Evaluate) -> RoundStatistics:
        """Move score and thresholds by the longest of the steps scale, scale/2, ... that does not raise the loss.

        The loss is that of all rows, whichever of them the step was fitted on. The next tree needs the pass that
        computes it, so a step that is accepted at once costs nothing more. Returns the statistics of the new state.
        """
        leaves, score = tree.leaves, self._next_score
        now = self.now

        def loss_at(share: float, thresholds: FloatArray) -> float:
            nonlocal now
            tree.value[leaves] = share * scale * step.weights
            self._scores.move(self.row_pass, self.score, self.leaf_of_row, tree.value, score)
            now = evaluate(score, thresholds)
            return float(now.loss)

        delta = scale * step.delta if step.delta.size else np.zeros_like(self.thresholds)
        if self.learner.move(delta, loss_at, self._highest_loss(self.now.loss)) == 0.0:
            loss_at(0.0, self.thresholds)
        self.score, self._next_score = score, self.score
        return now

    def newton(self, now: RoundStatistics, evaluate: Evaluate) -> None:
        """Take one conditional Newton step on the thresholds given the score, from its sums by their own Hessian."""

        def loss_at(thresholds: FloatArray) -> float:
            self.set_newest(evaluate(self.score, thresholds))
            return self.now.loss

        if not self.learner.newton(now, loss_at, self._highest_loss):
            self.set_newest(evaluate(self.score, self.thresholds))

    def renumber(self, number: NDArray[np.int32]) -> None:
        """Give the rows the leaves of a pruned tree."""
        np.take(number, self.leaf_of_row, out=self.leaf_of_row)
