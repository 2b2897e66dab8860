"""The threshold record of a model in another format: what our functions predict its class probabilities with."""

from __future__ import annotations

from typing import Any

import numpy as np

from ordinal_objectives.export.scoring_model import ScoringModel
from ordinal_objectives.leaves.shifts import DEFAULT_SHIFT_L2, Shifts
from ordinal_objectives.leaves.vector import contrasts
from ordinal_objectives.threshold_solver.record import ThresholdRecord, VectorOutputs


def threshold_record(found: ScoringModel, iterations: int | None, n_rounds: int) -> ThresholdRecord:
    """Return the record of a booster of so many rounds, which holds a model's first iterations.

    Where an iteration has become several rounds, each of them has the iteration's thresholds.
    """
    model: Any = found.model
    n_iter = model.n_iter_ if iterations is None else iterations
    of_round = -(-np.arange(n_rounds + 1) * n_iter // max(n_rounds, 1))
    thresholds = [model.threshold_history_[iteration] for iteration in of_round]
    unknown = [float("nan")] * len(thresholds)
    return ThresholdRecord.of(found.loss, model.hessian, model.threshold_update, thresholds, unknown, {})


def shifts_of(found: ScoringModel) -> Shifts:
    """Return the penalty of the shifts, as the model's parameters have it."""
    model: Any = found.model
    return Shifts(model.shift_l2 or DEFAULT_SHIFT_L2, model.shift_penalty, model.max_shifts or 1)


def score_and_contrasts(n_outputs: int, n_rounds: int) -> VectorOutputs:
    """Return outputs that are the score and orthonormal contrasts of the shifts."""
    return VectorOutputs(contrasts(n_outputs, 1.0, 1.0), [np.zeros(n_outputs - 1)] * (n_rounds + 1))
