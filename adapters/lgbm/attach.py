"""Attach thresholds after a LightGBM training without callback: the booster is recognised, and the last step taken."""

from __future__ import annotations

from typing import Any

import lightgbm

from ordinal_objectives.adapters.lgbm.prediction import predict_raw, rows_for
from ordinal_objectives.adapters.lgbm.training import LightGBMTraining
from ordinal_objectives.adapters.lgbm.trees import check_parameters
from ordinal_objectives.adapters.run import SAME_SCORE, TrainingRun
from ordinal_objectives.threshold_solver.record import ThresholdRecord


def finished_record(training: LightGBMTraining, booster: lightgbm.Booster, data: Any) -> ThresholdRecord:
    """Return the record of an objective's latest training, if it is that of the booster.

    Parameters
    ----------
    training : LightGBMTraining
        That of the objective.
    booster : lightgbm.Booster
    data : array-like or None
        The training features.

    Raises
    ------
    ValueError
        If the booster is another one, or data is missing.
    """
    check_parameters(booster, training.spec.threshold_update)
    run = training.latest
    rounds = booster.current_iteration()
    if rounds < run.seen.grown_at:
        raise ValueError(
            f"booster has {rounds} iterations, but this objective's latest training had at least "
            f"{run.seen.grown_at}; attach the booster that it returned"
        )
    if data is None:
        raise ValueError(
            "data is needed to tell whether the booster is that of this objective's latest training: call "
            "objective.attach(booster, X) with the training features, or train with callbacks=[objective.callback]"
        )
    data = rows_for(booster, data)
    seen = _iterations_seen(run, booster, data, rounds)
    if seen < rounds:
        run.advance(predict_raw(booster, data, 0, rounds), run.seen.grown_at + 1)
    # LightGBM puts a constant first where the first round finds no split; it left the score as it was.
    return run.record().stretched(rounds, max(0, seen - run.seen.grown_at))


def _iterations_seen(run: TrainingRun, booster: lightgbm.Booster, data: Any, rounds: int) -> int:
    """Return the iterations in the score that the objective saw last; refuse one that is not the booster's."""
    # All but the last, or all if the last round found no split.
    off = {}
    for iteration in (rounds - 1, rounds):
        score = predict_raw(booster, data, 0, max(iteration, 1)) * (iteration > 0)
        off[iteration] = run.seen.off_grown_on(score)
    seen = min(off, key=off.__getitem__)
    if off[seen] > SAME_SCORE:
        raise ValueError(
            "booster is not the one that this objective's latest training returned, data are not its features, or "
            "its scores began with an init_score: the scores differ from those of the training. Pass "
            "callbacks=[objective.callback] to train instead"
        )
    return seen
