"""Attach thresholds after an XGBoost training without callback: the booster is recognised, and the last step taken."""

from __future__ import annotations

from dataclasses import replace

import xgboost

from ordinal_objectives.adapters.xgb.record import why_last_only
from ordinal_objectives.adapters.xgb.training import XGBoostTraining
from ordinal_objectives.threshold_solver.record import ThresholdRecord


def finished_record(
    training: XGBoostTraining, booster: xgboost.Booster, dtrain: xgboost.DMatrix | None
) -> ThresholdRecord:
    """Return the record of an objective's latest training, if it is that of the booster.

    Parameters
    ----------
    training : XGBoostTraining
        That of the objective.
    booster : xgboost.Booster
    dtrain : xgboost.DMatrix or None
        The training matrix, to take the last step; None leaves it out.

    Raises
    ------
    ValueError
        If the booster is another one, or the matrix is needed to tell.
    """
    run = training.latest
    rounds = booster.num_boosted_rounds()
    if rounds < run.first_iteration + run.seen.n_grown or not run.seen.n_grown:
        raise ValueError(
            f"booster has {rounds} rounds, but this objective's latest training had {run.seen.n_grown}; attach the "
            f"booster that it returned, or pass callbacks=[objective.callback] to train"
        )
    last_only = why_last_only(booster) is not None
    comparable = rounds > 1 and not last_only
    matrix = dtrain
    if matrix is None and comparable:
        matrix = next((one for one, its_run in training.items() if its_run is run), None)
    if matrix is None:
        raise ValueError(
            "dtrain is needed to tell whether the booster is that of this objective's latest training: call "
            "objective.attach(booster, dtrain) with the training matrix, or train with callbacks=[objective.callback]"
        )
    if not run.has_labels(matrix.get_label()):
        raise ValueError("dtrain must be the matrix of this objective's latest training; its labels differ")
    if comparable and not run.seen.was_grown_on(
        booster.predict(matrix, output_margin=True, iteration_range=(0, rounds - 1))
    ):
        raise ValueError(
            "booster is not the one that this objective's latest training returned: its scores on the training rows "
            "differ. Attach a booster before the objective is used again, or pass callbacks=[objective.callback]"
        )
    if dtrain is not None:
        # Where the rounds cannot be compared, thresholds that fit the score are right for any booster.
        step = run.refit_thresholds if last_only else run.advance
        step(booster.predict(dtrain, output_margin=True), run.first_iteration + run.seen.n_grown)
    record = run.record().stretched(rounds, rounds - run.first_iteration - run.seen.n_grown)
    if last_only:
        record = replace(record, training_loss=[float("nan")] * rounds + record.training_loss[-1:])
    return replace(record, last_only=last_only)
