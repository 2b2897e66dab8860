"""Thresholds of a training in which XGBoost fits the score and the contrasts of the shifts itself.

Leaves of XGBoost hold one number for each output, -G / (H + lambda). The outputs of a row are (w, z): its score, and
contrasts that become shifts by one small matrix. Nothing is renewed, so nothing has to be followed: every round begins
with XGBoost's own outputs.

The Hessian in (w, z) is not diagonal, and XGBoost takes the diagonal alone. Such a step can be too long, at learning
rates near 1 with a small penalty of the shifts, or where few rows are sampled. Where a round has raised the training
loss, the next steps are halved.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters.newton_run import NewtonRun
from ordinal_objectives.leaves.contrasts import contrasts
from ordinal_objectives.leaves.shifts import Shifts
from ordinal_objectives.losses import OrdinalLoss, RoundStatistics
from ordinal_objectives.rows.device import on_cpu
from ordinal_objectives.threshold_solver.outputs import VectorOutputs
from ordinal_objectives.threshold_solver.record import ThresholdRecord

# Steps come back so much in a round that does not raise the loss.
_RECOVERY = 0.9


class OutputRun(NewtonRun):
    """State of one training run whose framework fits the shifts as outputs of its own.

    What the other runs call the raw prediction are here the outputs, float32 (n_samples, n_classes - 1), or
    (n_samples,) of two classes.

    Parameters
    ----------
    loss, y, n_classes, sample_weight, **options
        As for :class:`.newton_run.NewtonRun`.
    shifts : Shifts
    reg_lambda : float
        The framework's penalty of every number in a leaf, positive.
    halves : bool, default=True
        Whether steps are halved after a round that raised the loss. With dart it says nothing of the newest tree.
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
        reg_lambda: float,
        halves: bool = True,
        previous: ThresholdRecord | None = None,
        **options: Any,
    ) -> None:
        super().__init__(loss, y, n_classes, sample_weight, previous=previous, **options)
        self.shifts = shifts
        before = None if previous is None else previous.outputs
        shifted = self._learner.active if before is None else before.contrasts.any(axis=1)
        C = contrasts(n_classes - 1, reg_lambda, shifts.l2, shifts.penalty, shifted)
        if before is not None and not np.allclose(C, before.contrasts):
            raise ValueError(
                f"reg_lambda={reg_lambda:g}, shift_l2={shifts.l2:g} and shift_penalty={shifts.penalty!r} are not those "
                f"that scaled the outputs of the model to be continued; go on with its own"
            )
        self._outputs = VectorOutputs(C, [] if before is None else list(before.means))
        self._mixing = self._outputs.mixing.astype(np.float32)
        # A threshold without weight on one side takes no shift of its own.
        mixing = np.where(self._learner.active[:, np.newaxis], self._outputs.mixing, [1.0] + [0.0] * (n_classes - 2))
        self._to_gradient, self._to_hessian = mixing.astype(np.float32), (mixing**2).astype(np.float32)
        weight = self._rows.sample_weight
        self._shares = np.ones(self._rows.y.shape[0]) if weight is None else weight.astype(np.float64)
        self._shares = self.device.copy((self._shares / self._shares.sum()).astype(np.float32))
        self._columns = self.device.columns(self._rows.y.shape[0], 2 * (n_classes - 1))
        self._mixed: tuple[Any, Any] | None = None
        self._halves, self._damping = halves, 1.0

    def gradient(self, raw_prediction: ArrayLike, iteration: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return gradient and Hessian of every output, float32 (n_samples, n_classes - 1) each.

        The first columns are those of the score.
        """
        super().gradient(raw_prediction, iteration)  # fills the columns
        n_thresholds = len(self._mixing)
        self._mixed = None
        G, H = self._columns[:, :n_thresholds], self._columns[:, n_thresholds:]
        damped = np.float32(self._damping) * self._to_hessian
        return self.device.times(G, self._to_gradient), self.device.times(H, damped)

    def advance(self, raw_prediction: ArrayLike, iteration: int) -> None:
        """Learn the thresholds of ``iteration`` from its outputs, unless that is done already."""
        self._centre(raw_prediction, iteration)
        super().advance(raw_prediction, iteration)

    def settle(self, raw_prediction: ArrayLike, iteration: int) -> None:
        """Fit the thresholds of ``iteration`` to its outputs, where earlier ones belong to others."""
        self._centre(raw_prediction, iteration)
        super().settle(raw_prediction, iteration)

    def score_of(self, matrix: Any, score: NDArray[Any]) -> NDArray[Any]:
        """Return the scores f + v_k of any matrix, (n_samples, n_classes - 1), given its outputs."""
        scores: NDArray[np.float32] = self._scores_of(score)
        return scores

    def proba_of(self, matrix: Any, raw_prediction: NDArray[Any]) -> NDArray[np.float64]:
        """Return class probabilities of any matrix, (n_samples, n_classes), at its outputs."""
        return self.loss.margin_proba(self.thresholds - on_cpu(self._scores_of(raw_prediction)))

    def record(self) -> ThresholdRecord:
        """Return a record of the run as it is now."""
        outputs = VectorOutputs(self._outputs.contrasts, list(self._outputs.means))
        return replace(super().record(), shifts=self.shifts, outputs=outputs)

    def _centre(self, outputs: ArrayLike, iteration: int) -> None:
        """Take the mean of the shifts out of the scores and into the thresholds, which changes no margin.

        A model that is continued brings the mean of its last iteration.
        """
        means = self._outputs.means
        if iteration < len(means):
            return
        means.append(self.device.weighted_sum(self._shares, _rows_of(outputs))[1:])
        self._mixed = None
        if iteration:
            moved = self._outputs.offset(iteration) - self._outputs.offset(iteration - 1)
            self._learner.thresholds = self.thresholds - moved

    def _rows_of(self, y: ArrayLike, n_classes: int, weight: Any) -> Any:
        return self.device.margin_pass(self.loss, y, n_classes, weight)

    def _loss_of(self, rows: Any, score: Any) -> float:
        loss: float = rows.loss_of_prediction(score, self.thresholds)
        return loss

    def _scores_of(self, outputs: ArrayLike) -> Any:
        offset = self._outputs.offset(-1).astype(np.float32)
        return self.device.scores_of(_rows_of(outputs), self._mixing.T, offset)

    def _of_training(self, outputs: ArrayLike) -> Any:
        """Return the scores of the training rows; several passes of a round ask at the same outputs."""
        if self._mixed is None or self._mixed[0] is not outputs:
            self._mixed = (outputs, self._scores_of(outputs))
        return self._mixed[1]

    def _record(self, raw_prediction: ArrayLike) -> None:
        before = self.diagnostics.n_raised
        super()._record(raw_prediction)
        if self._halves and self.diagnostics.n_raised > before:
            self._damping *= 2.0
        else:
            self._damping = max(1.0, _RECOVERY * self._damping)

    def _start(self, raw_prediction: ArrayLike) -> None:
        if not self._given_start and self._learns and np.any(raw_prediction):
            self._learner.thresholds = self.thresholds + np.median(on_cpu(self._of_training(raw_prediction)))
            self._fit(raw_prediction)

    def _step(self, raw_prediction: ArrayLike, now: RoundStatistics | None = None) -> None:
        scores, learner = self._of_training(raw_prediction), self._learner
        want_loss = learner.newton_may_rise
        now = self._rows(scores, self.thresholds, learner.step_hessian, want_loss=want_loss, want_rows=False)
        super()._step(raw_prediction, now)

    def _evaluate(self, raw_prediction: ArrayLike, thresholds: NDArray[np.float64]) -> RoundStatistics:
        scores = self._of_training(raw_prediction)
        statistics: RoundStatistics = self._rows(scores, thresholds, self.hessian, columns=self._columns)
        self.diagnostics.add(n_clipped=statistics.n_clipped, n_floored=statistics.n_floored)
        return statistics


def _rows_of(outputs: ArrayLike) -> NDArray[np.float32]:
    """Return outputs as rows; those of two classes come as (n_samples,)."""
    rows = np.asarray(outputs, dtype=np.float32)
    return rows[:, np.newaxis] if rows.ndim == 1 else rows
