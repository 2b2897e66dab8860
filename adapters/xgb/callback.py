"""The callback that moves an objective's thresholds after each round of an XGBoost booster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xgboost.callback import EarlyStopping, TrainingCallback

from ordinal_objectives.adapters.xgb.training import XGBoostTraining
from ordinal_objectives.utils.progress import Show


class ThresholdCallback(TrainingCallback):  # type: ignore[misc]
    """Passes the booster and the rounds to a training, and stores the thresholds in the booster.

    Parameters
    ----------
    training : XGBoostTraining
        That of the objective.
    """

    def __init__(self, training: XGBoostTraining) -> None:
        super().__init__()
        self._training = training

    def before_training(self, model: Any) -> Any:
        """Show the model."""
        self._training.start(model)
        return model

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Show the number of the round."""
        self._training.callback_state.start_round(model, epoch)
        return False

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Show the end of the round."""
        self._training.finish_round()
        return False

    def after_training(self, model: Any) -> Any:
        """Learn the thresholds of the last round, and store those of all in the booster."""
        # A model that early stopping cut short keeps the whole record; predictions use its own iteration.
        self._training.finish(model)
        return model


def asks_for_early_stop(options: Mapping[str, Any], callbacks: Sequence[TrainingCallback]) -> str | None:
    """Return the argument of train() that asks for an early stop, if one does."""
    if options.get("early_stopping_rounds"):
        return f"early_stopping_rounds={options['early_stopping_rounds']}"
    return "the callback EarlyStopping" if any(isinstance(one, EarlyStopping) for one in callbacks) else None


class ShownRounds(TrainingCallback):  # type: ignore[misc]
    """Shows each round, with the loss of the last set that is evaluated, or else of the training rows."""

    def __init__(self, training: XGBoostTraining, show: Show) -> None:
        super().__init__()
        self._training, self._show, self._done = training, show, 0

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Show a round."""
        self._done += 1
        last = next(iter(list(evals_log.values())[-1].values()))[-1] if evals_log else None
        loss = self._training.latest.training_loss[-1] if last is None else last
        self._show(self._done, float(loss[0] if isinstance(loss, tuple) else loss))
        return False
