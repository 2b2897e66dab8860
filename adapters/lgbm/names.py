"""Names of LightGBM's parameters: what its scikit-learn classes call them, and all their aliases."""

from __future__ import annotations

from collections.abc import Mapping

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
    """Return every parameter of LightGBM with all its names; LightGBM itself ignores an unknown one silently."""
    _ConfigAliases.get("objective")
    aliases: Mapping[str, list[str]] = _ConfigAliases.aliases
    return aliases


def _dialect() -> dict[str, str]:
    """Map every name that LightGBM knows, and its scikit-learn classes do not use, to the one they use."""
    spelled = {native: own for own, native in NATIVE.items()}
    dialect = {"gamma": "min_split_gain", "callbacks": "callbacks= in fit", "eval_metric": "eval_metric= in fit"}
    for name, aliases in _aliases().items():
        own = spelled.get(name) or _MOVED.get(name) or name
        dialect |= {alias: own for alias in aliases if alias not in (own, "verbose") and name not in _WHY_REFUSED}
    return dialect


REFUSED = {alias: why for name, why in _WHY_REFUSED.items() for alias in _aliases()[name]}
DIALECT = _dialect()
KNOWN = frozenset(_aliases()) | {"verbose"}
