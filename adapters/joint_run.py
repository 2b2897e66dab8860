"""Thresholds that take the Newton step by the Schur complement over the newest tree's leaves.

"schur" leaves the tree as the framework grew it. "joint" takes the whole step: the leaf values are renewed
together with the thresholds, so the model's score is no longer the framework's and is followed here.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters.leaf_matching import FollowedScore, GrownTree
from ordinal_objectives.adapters.newton_run import NewtonRun
from ordinal_objectives.losses import OrdinalLoss, RoundStatistics
from ordinal_objectives.threshold_solver import JointQuadratic, JointStep, schur_step


class JointRun(NewtonRun):
    """State of one training run with ``threshold_update`` "schur" or "joint".

    Parameters
    ----------
    loss, y, n_classes, sample_weight, **options
        As for :class:`NewtonRun`.
    matrix : object
        The training matrix; not kept alive.
    newest_tree : callable
        ``newest_tree(matrix)`` returns the GrownTree that the framework added last for a training matrix.
    initial_score : callable
        ``initial_score(matrix)`` returns the score of another matrix before the first tree.

    Attributes
    ----------
    leaf_values : list of ndarray of float64, shape (n_leaves,)
        Renewed values of every tree of this run; empty unless leaves are renewed.
    """

    _reads_sums: ClassVar[bool] = True

    def __init__(
        self,
        loss: OrdinalLoss,
        y: ArrayLike,
        n_classes: int,
        sample_weight: ArrayLike | None = None,
        *,
        matrix: Any,
        newest_tree: Callable[[Any], GrownTree],
        initial_score: Callable[[Any], NDArray[Any]],
        **options: Any,
    ) -> None:
        super().__init__(loss, y, n_classes, sample_weight, **options)
        self.renews = options["threshold_update"] == "joint"
        self._matrix = weakref.ref(matrix)
        self._newest_tree = newest_tree
        self._initial_score = initial_score
        self._scores: weakref.WeakKeyDictionary[Any, FollowedScore] = weakref.WeakKeyDictionary()
        self._tree: GrownTree | None = None
        self.leaf_values: list[NDArray[np.float64]] = []

    def gradient(self, raw_prediction: ArrayLike, iteration: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return gradient and Hessian at the model's own score; ``raw_prediction`` is the framework's."""
        self.advance(raw_prediction, iteration)
        # Kept until the tree is grown: the joint step is taken from the same sums as the tree.
        now = self._now()
        return now.gradient, now.hessian

    def advance(self, raw_prediction: ArrayLike, iteration: int) -> None:
        """Take the joint step over the tree just grown, unless that is done already."""
        if iteration < len(self.history):
            return
        score = np.asarray(raw_prediction)
        if iteration == self.first_iteration:
            own = self._scores[self._matrix()] = self._follow(self._matrix(), score, iteration)
            super().advance(own.raw_prediction, iteration)
            return
        own = self._scores[self._matrix()]
        self._tree = tree = self._newest_tree(self._matrix())
        leaves, merged = own.find_leaves(score, tree, self._matrix())
        self.diagnostics.add(n_merged_leaves=int(np.count_nonzero(merged != np.arange(merged.shape[0]))))
        raw_after = self._take_step(own, score, leaves, merged, tree)
        own.move(score, raw_after)
        self._record(raw_after)

    def _take_step(
        self,
        own: FollowedScore,
        score: NDArray[Any],
        leaves: NDArray[np.int32],
        merged: NDArray[np.intp],
        tree: GrownTree,
    ) -> NDArray[Any]:
        """Step thresholds, and leaves if they are renewed, over the newest tree; return the model's new score."""
        step = self._solve(leaves, tree)
        if self.renews:
            return self._renew(own, leaves, step.leaf_weights[merged], step.threshold_step, tree)
        raw_after: NDArray[np.float64] = self.device.copy(score, np.float64)
        self._move_thresholds(raw_after, tree.learning_rate * step.threshold_step)
        return raw_after

    def _follow(self, matrix: Any, score: NDArray[Any], iteration: int) -> FollowedScore:
        """Begin to follow the score of a matrix."""
        return FollowedScore(score, iteration, self.device)

    def _added_by_newest(self) -> NDArray[Any]:
        """Return what each leaf of the newest tree adds to the model's score."""
        return self.leaf_values[-1]

    def score_of(self, matrix: Any, score: NDArray[Any]) -> NDArray[Any]:
        """Return the model's own score of any matrix, given the framework's; called after every tree."""
        if not self.renews:
            return score
        own = self._scores.get(matrix)
        if own is None:
            own = self._scores[matrix] = self._follow(matrix, self._initial_score(matrix), self.first_iteration)
        newest = len(self.history) - 1
        if own.iteration == newest:
            return own.raw_prediction
        if own.iteration != newest - 1 or self._tree is None:
            raise RuntimeError(
                f"a matrix was evaluated after {newest} iterations and before that after {own.iteration}; with "
                f"threshold_update='joint' it must be evaluated after every iteration"
            )
        leaves, _ = own.find_leaves(score, self._tree, matrix)
        own.move(score, own.plus(leaves, self._added_by_newest()))
        return own.raw_prediction

    def _now(self) -> RoundStatistics:
        if self._evaluated is None:
            raise RuntimeError("a run must be advanced to its first iteration before a tree is grown on it")
        return self._evaluated

    def _solve(self, leaves: NDArray[np.int32], tree: GrownTree) -> JointStep:
        now = self._now()
        sums = self._rows.leaf_sums(leaves, tree.leaf_values.shape[0])
        off = now.threshold_hessian_off
        # A loss of f - theta alone obeys u.1 = -sum_j G_j, and with exact curvature H_j = -L_j.1 and
        # V 1 = -sum_j L_j. S is close to singular in just this direction, so rounding must not break them.
        u = now.threshold_gradient
        u = u - (u.sum() + sums.gradient.sum()) / u.shape[0]
        H, V = sums.hessian, now.threshold_hessian
        if self.hessian == "exact" and not now.n_floored:
            H = -sums.cross.sum(axis=1)
            V = -sums.cross.sum(axis=0) - np.append(off, 0.0) - np.append(0.0, off)
        model = JointQuadratic.of(sums.gradient, H, sums.cross, u, V, off if self.loss.strictly_ordered else None)
        learner = self._learner
        return schur_step(model, tree.reg_lambda, learner.active, learner.tied, diagnostics=self.diagnostics)

    def _renew(
        self,
        own: FollowedScore,
        leaves: NDArray[np.int32],
        leaf_weights: NDArray[np.float64],
        threshold_step: NDArray[np.float64],
        tree: GrownTree,
    ) -> NDArray[np.float64]:
        """Take the longest of the steps eta, eta/2, ... that does not raise the loss; return the new score."""
        values, raw_after = np.zeros_like(leaf_weights), own.raw_prediction

        def loss_at(share: float, thresholds: NDArray[np.float64]) -> float:
            nonlocal values, raw_after
            values = (share * tree.learning_rate * leaf_weights).astype(tree.value_type).astype(np.float64)
            raw_after = own.plus(leaves, values)
            self._evaluated = self._evaluate(raw_after, thresholds)
            return self._evaluated.loss

        highest = self._rows.highest_loss(self._now().loss)
        if self._learner.move(tree.learning_rate * threshold_step, loss_at, highest) == 0.0:
            values, raw_after = np.zeros_like(leaf_weights), own.raw_prediction
            self._evaluated = self._evaluate(raw_after, self.thresholds)
        self.leaf_values.append(values)
        tree.renew(values)
        return raw_after

    def _move_thresholds(self, raw_after: NDArray[np.float64], delta: NDArray[np.float64]) -> None:
        """Move the thresholds alone. Without renewal nothing bounds the loss, so the step is always checked."""

        def loss_at(_: float, thresholds: NDArray[np.float64]) -> float:
            self._evaluated = self._evaluate(raw_after, thresholds)
            return self._evaluated.loss

        if self._learner.move(delta, loss_at, self._rows.highest_loss(self._now().loss), max_halvings=0) > 0.0:
            return
        # The tree itself may have raised the loss: only the step's own share is halved.
        highest = self._rows.highest_loss(self._evaluate(raw_after, self.thresholds).loss)
        if self._learner.move(delta, loss_at, highest) == 0.0:
            self._evaluated = None
