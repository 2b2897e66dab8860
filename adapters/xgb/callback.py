"""The callback that keeps an objective's thresholds in step with an XGBoost booster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import xgboost
from numpy.typing import NDArray
from xgboost.callback import EarlyStopping, TrainingCallback

from ordinal_objectives.adapters.newton_run import TrainingRun
from ordinal_objectives.adapters.objective import TREE_UPDATES
from ordinal_objectives.adapters.per_thread import PerThread
from ordinal_objectives.adapters.xgb.record import (
    ATTRIBUTE,
    check_all_rounds,
    store_record,
    stored_record,
    why_last_only,
)
from ordinal_objectives.adapters.xgb.trees import check_configuration
from ordinal_objectives.threshold_solver.record import ThresholdRecord

if TYPE_CHECKING:
    from ordinal_objectives.adapters.xgb.objective import OrdinalObjective


class ThresholdCallback(TrainingCallback):  # type: ignore[misc]
    """Keeps an objective's thresholds in step with the booster, and stores them in it."""

    _model = PerThread[Any](lambda: None)
    previous = PerThread[ThresholdRecord | None](lambda: None)
    rounds_done = PerThread[int](lambda: 0)
    last_only = PerThread[bool](lambda: False)
    # Matrices that asked for gradients in this round, by their ids.
    _asked = PerThread[set[int]](set)
    # What train() evaluates: with renewed leaves, these scores are followed from the start.
    evaluated = PerThread[list[xgboost.DMatrix]](list)
    # The argument that asks train() for an early stop, if one does.
    stops_early = PerThread[str | None](lambda: None)

    def __init__(self, objective: OrdinalObjective) -> None:
        super().__init__()
        self._objective = objective

    def before_training(self, model: Any) -> Any:
        """Forget other trainings; refuse what would spoil this one; find what is continued."""
        self._objective._forget()
        self._model = model
        self.rounds_done = 0
        self._asked = set()
        self.previous = self._objective.continues
        for booster in self._boosters():
            check_configuration(booster, self._objective.threshold_update)
        reason = why_last_only(self._boosters()[0])
        if reason is not None and self.stops_early is not None:
            raise ValueError(
                f"{self.stops_early} is not allowed here: {reason}, so that the model of the best round is lost; train "
                f"a fixed number of rounds, or use booster='gbtree'"
            )
        self.last_only = reason is not None
        if not hasattr(model, "cvfolds"):
            rounds = model.num_boosted_rounds()
            # Where an earlier training stopped best says nothing about the model that this one will return.
            model.set_attr(best_iteration=None, best_score=None)
            stored = stored_record(model)
            if stored is not None:
                check_all_rounds(model, stored, rounds)
                self.previous = stored.kept(rounds)
                self._objective.check_continues(self.previous)
                # Rounds that were rescaled once stay so.
                self.last_only = self.last_only or bool(stored.last_only)
            elif rounds and (self.previous is None or self.previous.n_iterations != rounds):
                raise ValueError(
                    f"xgb_model has {rounds} rounds but carries no thresholds for them; train it with this "
                    f"callback, or store them with objective.attach(booster, dtrain)"
                )
            if self._objective.threshold_update in TREE_UPDATES:
                # Each tree is read from a slice of the booster, which copies its attributes.
                model.set_attr(**{ATTRIBUTE: None})
            for dmatrix in self.evaluated:
                self._objective._starts[dmatrix] = model.predict(dmatrix, output_margin=True)
        return model

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Count the rounds."""
        if epoch and self._model is None:
            raise ValueError(
                "the objective was used in another training before this one had ended; take one objective for each "
                "of the trainings that run inside one another"
            )
        self._model = model
        self.rounds_done = epoch
        self._asked = set()
        return False

    def trains(self, dtrain: xgboost.DMatrix, predt: NDArray[Any]) -> bool:
        """Tell whether a gradient is asked for by the training with this callback.

        Each of its matrices asks once a round. Whatever else asks shows that an exception has ended that training.
        """
        if self.booster_of(dtrain) is None:
            return False
        run = self._objective._runs.get(dtrain)
        folds = hasattr(self._model, "cvfolds")
        asked = id(dtrain) in self._asked if folds else bool(self._asked)
        lost = self.rounds_done > 0 and (run is None or (not self.last_only and run.begins_again(predt)))
        if asked or lost:
            self._model = None
            return False
        self._asked.add(id(dtrain))
        return True

    def booster_of(self, dmatrix: xgboost.DMatrix) -> xgboost.Booster | None:
        """Return the booster that a matrix belongs to, or None outside a training with this callback."""
        folds = getattr(self._model, "cvfolds", None)
        if folds is None:
            return self._model
        return next((fold.bst for fold in folds if dmatrix is fold.dtrain or dmatrix is fold.dtest), None)

    def _boosters(self) -> list[xgboost.Booster]:
        return [fold.bst for fold in getattr(self._model, "cvfolds", [])] or [self._model]

    def refresh(self, dmatrix: xgboost.DMatrix | None = None) -> TrainingRun | None:
        """Learn the thresholds of the round just finished; a second call in a round costs nothing.

        Returns the run of the booster that ``dmatrix`` belongs to.
        """
        wanted = None
        for dtrain, run in self._objective._runs.items():
            booster = self.booster_of(dtrain)
            iteration = run.first_iteration + self.rounds_done + 1
            if booster is not None and booster.num_boosted_rounds() < iteration:
                self._model = None  # an exception has ended its training before this tree
                return None
            if booster is not None and len(run.history) <= iteration:
                run.advance(booster.predict(dtrain, output_margin=True), iteration)
            if booster is not None and dmatrix is not None and self.booster_of(dmatrix) is booster:
                wanted = run
        return wanted

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Learn the thresholds of the round, unless a metric has asked for them already."""
        self.refresh()
        return False

    def after_training(self, model: Any) -> Any:
        """Store the thresholds in the booster."""
        self.evaluated = []
        # A model that early stopping cut short keeps the whole record; predictions use its own iteration.
        for dtrain, run in self._objective._runs.items():
            record = replace(self._objective._record_of(run), last_only=self.last_only)
            booster = model if isinstance(model, xgboost.Booster) else self.booster_of(dtrain)
            if booster is not None:
                store_record(booster, record)
        self._model = None
        return model


def asks_for_early_stop(options: Mapping[str, Any], callbacks: Sequence[TrainingCallback]) -> str | None:
    """Return the argument of train() that asks for an early stop, if one does."""
    if options.get("early_stopping_rounds"):
        return f"early_stopping_rounds={options['early_stopping_rounds']}"
    return "the callback EarlyStopping" if any(isinstance(one, EarlyStopping) for one in callbacks) else None
