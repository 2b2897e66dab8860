"""The threshold record as an attribute of an XGBoost booster."""

from __future__ import annotations

import xgboost

from ordinal_objectives.adapters.threshold_record import ThresholdRecord

ATTRIBUTE = "ordinal_objectives"


def stored_record(booster: xgboost.Booster) -> ThresholdRecord | None:
    """Return what a booster carries about its thresholds, or None."""
    try:
        text = booster.attr(ATTRIBUTE)
    except AssertionError:  # what XGBoost says of an empty text
        text = ""
    return None if text is None else ThresholdRecord.from_json(text)


def threshold_record(booster: xgboost.Booster) -> ThresholdRecord:
    """Return what a booster carries about its thresholds: those of every iteration, losses, settings.

    Raises
    ------
    ValueError
        If the booster carries no thresholds.
    """
    record = stored_record(booster)
    if record is None:
        raise ValueError(
            "booster carries no ordinal thresholds; train with callbacks=[objective.callback], or call "
            "objective.attach(booster, dtrain) after training"
        )
    return record


def kept_rounds(booster: xgboost.Booster) -> int:
    """Return the number of rounds that predictions use: up to the best one after early stopping."""
    best = booster.attr("best_iteration")
    rounds = booster.num_boosted_rounds()
    if best is not None and int(best) < 0:
        raise ValueError(f"best_iteration of the booster must be at least 0; got {best}")
    return int(rounds if best is None else min(int(best) + 1, rounds))
