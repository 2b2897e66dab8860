"""Ordinal boosting inside LightGBM: an objective for ``lightgbm.train`` whose thresholds are learned."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters.grown_tree import GrownTree
from ordinal_objectives.adapters.lgbm_callback import Introduction, ThresholdCallback
from ordinal_objectives.adapters.lgbm_prediction import predict_raw
from ordinal_objectives.adapters.lgbm_record import (
    as_booster,
    load_model,
    save_model,
    store_record,
    stored_record,
    threshold_record,
)
from ordinal_objectives.adapters.lgbm_scores import TrainingScore
from ordinal_objectives.adapters.lgbm_trees import check_parameters, initial_score, newest_tree, refuse_boosting
from ordinal_objectives.adapters.objective import (
    TREE_UPDATES,
    OrdinalObjectiveBase,
    predict_from_scores,
    refuse_parameters,
)
from ordinal_objectives.adapters.per_thread import PerThread
from ordinal_objectives.adapters.threshold_record import ThresholdRecord
from ordinal_objectives.adapters.training_run import SAME_SCORE, TrainingRun
from ordinal_objectives.decision import decide
from ordinal_objectives.losses import OrdinalLoss

__all__ = [
    "OrdinalObjective",
    "load_model",
    "predict",
    "predict_proba",
    "save_model",
    "threshold_record",
    "train",
]

_REFUSED = {
    "objective": "the ordinal loss is the objective",
    "num_class": "one score serves all classes; pass n_classes",
    "metric": "built-in metrics do not know the thresholds; pass feval, which gets probabilities",
}
_ALIASES = {
    "boosting": ("boosting_type", "boost"),
    "objective": ("objective_type", "app", "application", "loss"),
    "num_class": ("num_classes",),
    "metric": ("metrics", "metric_types"),
    "num_threads": ("num_thread", "nthread", "nthreads", "n_jobs"),
}


class OrdinalObjective(OrdinalObjectiveBase):
    """Ordinal objective for :func:`lightgbm.train`: ``params["objective"] = objective``.

    Thresholds are learned inside the call, one Newton step behind the trees. Pass
    ``callbacks=[objective.callback]`` as well, and metrics see the thresholds of their own round, the last
    step is done, and the booster carries its thresholds: :func:`save_model` and :func:`load_model` keep
    them in LightGBM's own text format, and pickling keeps them too.

    LightGBM copies its parameters deeply; a deep copy of this object is the object itself, so that what it
    learned is not lost. Use :func:`copy.copy` or :mod:`pickle` for an independent, untrained copy.

    Parameters
    ----------
    n_classes, loss, link, hessian, threshold_update, thresholds, n_threads
        See :class:`ordinal_objectives.adapters.objective.OrdinalObjectiveBase`.

    Examples
    --------
    >>> import lightgbm, numpy as np
    >>> from ordinal_objectives.adapters import lgbm as olgbm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> objective = olgbm.OrdinalObjective(n_classes=4)
    >>> params = {"objective": objective, "metric": "None", "verbosity": -1, "num_leaves": 4}
    >>> booster = lightgbm.train(params, lightgbm.Dataset(X, y), 20, callbacks=[objective.callback])
    >>> objective.predict_proba(booster, X).shape
    (300, 4)
    """

    _scores = PerThread[weakref.WeakKeyDictionary[lightgbm.Dataset, TrainingScore]](weakref.WeakKeyDictionary)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.callback = ThresholdCallback(self)

    def _forget(self) -> None:
        super()._forget()
        self._scores = weakref.WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "callback"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.callback = ThresholdCallback(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> OrdinalObjective:
        return self

    def __call__(self, preds: NDArray[Any], train_data: lightgbm.Dataset) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return gradient and Hessian, float32 (n_samples,) each, as LightGBM asks for them."""
        if preds.ndim != 1:
            raise ValueError(
                "params['num_class'] is not allowed beside an ordinal objective: the score must have shape "
                f"(n_samples,); got {preds.shape}"
            )
        self._refuse_bare_joint()
        run = self._runs.get(train_data)
        if run is None or not self._scores[train_data].is_in(preds):
            run = self._begin(preds, train_data)
        elif self.threshold_update in TREE_UPDATES and self.callback.booster_of(train_data) is None:
            raise ValueError(
                f"threshold_update={self.threshold_update!r} reads the newest tree through the callback: pass "
                f"callbacks=[objective.callback], or call train of this module"
            )
        else:
            self.callback.check_in_step(train_data)
        if self.callback.booster_of(train_data) is None:
            self._note_turn(run)
        return run.gradient(preds, self._scores[train_data].count(preds))

    def _begin(self, preds: NDArray[Any], train_data: lightgbm.Dataset) -> TrainingRun:
        """Begin a training: the first on this data set, or a new one, which starts at the scores of its rows."""
        if train_data in self._runs and not np.array_equal(preds, initial_score(train_data)):
            raise _foreign_scores()
        if preds.any() and self.thresholds is None and self.continues is None and self.threshold_update == "fixed":
            raise ValueError(
                "the score does not start at zero (init_model or init_score is set), and "
                "threshold_update='fixed' cannot fit thresholds to it: pass thresholds="
            )
        if not self._wired:
            self.callback.model = None
        run = self._new_run(train_data, self.continues)
        self._scores[train_data] = TrainingScore(preds, run.first_iteration)
        return run

    def metric(self, preds: NDArray[Any], data: lightgbm.Dataset) -> tuple[str, float, bool]:
        """Weighted mean of the loss, for ``feval=``; fresh thresholds if the callback is passed."""
        return self.loss.name, self._mean_loss(preds, data, self._run_of(preds, data)), False

    def _run_of(self, preds: NDArray[Any], matrix: lightgbm.Dataset) -> TrainingRun:
        own = self._runs.get(matrix)
        if own is not None and self._scores[matrix].is_in(preds) and self.threshold_update not in TREE_UPDATES:
            self._advance(preds, matrix)
            return own
        run = self.callback.refresh(matrix)
        # lightgbm.cv hands over training scores in other arrays, in the first round before the callback knows it.
        if run is None and own is not None and len(own.history) > own.first_iteration + 1:
            raise _foreign_scores()
        return run or own or self._only_run()

    def _newest_tree(self, matrix: lightgbm.Dataset) -> GrownTree:
        return newest_tree(self.callback.booster_of(matrix), self.threshold_update)

    def _initial_score(self, matrix: lightgbm.Dataset) -> NDArray[Any]:
        return initial_score(matrix)

    def _advance(self, preds: NDArray[Any], train_data: lightgbm.Dataset) -> TrainingRun:
        score = self._scores[train_data]
        if not score.is_in(preds):
            raise _foreign_scores()
        run = self._runs[train_data]
        run.advance(preds, score.count(preds))
        return run

    def _label_and_weight(self, matrix: lightgbm.Dataset) -> tuple[Any, Any]:
        label = matrix.get_label()
        if label is None:
            raise ValueError("the data set has no labels; pass label= to lightgbm.Dataset")
        return label, matrix.get_weight()

    def attach(self, booster: lightgbm.Booster, data: Any = None) -> None:
        """Give its thresholds to a booster that was trained without the callback.

        Parameters
        ----------
        booster : lightgbm.Booster
            What the latest training with this objective returned.
        data : array-like
            The training features: the booster is recognised by its scores, and takes its last threshold step.

        Raises
        ------
        ValueError
            If the objective's latest training is not the booster's, if data is missing, or if the training
            had an init_score, which data does not hold.
        """
        store_record(booster, self._finished_record(booster, data))

    def _finished_record(self, booster: lightgbm.Booster, data: Any) -> ThresholdRecord:
        check_parameters(booster, self.threshold_update)
        run = self._latest_run()
        rounds = booster.current_iteration()
        if rounds < run.grown_at:
            raise ValueError(
                f"booster has {rounds} iterations, but this objective's latest training had at least "
                f"{run.grown_at}; attach the booster that it returned"
            )
        if data is None:
            raise ValueError(
                "data is needed to tell whether the booster is that of this objective's latest training: call "
                "objective.attach(booster, X) with the training features, or train with callbacks=[objective.callback]"
            )
        seen = self._iterations_seen(booster, data, rounds)
        if seen < rounds:
            run.advance(booster.predict(data, raw_score=True, num_iteration=rounds), run.grown_at + 1)
        # LightGBM puts a constant first where the first round finds no split; it left the score as it was.
        return self._record_of(run).stretched(rounds, max(0, seen - run.grown_at))

    def _iterations_seen(self, booster: lightgbm.Booster, data: Any, rounds: int) -> int:
        """Return the iterations in the score that the objective saw last; refuse one that is not the booster's."""
        run = self._latest_run()
        # All but the last, or all if the last round found no split.
        off = {}
        for iteration in (rounds - 1, rounds):
            score = booster.predict(data, raw_score=True, num_iteration=max(iteration, 1)) * (iteration > 0)
            off[iteration] = run.off_grown_on(score)
        seen = min(off, key=off.__getitem__)
        if off[seen] > SAME_SCORE:
            raise ValueError(
                "booster is not the one that this objective's latest training returned, data are not its features, or "
                "its scores began with an init_score: the scores differ from those of the training. Pass "
                "callbacks=[objective.callback] to train instead"
            )
        return seen

    def _record(self, booster: lightgbm.Booster) -> ThresholdRecord:
        return stored_record(booster) or self._finished_record(booster, None)

    def predict_proba(
        self, booster: lightgbm.Booster, data: Any, num_iteration: int | None = None
    ) -> NDArray[np.float64]:
        """Class probabilities, float64 (n_samples, n_classes); see :func:`predict_proba`."""
        return _proba(booster, self._record(booster), data, num_iteration)

    def predict(
        self,
        booster: lightgbm.Booster,
        data: Any,
        num_iteration: int | None = None,
        *,
        decision_rule: str = "median",
        cost_matrix: ArrayLike | None = None,
    ) -> NDArray[np.intp]:
        """Class codes, (n_samples,); see :func:`predict`."""
        return decide(self.predict_proba(booster, data, num_iteration), decision_rule, cost_matrix)


def _foreign_scores() -> ValueError:
    return ValueError(
        "the scores are not those of the training that this objective follows on the data set: take one objective "
        "for each booster, and hand it the array that LightGBM passes, not a copy (start scores are the data set's "
        "init_score)"
    )


def _proba(
    booster: lightgbm.Booster, record: ThresholdRecord, data: Any, num_iteration: int | None
) -> NDArray[np.float64]:
    if num_iteration is None:
        num_iteration = booster.best_iteration
    elif not isinstance(num_iteration, int | np.integer) or isinstance(num_iteration, bool):
        raise ValueError(f"num_iteration must be None or an integer, 0 and below for all; got {num_iteration!r}")
    rounds = booster.current_iteration()
    end = rounds if num_iteration is None or num_iteration <= 0 else min(num_iteration, rounds)
    return predict_from_scores(record, end, predict_raw(booster, data, 0, end))


def predict_proba(booster: lightgbm.Booster, data: Any, num_iteration: int | None = None) -> NDArray[np.float64]:
    """Return class probabilities of a booster that carries its thresholds.

    Parameters
    ----------
    booster : lightgbm.Booster
        Trained with the callback, or loaded by :func:`load_model`.
    data : array-like
        Features, as :meth:`lightgbm.Booster.predict` takes them.
    num_iteration : int or None
        How many iterations to use, with the thresholds that belong to them. None uses those up to the
        best one if early stopping found one, else all.

    Returns
    -------
    ndarray of float64, shape (n_samples, n_classes)

    Raises
    ------
    ValueError
        If the booster carries no thresholds, or none for that iteration.
    """
    return _proba(booster, threshold_record(booster), data, num_iteration)


def predict(
    booster: lightgbm.Booster,
    data: Any,
    num_iteration: int | None = None,
    *,
    decision_rule: str = "median",
    cost_matrix: ArrayLike | None = None,
) -> NDArray[np.intp]:
    """Return class codes, (n_samples,), of a booster that carries its thresholds.

    ``decision_rule`` and ``cost_matrix`` are those of :func:`ordinal_objectives.decision.decide`; the other
    parameters are those of :func:`predict_proba`.
    """
    return decide(predict_proba(booster, data, num_iteration), decision_rule, cost_matrix)


def train(
    params: Mapping[str, Any],
    train_set: lightgbm.Dataset,
    num_boost_round: int = 100,
    valid_sets: list[lightgbm.Dataset] | None = None,
    valid_names: list[str] | None = None,
    feval: Callable[..., Any] | list[Callable[..., Any]] | None = None,
    init_model: lightgbm.Booster | str | PathLike[str] | None = None,
    keep_training_booster: bool = False,
    callbacks: Sequence[Callable[..., Any]] | None = None,
    *,
    n_classes: int | None = None,
    loss: str | OrdinalLoss = "all_threshold",
    link: str = "logit",
    hessian: str = "exact",
    threshold_update: str = "joint",
    thresholds: ArrayLike | ThresholdRecord | None = None,
) -> lightgbm.Booster:
    r"""Train an ordinal model: :func:`lightgbm.train` with objective, callback and metric in place.

    With ``threshold_update="joint"``, after every tree the leaf values and the thresholds take one Newton
    step together, :math:`w_j = -(G_j + L_j'\delta) / (H_j + \lambda)`, with lambda_l2 for
    :math:`\lambda`, also in leaves that cat_l2 or quantised gradients made different. LightGBM's own scores
    keep the leaves that it set; those of the model are followed beside them.

    Parameters
    ----------
    params : mapping
        As for LightGBM. ``objective``, ``num_class`` and ``metric`` are refused.
    train_set : lightgbm.Dataset
        Labels are class codes 0..n_classes - 1.
    num_boost_round : int, default=100
    valid_sets, valid_names, keep_training_booster, callbacks
        As for LightGBM. Valid sets are evaluated each round with the ordinal loss.
    feval : callable, list of callable or None
        ``feval(proba, data) -> (name, value, higher_is_better)``, with the class probabilities of the round
        just finished, float64 (n_samples, n_classes). Evaluated after the ordinal loss.
    init_model : Booster, path or None
        Model to continue, which must carry its thresholds unless ``thresholds`` holds them.
    n_classes, loss, link, hessian, threshold_update, thresholds
        See :class:`ordinal_objectives.adapters.objective.OrdinalObjectiveBase`. "schur" and "joint" refuse
        lambda_l1, max_delta_step, path_smooth, monotone constraints and linear_tree; dart and rf are refused for all.

    Returns
    -------
    lightgbm.Booster
        Carries its thresholds: :func:`predict_proba` reads them, :func:`save_model` keeps them.

    Raises
    ------
    ValueError
        If a parameter is refused; the message names it.

    Examples
    --------
    >>> import lightgbm, numpy as np
    >>> from ordinal_objectives.adapters import lgbm as olgbm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> booster = olgbm.train({"num_leaves": 4, "verbosity": -1}, lightgbm.Dataset(X, y), 20, n_classes=4)
    >>> olgbm.predict_proba(booster, X).shape
    (300, 4)
    """
    refuse_parameters(params, {alias: _REFUSED[name] for name in _REFUSED for alias in (name, *_ALIASES[name])})
    for name in ("boosting", *_ALIASES["boosting"]):
        refuse_boosting(name, params.get(name))
    threads = ("num_threads", *_ALIASES["num_threads"])
    if init_model is not None:
        init_model = previous = as_booster(init_model)
        if thresholds is None:
            thresholds = threshold_record(previous).kept(previous.current_iteration())
    objective = OrdinalObjective(
        n_classes,
        loss=loss,
        link=link,
        hessian=hessian,
        threshold_update=threshold_update,
        thresholds=thresholds,
        n_threads=next((params[name] for name in threads if params.get(name) is not None), None),
    )
    objective._wired = True
    metrics = [] if feval is None else feval if isinstance(feval, list) else [feval]
    return lightgbm.train(
        {**params, "objective": objective, "metric": "None"},
        train_set,
        num_boost_round,
        valid_sets=valid_sets,
        valid_names=valid_names,
        feval=[objective.metric, *map(objective.proba_metric, metrics)],
        init_model=init_model,
        keep_training_booster=keep_training_booster,
        callbacks=[Introduction(objective.callback), objective.callback, *(callbacks or [])],
    )
