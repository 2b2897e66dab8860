"""State of a training: labelled rows, their bins and score, the thresholds, and the newest sums.

A run and its criterion share it. Iteration t is the state after t trees: the score f_t and the thresholds that belong
to it. One pass over the rows at that state gives its loss and the derivatives that the next tree is grown on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ordinal_objectives import _core
from ordinal_objectives.aliases import FloatArray, IntArray, NDArray, RealArray
from ordinal_objectives.histogram_engine.binning import bin_rows, fill, find_cuts, uneven
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.losses import RoundStatistics
from ordinal_objectives.ordinal_labels import OrdinalLabels
from ordinal_objectives.random_effects import GroupColumn
from ordinal_objectives.row_blocks import RowBlocks
from ordinal_objectives.rows import RowStatistics, native, soft_rows
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.threshold_solver import Diagnostics, JointQuadratic, ThresholdLearner, quadratic
from ordinal_objectives.threshold_solver.random_intercept import EffectsLearner
from ordinal_objectives.trees import Tree
from ordinal_objectives.utils.validation import check_two_classes

# The quadratic model of some rows: sums over the nodes of a tree, and over thresholds that move with them.
type LeafModel = JointQuadratic | quadratic.VectorQuadratic
# The pass at a score and thresholds. It may fill the columns of the next tree.
Evaluate = Callable[[RealArray, FloatArray], RoundStatistics]


@dataclass(frozen=True)
class TrainingSet:
    """Features, class codes and weights, checked. Read, never changed.

    Attributes
    ----------
    X : ndarray of float32 or float64, or RowBlocks, shape (n_samples, n_features)
        NaN is missing.
    y : ndarray of int32, or OrdinalLabels, shape (n_samples,)
        Class codes.
    n_classes : int
    sample_weight : ndarray of float64, shape (n_samples,), or None
    start : ndarray of float64, shape (n_samples,), or None
        Scores that the trees' are added to.
    categories : mapping of int to int
        Columns that hold numbers of categories, and how many each has.
    groups : tuple of GroupColumn
        The columns of groups with random effects, which trees do not see.
    """

    X: RealArray | RowBlocks
    y: IntArray | OrdinalLabels
    n_classes: int
    sample_weight: FloatArray | None = None
    start: FloatArray | None = None
    categories: Mapping[int, int] = field(default_factory=dict)
    groups: tuple[GroupColumn, ...] = ()

    def started(self, score: FloatArray) -> FloatArray:
        """Return the trees' score, one for all thresholds or one for each, added to the start."""
        if self.start is None:
            return score
        return score + (self.start if score.ndim == 1 else self.start[:, np.newaxis])


@dataclass(frozen=True)
class RunStart:
    """Start of a run: a score of 0, or the end of another training.

    Attributes
    ----------
    score : ndarray of float64, shape (n_samples,) or (n_samples, n_classes - 1), or None
        Of the rows, one for all thresholds or one for each; None for 0.
    thresholds : ndarray of float64, shape (n_classes - 1,), or None
        None for those that fit the score.
    iteration : int
        Trees that have been grown.
    cuts : list of ndarray or None
        Cuts of the features; None to find them.
    curvature : ndarray of float64, shape (n_classes - 1,), or None
        What thresholds are grouped by, where they are; None to compute it.
    effects : EffectsLearner or None
        Effects of groups, where there are some.
    """

    score: FloatArray | None = None
    thresholds: FloatArray | None = None
    iteration: int = 0
    cuts: list[FloatArray] | None = None
    curvature: FloatArray | None = None
    effects: EffectsLearner | None = None


class Sample(NamedTuple):
    """Rows that a tree is grown on.

    Attributes
    ----------
    rows : ndarray of uint32, or None
        In order; None for all.
    light : ndarray of uint8, shape (n_rows,), or None
        Which of them stand for others as well.
    factor : float
        How much more these count.
    outside : ndarray of uint32, or None
        The other rows, in order, where they are known.
    """

    rows: NDArray[np.uint32] | None
    light: NDArray[np.uint8] | None = None
    factor: float = 1.0
    outside: NDArray[np.uint32] | None = None

    def factors(self) -> FloatArray | None:
        """Return how much each row counts, (n_rows,); None where all count alike."""
        return None if self.light is None else np.where(self.light, self.factor, 1.0)


class LeafStep(NamedTuple):
    """One step of leaves and thresholds, without shrinkage.

    Attributes
    ----------
    weights : ndarray of float64, shape (n_leaves,) or (n_leaves, n_classes - 1)
    delta : ndarray of float64, shape (n_classes - 1,), or empty
        Of the thresholds, where they move with the leaves.
    """

    weights: FloatArray
    delta: FloatArray


def settle_thresholds(learner: ThresholdLearner, row_pass: Any, score: RealArray) -> None:
    """Take conditional Newton steps of the thresholds, given the score, until they rest."""

    def at(thresholds: FloatArray) -> RoundStatistics:
        return row_pass(score, thresholds, learner.step_hessian)

    learner.settle(
        lambda: learner.newton(at(learner.thresholds), lambda thresholds: at(thresholds).loss, row_pass.highest_loss)
    )


class EngineState[Pass: (RowStatistics, native.MarginStatistics)]:
    """What a run and its criterion share.

    Parameters
    ----------
    parameters : BoostingParameters
    rows : TrainingSet
    start : RunStart
    proportional : bool
        Whether rows have one score for all thresholds; otherwise scores R_k = f + v_k, one for each, threshold by
        threshold in memory.
    seed : int
    n_threads : int or None

    Attributes
    ----------
    row_pass : RowStatistics or MarginStatistics
        Over all rows, whose scores are one for all thresholds or one for each.
    score : ndarray, shape (n_samples,) or (n_samples, n_scores)
        That of the newest iteration; of thresholds that are shifted alike there is one.
    learner : ThresholdLearner
        The newest thresholds, and how they move.
    sample : Sample
        The rows of the tree that is being grown; all where there is none.
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
    effects : EffectsLearner or None
        Effects of groups, where there are some; the score holds them.
    """

    row_pass: Pass
    now: RoundStatistics
    columns: NDArray[np.float32]
    sample = Sample(None)
    _of_sample: RoundStatistics | None = None  # its sums, once someone asks

    def __init__(
        self,
        parameters: BoostingParameters,
        rows: TrainingSet,
        start: RunStart,
        *,
        proportional: bool,
        seed: int,
        n_threads: int | None,
    ) -> None:
        self.parameters, self.rows, self.start = parameters, rows, start
        self.n_threads, self._proportional, self._seed = effective_n_threads(n_threads), proportional, seed
        score = np.zeros(len(rows.y)) if start.score is None else start.score.copy()
        shifts, n_thresholds = parameters.shifts, rows.n_classes - 1
        self._score_of = None if shifts is None else shifts.shared(n_thresholds, score if score.ndim == 2 else None)
        self.row_pass = of_all = self._pass_of(rows.y, rows.sample_weight, score)
        check_two_classes(of_all.class_weights, name="the training labels")
        self.score = score if proportional else of_all.spread(score)
        self._next_score = np.empty_like(self.score)  # swapped with the score when a step is taken
        spec, weights = parameters.spec, of_all.class_weights
        self.learner = ThresholdLearner(spec, weights, start.thresholds, ordered=proportional)
        if start.thresholds is None and start.score is not None and parameters.spec.learns:
            self.learner.set_thresholds(self.thresholds + np.median(start.score))
            settle_thresholds(self.learner, of_all, self.score)
        self.cuts = self._find_cuts(rows.sample_weight) if start.cuts is None else start.cuts
        options = parameters.category_options(rows.categories)
        self.engine = bin_rows(rows.X, self.cuts, self.n_threads, in_float64=uneven(rows.sample_weight), **options)
        self.leaf_of_row = np.empty(len(rows.y), np.int32)
        self.effects = start.effects

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
        return None if self._proportional else self.rows.n_classes - 1

    def _pass_of(self, y: IntArray | OrdinalLabels, weight: FloatArray | None, score: RealArray) -> Any:
        """Return the pass over some rows at a score; in doubles where scores of thresholds are far from 0."""
        loss, n_classes = self.parameters.spec.loss, self.rows.n_classes
        if self._proportional:
            return soft_rows.pass_over(RowStatistics, loss, y, n_classes, weight, n_threads=self.n_threads)
        options = {"in_doubles": native.is_far(score), "n_threads": self.n_threads, "score_of": self._score_of}
        return soft_rows.pass_over(native.MarginStatistics, loss, y, n_classes, weight, **options)

    def _find_cuts(self, sample_weight: FloatArray | None) -> list[FloatArray]:
        rows = self.rows
        cuts = find_cuts(rows.X, self.parameters.max_bins, sample_weight, self._seed, rows.categories)
        for column in rows.groups:
            cuts[column.place] = np.zeros(0)
        return cuts

    def recut(self) -> None:
        """Cut the features into bins of equal Hessian (thesis, section 4.1.3), unless all Hessians are 0."""
        if self.now.hessian.any():
            self.cuts = self._find_cuts(self.now.hessian.astype(np.float64))
            self.engine.recut([c.tolist() for c in self.cuts])
            fill(self.engine, self.rows.X)

    def set_newest(self, now: RoundStatistics) -> None:
        """Set the sums over all rows at the newest score and thresholds."""
        self.now = now

    def count(self, now: RoundStatistics) -> RoundStatistics:
        """Count the rows that a pass clipped, and return its statistics."""
        self.diagnostics.add(n_clipped=now.sums.n_clipped, n_floored=now.sums.n_floored)
        return now

    def new_columns(self, n_columns: int, n_behind: int = 0) -> NDArray[np.float32]:
        """Return the columns of the rows, to be filled: so many, their number, and so many behind it."""
        self.columns = self.engine.statistics(n_columns, n_behind)
        return self.columns

    def weight_of_nodes(self, tree: Tree) -> FloatArray:
        """Return the sum of the weights of all rows in each node of the newest tree, (n_nodes,)."""
        weight = self.rows.sample_weight
        if weight is None and tree.count[0] == len(self.leaf_of_row):
            return tree.count.astype(np.float64)
        of_nodes = np.zeros(len(tree.left))
        if weight is None:
            _core.leaf_counts(self.leaf_of_row, of_nodes, self.n_threads)
        else:
            of_nodes += np.bincount(self.leaf_of_row, weight, len(of_nodes))
        return quadratic.added_up(of_nodes, tree.left)

    def weights_of(self, rows: NDArray[np.uint32]) -> FloatArray | None:
        """Return the weights of the rows of a sample, by how much each of them counts; None where all are 1."""
        weight = None if self.rows.sample_weight is None else self.rows.sample_weight[rows]
        factors = self.sample.factors()
        return weight if factors is None else factors if weight is None else weight * factors

    @contextmanager
    def sampled(self, sample: Sample) -> Iterator[None]:
        """Let the rows of a sample count as it says, in the columns of the next tree and in passes over them."""
        self.sample = sample
        self.weigh_sample()
        try:
            yield
        finally:
            self.sample, self._of_sample = Sample(None), None
            if sample.rows is not None and sample.light is not None:
                self.engine.unweigh(sample.rows, sample.light)

    def weigh_sample(self) -> None:
        """Let the sample's rows count as it says, in columns that were filled without it."""
        rows, light, factor, _ = self.sample
        if rows is not None and light is not None:
            self.engine.weigh(rows, light, factor)

    def sums_of(self, rows: NDArray[np.uint32] | None) -> RoundStatistics:
        """Return the sums of some rows over thresholds, None for all, at the newest score and thresholds."""
        if rows is None:
            return self.now
        if rows is not self.sample.rows:
            return self._add_up(rows)
        if self._of_sample is None:
            self._of_sample = self._add_up(rows)
        return self._of_sample

    def _add_up(self, rows: NDArray[np.uint32]) -> RoundStatistics:
        if not self._proportional:
            return self.pass_over(rows)[1]
        row_pass: Any = self.row_pass
        at = self.score, self.thresholds, self.parameters.spec.hessian
        _, light, factor, outside = self.sample
        if outside is None or self.rows.sample_weight is not None or len(outside) >= len(rows):
            return row_pass.sums_of(rows, *at, light, factor)
        # The fewer rows are read. Where none is heavy, the difference is as exact as the sum.
        others: RoundStatistics = row_pass.sums_of(outside, *at)
        return replace(others, sums=self.now.sums - others.sums)

    def pass_over(self, rows: NDArray[np.uint32] | None) -> tuple[Pass, RoundStatistics]:
        """Return the pass over some rows, None for all, and its statistics at the newest score and thresholds."""
        if rows is None:
            return self.row_pass, self.now
        score = self.score[rows]
        some = self._pass_of(self.rows.y[rows], self.weights_of(rows), score)
        return some, some(score, self.thresholds, self.parameters.spec.hessian, want_loss=False)

    def leaves_of(self, rows: NDArray[np.uint32] | None) -> IntArray:
        """Return the leaf of some rows, None for all."""
        return self.leaf_of_row if rows is None else self.leaf_of_row[rows]

    def move(self, tree: Tree, step: LeafStep, scale: float, evaluate: Evaluate) -> RoundStatistics:
        """Move score and thresholds by the longest of the steps scale, scale/2, ... that does not raise the loss.

        The loss is that of all rows, whichever of them the step was fitted on. The next tree needs the pass that
        computes it, so a step that is accepted at once costs nothing more. Returns the statistics of the new state.
        """
        leaves, score, now = tree.leaves, self._next_score, self.now
        effects = self.effects if self.effects is not None and self.effects.begin(now) else None
        row_pass: Any = self.row_pass

        def loss_at(share: float, thresholds: FloatArray) -> float:
            nonlocal now
            tree.value[leaves] = share * scale * step.weights
            if self._proportional:
                _core.add_leaf_values(self.score, self.leaf_of_row, tree.value, score, self.n_threads)
            else:
                row_pass.moved(self.score, self.leaf_of_row, tree.value, out=score)
            penalty = 0.0
            if effects is not None:
                penalty = effects.move(share, score)
            now = evaluate(score, thresholds)
            return float(now.loss) + penalty

        delta = scale * step.delta if step.delta.size else np.zeros_like(self.thresholds)
        if self.learner.move(delta, loss_at, row_pass.highest_loss(self.now.loss)) == 0.0:
            loss_at(0.0, self.thresholds)
        self.score, self._next_score = score, self.score
        return now

    def newton(self, now: RoundStatistics, evaluate: Evaluate) -> None:
        """Take one conditional Newton step of the thresholds given the score, from its sums by their own Hessian."""

        def loss_at(thresholds: FloatArray) -> float:
            self.now = evaluate(self.score, thresholds)
            return self.now.loss

        if not self.learner.newton(now, loss_at, self.row_pass.highest_loss):
            self.now = evaluate(self.score, self.thresholds)
