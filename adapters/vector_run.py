"""Leaves that shift single thresholds: the newest tree's leaves are renewed as vectors, then the thresholds follow.

Trees are grown by the framework on the score's gradient, and their renewed leaves hold the score's part, the mean of
each vector. The model's own scores, one for every threshold of a row, are followed here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters.joint_run import JointRun
from ordinal_objectives.adapters.leaf_matching import FollowedScore, GrownTree
from ordinal_objectives.leaves import vector
from ordinal_objectives.leaves.shifts import Shifts
from ordinal_objectives.losses import OrdinalLoss, RoundStatistics
from ordinal_objectives.rows import Device, parted
from ordinal_objectives.rows.device import on_cpu
from ordinal_objectives.rows.margins import is_far
from ordinal_objectives.threshold_solver import longest_step
from ordinal_objectives.threshold_solver.record import ThresholdRecord


class FollowedMargins(FollowedScore):
    """Scores of one matrix for every threshold, followed tree by tree.

    Parameters
    ----------
    score : ndarray, shape (n_samples,)
        The framework's.
    iteration : int
    scores : ndarray of float32 or float64, shape (n_samples, n_classes - 1)
        The model's own, f + v_k, one threshold after the other in memory.
    """

    def __init__(self, score: NDArray[Any], iteration: int, device: Device, scores: NDArray[Any]) -> None:
        super().__init__(score, iteration, device)
        self.raw_prediction = device.copy(scores)

    def plus(self, leaves: NDArray[np.int32], leaf_values: NDArray[Any]) -> NDArray[Any]:
        """Return the scores with a tree more, (n_samples, n_classes - 1)."""
        scores: NDArray[Any] = self._device.add_leaf_vectors(self.raw_prediction, leaves, leaf_values)
        return scores


class VectorRun(JointRun):
    """State of one training run whose leaves shift single thresholds.

    Parameters
    ----------
    loss, y, n_classes, sample_weight, **options
        As for :class:`.joint_run.JointRun`.
    shifts : Shifts
    initial_shifts : callable
        ``initial_shifts(matrix)`` returns the shifts of a matrix before the first tree of this run, those of the
        model that is continued, float64 (n_samples, n_classes - 1), or None.

    Attributes
    ----------
    leaf_vectors : list of ndarray of float32, shape (n_leaves, n_classes - 1)
        What each leaf of every tree adds to f + v_k; those of the model that is continued come first.
    """

    _keeps_order: ClassVar[bool] = False

    def __init__(
        self,
        loss: OrdinalLoss,
        y: ArrayLike,
        n_classes: int,
        sample_weight: ArrayLike | None = None,
        *,
        shifts: Shifts,
        initial_shifts: Callable[[Any], NDArray[np.float64] | None],
        previous: ThresholdRecord | None = None,
        **options: Any,
    ) -> None:
        self._far = False
        super().__init__(loss, y, n_classes, sample_weight, previous=previous, **options)
        self.renews = True
        self.shifts = shifts
        self._initial_shifts = initial_shifts
        self.leaf_vectors: list[NDArray[np.float32]] = []
        if previous is not None:
            none = np.zeros((0, n_classes - 1), np.float32)
            self.leaf_vectors = previous.leaf_vectors or [none] * previous.n_iterations
        self._labels = (y, n_classes, sample_weight)

    def record(self) -> ThresholdRecord:
        """Return a record of the run as it is now."""
        return replace(super().record(), shifts=self.shifts, leaf_vectors=list(self.leaf_vectors))

    def proba_of(self, matrix: Any, raw_prediction: NDArray[Any]) -> NDArray[np.float64]:
        """Return class probabilities of any matrix, (n_samples, n_classes), at the framework's score."""
        return self.loss.margin_proba(self.thresholds - on_cpu(self.score_of(matrix, raw_prediction)))

    def _rows_of(self, y: ArrayLike, n_classes: int, weight: Any) -> Any:
        kind, options = self.device.margin_pass, {"in_doubles": self._far}
        return parted(kind, self._workers, self.loss, y, n_classes, weight, **options)

    def _loss_of(self, rows: Any, score: NDArray[Any]) -> float:
        loss: float = rows.loss_of_prediction(score, self.thresholds)
        return loss

    def _follow(self, matrix: Any, score: NDArray[Any], iteration: int) -> FollowedScore:
        start = np.asarray(score, dtype=np.float64)[:, np.newaxis]
        before = self._initial_shifts(matrix)
        scores = np.tile(start, self.thresholds.shape[0]) if before is None else start + before
        if matrix is self._matrix() and self._any(is_far(scores)):
            self._far = True
            self._rows = self._rows_of(*self._labels)
        dtype = self._rows.scores_dtype
        return FollowedMargins(score, iteration, self.device, np.asarray(scores, dtype=dtype, order="F"))

    def _any(self, of_these_rows: bool) -> bool:
        return of_these_rows if self._workers is None else bool(self._workers.max(np.array([float(of_these_rows)]))[0])

    def _added_by_newest(self) -> NDArray[Any]:
        return self.leaf_vectors[-1]

    def _take_step(
        self,
        own: FollowedScore,
        score: NDArray[Any],
        leaves: NDArray[np.int32],
        merged: NDArray[np.intp],
        tree: GrownTree,
    ) -> NDArray[Any]:
        n_leaves = tree.leaf_values.shape[0]
        gradient, hessian = self._rows.leaf_sums(leaves, n_leaves)
        steps = vector.steps(
            gradient, hessian, tree.reg_lambda, self.shifts.l2, self.shifts.penalty, self._learner.active
        )
        weights = self._rows.leaf_weights(leaves, n_leaves)
        scores, after = self._renew_vectors(own, leaves, tree, steps[merged], weights)
        self._step(scores, after)
        return scores

    def _renew_vectors(
        self,
        own: FollowedScore,
        leaves: NDArray[np.int32],
        tree: GrownTree,
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
        off = vector.mean_shift(steps, leaf_weights)
        centred = steps - off
        vectors, scores = np.zeros_like(steps, dtype=np.float32), own.raw_prediction
        after: RoundStatistics | None = None

        def loss_at(share: float, thresholds: NDArray[np.float64]) -> float:
            nonlocal vectors, scores, after
            vectors = (share * tree.learning_rate * centred).astype(np.float32)
            scores = own.plus(leaves, vectors)
            after = self._rows(scores, thresholds, self._learner.step_hessian)
            return after.loss

        self._learner.thresholds, share = longest_step(
            self.thresholds,
            -tree.learning_rate * off,
            loss_at,
            self._rows.highest_loss(self._now().loss),
            ordered=False,
            diagnostics=self.diagnostics,
        )
        if share == 0.0:
            vectors, scores, after = np.zeros_like(vectors), own.raw_prediction, None
        self.leaf_vectors.append(vectors)
        self.leaf_values.append(vectors.mean(axis=1, dtype=np.float64).astype(tree.value_type).astype(np.float64))
        tree.renew(self.leaf_values[-1])
        return scores, after
