"""Leaves that shift single thresholds: the newest tree gets vectors in its leaves, then the thresholds take a step.

Trees are grown by the framework on the score's gradient, and their renewed leaves hold the score's part, the mean of
each vector. The model's own scores, one for every threshold of a row, are followed beside the framework's.
"""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters.followed_scores import FollowedMargins, FollowedScores, Host, NewestTree
from ordinal_objectives.adapters.round_state import RoundState
from ordinal_objectives.adapters.row_placement import RowPlacement
from ordinal_objectives.adapters.updates.newton import step_thresholds
from ordinal_objectives.leaves import vector
from ordinal_objectives.leaves.shifts import Shifts
from ordinal_objectives.losses import OrdinalLoss, RoundStatistics
from ordinal_objectives.rows import MarginPass
from ordinal_objectives.rows.native import is_far
from ordinal_objectives.threshold_solver import ThresholdRecord


class VectorUpdate:
    """Leaves of several values, and the conditional step after them.

    Parameters
    ----------
    host : Host
        Access to the trees and matrices of the framework.
    matrix : object
        The training matrix; not kept alive.
    shifts : Shifts

    Attributes
    ----------
    leaf_values : list of ndarray of float64, shape (n_leaves,)
        The score's part of every tree of this run.
    leaf_vectors : list of ndarray of float32, shape (n_leaves, n_classes - 1)
        What each leaf of every tree adds to f + v_k; those of the model that is continued come first.
    """

    def __init__(self, host: Host, matrix: Any, shifts: Shifts) -> None:
        self.shifts = shifts
        self.follows = self.renews = True
        self.leaf_values: list[NDArray[np.float64]] = []
        self.leaf_vectors: list[NDArray[np.float32]] = []
        self._host: Host = weakref.proxy(host)
        self._scores = FollowedScores(host, matrix)
        self._in_doubles = False

    def rows_of(
        self, placement: RowPlacement, loss: OrdinalLoss, y: ArrayLike, n_classes: int, weight: Any
    ) -> MarginPass:
        """Return a pass over rows with a score for each threshold."""
        return placement.margins(loss, y, n_classes, weight, in_doubles=self._in_doubles)

    def begin(self, state: RoundState[MarginPass], previous: ThresholdRecord | None) -> None:
        """Take over the device of the scores, and the vectors of the model that is continued."""
        if previous is not None:
            none = np.zeros((0, previous.n_classes - 1), np.float32)
            self.leaf_vectors = previous.leaf_vectors or [none] * previous.n_iterations

        # What it follows does not keep it alive.
        self._scores.open(partial(VectorUpdate._follow, weakref.proxy(self), state))

    def start(self, state: RoundState[MarginPass], raw_prediction: Any, iteration: int) -> Any:
        """Begin to follow the scores of the training rows, and return them."""
        return self._scores.start(np.asarray(raw_prediction), iteration).raw_prediction

    def take(self, state: RoundState[MarginPass], raw_prediction: Any, iteration: int) -> Any:
        """Renew the newest tree's leaves as vectors, then step the thresholds; return the model's new scores."""
        newest = self._scores.newest(np.asarray(raw_prediction))
        state.diagnostics.add(n_merged_leaves=newest.n_merged)
        tree, n_leaves = newest.tree, newest.tree.leaf_values.shape[0]
        gradient, hessian = state.rows.leaf_sums(newest.leaves, n_leaves)
        penalty = self.shifts
        steps = vector.steps(
            gradient, hessian, tree.reg_lambda, penalty.l2, penalty.penalty, state.learner.active, penalty.most
        )
        weights = state.rows.leaf_weights(newest.leaves, n_leaves)
        scores, after = self._renew(state, newest, steps[newest.merged], weights)
        step_thresholds(state, scores, after)
        newest.own.move(newest.score, scores)
        return scores

    def gradients(
        self, state: RoundState[MarginPass], statistics: RoundStatistics
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return those of the score."""
        return statistics.gradient, statistics.hessian

    def score_of(self, matrix: Any, raw_prediction: Any) -> Any:
        """Return the model's own scores of any matrix, given the framework's; called after every tree."""
        return self._scores.score_of(matrix, raw_prediction, self.leaf_vectors[-1:])

    def kept(self) -> dict[str, Any]:
        """Return how thresholds move with x, and the leaves' vectors."""
        return {"shifts": self.shifts, "leaf_vectors": list(self.leaf_vectors)}

    def _follow(
        self, state: RoundState[MarginPass], matrix: Any, score: NDArray[Any], iteration: int
    ) -> FollowedMargins:
        """Begin to follow the scores of a matrix; those of the training rows say whether float32 is enough."""
        scores = self._margins_at(matrix, score, state.thresholds.shape[0])
        if matrix is self._scores.matrix and _any(is_far(scores), state.placement):
            self._in_doubles = True
            state.read_again(self.rows_of)
        dtype = state.rows.scores_dtype
        return FollowedMargins(score, iteration, state.placement.device, np.asarray(scores, dtype=dtype, order="F"))

    def _margins_at(self, matrix: Any, score: NDArray[Any], n_thresholds: int) -> NDArray[np.float64]:
        """Return the scores of a matrix for every threshold before the first tree of this run."""
        start = np.asarray(score, dtype=np.float64)[:, np.newaxis]
        before = self._host.initial_shifts(matrix)
        return np.tile(start, n_thresholds) if before is None else start + before

    def _renew(
        self,
        state: RoundState[MarginPass],
        newest: NewestTree,
        steps: NDArray[np.float64],
        leaf_weights: NDArray[np.float64],
    ) -> tuple[NDArray[Any], RoundStatistics | None]:
        """Take the longest of the steps eta, eta/2, ... that does not raise the loss.

        Returns
        -------
        scores : ndarray, shape (n_samples, n_classes - 1)
        after : RoundStatistics or None
            At these scores, for the step of the thresholds; None where the leaves stay.
        """
        own, tree, learner = newest.own, newest.tree, state.learner
        off = vector.mean_shift(steps, leaf_weights)
        centred = steps - off
        vectors, scores = np.zeros_like(steps, dtype=np.float32), own.raw_prediction
        after: RoundStatistics | None = None

        def loss_at(share: float, thresholds: NDArray[np.float64]) -> float:
            nonlocal vectors, scores, after
            vectors = (share * tree.learning_rate * centred).astype(np.float32)
            scores = own.plus(newest.leaves, vectors)
            after = state.rows(scores, thresholds, learner.step_hessian)
            return after.loss

        if learner.move(-tree.learning_rate * off, loss_at, state.highest_now()) == 0.0:
            vectors, scores, after = np.zeros_like(vectors), own.raw_prediction, None
        self.leaf_vectors.append(vectors)
        self.leaf_values.append(vectors.mean(axis=1, dtype=np.float64).astype(tree.value_type).astype(np.float64))
        tree.renew(self.leaf_values[-1])
        return scores, after


def _any(of_these_rows: bool, placement: RowPlacement) -> bool:
    """Tell whether it is so with any worker."""
    workers = placement.workers
    return of_these_rows if workers is None else bool(workers.max(np.array([float(of_these_rows)]))[0])
