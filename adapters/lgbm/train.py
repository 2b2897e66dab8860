"""``lightgbm.train`` with the ordinal objective, its callback and its metric in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

import lightgbm
from numpy.typing import ArrayLike

from ordinal_objectives.adapters.arguments import check_asked, check_sets, joined, refuse_parameters, spec_and_record
from ordinal_objectives.adapters.lgbm.callback import BeforeIterationCallback, shown_rounds
from ordinal_objectives.adapters.lgbm.input_checks import (
    callbacks_in,
    check_metrics,
    check_set,
    check_valid_names,
    refused_sets,
    without_no_metric,
)
from ordinal_objectives.adapters.lgbm.levels import check_levels, check_same_levels
from ordinal_objectives.adapters.lgbm.objective import OrdinalObjective
from ordinal_objectives.adapters.lgbm.prediction import shifts_of
from ordinal_objectives.adapters.lgbm.record import (
    as_booster,
    best_iteration,
    check_all_rounds,
    check_continues,
    check_record,
    end_rounds,
    threshold_record,
)
from ordinal_objectives.adapters.lgbm.training import LightGBMTraining
from ordinal_objectives.adapters.lgbm.trees import refuse_boosting
from ordinal_objectives.adapters.training import Plan
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threads import kept_helpers, one_thread_after_fork
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils.progress import round_bar
from ordinal_objectives.utils.shared_docs import documented

_REFUSED = {
    "objective": "the ordinal loss is the objective",
    "num_class": "one score serves all classes; pass n_classes",
}
_ALIASES = {
    "boosting": ("boosting_type", "boost"),
    "objective": ("objective_type", "app", "application", "loss"),
    "num_class": ("num_classes",),
    "num_threads": ("num_thread", "nthread", "nthreads", "n_jobs"),
}


@documented
@one_thread_after_fork()
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
    proportional: bool | str = True,
    shift_l2: float | None = None,
    shift_penalty: str = "ridge",
    max_shifts: int | None = None,
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
    <<n_classes, loss, link, hessian, threshold_update>>
        "schur", "joint" and shifts refuse lambda_l1, max_delta_step, path_smooth, monotone constraints and linear_tree;
        dart and rf are refused for all.
    <<thresholds, proportional, shift_l2, shift_penalty, max_shifts, progress>>

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
    spec, record = spec_and_record(
        "lgbm.train",
        n_classes=n_classes,
        loss=loss,
        link=link,
        hessian=hessian,
        threshold_update=threshold_update,
        thresholds=thresholds,
        proportional=proportional,
        shift_l2=shift_l2,
        shift_penalty=shift_penalty,
        max_shifts=max_shifts,
    )
    options: dict[str, Any] = {
        "valid_sets": valid_sets,
        "valid_names": valid_names,
        "feval": feval,
        "init_model": init_model,
        "keep_training_booster": keep_training_booster,
        "callbacks": callbacks,
        "progress": progress,
    }
    return train_spec((spec, record), params, train_set, num_boost_round, **options)


def train_spec(
    asked: tuple[OrdinalSpec, ThresholdRecord | None],
    params: Mapping[str, Any],
    train_set: lightgbm.Dataset,
    num_boost_round: int,
    *,
    feval: Any = None,
    init_model: Any = None,
    progress: bool = False,
    what: str = "rounds",
    **options: Any,
) -> lightgbm.Booster:
    """Train the model that a door was asked for; ``options`` are the other arguments of :func:`train`.

    ``carried`` among them is what a classifier adds to the record: ``linear`` and ``classifier`` of
    :class:`.training.Plan`, and ``set_names`` what errors call the rows to train on and to evaluate.
    """
    check_asked(params, num_boost_round, 1)
    params = checked_params(params)
    spec, record = asked
    valid_sets, set_names = options.get("valid_sets"), options.pop("set_names", ("train_set", "valid_sets"))
    evaluated = [valid_sets] if isinstance(valid_sets, lightgbm.Dataset) else valid_sets or []
    check_sets("valid_sets", evaluated, lambda one: isinstance(one, lightgbm.Dataset), "lightgbm.Dataset")
    sets = [train_set, *(data for data in evaluated if data is not train_set)]
    named = [(set_names[min(i, len(set_names) - 1)], data) for i, data in enumerate(sets)]
    for name, data in named:
        check_set(data, name)
        if data is train_set:
            check_levels(data, name)
        else:
            check_same_levels(data, train_set, name)
    check_valid_names(options.get("valid_names"), evaluated, train_set)
    if init_model is not None:
        init_model = as_booster(init_model)
        check_continues(init_model, train_set)
        if record is None and spec.thresholds is None:
            record = threshold_record(init_model)
            record.check_start(False, "init_model, beside which LightGBM takes no init_score")
            check_all_rounds(init_model, record, init_model.current_iteration())
        elif record is not None:
            check_record(init_model, record)
    training = LightGBMTraining(
        spec, record, n_threads=n_threads_of(params), plan=Plan(driven=True, **options.pop("carried", {}))
    )
    if record is not None and record.shifts is not None and init_model is not None:
        for data in sets:
            training.set_initial_shifts(data, shifts_of(init_model, record, data.data))
    objective = OrdinalObjective.of(training)
    n_labels = 0 if train_set.label is None else len(train_set.label)  # a subset that is not made yet has none
    callbacks = callbacks_of(objective, options.get("callbacks"))
    with kept_helpers(n_threads_of(params), n_labels), round_bar(progress, num_boost_round, what) as show:
        callbacks += [] if show is None else [shown_rounds(training, show)]
        options |= {"feval": all_metrics(objective, feval), "init_model": init_model, "callbacks": callbacks}
        with refused_sets([(name, data.data) for name, data in named], training.boosters):
            booster = lightgbm.train(
                {**_readable(params), "objective": objective, "metric": "None"}, train_set, num_boost_round, **options
            )
    booster.best_iteration = best_iteration(booster)
    end_rounds(booster)
    return booster


def callbacks_of(objective: OrdinalObjective, callbacks: Sequence[Callable[..., Any]] | None) -> list[Any]:
    """Return the callbacks of a training that this module drives."""
    return [BeforeIterationCallback(objective.training), objective.callback, *callbacks_in(callbacks)]


def all_metrics(objective: OrdinalObjective, feval: Any) -> Callable[..., Any]:
    """Return the ordinal loss, and metrics of class probabilities, as LightGBM asks for them."""
    metrics = [] if feval is None else feval if isinstance(feval, list) else [feval]
    if not all(map(callable, metrics)):
        raise TypeError(f"feval must be a function, or a list of functions; got {feval!r}")
    return joined([objective.metric, *map(objective.proba_metric, metrics)])


def checked_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters without ``metric="None"``; raise ValueError for one that an ordinal objective refuses."""
    check_metrics(params)
    refuse_parameters(params, {alias: _REFUSED[name] for name in _REFUSED for alias in (name, *_ALIASES[name])})
    for name in ("boosting", *_ALIASES["boosting"]):
        refuse_boosting(name, params.get(name))
    return without_no_metric(params)


def _readable(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with groups of features as lists: LightGBM takes sets and tuples, but not in its files."""
    groups = params.get("interaction_constraints")
    if not isinstance(groups, (list, tuple, set, frozenset)):
        return dict(params)
    kinds = (tuple, set, frozenset)
    lists = [sorted(group) if isinstance(group, kinds) else group for group in groups]
    return {**params, "interaction_constraints": lists}


def n_threads_of(params: Mapping[str, Any]) -> int | None:
    """Return the threads that the parameters ask for, or None."""
    names = ("num_threads", *_ALIASES["num_threads"])
    return next((params[name] for name in names if params.get(name) is not None), None)
