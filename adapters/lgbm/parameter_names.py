"""Names of LightGBM's parameters: what its scikit-learn classes call them, and all their aliases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lightgbm.basic import _ConfigAliases

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
_WHY_REFUSED = {
    "objective": "the ordinal loss is the objective",
    "num_class": "the score has one output for all classes",
    "metric": "pass eval_metric to fit; the ordinal loss is always measured",
    "boost_from_average": "the score starts at 0 and the thresholds hold the location",
    "is_unbalance": "use class_weight",
    "scale_pos_weight": "use class_weight",
}
_MOVED = {
    "categorical_feature": "categorical_feature= in fit",
}
# What fit of LightGBM's own classifier takes, or took, and ours does not.
FIT_HINTS = {
    "verbose": "pass callbacks=[lightgbm.log_evaluation()] to fit",
    "feature_name": "names are those of the columns of X",
    "eval_class_weight": "pass eval_sample_weight",
}


def _aliases() -> Mapping[str, list[str]]:
    """Return every parameter of LightGBM with all its names, the primary one first; it ignores an unknown one."""
    _ConfigAliases.get("objective")
    aliases: Mapping[str, list[str]] = _ConfigAliases.aliases
    return aliases


REFUSED = {alias: why for name, why in _WHY_REFUSED.items() for alias in _aliases()[name]}
DIALECT = {
    "gamma": "min_split_gain",
    "callbacks": "callbacks= in fit",
    "eval_metric": "eval_metric= in fit",
    **{alias: where for name, where in _MOVED.items() for alias in _aliases()[name]},
}
KNOWN = frozenset(alias for aliases in _aliases().values() for alias in aliases) - set(REFUSED) - set(DIALECT)


def resolved(own: Mapping[str, Any], others: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
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
        By the constructor's names, or LightGBM's primary ones where it has none; nothing that ``own`` says alone.
    list of str
        What was given besides and is not used, in words.
    """
    values, unused = {}, []
    spelled = {native: name for name, native in NATIVE.items()}
    given = {name: value for name, value in {**own, **others}.items() if value is not None}
    for primary, aliases in _aliases().items():
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
