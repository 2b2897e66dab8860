"""The callback that keeps an objective's thresholds in step with a LightGBM booster."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import lightgbm
import numpy as np
from lightgbm.callback import CallbackEnv
from numpy.typing import NDArray

from ordinal_objectives.adapters.lgbm_record import store_record
from ordinal_objectives.adapters.lgbm_scores import out_of_step
from ordinal_objectives.adapters.lgbm_trees import check_parameters
from ordinal_objectives.adapters.per_thread import PerThread
from ordinal_objectives.adapters.training_run import TrainingRun

if TYPE_CHECKING:
    from ordinal_objectives.adapters.lgbm import OrdinalObjective


class ThresholdCallback:
    """Keeps an objective's thresholds in step with the booster, and gives them to it."""

    order = -1_000_000  # before whatever reads the metrics
    model = PerThread[Any](lambda: None)
    # Booster -> its iterations before those of its run.
    _unseen = PerThread[weakref.WeakKeyDictionary[lightgbm.Booster, int]](weakref.WeakKeyDictionary)

    def __init__(self, objective: OrdinalObjective) -> None:
        self._objective = objective

    def __call__(self, env: CallbackEnv) -> None:
        """Learn the thresholds of the round, and give the booster what is known of them."""
        first = self.model is not env.model
        self.meet(env.model)
        for booster in self._boosters():
            self._advance(booster)
            self.check_in_step(booster.train_set)
            record = self._objective._record_of(self._objective._runs[booster.train_set])
            unseen = self._unseen[booster]
            before = getattr(booster, "ordinal_thresholds", None)
            record = record.stretched(record.n_iterations + unseen, unseen) if unseen else record
            store_record(booster, record, None if before is None else before.trees)
        if first and env.evaluation_result_list:
            self._renew_first_metrics(env)

    def meet(self, model: Any) -> None:
        """Take over a booster, if its parameters suit the objective."""
        if self.model is not model:
            for booster in getattr(model, "boosters", None) or [model]:
                check_parameters(booster, self._objective.threshold_update)
        self.model = model

    def check_in_step(self, data: lightgbm.Dataset) -> None:
        """Raise ValueError if the booster that trains on ``data`` has lost or gained iterations beside its run."""
        booster = self.booster_of(data)
        if booster is None:
            return
        rounds = booster.current_iteration()
        # Trees that the run has not seen stand first, and stay as many: those of a model continued without its
        # record, and the constant that LightGBM puts where the first round finds no split.
        unseen = rounds - (len(self._objective._runs[data].history) - 1)
        expected = self._unseen.setdefault(booster, unseen)
        if unseen != expected:
            raise out_of_step(f"the booster has {rounds} iterations where {rounds - unseen + expected} are expected")

    def booster_of(self, data: lightgbm.Dataset) -> Any:
        """Return the booster that trains on ``data``, or None if the callback has seen none."""
        boosters = [] if self.model is None else self._boosters()
        # A booster whose training has ended has no train_set.
        return next((booster for booster in boosters if getattr(booster, "train_set", None) is data), None)

    def _boosters(self) -> list[Any]:
        return getattr(self.model, "boosters", None) or [self.model]

    def _advance(self, booster: Any) -> None:
        # Evaluating the training set is the one public way to its cached score.
        def look(preds: NDArray[Any], data: lightgbm.Dataset) -> tuple[str, float, bool]:
            self._objective._advance(preds, data)
            return "", 0.0, False

        booster.eval_train(look)

    def refresh(self, data: lightgbm.Dataset) -> TrainingRun | None:
        """Learn the thresholds of the round just finished, for the booster that evaluates ``data``."""
        if self.model is None:
            return None
        for booster in self._boosters():
            if not hasattr(booster, "train_set"):  # its training has ended
                continue
            if data is booster.train_set or any(data is valid for valid in booster.valid_sets):
                self._advance(booster)
                return self._objective._runs[booster.train_set]
        return None

    def _renew_first_metrics(self, env: CallbackEnv) -> None:
        """Replace metrics of the first round, which were computed before a callback could see the booster."""
        metric = self._objective.metric
        name = self._objective.loss.name
        fresh = [
            {result[:2]: result for result in [*booster.eval_train(metric), *booster.eval_valid(metric)]}
            for booster in self._boosters()
        ]
        results = env.evaluation_result_list
        for i, result in enumerate(results):
            key = (result[0], result[1])
            if result[1] == name and all(key in renewed for renewed in fresh):
                values = [renewed[key][2] for renewed in fresh]
                tail = result[3:] if len(fresh) == 1 else (result[3], float(np.std(values)), *result[5:])
                entry = (*key, float(np.mean(values)), *tail)
                results[i] = type(result)(*entry) if hasattr(result, "_fields") else entry


class Introduction:
    """Shows the booster to the callback before the first tree, so that the first metrics are fresh as well."""

    order = -1_000_000
    before_iteration = True

    def __init__(self, callback: ThresholdCallback) -> None:
        self._callback = callback

    def __call__(self, env: CallbackEnv) -> None:
        """Introduce the booster."""
        self._callback.meet(env.model)
