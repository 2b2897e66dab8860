"""The callback that keeps an objective's thresholds in step with an XGBoost booster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import xgboost
from xgboost.callback import EarlyStopping, TrainingCallback

from ordinal_objectives.adapters.joint_run import JointRun
from ordinal_objectives.adapters.newton_run import score_of_rows
from ordinal_objectives.adapters.xgb.leaf_vectors import shifts_before
from ordinal_objectives.adapters.xgb.outputs import ask_for_outputs
from ordinal_objectives.adapters.xgb.record import (
    ATTRIBUTE,
    check_all_rounds,
    store_record,
    stored_record,
    why_last_only,
)
from ordinal_objectives.adapters.xgb.runs import XGBoostRuns
from ordinal_objectives.adapters.xgb.trees import check_configuration, renew_leaves, why_not_renewed
from ordinal_objectives.threshold_solver.record import ThresholdRecord


class ThresholdCallback(TrainingCallback):  # type: ignore[misc]
    """Shows an objective's runs the booster and its rounds, and stores the thresholds in it.

    Parameters
    ----------
    runs : XGBoostRuns

    Attributes
    ----------
    evaluated : list of xgboost.DMatrix
        What ``train`` evaluates: with renewed leaves, these scores are followed from the start.
    stops_early : str or None
        The argument that asks ``train`` for an early stop, if one does.
    """

    def __init__(self, runs: XGBoostRuns) -> None:
        super().__init__()
        self._runs = runs
        self.evaluated: list[xgboost.DMatrix] = []
        self.stops_early: str | None = None

    def __reduce__(self) -> Any:
        # A copy belongs to the copy of its objective, wherever that one goes.
        state = {"driven": self._runs.driven, "refusal": self._runs.refusal, "stops_early": self.stops_early}
        return _callback_of, (self._runs.parameters, state)

    def before_training(self, model: Any) -> Any:
        """Forget other trainings; refuse what would spoil this one; find what is continued."""
        runs, parameters = self._runs, self._runs.parameters
        runs.start(model, parameters.continues)
        for booster in runs.boosters():
            check_configuration(booster, "newton" if runs.in_outputs else parameters.threshold_update)
        reason = why_last_only(runs.boosters()[0])
        if reason is not None and self.stops_early is not None:
            raise ValueError(
                f"{self.stops_early} is not allowed here: {reason}, so that the model of the best round is lost; train "
                f"a fixed number of rounds, or use booster='gbtree' without dropped trees"
            )
        runs.shown.last_only = reason is not None
        if not hasattr(model, "cvfolds"):
            self._find_previous(model)
        self._check_kind(runs.shown.previous)
        found = why_not_renewed(runs.boosters()[0])
        runs.choose_shifts(found and ": ".join(found))
        if runs.in_outputs and runs.shifts is not None:
            for booster in runs.boosters():
                runs.shown.afterwards = ask_for_outputs(booster, self._n_classes(), runs.shifts)
        for fold in getattr(model, "cvfolds", []):
            runs.shown.starts[fold.dtest] = fold.bst.predict(fold.dtest, output_margin=True)
        if not hasattr(model, "cvfolds"):
            if runs.needs_tree:
                # Each tree is read from a slice of the booster, which copies its attributes.
                model.set_attr(**{ATTRIBUTE: None})
                for dmatrix in self.evaluated:
                    runs.shown.starts[dmatrix] = score_of_rows(model.predict(dmatrix, output_margin=True))
            runs.shown.before = shifts_before(model, runs.shown.previous)
        return model

    def _find_previous(self, model: xgboost.Booster) -> None:
        shown, rounds = self._runs.shown, model.num_boosted_rounds()
        # Where an earlier training stopped best says nothing about the model that this one will return.
        model.set_attr(best_iteration=None, best_score=None)
        stored = stored_record(model)
        if stored is not None:
            check_all_rounds(model, stored, rounds)
            shown.previous = stored.kept(rounds)
            self._runs.parameters.check_continues(shown.previous)
            # Rounds that were rescaled once stay so.
            shown.last_only = shown.last_only or bool(stored.last_only)
        elif rounds and (shown.previous is None or shown.previous.n_iterations != rounds):
            raise ValueError(
                f"xgb_model has {rounds} rounds but carries no thresholds for them; train it with this "
                f"callback, or store them with objective.attach(booster, dtrain)"
            )

    def _check_kind(self, previous: ThresholdRecord | None) -> None:
        """Refuse to go on with a model whose shifts are kept elsewhere."""
        if previous is None or self._runs.in_outputs is (previous.outputs is not None):
            return
        if self._runs.in_outputs:
            raise ValueError(
                "the model to be continued has one output, the score: shift_method='host' cannot add others; go on "
                "with proportional=True or shift_method='renewal'"
            )
        raise ValueError(
            "the model to be continued has shifts among its outputs: pass proportional=False, shift_method='host' to "
            "go on with it"
        )

    def _n_classes(self) -> int:
        """Return the number of classes, which XGBoost is told before it shows the labels."""
        previous, n_classes = self._runs.shown.previous, self._runs.parameters.n_classes
        if n_classes is None and previous is not None:
            return previous.n_classes
        if n_classes is None:
            raise ValueError(
                "n_classes must be given to an objective whose shifts XGBoost fits itself: it is told the number of "
                "outputs before it shows the labels"
            )
        return n_classes

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Show the number of the round."""
        self._runs.start_round(model, epoch)
        return False

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Learn the thresholds of the round, unless a metric has asked for them already."""
        self._runs.refresh()
        return False

    def after_training(self, model: Any) -> Any:
        """Store the thresholds in the booster."""
        runs = self._runs
        self.evaluated = []
        # A model that early stopping cut short keeps the whole record; predictions use its own iteration.
        for dtrain, run in runs.items():
            record = replace(run.record(), last_only=runs.shown.last_only)
            booster = model if isinstance(model, xgboost.Booster) else runs.booster_of(dtrain)
            if booster is model and isinstance(run, JointRun) and run.renews:
                renew_leaves(booster, run.first_iteration, run.leaf_values)
            if booster is not None:
                store_record(booster, record)
        for booster in [model] if isinstance(model, xgboost.Booster) else runs.boosters():
            booster.set_param(runs.shown.afterwards)
        runs.end()
        return model


def _callback_of(objective: Any, state: dict[str, Any]) -> ThresholdCallback:
    callback: ThresholdCallback = objective.callback
    callback.stops_early = state.pop("stops_early")
    vars(objective.runs).update(state)
    return callback


def asks_for_early_stop(options: Mapping[str, Any], callbacks: Sequence[TrainingCallback]) -> str | None:
    """Return the argument of train() that asks for an early stop, if one does."""
    if options.get("early_stopping_rounds"):
        return f"early_stopping_rounds={options['early_stopping_rounds']}"
    return "the callback EarlyStopping" if any(isinstance(one, EarlyStopping) for one in callbacks) else None
