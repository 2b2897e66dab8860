"""LightGBM's parameters by all their names: those of its scikit-learn classes, and what an ordinal loss excludes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from lightgbm.basic import _ConfigAliases

from ordinal_objectives.adapters.arguments import refuse_parameters
from ordinal_objectives.aliases import Params

# Every parameter of LightGBM with all its names, the primary one first; LightGBM ignores an unknown one.
_ConfigAliases.get("objective")  # reads them
_ALIASES: Mapping[str, list[str]] = _ConfigAliases.aliases

# Constructor names that lightgbm.train spells otherwise.
NATIVE = {
    "n_estimators": "num_iterations",
    "boosting_type": "boosting",
    "subsample_for_bin": "bin_construct_sample_cnt",
    "min_split_gain": "min_gain_to_split",
    "min_child_weight": "min_sum_hessian_in_leaf",
    "min_child_samples": "min_data_in_leaf",
    "subsample": "bagging_fraction",
    "subsample_freq": "bagging_freq",
    "colsample_bytree": "feature_fraction",
    "reg_alpha": "lambda_l1",
    "reg_lambda": "lambda_l2",
    "random_state": "seed",
    "n_jobs": "num_threads",
}
_REFUSED_BY_CLASSIFIER = {
    "objective": "the ordinal loss is the objective",
    "num_class": "the score has one output for all classes",
    "metric": "pass eval_metric to fit; the ordinal loss is always measured",
    "boost_from_average": "the score starts at 0 and the thresholds hold the location",
    "is_unbalance": "use class_weight",
    "scale_pos_weight": "use class_weight",
}
_REFUSED_BY_TRAIN = {
    "objective": "the ordinal loss is the objective",
    "num_class": "one score serves all classes; pass n_classes",
}
REFUSED = {alias: why for name, why in _REFUSED_BY_CLASSIFIER.items() for alias in _ALIASES[name]}
DIALECT = {
    "gamma": "min_split_gain",
    "callbacks": "callbacks= in fit",
    "eval_metric": "eval_metric= in fit",
    **dict.fromkeys(_ALIASES["categorical_feature"], "categorical_feature= in fit"),
}
KNOWN = frozenset(alias for aliases in _ALIASES.values() for alias in aliases) - set(REFUSED) - set(DIALECT)
OF_MACHINE = frozenset(alias for name in ("num_threads", "verbosity", "device_type") for alias in _ALIASES[name])
OF_NETWORK = frozenset(
    alias for name in ("local_listen_port", "machines", "num_machines", "tree_learner") for alias in _ALIASES[name]
)
# All names of the number of rounds, and of what ends them early.
ROUNDS_AND_STOPPING = {*_ALIASES["num_iterations"], *_ALIASES["early_stopping_round"]}
# What fit of LightGBM's own classifier takes, or took, and ours does not.
FIT_HINTS = {
    "verbose": "pass callbacks=[lightgbm.log_evaluation()] to fit",
    "feature_name": "names are those of the columns of X",
    "eval_class_weight": "pass eval_sample_weight",
}

_DART = (
    "LightGBM drops trees whenever a custom objective or a metric reads the training score, so the thresholds are not "
    "learned for the trees of the model, and some of these can stay subtracted"
)
_FOREST = "LightGBM grows random forests only with built-in objectives"
_REFUSED_BOOSTING = {"dart": _DART, "rf": _FOREST, "random_forest": _FOREST}
_NO_METRIC = {"", "none", "null", "na", "custom"}
_NO_BUILT_IN_METRIC = "built-in metrics do not know the thresholds; pass feval, and metric='None' to lightgbm.train"


def value_of(params: Mapping[str, Any], name: str) -> Any:
    """Return the value of a parameter by any of its names, or None."""
    return next((params[alias] for alias in _ALIASES[name] if params.get(alias) is not None), None)


def resolved(own: Mapping[str, Any], others: Mapping[str, Any]) -> tuple[Params, list[str]]:
    """Return one value for each parameter that is given by any of LightGBM's names for it.

    LightGBM's rule chooses among several: the parameter's primary name, or else the shortest.

    Parameters
    ----------
    own : mapping
        Parameters of the constructor that were given.
    others : mapping
        Those that the constructor does not name.

    Returns
    -------
    dict of str to object
        By the constructor's names, or LightGBM's primary ones where it has none; without those that only ``own`` has.
    list of str
        Sentences about values that are given besides and not used.
    """
    values, unused = {}, []
    spelled = {native: name for name, native in NATIVE.items()}
    given = {name: value for name, value in {**own, **others}.items() if value is not None}
    for primary, aliases in _ALIASES.items():
        names = [alias for alias in aliases if alias in given]
        if not any(name in others for name in names):
            continue
        first, *rest = names
        values[spelled.get(primary, primary)] = given[first]
        unused += [
            f"{first}={given[first]!r} is used and {name}={given[name]!r} is not: both are LightGBM's {primary}"
            for name in rest
            if given[name] != given[first]
        ]
    return values, unused


def checked_params(params: Mapping[str, Any]) -> Params:
    """Return the parameters of a training as LightGBM takes them; raise ValueError for one that is refused.

    ``metric="None"`` is left out, and groups of features become lists: LightGBM takes sets and tuples, but not in its
    files.
    """
    params = check_metrics(params)
    refuse_parameters(params, {alias: why for name, why in _REFUSED_BY_TRAIN.items() for alias in _ALIASES[name]})
    for name in _ALIASES["boosting"]:
        refuse_boosting(name, params.get(name))
    groups = params.get("interaction_constraints")
    if isinstance(groups, (list, tuple, set, frozenset)):
        kinds = (tuple, set, frozenset)
        params["interaction_constraints"] = [sorted(one) if isinstance(one, kinds) else one for one in groups]
    return params


def refuse_boosting(name: str, value: object) -> None:
    """Raise ValueError for a kind of boosting, given by parameter ``name``, that ordinal objectives do not allow."""
    reason = _REFUSED_BOOSTING.get(str(value).lower())
    if reason is not None:
        raise ValueError(f"params[{name!r}] = {value!r} is not allowed beside an ordinal objective: {reason}")


def check_metrics(params: Mapping[str, Any]) -> Params:
    """Return parameters without LightGBM's words for no metric.

    Raises
    ------
    ValueError
        For a built-in metric, which would be one of the score without its thresholds.
    """

    def is_metric(value: object) -> bool:
        names = value.split(",") if isinstance(value, str) else value
        names = names if isinstance(names, (list, tuple, set, frozenset)) else [names]
        return any(str(name).strip().lower() not in _NO_METRIC for name in names)

    metrics = _ALIASES["metric"]
    params = {name: value for name, value in params.items() if name not in metrics or is_metric(value)}
    refuse_parameters(params, dict.fromkeys(metrics, _NO_BUILT_IN_METRIC))
    return params


def check_evaluated(params: Mapping[str, Any], has_sets: bool) -> None:
    """Refuse early stopping in the parameters where nothing is measured, or warn of sets that are not evaluated."""
    asked = next((name for name in _ALIASES["early_stopping_round"] if params.get(name) is not None), None)
    if asked is not None and int(params[asked]) > 0:
        raise ValueError(
            f"params[{asked!r}] = {params[asked]!r} needs feval=objective.metric and valid_sets beside it: "
            f"lightgbm.train has no other metric that knows the thresholds"
        )
    if has_sets:
        warnings.warn(
            "no metric is computed on valid_sets: pass feval=objective.metric, which early stopping needs too",
            stacklevel=2,
        )
