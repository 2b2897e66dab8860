"""Thresholds of a training in which XGBoost fits the score and the contrasts of the shifts itself.

Leaves of XGBoost hold one number for each output, -G / (H + lambda). The outputs of a row are (w, z): its score, and
contrasts that become shifts by one small matrix. Nothing is renewed, so nothing has to be followed: every round begins
with XGBoost's own outputs.

The Hessian in (w, z) is not diagonal, and XGBoost takes the diagonal alone. Such a step can be too long, at learning
rates near 1 with a small penalty of the shifts, or where few rows are sampled. Where a round has raised the training
loss, the next steps are halved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters.round_state import RoundState
from ordinal_objectives.adapters.row_placement import RowPlacement
from ordinal_objectives.adapters.updates.newton import step_thresholds
from ordinal_objectives.leaves.shifts import Shifts
from ordinal_objectives.leaves.vector import contrasts
from ordinal_objectives.losses import OrdinalLoss, RoundStatistics
from ordinal_objectives.rows import MarginPass
from ordinal_objectives.threshold_solver.record import ThresholdRecord, VectorOutputs

# Factor by which steps grow again in a round that does not raise the loss.
_RECOVERY = 0.9


class OutputUpdate:
    """Shifts as outputs of the framework's own, and the conditional step.

    The raw prediction of the other updates is the outputs here, float32 (n_samples, n_classes - 1), or
    (n_samples,) of two classes.

    Parameters
    ----------
    shifts : Shifts
    reg_lambda : float
        The framework's penalty of every number in a leaf, positive.
    halves : bool, default=True
        Whether steps are halved after a round that raised the loss. With dart it says nothing of the newest tree.
    """

    def __init__(self, shifts: Shifts, *, reg_lambda: float, halves: bool = True) -> None:
        self.shifts = shifts
        self.follows = self.renews = False
        self.leaf_values: list[NDArray[np.float64]] = []
        self._reg_lambda = reg_lambda
        self._halves, self._damping, self._n_raised = halves, 1.0, 0

    def rows_of(
        self, placement: RowPlacement, loss: OrdinalLoss, y: ArrayLike, n_classes: int, weight: Any
    ) -> MarginPass:
        """Return a pass over rows with a score for each threshold."""
        return placement.margins(loss, y, n_classes, weight)

    def begin(self, state: RoundState[MarginPass], previous: ThresholdRecord | None) -> None:
        """Find how outputs become scores: as in the model that is continued, if there is one.

        Raises
        ------
        ValueError
            If the penalties are not those that scaled the outputs of that model.
        """
        active, rows, shifts = state.learner.active, state.rows, self.shifts
        n_thresholds = active.shape[0]
        before = None if previous is None else previous.outputs
        shifted = active if before is None else before.contrasts.any(axis=1)
        C = contrasts(n_thresholds, self._reg_lambda, shifts.l2, shifts.penalty, shifted)
        if before is not None and not np.allclose(C, before.contrasts):
            raise ValueError(
                f"reg_lambda={self._reg_lambda:g}, shift_l2={shifts.l2:g} and shift_penalty={shifts.penalty!r} are not "
                f"those that scaled the outputs of the model to be continued; go on with its own"
            )
        self._outputs = VectorOutputs(C, [] if before is None else list(before.means))
        self._mixing = self._outputs.mixing.astype(np.float32)
        # A threshold without weight on one side takes no shift of its own.
        mixing = np.where(active[:, np.newaxis], self._outputs.mixing, [1.0] + [0.0] * (n_thresholds - 1))
        self._to_gradient, self._to_hessian = mixing.astype(np.float32), (mixing**2).astype(np.float32)
        device, weight, n_samples = state.placement.device, rows.sample_weight, rows.y.shape[0]
        shares = np.ones(n_samples) if weight is None else weight.astype(np.float64)
        self._device = device
        self._shares = device.copy((shares / shares.sum()).astype(np.float32))
        self._columns = device.columns(n_samples, 2 * n_thresholds)
        state.fill(self._columns)

    def start(self, state: RoundState[MarginPass], raw_prediction: Any, iteration: int) -> Any:
        """Return the scores at the outputs, without the mean of the shifts."""
        self._centre(state, raw_prediction, iteration)
        return self.score_of(None, raw_prediction)

    def take(self, state: RoundState[MarginPass], raw_prediction: Any, iteration: int) -> Any:
        """Take the conditional step at the outputs, and return their scores."""
        scores = self.start(state, raw_prediction, iteration)
        step_thresholds(state, scores)
        return scores

    def gradients(
        self, state: RoundState[MarginPass], statistics: RoundStatistics
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return those of every output, (n_samples, n_classes - 1) each; the first columns are those of the score."""
        self._note_round(state.diagnostics.n_raised)
        n_thresholds = len(self._mixing)
        G, H = self._columns[:, :n_thresholds], self._columns[:, n_thresholds:]
        damped = np.float32(self._damping) * self._to_hessian
        return self._device.times(G, self._to_gradient), self._device.times(H, damped)

    def score_of(self, matrix: Any, raw_prediction: Any) -> Any:
        """Return the scores f + v_k, (n_samples, n_classes - 1), at outputs of any matrix."""
        offset = self._outputs.offset(-1).astype(np.float32)
        return self._device.scores_of(_rows_of(raw_prediction), self._mixing.T, offset)

    def kept(self) -> dict[str, Any]:
        """Return how thresholds move with x, and how outputs become scores."""
        return {"shifts": self.shifts, "outputs": VectorOutputs(self._outputs.contrasts, list(self._outputs.means))}

    def _note_round(self, n_raised: int) -> None:
        """Halve the next steps if the round before raised the loss."""
        if self._halves and n_raised > self._n_raised:
            self._damping *= 2.0
        else:
            self._damping = max(1.0, _RECOVERY * self._damping)
        self._n_raised = n_raised

    def _centre(self, state: RoundState[MarginPass], outputs: ArrayLike, iteration: int) -> None:
        """Take the mean of the shifts out of the scores and into the thresholds, which changes no margin.

        A model that is continued brings the mean of its last iteration.
        """
        means = self._outputs.means
        state.forget()
        if iteration < len(means):
            return
        means.append(self._device.weighted_sum(self._shares, _rows_of(outputs))[1:])
        if iteration:
            moved = self._outputs.offset(iteration) - self._outputs.offset(iteration - 1)
            state.learner.set_thresholds(state.thresholds - moved)


def _rows_of(outputs: ArrayLike) -> NDArray[np.float32]:
    """Return outputs as rows; those of two classes come as (n_samples,)."""
    rows = np.asarray(outputs, dtype=np.float32)
    return rows[:, np.newaxis] if rows.ndim == 1 else rows
