"""``xgboost.train`` and ``xgboost.cv`` with the ordinal objective, its callback and its metric in place."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
import xgboost

from ordinal_objectives.adapters import arguments
from ordinal_objectives.adapters.train import LastEffects, bound_groups, train as shared_train
from ordinal_objectives.adapters.training import Plan, labels_of
from ordinal_objectives.adapters.xgb import booster as xgb_booster, input_checks
from ordinal_objectives.adapters.xgb.objective import OrdinalObjective
from ordinal_objectives.adapters.xgb.training import Callback, EvalsLog, Model, XGBoostTraining
from ordinal_objectives.aliases import ArrayLike, FloatArray
from ordinal_objectives.estimators.arguments import Schedules, only_reads
from ordinal_objectives.eval_metric import EvalMetric, for_early_stopping
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.ordinal_labels import OrdinalLabels
from ordinal_objectives.threads import kept_helpers, one_thread_after_fork
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils import documented, validation
from ordinal_objectives.utils.extras import Show, round_bar

_REFUSED = {
    "objective": "the ordinal loss is the objective",
    "num_class": "one score serves all classes; pass n_classes",
    "base_score": "the score starts at 0 and the thresholds hold the location",
    "eval_metric": "built-in metrics do not know the thresholds; pass custom_metric, which gets probabilities",
}
# Callbacks that leave the booster's parameters as they are.
_LOOK_ON = (xgboost.callback.EarlyStopping, xgboost.callback.EvaluationMonitor, xgboost.callback.TrainingCheckPoint)


def schedules(callbacks: Sequence[Callback] | None) -> Schedules:
    """Return the callbacks that change parameters."""
    return Schedules.among(list(callbacks or ()), _LOOK_ON, xgboost.callback.LearningRateScheduler)


def first_rates(callbacks: Sequence[xgboost.callback.LearningRateScheduler]) -> list[float]:
    """Return the learning rates with which schedules begin."""
    return [float(callback.learning_rates(0)) for callback in copy.deepcopy(callbacks)]


def own_copies(callbacks: Sequence[Callback]) -> list[Callback]:
    """Return callbacks for one training: copies of those of XGBoost's that keep what they have seen."""
    return [copy.deepcopy(one) if isinstance(one, _LOOK_ON) else one for one in callbacks]


@documented(like=bound_groups)
@one_thread_after_fork()
def train(
    params: Mapping[str, object],
    dtrain: xgboost.DMatrix,
    num_boost_round: int = 10,
    *,
    n_classes: int | None = None,
    loss: str | OrdinalLoss = "all_threshold",
    link: str = "logit",
    hessian: str = "exact",
    threshold_update: str = "joint",
    thresholds: ArrayLike | ThresholdRecord | None = None,
    proportional: bool | str = True,
    shift_l2: float | None = None,
    shift_penalty: str = "ridge",
    max_shifts: int | None = None,
    shift_method: str = "renewal",
    split_outputs: str | int = "score",
    evals: Sequence[tuple[xgboost.DMatrix, str]] | None = None,
    xgb_model: xgboost.Booster | str | PathLike[str] | bytearray | None = None,
    callbacks: Sequence[Callback] | None = None,
    custom_metric: Callable[[FloatArray, xgboost.DMatrix], object] | None = None,
    labels: OrdinalLabels | None = None,
    random_intercept: object = None,
    eval_random_intercept: Sequence[object] | None = None,
    progress: bool = False,
    **options: Any,
) -> xgboost.Booster:
    r"""Train an ordinal model: :func:`xgboost.train` with objective, callback and metric in place.

    With ``threshold_update="joint"``, after every tree the leaf values and the thresholds take one Newton
    step together, :math:`w_j = -(G_j + L_j'\delta) / (H_j + \lambda)`; the renewed leaves are written into
    the model when the training ends. Until then ``predict`` and the dumps of the booster that a callback gets see
    XGBoost's own leaf values; :func:`predict_proba`, and what the callback saves, the renewed ones.

    Parameters
    ----------
    params : mapping
        Those of :func:`xgboost.train`. ``objective``, ``num_class``, ``eval_metric`` and a ``base_score`` other than 0
        are refused.
    dtrain : xgboost.DMatrix
        Labels are class codes 0..n_classes - 1.
    <<num_boost_round, n_classes, loss, link, step parameters>>
        "schur", "joint" and shifts refuse reg_alpha, max_delta_step, monotone constraints, num_parallel_tree above 1,
        dart and gblinear.
    <<thresholds, shift parameters, shift_method, split_outputs>>
    evals : sequence of (DMatrix, name) pairs or None
        Evaluated each round with the ordinal loss.
    xgb_model : Booster, path, bytearray or None
        Model to continue, which must carry its thresholds.
    callbacks : sequence of xgboost.callback.TrainingCallback or None
        What they save, copy or slice of the booster is a finished model, with its thresholds and renewed leaves.
        After each round the booster is predicted again and its parameters are read anew, unless all callbacks are
        XGBoost's own or have an attribute ``only_reads = True``: they change no parameter.
    custom_metric : callable or None
        ``custom_metric(proba, dmatrix) -> (name, value)``, with the class probabilities of the round just
        finished, float64 (n_samples, n_classes). Evaluated after the ordinal loss.
    labels : OrdinalLabels or None
        Labels of several answers a row, or intervals, in the place of the matrix's own.
    <<random_intercept, eval_random_intercept, progress>>
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
    given = dict(locals())
    input_checks.check_dtrain(dtrain)
    sets = [dtrain, *(matrix for matrix, _ in evals or ())]

    def settle(booster: xgboost.Booster, last_effects: LastEffects) -> None:
        n_iter, record = xgb_booster.kept_rounds(booster), xgb_booster.carried_record(booster)
        scores = booster.predict(dtrain, output_margin=True, iteration_range=(0, n_iter)).astype(np.float64)
        xgb_booster.store_record(booster, last_effects(record, n_iter, scores, _n_threads_of(params)))

    return shared_train("xgb.train", given, xgb_model, sets, train_spec, settle)


def train_spec(
    asked: arguments.Asked,
    params: Mapping[str, object],
    dtrain: xgboost.DMatrix,
    num_boost_round: int,
    *,
    progress: bool = False,
    what: str = "rounds",
    carried: arguments.Options | None = None,
    **options: Any,
) -> xgboost.Booster:
    """Train the model of a specification; ``options`` are the other arguments of :func:`train`."""
    input_checks.check_dtrain(dtrain)
    spec, record = asked
    if isinstance(options.get("xgb_model"), str | PathLike):
        options["xgb_model"] = input_checks.content_of(options["xgb_model"])
    if spec.in_outputs and spec.n_classes is None and options.get("xgb_model") is None:
        spec = replace(spec, n_classes=validation.n_classes_of(dtrain.get_label()))
    options |= arguments_of((spec, record), params, options, dtrain, carried)
    with kept_helpers(_n_threads_of(params), dtrain.num_row()), round_bar(progress, num_boost_round, what) as show:
        if show is not None:
            options["callbacks"].append(ShownRounds(options["obj"].training, show))
        return xgboost.train(dtrain=dtrain, num_boost_round=num_boost_round, **options)


def arguments_of(
    asked: arguments.Asked,
    params: arguments.Options,
    options: arguments.Options,
    dtrain: object,
    carried: arguments.Options | None = None,
) -> dict[str, object]:
    """Return arguments of XGBoost's own ``train``, here or on a cluster; they replace some of the options.

    Parameters
    ----------
    asked : tuple of (OrdinalSpec, ThresholdRecord or None)
        The model, and the record of one that is continued.
    params, options : mapping
        XGBoost's parameters, and the other arguments of its ``train``.
    dtrain : DMatrix or DaskDMatrix
        What the model is trained on.
    carried : mapping or None
        What a classifier adds: ``linear`` and ``classifier`` of :class:`.training.Plan`.

    Raises
    ------
    ValueError
        If an argument is refused; the message names it.
    """
    if options.get("obj") is not None:
        raise ValueError("obj is not allowed: train brings the ordinal objective; use xgboost.train for another one")
    spec, record = asked
    model, function = options.get("xgb_model"), options.get("custom_metric")
    input_checks.check_continues(model, dtrain)
    callbacks = list(options.get("callbacks") or ())
    plan = Plan(
        driven=True,
        stops_early=asks_for_early_stop(options, callbacks),
        settings_stay=all(only_reads(callback, _LOOK_ON) for callback in callbacks),
        **carried or {},
    )
    params = {key: value for key, value in params.items() if key != "base_score" or value != 0}
    if params.get("monotone_constraints") is not None:
        signs = validation.signs_of(params["monotone_constraints"], name="monotone_constraints")
        params["monotone_constraints"] = signs if isinstance(signs, dict) else tuple(signs)  # which XGBoost reads
    arguments.refuse_parameters(params, _REFUSED)
    objective = OrdinalObjective.of(XGBoostTraining(spec, record, n_threads=_n_threads_of(params), plan=plan))
    # A model that is continued brings its own base_score, and XGBoost would overwrite it silently.
    start = {"base_score": 0.0} if model is None else {}
    return {
        "params": {**params, **start, "disable_default_eval_metric": 1},
        "obj": objective,
        "callbacks": [objective.callback, *callbacks],
        "custom_metric": objective.joined_metric([] if function is None else [function]),
    }


def _n_threads_of(params: arguments.Options) -> int | None:
    """Return the threads that the parameters ask for, or None."""
    return next((params[name] for name in ("nthread", "n_jobs") if params.get(name) is not None), None)


@documented(like=train)
@one_thread_after_fork()
def cv(
    params: Mapping[str, object],
    dtrain: xgboost.DMatrix,
    num_boost_round: int = 10,
    nfold: int = 3,
    *,
    custom_metric: Callable[..., object] | None = None,
    callbacks: Sequence[Callback] | None = None,
    **options: Any,
) -> Any:
    """Cross-validate an ordinal model: :func:`xgboost.cv` with objective, callback and metric in place.

    Parameters
    ----------
    <<params, dtrain, num_boost_round>>
    nfold : int
        Number of folds.
    <<custom_metric>>
        Thresholds are those of each fold and round.
    callbacks : sequence of xgboost.callback.TrainingCallback or None
        Called each round with all folds, as :func:`xgboost.cv` does.
    <<n_classes, loss, link, step parameters, thresholds>>
    <<shift parameters, shift_method, split_outputs>>
    **options
        What else :func:`xgboost.cv` takes, such as ``stratified``, ``folds``, ``seed`` and ``as_pandas``.

    Returns
    -------
    pandas.DataFrame or dict
        Mean and standard deviation of the ordinal loss and of the metrics, round by round.

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
    >>> history = oxgb.cv({"max_depth": 2}, xgboost.DMatrix(X, y), 5, proportional=False, as_pandas=False)
    >>> len(history["test-all_threshold-mean"])
    5
    """
    input_checks.check_dtrain(dtrain)
    asked = arguments.asked_of_cv("xgb.cv", options, dtrain.get_label())
    options |= {"custom_metric": custom_metric, "callbacks": callbacks}
    options |= arguments_of(asked, params, options, dtrain)
    return xgboost.cv(dtrain=dtrain, num_boost_round=num_boost_round, nfold=nfold, **options)


class CustomMetric:
    """Metrics for ``custom_metric`` of :func:`ordinal_objectives.adapters.xgb.train`.

    XGBoost guesses from its name whether a high value of a metric is good. Here each metric says it, and the callbacks
    that stop early are set accordingly before the first value.

    Parameters
    ----------
    metrics : list of EvalMetric
    """

    def __init__(self, metrics: list[EvalMetric]) -> None:
        self.metrics = metrics
        self._stoppers: list[xgboost.callback.EarlyStopping] = []

    def early_stopping(
        self, callbacks: Sequence[Callback] | None, rounds: int | None
    ) -> tuple[list[Callback], int | None]:
        """Return callbacks and ``early_stopping_rounds`` for XGBoost: a callback where there are metrics."""
        every = own_copies(callbacks or ())
        if self.metrics and rounds:
            every, rounds = [*every, xgboost.callback.EarlyStopping(rounds=rounds)], None
        self._stoppers = [entry for entry in every if isinstance(entry, xgboost.callback.EarlyStopping)]
        return every, rounds

    def __call__(self, proba: FloatArray, dmatrix: xgboost.DMatrix) -> list[tuple[str, float]]:
        """Return (name, value) of every metric.

        Raises
        ------
        ValueError
            If XGBoost could not read a name back.
        """
        weight = dmatrix.get_weight()
        codes = labels_of(dmatrix, dmatrix.get_label().astype(np.int32))
        given = codes, proba, weight if weight.size else None
        results = [value for metric in self.metrics for value in for_early_stopping(metric(*given))]
        for name, _, _ in results:
            input_checks.check_metric_name(name, "eval_metric")
        higher = {name: is_higher_better for name, _, is_higher_better in results}
        for stopper in self._stoppers:
            if stopper.maximize is None:
                stopper.maximize = higher.get(stopper.metric_name or results[-1][0], False)
        return [(name, value) for name, value, _ in results]


def asks_for_early_stop(options: arguments.Options, callbacks: Sequence[Callback]) -> str | None:
    """Return the argument of train() that asks for an early stop, if one does."""
    if options.get("early_stopping_rounds"):
        return f"early_stopping_rounds={options['early_stopping_rounds']}"
    stops = any(isinstance(callback, xgboost.callback.EarlyStopping) for callback in callbacks)
    return "the callback EarlyStopping" if stops else None


class ShownRounds(xgboost.callback.TrainingCallback):  # type: ignore[misc]
    """Shows each round, with the loss of the last set that is evaluated, or else of the training rows."""

    def __init__(self, training: XGBoostTraining, show: Show) -> None:
        super().__init__()
        self._training, self._show, self._done = training, show, 0

    def after_iteration(self, model: Model, epoch: int, evals_log: EvalsLog) -> bool:
        """Show a round."""
        self._done += 1
        last = next(iter(list(evals_log.values())[-1].values()))[-1] if evals_log else None
        loss = self._training.latest.training_loss[-1] if last is None else last
        self._show(self._done, float(loss[0] if isinstance(loss, tuple) else loss))
        return False
