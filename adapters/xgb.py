"""Ordinal boosting inside XGBoost: an objective for ``xgboost.train`` whose thresholds are learned."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xgboost
from numpy.typing import ArrayLike, NDArray
from xgboost.callback import TrainingCallback

from ordinal_objectives.adapters.objective import (
    OrdinalObjectiveBase,
    predict_codes,
    predict_from_scores,
)
from ordinal_objectives.adapters.threshold_record import ThresholdRecord
from ordinal_objectives.adapters.training_run import TrainingRun

ATTRIBUTE = "ordinal_objectives"


class OrdinalObjective(OrdinalObjectiveBase):
    """Ordinal objective for :func:`xgboost.train`.

    The score starts at 0, so ``params`` must hold ``base_score=0.0``; ``disable_default_eval_metric=1``
    silences XGBoost's rmse. Pass the object as ``obj=``: thresholds are learned inside the call, one Newton
    step behind the trees. Pass ``callbacks=[objective.callback]`` as well, and metrics see the thresholds
    of their own round, the last step is done, and the thresholds are stored in the booster, where
    saving, slicing, pickling and continuing keep them.

    Parameters
    ----------
    n_classes, loss, link, hessian, threshold_update, thresholds, n_threads
        See :class:`ordinal_objectives.adapters.objective.OrdinalObjectiveBase`.

    Examples
    --------
    >>> import numpy as np, xgboost
    >>> from ordinal_objectives.adapters import xgb as oxgb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> dtrain = xgboost.DMatrix(X, y)
    >>> objective = oxgb.OrdinalObjective(n_classes=4)
    >>> params = {"base_score": 0.0, "disable_default_eval_metric": 1, "max_depth": 2}
    >>> booster = xgboost.train(params, dtrain, 20, obj=objective, callbacks=[objective.callback])
    >>> objective.predict_proba(booster, dtrain).shape
    (300, 4)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.callback = _ThresholdCallback(self)

    def _forget(self) -> None:
        super()._forget()
        self._calls = 0  # of the latest run, for trainings without the callback

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "callback"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.callback = _ThresholdCallback(self)

    def __call__(self, predt: NDArray[Any], dtrain: xgboost.DMatrix) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return gradient and Hessian, float32 (n_samples,) each, as XGBoost asks for them."""
        if predt.ndim != 1:
            raise ValueError(
                "params['num_class'] is not allowed beside an ordinal objective: the score must have shape "
                f"(n_samples,); got {predt.shape}"
            )
        run = self._runs.get(dtrain)
        if self.callback.booster_of(dtrain) is not None:
            if run is None:
                run = self._begin(predt, dtrain, self.callback.previous)
            return run.gradient(predt, run.first_iteration + self.callback.rounds_done)
        # Scores are all zero before the first tree alone: a new training has begun on this matrix.
        if run is None or (self._calls and not predt.any()):
            run = self._begin(predt, dtrain, self.continues)
        self._calls += 1
        return run.gradient(predt, run.first_iteration + self._calls - 1)

    def _begin(self, predt: NDArray[Any], dtrain: xgboost.DMatrix, previous: ThresholdRecord | None) -> TrainingRun:
        if predt.any() and predt.size > 1 and np.ptp(predt) == 0:
            raise ValueError(
                f"base_score must be 0.0 beside an ordinal objective, since the thresholds hold the location; "
                f"the score starts at {predt[0]}. Pass params={{'base_score': 0.0, ...}}"
            )
        if predt.any() and previous is None and self.thresholds is None and self.threshold_update == "fixed":
            raise ValueError(
                "the score does not start at zero (a model is continued, or base_margin is set), and "
                "threshold_update='fixed' cannot fit thresholds to it: pass thresholds="
            )
        self._calls = 0
        return self._new_run(dtrain, previous)

    def metric(self, predt: NDArray[Any], dmatrix: xgboost.DMatrix) -> tuple[str, float]:
        """Weighted mean of the loss, for ``custom_metric=``; fresh thresholds if the callback is passed."""
        run = self.callback.refresh(dmatrix) or self._latest_run()
        return self.loss.name, self._mean_loss(predt, dmatrix, run)

    def _label_and_weight(self, matrix: xgboost.DMatrix) -> tuple[Any, Any]:
        weight = matrix.get_weight()
        return matrix.get_label(), weight if weight.size else None

    def attach(self, booster: xgboost.Booster, dtrain: xgboost.DMatrix | None = None) -> None:
        """Store the thresholds in a booster that was trained without the callback.

        Parameters
        ----------
        booster : xgboost.Booster
            What the latest training with this objective returned. Its attribute is set.
        dtrain : xgboost.DMatrix or None, default=None
            The training matrix, to take the last threshold step; None leaves the last tree with the
            thresholds it was grown on.

        Raises
        ------
        ValueError
            If the objective's latest training is not the booster's.
        """
        booster.set_attr(**{ATTRIBUTE: self._finished_record(booster, dtrain).to_json()})

    def _finished_record(self, booster: xgboost.Booster, dtrain: xgboost.DMatrix | None) -> ThresholdRecord:
        run = self._latest_run()
        rounds = booster.num_boosted_rounds()
        offset = rounds - run.first_iteration - self._calls
        if offset < 0 or not self._calls:
            raise ValueError(
                f"booster has {rounds} rounds, but this objective's latest training had {self._calls}; attach the "
                f"booster that it returned, or pass callbacks=[objective.callback] to train"
            )
        if dtrain is not None:
            run.advance(booster.predict(dtrain, output_margin=True), run.first_iteration + self._calls)
        return self._record_of(run).stretched(rounds, offset)

    def _record(self, booster: xgboost.Booster) -> ThresholdRecord:
        return _stored_record(booster) or self._finished_record(booster, None)

    def predict_proba(
        self, booster: xgboost.Booster, data: xgboost.DMatrix, iteration_range: tuple[int, int] | None = None
    ) -> NDArray[np.float64]:
        """Class probabilities, float64 (n_samples, n_classes); see :func:`predict_proba`."""
        return _proba(booster, self._record(booster), data, iteration_range)

    def predict(
        self,
        booster: xgboost.Booster,
        data: xgboost.DMatrix,
        iteration_range: tuple[int, int] | None = None,
        *,
        decision_rule: str = "median",
        cost_matrix: ArrayLike | None = None,
    ) -> NDArray[np.intp]:
        """Class codes, (n_samples,); see :func:`predict`."""
        return predict_codes(self.predict_proba(booster, data, iteration_range), decision_rule, cost_matrix)


class _ThresholdCallback(TrainingCallback):  # type: ignore[misc]
    """Keeps an objective's thresholds in step with the booster, and stores them in it."""

    def __init__(self, objective: OrdinalObjective) -> None:
        super().__init__()
        self._objective = objective
        self._model: Any = None
        self.previous: ThresholdRecord | None = None
        self.rounds_done = 0

    def before_training(self, model: Any) -> Any:
        self._objective._forget()
        self._model = model
        self.rounds_done = 0
        self.previous = self._objective.continues
        if not hasattr(model, "cvfolds"):
            _check_configuration(model)
            rounds = model.num_boosted_rounds()
            # Where an earlier training stopped best says nothing about the model that this one will return.
            model.set_attr(best_iteration=None, best_score=None)
            stored = _stored_record(model)
            if stored is not None:
                self.previous = stored.kept(rounds)
                self._objective.check_continues(self.previous)
            elif rounds and (self.previous is None or self.previous.n_iterations != rounds):
                raise ValueError(
                    f"xgb_model has {rounds} rounds but carries no thresholds for them; train it with this "
                    f"callback, or store them with objective.attach(booster, dtrain)"
                )
        return model

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
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
        self.refresh()
        return False

    def after_training(self, model: Any) -> Any:
        # A model that early stopping cut short keeps the whole record; predictions use its own iteration.
        for dtrain, run in self._objective._runs.items():
            record = self._objective._record_of(run).to_json()
            for booster in (self.booster_of(dtrain), model):
                if isinstance(booster, xgboost.Booster):
                    booster.set_attr(**{ATTRIBUTE: record})
        self._model = None
        return model


def _check_configuration(booster: xgboost.Booster) -> None:
    """Refuse what would silently spoil an ordinal training, as far as the booster's configuration shows it."""
    learner = json.loads(booster.save_config())["learner"]
    num_class = int(learner["learner_model_param"]["num_class"])
    if num_class > 0:
        raise ValueError(
            f"params['num_class'] = {num_class} is not allowed beside an ordinal objective: one score serves all "
            f"classes; pass n_classes to the objective instead"
        )
    objective = learner["learner_train_param"]["objective"]
    # XGBoost fills in this one when no objective is given.
    if objective != "reg:squarederror":
        raise ValueError(
            f"params['objective'] = {objective!r} is not allowed beside an ordinal objective; leave it out and pass "
            f"obj=objective alone"
        )


def _stored_record(booster: xgboost.Booster) -> ThresholdRecord | None:
    text = booster.attr(ATTRIBUTE)
    return None if text is None else ThresholdRecord.from_json(text)


def threshold_record(booster: xgboost.Booster) -> ThresholdRecord:
    """Return what a booster carries about its thresholds: those of every iteration, losses, settings.

    Raises
    ------
    ValueError
        If the booster carries no thresholds.
    """
    record = _stored_record(booster)
    if record is None:
        raise ValueError(
            "booster carries no ordinal thresholds; train with callbacks=[objective.callback], or call "
            "objective.attach(booster, dtrain) after training"
        )
    return record


def _proba(
    booster: xgboost.Booster,
    record: ThresholdRecord,
    data: xgboost.DMatrix,
    iteration_range: tuple[int, int] | None,
) -> NDArray[np.float64]:
    end = kept_rounds(booster) if iteration_range is None else iteration_range[1]
    start = 0 if iteration_range is None else iteration_range[0]
    end = end or booster.num_boosted_rounds()
    if start != 0:
        raise ValueError(
            f"iteration_range must start at 0, since thresholds belong to a score summed from the first tree; "
            f"got {iteration_range}"
        )
    scores = booster.predict(data, output_margin=True, iteration_range=(0, end))
    return predict_from_scores(record, end, scores)


def kept_rounds(booster: xgboost.Booster) -> int:
    """Return the number of rounds that predictions use: up to the best one after early stopping."""
    best = booster.attr("best_iteration")
    rounds = booster.num_boosted_rounds()
    return int(rounds if best is None else min(int(best) + 1, rounds))


def predict_proba(
    booster: xgboost.Booster, data: xgboost.DMatrix, iteration_range: tuple[int, int] | None = None
) -> NDArray[np.float64]:
    """Return class probabilities of a booster that carries its thresholds.

    Parameters
    ----------
    booster : xgboost.Booster
        Trained with the callback, or loaded from a file of such a model.
    data : xgboost.DMatrix
        Rows to predict.
    iteration_range : tuple of int, or None
        (0, t) uses the first t rounds and the thresholds of iteration t. None uses all rounds, or those
        up to the best one if early stopping ended the training.

    Returns
    -------
    ndarray of float64, shape (n_samples, n_classes)

    Raises
    ------
    ValueError
        If the booster carries no thresholds, or none for that iteration.
    """
    return _proba(booster, threshold_record(booster), data, iteration_range)


def predict(
    booster: xgboost.Booster,
    data: xgboost.DMatrix,
    iteration_range: tuple[int, int] | None = None,
    *,
    decision_rule: str = "median",
    cost_matrix: ArrayLike | None = None,
) -> NDArray[np.intp]:
    """Return class codes, (n_samples,), of a booster that carries its thresholds.

    ``decision_rule`` and ``cost_matrix`` are those of :func:`ordinal_objectives.decision.decide`; the other
    parameters are those of :func:`predict_proba`.
    """
    return predict_codes(predict_proba(booster, data, iteration_range), decision_rule, cost_matrix)
