"""Names of XGBoost's parameters: what its scikit-learn classes call them, and what other libraries do."""

from __future__ import annotations

from ordinal_objectives.estimators.host_classifier import ORDINAL_PARAMETERS

# Constructor names that xgboost.train spells otherwise.
NATIVE = {"n_jobs": "nthread", "random_state": "seed"}
# Those that xgboost.train does not take.
OWN = ORDINAL_PARAMETERS | {
    "shift_method",
    "split_outputs",
    "callbacks",
    "early_stopping_rounds",
    "enable_categorical",
    "eval_metric",
    "feature_types",
    "feature_weights",
    "missing",
    "verbosity",
}
DIALECT = {
    "max_iter": "n_estimators",
    "num_boost_round": "n_estimators",
    "num_iterations": "n_estimators",
    "n_iter_no_change": "early_stopping_rounds",
    "eta": "learning_rate",
    "max_leaf_nodes": "max_leaves",
    "num_leaves": "max_leaves",
    "max_bins": "max_bin",
    "l2_regularization": "reg_lambda",
    "lambda": "reg_lambda",
    "lambda_l2": "reg_lambda",
    "alpha": "reg_alpha",
    "lambda_l1": "reg_alpha",
    "min_split_gain": "gamma",
    "monotonic_cst": "monotone_constraints",
    "feature_fraction": "colsample_bytree",
    "bagging_fraction": "subsample",
    "min_split_loss": "gamma",
    "min_sum_hessian_in_leaf": "min_child_weight",
    "nthread": "n_jobs",
    "num_threads": "n_jobs",
    "seed": "random_state",
    "verbose": "verbosity",
}
REFUSED = {
    "objective": "the ordinal loss is the objective",
    "num_class": "the score has one output for all classes",
    "base_score": "the score starts at 0 and the thresholds hold the location",
    "scale_pos_weight": "use class_weight",
    "multi_strategy": "the score has one output for all classes, and shift_method='host' asks for more",
}
# Names of xgboost.train that the constructor does not spell out. XGBoost itself warns of those that it does not know;
# a name close to one of these is refused before it trains.
KNOWN = frozenset(
    {
        "booster",
        "colsample_bylevel",
        "colsample_bynode",
        "debug_synchronize",
        "default_direction",
        "device",
        "disable_default_eval_metric",
        "fail_on_invalid_gpu_id",
        "feature_selector",
        "grow_policy",
        "interaction_constraints",
        "max_cached_hist_node",
        "max_cat_threshold",
        "max_cat_to_onehot",
        "max_delta_step",
        "monotone_constraints",
        "normalize_type",
        "num_parallel_tree",
        "one_drop",
        "process_type",
        "rate_drop",
        "refresh_leaf",
        "sample_type",
        "sampling_method",
        "seed_per_iteration",
        "skip_drop",
        "sparse_threshold",
        "tolerance",
        "top_k",
        "updater",
        "validate_parameters",
    }
)
