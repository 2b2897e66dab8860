"""The callback that keeps an objective's thresholds in step with an XGBoost booster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import xgboost
from xgboost.callback import TrainingCallback

from ordinal_objectives.adapters.objective import TREE_UPDATES
from ordinal_objectives.adapters.threshold_record import ThresholdRecord
from ordinal_objectives.adapters.training_run import TrainingRun
from ordinal_objectives.adapters.xgb_record import ATTRIBUTE, stored_record
from ordinal_objectives.adapters.xgb_trees import check_configuration

if TYPE_CHECKING:
    from ordinal_objectives.adapters.xgb import OrdinalObjective


class ThresholdCallback(TrainingCallback):  # type: ignore[misc]
    """Keeps an objective's thresholds in step with the booster, and stores them in it."""

    def __init__(self, objective: OrdinalObjective) -> None:
        super().__init__()
        self._objective = objective
        self._model: Any = None
        self.previous: ThresholdRecord | None = None
        self.rounds_done = 0
        # What train() evaluates: with renewed leaves, these scores are followed from the start.
        self.evaluated: list[xgboost.DMatrix] = []

    def before_training(self, model: Any) -> Any:
        """Forget other trainings; refuse what would spoil this one; find what is continued."""
        self._objective._forget()
        self._model = model
        self.rounds_done = 0
        self.previous = self._objective.continues
        if not hasattr(model, "cvfolds"):
            check_configuration(model, self._objective.threshold_update)
            rounds = model.num_boosted_rounds()
            # Where an earlier training stopped best says nothing about the model that this one will return.
            model.set_attr(best_iteration=None, best_score=None)
            stored = stored_record(model)
            if stored is not None:
                self.previous = stored.kept(rounds)
                self._objective.check_continues(self.previous)
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
        self._model = model
        self.rounds_done = epoch
        return False

    def booster_of(self, dmatrix: xgboost.DMatrix) -> xgboost.Booster | None:
        """Return the booster that a matrix belongs to, or None outside a training with this callback."""
        folds = getattr(self._model, "cvfolds", None)
        if folds is None:
            return self._model
        return next((fold.bst for fold in folds if dmatrix is fold.dtrain or dmatrix is fold.dtest), None)

    def refresh(self, dmatrix: xgboost.DMatrix | None = None) -> TrainingRun | None:
        """Learn the thresholds of the round just finished; a second call in a round costs nothing.

        Returns the run of the booster that ``dmatrix`` belongs to.
        """
        wanted = None
        for dtrain, run in self._objective._runs.items():
            booster = self.booster_of(dtrain)
            iteration = run.first_iteration + self.rounds_done + 1
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
            record = self._objective._record_of(run).to_json()
            for booster in (self.booster_of(dtrain), model):
                if isinstance(booster, xgboost.Booster):
                    booster.set_attr(**{ATTRIBUTE: record})
        self._model = None
        return model
