"""Predictions from the record that a booster carries: what XGBoost's, LightGBM's and CatBoost's have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ordinal_objectives import decision, predictions, random_effects
from ordinal_objectives.aliases import ArrayLike, FloatArray, IndexArray
from ordinal_objectives.threshold_solver.record import ThresholdRecord


def check_booster(booster: object, kind: type[Any], name: str) -> None:
    """Raise TypeError unless a booster, in the argument of this name, is of a library's type."""
    if not isinstance(booster, kind):
        wanted = f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
        inside = "; pass its booster_, or call its own methods" if hasattr(booster, "booster_") else ""
        raise TypeError(f"{name} must be a {wanted}; got {type(booster).__name__}{inside}")


def record_from_json(text: str) -> ThresholdRecord:
    """Read the record of a booster, whether or not a classifier has trained it; see ``ThresholdRecord.from_json``."""
    # These load scikit-learn, which boosters do without.
    from ordinal_objectives.estimators.description import ClassifierDescription
    from ordinal_objectives.estimators.linear import LinearPart

    effects = tuple[random_effects.RandomEffects, ...]
    kinds = {"classifier": ClassifierDescription, "linear": LinearPart, "random_effects": effects}
    return ThresholdRecord.from_json(text, kinds)


def check_rounds(record: ThresholdRecord, n_rounds: int, instead: str) -> None:
    """Raise ValueError if a booster has more rounds than its record; ``instead`` says how to leave those out."""
    if n_rounds > record.n_iterations:
        raise ValueError(
            f"booster has {n_rounds} rounds, but thresholds for only {record.n_iterations}: the others were added "
            f"without the objective's callback; use {instead}"
        )


def proba_of(record: ThresholdRecord, scores: FloatArray, n_iter: int, groups: object = None) -> FloatArray:
    """Return class probabilities at the trees' scores after so many iterations, and the groups beside them."""
    loss, thresholds = record.ordinal_loss(), record.at(n_iter)
    if groups is not None:  # their columns stand alone, and not among the features of a classifier
        at = ((place, one.at(n_iter)) for place, one in enumerate(record.random_effects))
        effects = [replace(one, column=replace(one.column, place=place)) for place, one in at]
        X = random_effects.codes_beside(groups, [one.column for one in effects])
        scores = random_effects.with_effects(scores, X, effects, loss, thresholds)
    return predictions.proba(loss, scores, thresholds)


def decide(
    record: ThresholdRecord,
    predict_proba: Callable[[], FloatArray],
    decision_rule: str,
    cost_matrix: ArrayLike | None,
) -> IndexArray:
    """Return class codes; the decision is checked before the probabilities are computed."""
    record.ordinal_loss().check_decision(decision_rule, cost_matrix)
    return decision.decide(predict_proba(), decision_rule, cost_matrix)
