"""Ordinal boosting inside XGBoost: an objective for ``xgboost.train`` whose thresholds are learned."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
import xgboost
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.adapters.grown_tree import GrownTree
from ordinal_objectives.adapters.objective import (
    TREE_UPDATES,
    OrdinalObjectiveBase,
    predict_from_scores,
    refuse_parameters,
)
from ordinal_objectives.adapters.per_thread import PerThread
from ordinal_objectives.adapters.threshold_record import ThresholdRecord
from ordinal_objectives.adapters.training_run import TrainingRun, sample_of
from ordinal_objectives.adapters.tree_run import TreeRun
from ordinal_objectives.adapters.xgb_attach import finished_record
from ordinal_objectives.adapters.xgb_callback import ThresholdCallback, asks_for_early_stop
from ordinal_objectives.adapters.xgb_record import (
    ATTRIBUTE,
    check_all_rounds,
    kept_rounds,
    last_round,
    store_record,
    stored_record,
    threshold_record,
)
from ordinal_objectives.adapters.xgb_trees import newest_tree, renew_leaves
from ordinal_objectives.decision import decide
from ordinal_objectives.losses import OrdinalLoss

__all__ = [
    "ATTRIBUTE",
    "OrdinalObjective",
    "kept_rounds",
    "predict",
    "predict_proba",
    "threshold_record",
    "train",
]

_REFUSED = {
    "objective": "the ordinal loss is the objective",
    "num_class": "one score serves all classes; pass n_classes",
    "base_score": "the score starts at 0 and the thresholds hold the location",
    "eval_metric": "built-in metrics do not know the thresholds; pass custom_metric, which gets probabilities",
}


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

    _starts = PerThread[weakref.WeakKeyDictionary[Any, NDArray[Any]]](weakref.WeakKeyDictionary)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.callback = ThresholdCallback(self)

    def _forget(self) -> None:
        super()._forget()
        self._starts = weakref.WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "callback"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.callback = ThresholdCallback(self)

    def __call__(self, predt: NDArray[Any], dtrain: xgboost.DMatrix) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return gradient and Hessian, float32 (n_samples,) each, as XGBoost asks for them."""
        if predt.ndim != 1:
            raise ValueError(
                "params['num_class'] is not allowed beside an ordinal objective: the score must have shape "
                f"(n_samples,); got {predt.shape}"
            )
        self._refuse_bare_joint()
        run = self._runs.get(dtrain)
        if self.callback.trains(dtrain, predt):
            if run is None:
                run = self._begin(predt, dtrain, self.callback.previous)
                run.advance(predt, run.first_iteration)
                if self.callback.last_only and self.callback.previous is not None:
                    # dart leaves trees out of this score already: its loss is not that of the iteration.
                    run.training_loss[-1] = float("nan")
            return run.gradient(predt, run.first_iteration + self.callback.rounds_done)
        if self.threshold_update in TREE_UPDATES:
            raise ValueError(
                f"threshold_update={self.threshold_update!r} reads the newest tree through the callback: pass "
                f"callbacks=[objective.callback], or call train of this module"
            )
        # Where the score is that of the run's first tree again, a new training has begun on this matrix.
        if run is None or np.array_equal(sample_of(predt), run.start_sample):
            run = self._begin(predt, dtrain, self.continues)
        self._note_turn(run)
        return run.gradient(predt, run.first_iteration + run.n_grown)

    def _begin(self, predt: NDArray[Any], dtrain: xgboost.DMatrix, previous: ThresholdRecord | None) -> TrainingRun:
        starts_bare = previous is None and not dtrain.get_base_margin().size
        if starts_bare and predt.any() and predt.size > 1 and np.ptp(predt) == 0:
            raise ValueError(
                f"base_score must be 0.0 beside an ordinal objective, since the thresholds hold the location; "
                f"the score starts at {predt[0]}. Pass params={{'base_score': 0.0, ...}}"
            )
        if predt.any() and previous is None and self.thresholds is None and self.threshold_update == "fixed":
            raise ValueError(
                "the score does not start at zero (a model is continued, or base_margin is set), and "
                "threshold_update='fixed' cannot fit thresholds to it: pass thresholds="
            )
        return self._new_run(dtrain, previous)

    def metric(self, predt: NDArray[Any], dmatrix: xgboost.DMatrix) -> tuple[str, float]:
        """Weighted mean of the loss, for ``custom_metric=``; fresh thresholds if the callback is passed."""
        return self.loss.name, self._mean_loss(predt, dmatrix, self._run_of(predt, dmatrix))

    def _run_of(self, preds: NDArray[Any], matrix: xgboost.DMatrix) -> TrainingRun:
        run = self.callback.refresh(matrix)
        if run is None and self._runs.get(matrix) not in (None, self._latest):
            raise self._several_trainings()
        return run or self._only_run()

    def _newest_tree(self, matrix: xgboost.DMatrix) -> GrownTree:
        booster = self.callback.booster_of(matrix)
        if booster is None:
            raise RuntimeError("the newest tree belongs to a booster that the callback has not seen")
        return newest_tree(booster)

    def _initial_score(self, matrix: xgboost.DMatrix) -> NDArray[Any]:
        return self._starts[matrix]

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
            thresholds it was grown on. It may be left out while the matrix that was trained on is alive: the
            booster is recognised by its scores. With gblinear, and with dart that drops trees, the objective
            has not seen such scores; dtrain is needed, and the thresholds are fitted to the last one.

        Raises
        ------
        ValueError
            If the objective's latest training is not the booster's, or dtrain is needed to tell.
        """
        store_record(booster, finished_record(self, booster, dtrain))

    def _record(self, booster: xgboost.Booster) -> ThresholdRecord:
        return stored_record(booster) or finished_record(self, booster, None)

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
        return decide(self.predict_proba(booster, data, iteration_range), decision_rule, cost_matrix)


def _proba(
    booster: xgboost.Booster,
    record: ThresholdRecord,
    data: xgboost.DMatrix,
    iteration_range: tuple[int, int] | None,
) -> NDArray[np.float64]:
    end = last_round(booster, iteration_range)
    check_all_rounds(booster, record, end)
    scores = booster.predict(data, output_margin=True, iteration_range=(0, end))
    return predict_from_scores(record, end, scores)


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
    return decide(predict_proba(booster, data, iteration_range), decision_rule, cost_matrix)


def train(
    params: Mapping[str, Any],
    dtrain: xgboost.DMatrix,
    num_boost_round: int = 10,
    *,
    n_classes: int | None = None,
    loss: str | OrdinalLoss = "all_threshold",
    link: str = "logit",
    hessian: str = "exact",
    threshold_update: str = "joint",
    thresholds: ArrayLike | ThresholdRecord | None = None,
    evals: Sequence[tuple[xgboost.DMatrix, str]] | None = None,
    xgb_model: xgboost.Booster | str | PathLike[str] | bytearray | None = None,
    callbacks: Sequence[xgboost.callback.TrainingCallback] | None = None,
    custom_metric: Callable[[NDArray[np.float64], xgboost.DMatrix], Any] | None = None,
    **options: Any,
) -> xgboost.Booster:
    r"""Train an ordinal model: :func:`xgboost.train` with objective, callback and metric in place.

    With ``threshold_update="joint"``, after every tree the leaf values and the thresholds take one Newton
    step together, :math:`w_j = -(G_j + L_j'\delta) / (H_j + \lambda)`; the renewed leaves are written into
    the model when the training ends. Until then the trees that a callback of yours sees hold XGBoost's own
    leaf values.

    Parameters
    ----------
    params : mapping
        As for XGBoost. ``objective``, ``num_class``, ``eval_metric`` and a ``base_score`` other than 0 are
        refused.
    dtrain : xgboost.DMatrix
        Labels are class codes 0..n_classes - 1.
    num_boost_round : int, default=10
    n_classes, loss, link, hessian, threshold_update, thresholds
        See :class:`ordinal_objectives.adapters.objective.OrdinalObjectiveBase`. "schur" and "joint" refuse
        reg_alpha, max_delta_step, monotone constraints, num_parallel_tree above 1, dart and gblinear.
    evals : sequence of (DMatrix, name) pairs or None
        Evaluated each round with the ordinal loss.
    xgb_model : Booster, path, bytearray or None
        Model to continue, which must carry its thresholds.
    callbacks : sequence of xgboost.callback.TrainingCallback or None
        With "joint", TrainingCheckPoint is refused: it would save trees without their renewed leaves.
    custom_metric : callable or None
        ``custom_metric(proba, dmatrix) -> (name, value)``, with the class probabilities of the round just
        finished, float64 (n_samples, n_classes). Evaluated after the ordinal loss.
    **options
        ``maximize``, ``early_stopping_rounds``, ``evals_result`` and ``verbose_eval`` of XGBoost.

    Returns
    -------
    xgboost.Booster
        Carries its thresholds: :func:`predict_proba` reads them.

    Raises
    ------
    ValueError
        If a parameter is refused; the message names it.

    Examples
    --------
    >>> import numpy as np, xgboost
    >>> from ordinal_objectives.adapters import xgb as oxgb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> dtrain = xgboost.DMatrix(X, y)
    >>> booster = oxgb.train({"max_depth": 2}, dtrain, 20, n_classes=4)
    >>> oxgb.predict_proba(booster, dtrain).shape
    (300, 4)
    """
    if options.pop("obj", None) is not None:
        raise ValueError("obj is not allowed: train brings the ordinal objective; use xgboost.train for another one")
    params = {key: value for key, value in params.items() if key != "base_score" or value != 0}
    refuse_parameters(params, _REFUSED)
    threads = next((params[name] for name in ("nthread", "n_jobs") if params.get(name) is not None), None)
    objective = OrdinalObjective(
        n_classes,
        loss=loss,
        link=link,
        hessian=hessian,
        threshold_update=threshold_update,
        thresholds=thresholds,
        n_threads=threads,
    )
    callbacks = list(callbacks or [])
    if threshold_update == "joint":
        if any(isinstance(callback, xgboost.callback.TrainingCheckPoint) for callback in callbacks):
            raise ValueError(
                "callbacks must not hold TrainingCheckPoint with threshold_update='joint': it would save trees "
                "without their renewed leaves; threshold_update='newton' supports it"
            )
        objective.callback.evaluated = [dmatrix for dmatrix, _ in evals or []]
    objective.callback.stops_early = asks_for_early_stop(options, callbacks)
    objective._wired = True
    # A model that is continued brings its own base_score, and XGBoost would overwrite it silently.
    start = {"base_score": 0.0} if xgb_model is None else {}
    booster = xgboost.train(
        {**params, **start, "disable_default_eval_metric": 1},
        dtrain,
        num_boost_round,
        evals=evals,
        obj=objective,
        xgb_model=xgb_model,
        callbacks=[objective.callback, *callbacks],
        custom_metric=_all_metrics(objective, custom_metric),
        **options,
    )
    run = objective._latest_run()
    if isinstance(run, TreeRun) and run.renews:
        renew_leaves(booster, run.first_iteration, run.leaf_values)
        store_record(booster, replace(objective._record_of(run), last_only=objective.callback.last_only))
    return booster


def _all_metrics(objective: OrdinalObjective, function: Callable[..., Any] | None) -> Callable[..., Any]:
    own = None if function is None else objective.proba_metric(function)

    def metrics(predt: NDArray[Any], dmatrix: xgboost.DMatrix) -> list[tuple[str, float]]:
        values = [objective.metric(predt, dmatrix)]
        if own is not None:
            more = own(predt, dmatrix)
            values += more if isinstance(more, list) else [more]
        return values

    return metrics
