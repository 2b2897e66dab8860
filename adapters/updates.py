"""How a round moves leaves and thresholds: one class for each update, all answering the questions of `run.Update`.

"newton" and "fixed" leave the framework's trees and scores as they are. "schur" and "joint" take the Newton step by the
Schur complement over the newest tree's leaves, and "joint" renews the leaves with it. Where thresholds move with x, the
newest tree gets vectors in its leaves, then the thresholds take a step.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ordinal_objectives.adapters.followed_scores import FollowedScore, FollowedScores, NewestTree, TrainingHost
from ordinal_objectives.adapters.run import TrainingRun, Update
from ordinal_objectives.aliases import FloatArray, NDArray, RealArray
from ordinal_objectives.leaves import vector
from ordinal_objectives.losses import RoundStatistics
from ordinal_objectives.random_effects import GroupColumn, check_rows, with_effects
from ordinal_objectives.rows import Array, MarginPass, RowPass, native
from ordinal_objectives.threshold_solver import JointQuadratic, JointStep, ThresholdRecord, schur_step
from ordinal_objectives.threshold_solver.random_intercept import EffectsLearner


class NewtonUpdate(Update):
    """Thresholds that take one conditional Newton step a round; "fixed" thresholds are the same without the step."""

    def take(self, run: TrainingRun, raw_prediction: Array, iteration: int) -> Array:
        """Take the step at the framework's score, and return it."""
        if not run.spec.learns:
            return super().take(run, raw_prediction, iteration)
        run.step_thresholds(raw_prediction)
        return raw_prediction


class EffectsUpdate(Update):
    """Effects of groups, which are added to the framework's scores, and the conditional step of thresholds after them.

    Parameters
    ----------
    columns : sequence of GroupColumn
    X : table
        Checked features of the training.
    n_threads : int

    Attributes
    ----------
    effects : EffectsLearner
    """

    def __init__(self, columns: Sequence[GroupColumn], X: Any, n_threads: int) -> None:
        super().__init__()
        self.effects, self._groups = EffectsLearner(columns, X, n_threads), X

    def begin(self, run: TrainingRun, previous: ThresholdRecord | None) -> None:
        """Refuse other numbers of rows."""
        self._run: TrainingRun = weakref.proxy(run)
        check_rows(self._groups, len(run.rows.y))

    def start(self, run: TrainingRun, raw_prediction: Array, iteration: int) -> Array:
        """Return the scores, which no effects have moved yet."""
        return self.score_of(None, raw_prediction)

    def take(self, run: TrainingRun, raw_prediction: Array, iteration: int) -> Array:
        """Move the effects, then the thresholds; return the score.

        The step is the longest one after which the loss is not above that before the tree.
        """
        start = score = self.score_of(None, raw_prediction)
        now = None
        for share in (1.0, 0.5, 0.25, 0.0) if self._moves else ():
            score = start.copy()
            penalty = self.effects.move(share, score)
            now = run.rows(score, run.thresholds, run.learner.step_hessian)
            if now.sums.loss + penalty <= self._highest:
                break
        run.step_thresholds(score, now)
        return score

    def gradients(self, run: TrainingRun, statistics: RoundStatistics) -> tuple[RealArray, RealArray]:
        """Find the step of the effects, by the gradients of the next tree, which are returned."""
        self._moves = self.effects.begin(statistics, len(run.history))
        self._highest = run.rows.highest_loss(statistics.sums.loss)
        return super().gradients(run, statistics)

    def score_of(self, matrix: Any, raw_prediction: Array) -> Array:
        """Return the score of a matrix with the effects of its groups; None for the training rows.

        It is one for each threshold where there are rows of new groups, as in predictions.
        """
        score = np.array(raw_prediction, dtype=np.float64)
        if matrix is None:
            return self.effects.add_to(score)
        _, X = getattr(matrix, "ordinal_groups", (None, None))
        if X is None:
            return score
        return with_effects(score, X, self.effects.found(), self._run.spec.loss, self._run.thresholds)

    def kept_in(self, record: ThresholdRecord) -> ThresholdRecord:
        """Return a record with the effects."""
        return replace(record, random_effects=self.effects.found())


class JointUpdate(Update):
    """Thresholds that take the Newton step by the Schur complement over the newest tree's leaves.

    "schur" leaves the tree as the framework grew it. "joint" takes the whole step: the leaf values are renewed
    together with the thresholds, so the model's score is no longer the framework's and is followed beside it.

    Parameters
    ----------
    host : TrainingHost
        Access to the trees and matrices of the framework.
    matrix : object
        The training matrix; not kept alive.
    renews : bool
        Whether leaves move with the thresholds ("joint"), or stay ("schur").
    """

    follows = True

    def __init__(self, host: TrainingHost, matrix: object, *, renews: bool) -> None:
        super().__init__()
        self.renews = renews
        self._scores = FollowedScores(host, matrix)

    def start(self, run: TrainingRun, raw_prediction: Array, iteration: int) -> Array:
        """Begin to follow the score of the training rows, and return it."""
        device = run.placement.device

        def follow(_: object, score: RealArray, iteration: int) -> FollowedScore:
            return FollowedScore(score, iteration, device)

        return self._scores.start(follow(None, np.asarray(raw_prediction), iteration), follow)

    def take(self, run: TrainingRun, raw_prediction: Array, iteration: int) -> Array:
        """Step thresholds, and leaves if they are renewed, over the newest tree; return the model's new score."""
        newest = self._scores.newest(np.asarray(raw_prediction), run.diagnostics)
        step = _solve_joint(run, newest)
        if self.renews:
            after = self._renew(run, newest, step.leaf_weights[newest.merged], step.threshold_step)
        else:
            after = run.placement.device.copy(newest.score, np.float64)
            _move_thresholds(run, after, newest.tree.learning_rate * step.threshold_step)
        newest.own.move(newest.score, after)
        return after

    def score_of(self, matrix: object, raw_prediction: Array) -> Array:
        """Return the model's own score of any matrix, given the framework's; called after every tree."""
        return self._scores.score_of(matrix, raw_prediction, self.leaf_values[-1:]) if self.renews else raw_prediction

    def _renew(
        self, run: TrainingRun, newest: NewestTree, leaf_weights: FloatArray, threshold_step: FloatArray
    ) -> RealArray:
        """Take the longest of the steps eta, eta/2, ... that does not raise the loss; return the new score."""
        own, tree = newest.own, newest.tree
        values, after = np.zeros_like(leaf_weights), own.raw_prediction

        def loss_at(share: float, thresholds: FloatArray) -> float:
            nonlocal values, after
            values = (share * tree.learning_rate * leaf_weights).astype(tree.value_type).astype(np.float64)
            after = own.plus(newest.leaves, values)
            return run.evaluate(after, thresholds).sums.loss

        highest = run.rows.highest_loss(run.newest.sums.loss)
        if run.learner.move(tree.learning_rate * threshold_step, loss_at, highest) == 0.0:
            values, after = np.zeros_like(leaf_weights), own.raw_prediction
            run.evaluate(after, run.thresholds)
        self.leaf_values.append(values)
        if tree.renew is not None:
            tree.renew(values)
        return after


def _solve_joint(run: TrainingRun, newest: NewestTree) -> JointStep:
    """Sum up over the newest tree's leaves, and return the step of leaves and thresholds."""
    now, tree, learner, rows = run.newest.sums, newest.tree, run.learner, run.rows
    sums = rows.leaf_sums(newest.leaves, tree.leaf_values.shape[0])
    off = now.threshold_hessian_off
    # For a loss of f - theta only u.1 = -sum_j G_j, and with exact curvature H_j = -L_j.1 and
    # V 1 = -sum_j L_j. S is close to singular in just this direction, so rounding must not break them.
    u = now.threshold_gradient
    u = u - (u.sum() + sums.gradient.sum()) / u.shape[0]
    H, V = sums.hessian, now.threshold_hessian
    if run.spec.hessian == "exact" and not now.n_floored:
        H = -sums.cross.sum(axis=1)
        V = -sums.cross.sum(axis=0) - np.append(off, 0.0) - np.append(0.0, off)
    strictly_ordered = run.spec.loss.strictly_ordered
    model = JointQuadratic.of(sums.gradient, H, sums.cross, u, V, off if strictly_ordered else None)
    return schur_step(model, tree.reg_lambda, learner.active, learner.tied, diagnostics=run.diagnostics)


def _move_thresholds(run: TrainingRun, scores: RealArray, delta: FloatArray) -> None:
    """Move the thresholds only. Without renewal nothing bounds the loss, so the step is always checked."""

    def loss_at(_: float, thresholds: FloatArray) -> float:
        return run.evaluate(scores, thresholds).sums.loss

    rows: RowPass = run.rows
    if run.learner.move(delta, loss_at, rows.highest_loss(run.newest.sums.loss), max_halvings=0) > 0.0:
        return
    # The tree itself may have raised the loss: only the step's own share is halved.
    highest = rows.highest_loss(run.evaluate(scores, run.thresholds).sums.loss)
    if run.learner.move(delta, loss_at, highest) == 0.0:
        run.forget()


class VectorUpdate(Update):
    """Leaves of several values, which shift single thresholds, and the conditional step after them.

    Trees are grown by the framework on the score's gradient, and their renewed leaves hold the score's part, the mean
    of each vector. The model's own scores, one for every threshold of a row, are followed beside the framework's.

    Parameters
    ----------
    host : TrainingHost
        Access to the trees and matrices of the framework.
    matrix : object
        The training matrix; not kept alive.
    shifts : vector.Shifts

    Attributes
    ----------
    leaf_values : list of ndarray of float64, shape (n_leaves,)
        The score's part of every tree of this run.
    leaf_vectors : list of ndarray of float32, shape (n_leaves, n_classes - 1)
        What each leaf of every tree adds to f + v_k; those of the model that is continued come first.
    """

    follows = renews = True

    def __init__(self, host: TrainingHost, matrix: object, shifts: vector.Shifts) -> None:
        super().__init__()
        self.shifts: vector.Shifts = shifts
        self.leaf_vectors: list[NDArray[np.float32]] = []
        self._host: TrainingHost = weakref.proxy(host)
        self._scores = FollowedScores(host, matrix)

    def begin(self, run: TrainingRun, previous: ThresholdRecord | None) -> None:
        """Restore the vectors of the model that is continued."""
        if previous is not None:
            none = np.zeros((0, previous.n_classes - 1), np.float32)
            self.leaf_vectors = previous.leaf_vectors or [none] * previous.n_iterations

    def start(self, run: TrainingRun, raw_prediction: Array, iteration: int) -> Array:
        """Begin to follow the scores of the training rows, which decide whether float32 is enough; return them."""
        host, n_thresholds, device = self._host, run.thresholds.shape[0], run.placement.device

        def margins_at(matrix: object, score: RealArray) -> FloatArray:
            """Return the scores of a matrix before the first tree of this run, of each threshold that has its own."""
            start = np.asarray(score, dtype=np.float64)[:, np.newaxis]
            before = host.initial_shifts(matrix)
            return np.broadcast_to(start, (len(start), len(first))) if before is None else start + before[:, first]

        score, first = np.asarray(raw_prediction), np.arange(n_thresholds)
        shared = self.shifts.shared(n_thresholds, np.concatenate(self.leaf_vectors) if self.leaf_vectors else None)
        if run.rows.shares_scores and shared is not None:
            self.score_of_threshold = shared
            run.read_again()
            first = run.rows.first
        self._first = first
        margins = margins_at(self._scores.matrix(), score)
        is_far_somewhere = bool(native.is_far(margins))
        if run.placement.workers is not None:
            is_far_somewhere = bool(run.placement.workers.max(np.array([float(is_far_somewhere)]))[0])
        if is_far_somewhere:
            self.in_doubles = True
            run.read_again()
        dtype = run.rows.scores_dtype

        def follow(matrix: object, score: RealArray, iteration: int) -> FollowedScore:
            here = np.asarray(margins_at(matrix, score), dtype=dtype, order="F")
            return FollowedScore(score, iteration, device, here)

        own = FollowedScore(score, iteration, device, np.asarray(margins, dtype=dtype, order="F"))
        return self._scores.start(own, follow)

    def take(self, run: TrainingRun, raw_prediction: Array, iteration: int) -> Array:
        """Renew the newest tree's leaves as vectors, then step the thresholds; return the model's new scores."""
        newest = self._scores.newest(np.asarray(raw_prediction), run.diagnostics)
        tree, n_leaves = newest.tree, newest.tree.leaf_values.shape[0]
        rows: MarginPass = run.rows
        gradient, hessian = rows.leaf_sums(newest.leaves, n_leaves)
        l2, penalty, most = self.shifts.l2, self.shifts.penalty, self.shifts.most
        steps = vector.steps(gradient, hessian, tree.reg_lambda, l2, penalty, run.learner.active, most)
        weights = rows.leaf_weights(newest.leaves, n_leaves)
        scores, after = self._renew(run, newest, steps[newest.merged], weights)
        run.step_thresholds(scores, after)
        newest.own.move(newest.score, scores)
        return scores

    def score_of(self, matrix: object, raw_prediction: Array) -> Array:
        """Return the model's own scores of any matrix, given the framework's; called after every tree."""
        return self._scores.score_of(matrix, raw_prediction, [one[:, self._first] for one in self.leaf_vectors[-1:]])

    def kept_in(self, record: ThresholdRecord) -> ThresholdRecord:
        """Return a record with the leaves' vectors."""
        return replace(record, leaf_vectors=list(self.leaf_vectors))

    def _renew(
        self, run: TrainingRun, newest: NewestTree, steps: FloatArray, leaf_weights: FloatArray
    ) -> tuple[RealArray, RoundStatistics | None]:
        """Take the longest of the steps eta, eta/2, ... that does not raise the loss.

        Returns
        -------
        scores : ndarray, shape (n_samples, n_scores)
        after : RoundStatistics or None
            At these scores, for the step of the thresholds; None where the leaves stay.
        """
        own, tree, learner = newest.own, newest.tree, run.learner
        off = vector.mean_shift(steps, leaf_weights)
        centred = steps - off
        vectors, scores = np.zeros_like(steps, dtype=np.float32), own.raw_prediction
        after: RoundStatistics | None = None

        def loss_at(share: float, thresholds: FloatArray) -> float:
            nonlocal vectors, scores, after
            vectors = (share * tree.learning_rate * centred).astype(np.float32)
            scores = own.plus(newest.leaves, vectors[:, self._first])
            after = run.rows(scores, thresholds, learner.step_hessian)
            return after.sums.loss

        highest = run.rows.highest_loss(run.newest.sums.loss)
        if learner.move(-tree.learning_rate * off, loss_at, highest) == 0.0:
            vectors, scores, after = np.zeros_like(vectors), own.raw_prediction, None
        self.leaf_vectors.append(vectors)
        self.leaf_values.append(vectors.mean(axis=1, dtype=np.float64).astype(tree.value_type).astype(np.float64))
        if tree.renew is not None:
            tree.renew(self.leaf_values[-1])
        return scores, after
