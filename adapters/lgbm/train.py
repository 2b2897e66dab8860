"""``lightgbm.train`` and ``lightgbm.cv`` with the ordinal objective, its callback and its metric in place."""

from __future__ import annotations

import copy
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from typing import Any

import lightgbm
import numpy as np
from lightgbm.callback import CallbackEnv
from numpy.typing import ArrayLike

from ordinal_objectives import tables
from ordinal_objectives.adapters import arguments
from ordinal_objectives.adapters.lgbm import booster as lgbm_booster, input_checks, prediction
from ordinal_objectives.adapters.lgbm.input_checks import (
    are_made_up,
    check_linear,
    check_set,
    written_names,
)
from ordinal_objectives.adapters.lgbm.objective import OrdinalObjective
from ordinal_objectives.adapters.lgbm.training import BeforeIterationCallback, LightGBMTraining, set_and_metric
from ordinal_objectives.adapters.train import LastEffects, bound_groups, train as shared_train
from ordinal_objectives.adapters.training import Plan
from ordinal_objectives.aliases import Params, Table
from ordinal_objectives.estimators.arguments import Schedules
from ordinal_objectives.estimators.held_out import take_rows
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.ordinal_labels import OrdinalLabels
from ordinal_objectives.rows import Workers
from ordinal_objectives.threads import kept_helpers, one_thread_after_fork
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils.extras import Show, round_bar
from ordinal_objectives.utils.shared_docs import documented

_Callback = Callable[[CallbackEnv], None]
_Metrics = Callable[..., Any] | list[Callable[..., Any]] | None


@documented(like=bound_groups)
@one_thread_after_fork()
def train(
    params: Mapping[str, Any],
    train_set: lightgbm.Dataset,
    num_boost_round: int = 100,
    valid_sets: list[lightgbm.Dataset] | None = None,
    valid_names: list[str] | None = None,
    feval: _Metrics = None,
    init_model: lightgbm.Booster | str | PathLike[str] | None = None,
    keep_training_booster: bool = False,
    callbacks: Sequence[_Callback] | None = None,
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
    labels: OrdinalLabels | None = None,
    random_intercept: object = None,
    eval_random_intercept: Sequence[object] | None = None,
    progress: bool = False,
) -> lightgbm.Booster:
    r"""Train an ordinal model: :func:`lightgbm.train` with objective, callback and metric in place.

    With ``threshold_update="joint"``, after every tree the leaf values and the thresholds take one Newton
    step together, :math:`w_j = -(G_j + L_j'\delta) / (H_j + \lambda)`, with lambda_l2 for
    :math:`\lambda`, also in leaves that cat_l2 or quantised gradients made different. LightGBM's own scores
    keep the leaves that it set; those of the model are followed beside them.

    Parameters
    ----------
    params : mapping
        Those of :func:`lightgbm.train`. ``objective``, ``num_class`` and built-in metrics are refused.
    train_set : lightgbm.Dataset
        Labels are class codes 0..n_classes - 1.
    <<num_boost_round>>
    valid_sets : list of lightgbm.Dataset or None
        Evaluated each round with the ordinal loss.
    valid_names : list of str or None
        Their names. None calls them valid_0, valid_1, ...
    keep_training_booster : bool
        Whether the booster that is returned can be trained further, as :func:`lightgbm.train` has it.
    callbacks : sequence of callable or None
        Called each round after the one that learns the thresholds, early stopping among them.
    feval : callable, list of callable or None
        ``feval(proba, data) -> (name, value, higher_is_better)``, with the class probabilities of the round
        just finished, float64 (n_samples, n_classes). Evaluated after the ordinal loss.
    init_model : Booster, path or None
        Model to continue, which must carry its thresholds unless ``thresholds`` holds them.
    <<n_classes, loss, link, step parameters>>
        "schur", "joint" and shifts refuse lambda_l1, max_delta_step, path_smooth, monotone constraints and linear_tree;
        dart and rf are refused for all.
    <<thresholds, shift parameters>>
    labels : OrdinalLabels or None
        Labels of several answers a row, or intervals, in the place of the data set's own.
    <<random_intercept, eval_random_intercept, progress>>

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
    given = dict(locals())
    rows = None if random_intercept is None else _rows_of(train_set)

    def settle(booster: lightgbm.Booster, last_effects: LastEffects) -> None:
        n_iter, record = lgbm_booster.iterations_of(booster), lgbm_booster.carried_record(booster)
        start = train_set.get_init_score()
        scores = prediction.predict_raw(booster, prediction.rows_for(booster, rows), 0, n_iter)
        scores = scores if start is None else scores + start
        n_threads = input_checks.value_of(params, "num_threads")
        lgbm_booster.carry(booster, last_effects(record, n_iter, scores, n_threads))

    return shared_train("lgbm.train", given, init_model, [train_set, *_evaluated(valid_sets)], train_spec, settle)


def _evaluated(valid_sets: Any) -> list[lightgbm.Dataset]:
    return [valid_sets] if isinstance(valid_sets, lightgbm.Dataset) else list(valid_sets or ())


def _rows_of(train_set: lightgbm.Dataset) -> Table:
    """Return the rows of a data set, which LightGBM may free when it trains; those of a subset are its whole's."""
    check_set(train_set, "train_set", train_set)
    chosen = train_set.used_indices
    rows = train_set.data if chosen is None else train_set.reference.data
    if rows is None:
        raise ValueError("train_set must hold its rows beside random_intercept: pass a new one, or free_raw_data=False")
    return rows if chosen is None else take_rows(rows, np.asarray(chosen))


def train_spec(
    asked: arguments.Asked,
    params: Mapping[str, object],
    train_set: lightgbm.Dataset,
    num_boost_round: int,
    *,
    feval: _Metrics = None,
    init_model: lightgbm.Booster | str | PathLike[str] | None = None,
    progress: bool = False,
    what: str = "rounds",
    **options: Any,
) -> lightgbm.Booster:
    """Train the model that an entry point was asked for; ``options`` are the other arguments of :func:`train`.

    ``carried`` among them is what a classifier adds to the record: ``linear`` and ``classifier`` of
    :class:`.training.Plan`, and ``set_names`` what errors call the rows to train on and to evaluate.
    """
    params = input_checks.checked_params(params)
    spec, record = asked
    evaluated, set_names = _evaluated(options.get("valid_sets")), options.pop("set_names", ("train_set", "valid_sets"))
    sets = [train_set, *(data for data in evaluated if data is not train_set)]
    named = [(set_names[min(i, len(set_names) - 1)], data) for i, data in enumerate(sets)]
    for name, data in named:
        check_set(data, name, train_set)
    input_checks.check_signs(params, train_set)
    check_linear(input_checks.value_of(params, "linear_tree"), train_set)
    previous = None if init_model is None else lgbm_booster.as_booster(init_model)
    if previous is not None:
        _check_continues(previous, train_set)
        if record is None and spec.thresholds is None:
            record = lgbm_booster.threshold_record(previous)
            record.check_start(False, "init_model, beside which LightGBM takes no init_score")
            lgbm_booster.check_all_rounds(previous, record, previous.current_iteration())
        elif record is not None:
            lgbm_booster.check_record(previous, record)
    n_threads = input_checks.value_of(params, "num_threads")
    plan, workers = Plan(driven=True, **options.pop("carried", {})), _workers(params, feval)
    training = LightGBMTraining(spec, record, n_threads=n_threads, plan=plan, workers=workers)
    if workers is not None:
        for data in sets:
            data.free_raw_data = False  # all must find the same leaves, from the rows where values are close
    if record is not None and record.shifts is not None and previous is not None:
        for data in sets:
            training.before[data] = prediction.shifts_of(previous, record, data.data)
    n_labels = 0 if train_set.label is None else len(train_set.label)  # a subset that is not made yet has none
    with kept_helpers(n_threads, n_labels), round_bar(progress, num_boost_round, what) as show:
        native = _arguments(training, params, feval, options.pop("callbacks", None), show)
        with _left_if_it_fails(workers):
            booster = lightgbm.train(
                train_set=train_set, num_boost_round=num_boost_round, init_model=previous, **native, **options
            )
    lgbm_booster.end_rounds(booster)
    if workers is not None:
        booster.free_network()
        for alias in input_checks.OF_NETWORK:  # of this training alone
            booster.params.pop(alias, None)
        known = lgbm_booster.carried_record(booster)
        losses = [*known.training_loss[:-1], training.latest.newest_loss()]
        lgbm_booster.carry(booster, replace(known, training_loss=losses))
    return booster


@contextmanager
def _left_if_it_fails(workers: Workers | None) -> Iterator[None]:
    """Leave LightGBM's network of several machines when a training raises.

    It belongs to the thread, so that the next data set there would wait for the other machines; and the thread that
    deletes the booster, whose traceback is kept, may be another.
    """
    try:
        yield
    except BaseException:
        if workers is not None:
            vars(lightgbm.basic)["_LIB"].LGBM_NetworkFree()
        raise


def _workers(params: Mapping[str, object], feval: _Metrics) -> Workers | None:
    """Return the workers of a training on several machines, where XGBoost's collective connects them too; else None."""
    named = input_checks.value_of(params, "machines") is not None
    several = named or int(input_checks.value_of(params, "num_machines") or 1) > 1
    if not several or "xgboost" not in sys.modules:
        return None
    from ordinal_objectives.adapters.collective import Collective, is_connected

    if not is_connected():
        return None
    if feval:
        raise ValueError("feval must be None on several machines: each would have the metrics of its own rows")
    learner = input_checks.value_of(params, "tree_learner")
    if learner not in ("data", "data_parallel", "voting", "voting_parallel"):
        raise ValueError(
            f"params['tree_learner'] must be 'data' or 'voting' on several machines, each with rows of its own; got "
            f"{learner!r}"
        )
    return Collective()


def network_params(host: str) -> Params:
    """Return LightGBM's parameters of a network over the workers that :mod:`xgboost.collective` connects.

    All of them call it, then :func:`train` on their own rows.

    Parameters
    ----------
    host : str
        Name or address of this machine, by which the others reach it.

    Returns
    -------
    dict
        ``machines``, ``num_machines``, ``local_listen_port`` and ``tree_learner="data"``.

    Raises
    ------
    RuntimeError
        If the collective connects no workers.

    Examples
    --------
    >>> from ordinal_objectives.adapters import lgbm as olgbm
    >>> params = {"num_leaves": 7} | olgbm.network_params("10.0.0.7")  # doctest: +SKIP
    """
    from xgboost.collective import get_world_size

    from ordinal_objectives.adapters.collective import Collective, is_connected

    if not is_connected():
        raise RuntimeError("network_params must be called where xgboost.collective connects the workers")
    workers = Collective()
    with socket.socket() as free:
        free.bind(("", 0))
        port = free.getsockname()[1]
        addresses = [workers.broadcast(f"{host}:{port}", rank) for rank in range(get_world_size())]
    network = {"machines": ",".join(addresses), "local_listen_port": port, "num_machines": len(addresses)}
    return {"tree_learner": "data", **network}


@documented(like=train)
@one_thread_after_fork()
def cv(
    params: Mapping[str, object],
    train_set: lightgbm.Dataset,
    num_boost_round: int = 100,
    *,
    feval: _Metrics = None,
    callbacks: Sequence[_Callback] | None = None,
    **options: object,
) -> dict[str, Any]:
    """Cross-validate an ordinal model: :func:`lightgbm.cv` with objective, callback and metric in place.

    Parameters
    ----------
    <<params, train_set, num_boost_round, feval>>
        Thresholds are those of each fold and round.
    callbacks : sequence of callable or None
        Called each round with all folds, as :func:`lightgbm.cv` does.
    <<n_classes, loss, link, step parameters, thresholds, shift parameters>>
    **options
        What else :func:`lightgbm.cv` takes, such as ``nfold``, ``folds``, ``stratified`` (False unless given) and
        ``seed``.

    Returns
    -------
    dict
        Mean and standard deviation of the ordinal loss and of the metrics, round by round.

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
    >>> params = {"num_leaves": 4, "verbosity": -1}
    >>> history = olgbm.cv(params, lightgbm.Dataset(X, y), 5, proportional=False, nfold=3)
    >>> len(history["valid all_threshold-mean"])
    5
    """
    params = input_checks.checked_params(params)
    check_set(train_set, "train_set", train_set)
    input_checks.check_signs(params, train_set)
    check_linear(input_checks.value_of(params, "linear_tree"), train_set)
    spec, record = arguments.asked_of_cv("lgbm.cv", options, train_set.get_label())
    n_threads = input_checks.value_of(params, "num_threads")
    training = LightGBMTraining(spec, record, n_threads=n_threads, plan=Plan(driven=True))
    options = {"stratified": False, **options, **_arguments(training, params, feval, callbacks, None)}
    history: dict[str, Any] = lightgbm.cv(train_set=train_set, num_boost_round=num_boost_round, **options)
    return history


def _arguments(
    training: LightGBMTraining, params: dict[str, object], feval: _Metrics, callbacks: Any, show: Show | None
) -> dict[str, object]:
    """Return what LightGBM is given for a training: objective, callbacks and metrics of class probabilities."""
    metrics = [] if feval is None else feval if isinstance(feval, list) else [feval]
    objective = OrdinalObjective.of(training)
    callbacks = [BeforeIterationCallback(training), objective.callback, *(callbacks or ())]
    return {
        "params": {**params, "objective": objective, "metric": "None"},
        "feval": objective.joined_metric(metrics),
        "callbacks": callbacks if show is None else [*callbacks, _shown_rounds(training, show)],
    }


# LightGBM's own callbacks have no public types.
_CHANGES = type(lightgbm.reset_parameter())
_LOOK_ON = tuple(
    map(type, (lightgbm.early_stopping(1, verbose=False), lightgbm.log_evaluation(), lightgbm.record_evaluation({})))
)


def schedules(callbacks: list[_Callback]) -> Schedules:
    """Return the callbacks that change parameters."""
    return Schedules.among(callbacks, _LOOK_ON, _CHANGES)


def first_rates(callbacks: list[Any]) -> list[float]:
    """Return the learning rates with which schedules begin."""
    rates = [input_checks.value_of(one.kwargs, "learning_rate") for one in copy.deepcopy(callbacks)]
    return [float(rate_of(0)) for rate_of in rates if rate_of is not None]


class TreesOfRounds:
    """A callback that counts the trees after each round: one without a split adds none."""

    def __init__(self) -> None:
        self._earlier, self._counts = 0, list[int]()

    def __call__(self, env: CallbackEnv) -> None:
        """Count the trees of the round, with those of the model that is continued."""
        self._earlier = env.begin_iteration
        self._counts.append(env.model.current_iteration())

    def rounds_of(self, n_trees: int, *, stopped: bool) -> int:
        """Return how many rounds were trained; after an early stop, up to the one with the last tree that is kept.

        Each tree of a model that was continued counts as a round.
        """
        rounds = len(self._counts)
        last = next((i + 1 for i, count in enumerate(self._counts) if count >= n_trees), rounds) if stopped else rounds
        return self._earlier + last


def _shown_rounds(training: LightGBMTraining, show: Show) -> _Callback:
    """Return a callback that shows each round, with the loss of the last set, or else of the training rows."""

    def callback(env: CallbackEnv) -> None:
        name, results = training.spec.loss.name, env.evaluation_result_list or []
        losses = [result[2] for result in results if set_and_metric(result)[1] == name]
        show(env.iteration - env.begin_iteration + 1, losses[-1] if losses else training.latest.training_loss[-1])

    callback.order = 10  # type: ignore[attr-defined]  # before early stopping ends the training
    return callback


def _check_continues(booster: lightgbm.Booster, train_set: lightgbm.Dataset) -> None:
    """Refuse to go on with rows of other columns than the model's, or columns that list their categories otherwise.

    LightGBM compares no names. It has one list of categories for all trees: the codes in the earlier ones would mean
    others.
    """
    rows = train_set
    while rows.data is None and rows.used_indices is not None:  # a subset, which may not be made yet
        rows = rows.reference
    shape: tuple[int, ...] = getattr(rows.data, "shape", ())
    names = rows.feature_name if isinstance(rows.feature_name, list) else tables.column_names(rows.data)
    n_columns = shape[1] if len(shape) == 2 else None
    arguments.check_same_columns(
        "init_model", booster.num_feature(), n_columns, _written(booster.feature_name()), _written(names)
    )
    if names is None:
        tables.refuse_other_order(booster.feature_name(), rows.data)
    here = train_set.pandas_categorical  # None until LightGBM has read the rows
    columns = getattr(train_set.data, "items", None)
    if here is None and hasattr(train_set.data, "iloc") and columns is not None:
        here = [column.cat.categories.tolist() for _, column in columns() if hasattr(column, "cat")]
    if here and here != booster.pandas_categorical:
        raise ValueError(
            f"init_model was trained on columns with the categories {booster.pandas_categorical}; here they are "
            f"{here}. Give the columns the categories of the model, in the same order"
        )


def _written(names: list[str] | None) -> list[str] | None:
    """Return names as LightGBM writes them; None where it made them up."""
    return None if names is None or are_made_up(names) else written_names(names)
