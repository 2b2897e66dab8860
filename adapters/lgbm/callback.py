"""The callback that moves an objective's thresholds after each round of a LightGBM booster."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from lightgbm.callback import CallbackEnv

from ordinal_objectives.adapters.lgbm.input_checks import check_evaluated, check_metrics
from ordinal_objectives.adapters.lgbm.record import note_round, store_record
from ordinal_objectives.adapters.lgbm.training import LightGBMTraining
from ordinal_objectives.adapters.lgbm.trees import let_train_without_features
from ordinal_objectives.utils.progress import Show


class ThresholdCallback:
    """Passes the booster to a training after each round, and gives the booster its thresholds.

    Parameters
    ----------
    training : LightGBMTraining
        That of the objective.
    """

    order = -1_000_000  # before whatever reads the metrics

    def __init__(self, training: LightGBMTraining) -> None:
        self._training = training

    def __call__(self, env: CallbackEnv) -> None:
        """Learn the thresholds of the round, and give the booster their record."""
        check_metrics(env.params)
        first = self._training.set_model(env.model, 1)
        if first and not env.evaluation_result_list:
            has_sets = any(booster.valid_sets for booster in self._training.boosters())
            check_evaluated(env.params, has_sets)
        for booster in self._training.boosters():
            self._training.advance(booster)
            before = getattr(booster, "ordinal_thresholds", None)
            store_record(booster, self._training.record_of(booster), None if before is None else before.trees)
            note_round(booster, env.iteration + 1)
        if first and env.evaluation_result_list:
            self._renew_first_metrics(env)

    def _renew_first_metrics(self, env: CallbackEnv) -> None:
        """Replace metrics of the first round, which were computed before a callback could see the booster."""
        name, metric = self._training.spec.loss.name, self._training.metric
        fresh = [
            {result[:2]: result for result in [*booster.eval_train(metric), *booster.eval_valid(metric)]}
            for booster in self._training.boosters()
        ]
        results = env.evaluation_result_list
        for i, result in enumerate(results):
            key = (result[0], result[1])
            if result[1] == name and all(key in renewed for renewed in fresh):
                values = [renewed[key][2] for renewed in fresh]
                tail = result[3:] if len(fresh) == 1 else (result[3], float(np.std(values)), *result[5:])
                entry = (*key, float(np.mean(values)), *tail)
                results[i] = type(result)(*entry) if hasattr(result, "_fields") else entry


class BeforeIterationCallback:
    """Passes the booster before the first tree, so that the first metrics use the newest thresholds too.

    Parameters
    ----------
    training : LightGBMTraining
    """

    order = -1_000_000
    before_iteration = True

    def __init__(self, training: LightGBMTraining) -> None:
        self._training = training

    def __call__(self, env: CallbackEnv) -> None:
        """Pass the booster to the training."""
        if self._training.set_model(env.model, 0):
            for booster in self._training.boosters():
                let_train_without_features(booster)


def shown_rounds(training: LightGBMTraining, show: Show) -> Callable[[CallbackEnv], None]:
    """Return a callback that shows each round, with the loss of the last set, or else of the training rows."""

    def callback(env: CallbackEnv) -> None:
        of_loss = [result[2] for result in env.evaluation_result_list or [] if result[1] == training.spec.loss.name]
        loss = of_loss[-1] if of_loss else training.latest.training_loss[-1]
        show(env.iteration - env.begin_iteration + 1, loss)

    callback.order = 10  # type: ignore[attr-defined]  # before early stopping ends the training
    return callback
