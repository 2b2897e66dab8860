"""Thresholds that take the Newton step by the Schur complement over the newest tree's leaves.

"schur" leaves the tree as the framework grew it. "joint" takes the whole step: the leaf values are renewed
together with the thresholds, so the model's score is no longer the framework's and is followed beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters.followed_scores import FollowedScore, FollowedScores, Host, NewestTree
from ordinal_objectives.adapters.round_state import RoundState
from ordinal_objectives.adapters.row_placement import RowPlacement
from ordinal_objectives.leaves.shifts import Shifts
from ordinal_objectives.losses import OrdinalLoss, RoundStatistics
from ordinal_objectives.rows import RowPass
from ordinal_objectives.threshold_solver import JointQuadratic, JointStep, ThresholdRecord, schur_step


class JointUpdate:
    """The step over the newest tree.

    Parameters
    ----------
    host : Host
        Access to the trees and matrices of the framework.
    matrix : object
        The training matrix; not kept alive.
    renews : bool
        Whether leaves move with the thresholds ("joint"), or stay ("schur").

    Attributes
    ----------
    leaf_values : list of ndarray of float64, shape (n_leaves,)
        Renewed values of every tree of this run; empty unless leaves are renewed.
    """

    def __init__(self, host: Host, matrix: Any, *, renews: bool) -> None:
        self.shifts: Shifts | None = None
        self.follows, self.renews = True, renews
        self.leaf_values: list[NDArray[np.float64]] = []
        self._scores = FollowedScores(host, matrix)

    def rows_of(self, placement: RowPlacement, loss: OrdinalLoss, y: ArrayLike, n_classes: int, weight: Any) -> RowPass:
        """Return a pass over rows with one score each."""
        return placement.rows(loss, y, n_classes, weight)

    def begin(self, state: RoundState[RowPass], previous: ThresholdRecord | None) -> None:
        """Take over the device of the scores."""
        device = state.placement.device
        self._scores.open(lambda matrix, score, iteration: FollowedScore(score, iteration, device))

    def start(self, state: RoundState[RowPass], raw_prediction: Any, iteration: int) -> Any:
        """Begin to follow the score of the training rows, and return it."""
        return self._scores.start(np.asarray(raw_prediction), iteration).raw_prediction

    def take(self, state: RoundState[RowPass], raw_prediction: Any, iteration: int) -> Any:
        """Step thresholds, and leaves if they are renewed, over the newest tree; return the model's new score."""
        newest = self._scores.newest(np.asarray(raw_prediction))
        state.diagnostics.add(n_merged_leaves=newest.n_merged)
        step = self._solve_joint(state, newest)
        if self.renews:
            after = self._renew(state, newest, step.leaf_weights[newest.merged], step.threshold_step)
        else:
            after = state.placement.device.copy(newest.score, np.float64)
            _move_thresholds(state, after, newest.tree.learning_rate * step.threshold_step)
        newest.own.move(newest.score, after)
        return after

    def gradients(self, state: RoundState[RowPass], statistics: RoundStatistics) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return those of the score."""
        return statistics.gradient, statistics.hessian

    def score_of(self, matrix: Any, raw_prediction: Any) -> Any:
        """Return the model's own score of any matrix, given the framework's; called after every tree."""
        return self._scores.score_of(matrix, raw_prediction, self.leaf_values[-1:]) if self.renews else raw_prediction

    def kept(self) -> dict[str, Any]:
        """Return nothing: renewed leaves are in the model's trees."""
        return {}

    def _solve_joint(self, state: RoundState[RowPass], newest: NewestTree) -> JointStep:
        """Sum up over the newest tree's leaves, and return the step of leaves and thresholds."""
        now, tree, learner = state.now(), newest.tree, state.learner
        sums = state.rows.leaf_sums(newest.leaves, tree.leaf_values.shape[0])
        off = now.threshold_hessian_off
        # For a loss of f - theta alone u.1 = -sum_j G_j, and with exact curvature H_j = -L_j.1 and
        # V 1 = -sum_j L_j. S is close to singular in just this direction, so rounding must not break them.
        u = now.threshold_gradient
        u = u - (u.sum() + sums.gradient.sum()) / u.shape[0]
        H, V = sums.hessian, now.threshold_hessian
        if state.hessian == "exact" and not now.n_floored:
            H = -sums.cross.sum(axis=1)
            V = -sums.cross.sum(axis=0) - np.append(off, 0.0) - np.append(0.0, off)
        model = JointQuadratic.of(sums.gradient, H, sums.cross, u, V, off if state.loss.strictly_ordered else None)
        return schur_step(model, tree.reg_lambda, learner.active, learner.tied, diagnostics=state.diagnostics)

    def _renew(
        self,
        state: RoundState[RowPass],
        newest: NewestTree,
        leaf_weights: NDArray[np.float64],
        threshold_step: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Take the longest of the steps eta, eta/2, ... that does not raise the loss; return the new score."""
        own, tree = newest.own, newest.tree
        values, after = np.zeros_like(leaf_weights), own.raw_prediction

        def loss_at(share: float, thresholds: NDArray[np.float64]) -> float:
            nonlocal values, after
            values = (share * tree.learning_rate * leaf_weights).astype(tree.value_type).astype(np.float64)
            after = own.plus(newest.leaves, values)
            return state.keep(state.evaluate(after, thresholds)).loss

        if state.learner.move(tree.learning_rate * threshold_step, loss_at, state.highest_now()) == 0.0:
            values, after = np.zeros_like(leaf_weights), own.raw_prediction
            state.keep(state.evaluate(after, state.thresholds))
        self.leaf_values.append(values)
        tree.renew(values)
        return after


def _move_thresholds(state: RoundState[RowPass], scores: NDArray[np.float64], delta: NDArray[np.float64]) -> None:
    """Move the thresholds alone. Without renewal nothing bounds the loss, so the step is always checked."""

    def loss_at(_: float, thresholds: NDArray[np.float64]) -> float:
        return state.keep(state.evaluate(scores, thresholds)).loss

    if state.learner.move(delta, loss_at, state.highest_now(), max_halvings=0) > 0.0:
        return
    # The tree itself may have raised the loss: only the step's own share is halved.
    highest = state.rows.highest_loss(state.evaluate(scores, state.thresholds).loss)
    if state.learner.move(delta, loss_at, highest) == 0.0:
        state.forget()
