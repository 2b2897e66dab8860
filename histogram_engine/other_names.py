"""Parameters of scikit-learn's and LightGBM's histogram boosting: what they are called here, or why there are none."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

from sklearn.ensemble import HistGradientBoostingClassifier

from ordinal_objectives.histogram_engine import parameters

DIALECT = parameters.DIALECT | {
    "boosting": "boosting_type",
    "bagging_seed": "random_state",
    "data_random_seed": "random_state",
    "drop_seed": "random_state",
    "extra_seed": "random_state",
    "feature_fraction_seed": "random_state",
    "objective_seed": "random_state",
    "early_stopping_min_delta": "tol",
    "early_stopping_round": "n_iter_no_change (with early_stopping=True)",
    "linear_lambda": "linear_l2 (with linear=True)",
    "linear_tree": "linear",
    "metric": "eval_metric",
    "metric_freq": "verbose",
    "min_gain_to_split": "gamma",
    "min_sum_hessian_in_leaf": "min_child_weight",
    "verbosity": "verbose",
}
# Why a parameter of LightGBM is not here.
_REASONS: dict[str, tuple[str, ...]] = {
    "rows are drawn for each tree": ("bagging_freq", "subsample_freq"),
    "rows are drawn alike: weigh classes by class_weight": ("pos_bagging_fraction", "neg_bagging_fraction"),
    "rows are drawn one by one": ("bagging_by_query",),
    "leaves have an L2 penalty alone": ("lambda_l1", "reg_alpha"),
    "a step that would raise the loss is halved": ("max_delta_step", "poisson_max_delta_step"),
    "leaves are not pulled towards their parents: see l2_regularization": ("path_smooth",),
    "every cut between bins is tried": ("extra_trees",),
    "trees are grown on exact sums": (
        *("use_quantized_grad", "num_grad_quant_bins", "quant_train_renew_leaf", "stochastic_rounding"),
    ),
    "all features gain alike": ("feature_contri", "cegb_tradeoff", "cegb_penalty_split"),
    "features cost nothing": ("cegb_penalty_feature_lazy", "cegb_penalty_feature_coupled"),
    "splits are found, not given": ("forcedsplits_filename", "forcedbins_filename"),
    "leaves are clipped to what the splits above them allow": ("monotone_constraints_method", "monotone_penalty"),
    "categories are ordered by their step, and the whole order is tried": (
        *("cat_smooth", "cat_l2", "max_cat_threshold", "max_cat_to_onehot"),
    ),
    "there is no dart: trees are not changed once they are grown": (
        *("drop_rate", "max_drop", "skip_drop", "uniform_drop", "xgboost_dart_mode"),
    ),
    "features have bins by max_bins, cut at quantiles of the rows": (
        *("max_bin_by_feature", "min_data_in_bin", "bin_construct_sample_cnt", "subsample_for_bin"),
        *("feature_pre_filter", "enable_bundle", "is_enable_sparse"),
    ),
    "NaN is missing, and 0 is a number": ("use_missing", "zero_as_missing"),
    "the same model comes from any number of threads": ("deterministic", "force_col_wise", "force_row_wise"),
    "memory is not bounded: see RowBlocks for rows on disk": ("histogram_pool_size",),
    "the engine runs on the processors of one machine": (
        *("device_type", "gpu_platform_id", "gpu_device_id", "gpu_device_id_list", "gpu_use_dp", "num_gpu"),
        *(
            "tree_learner",
            "top_k",
            "num_machines",
            "machines",
            "machine_list_filename",
            "local_listen_port",
            "time_out",
        ),
        "pre_partition",
    ),
    "the thresholds start from the classes' shares": ("boost_from_average",),
    "class_weight weighs classes": ("is_unbalance", "scale_pos_weight"),
    "it belongs to another loss": (
        *("sigmoid", "alpha", "fair_c", "reg_sqrt", "tweedie_variance_power", "auc_mu_weights", "multi_error_top_k"),
        *("eval_at", "label_gain", "lambdarank_norm", "lambdarank_truncation_level"),
        "lambdarank_position_bias_regularization",
    ),
    "scoring says what early stopping looks at": ("first_metric_only",),
    "evals_result_ always holds the training loss": ("is_provide_training_metric",),
    "rows come as arrays, tables or RowBlocks": (
        *(
            "config",
            "task",
            "data",
            "valid",
            "header",
            "label_column",
            "weight_column",
            "group_column",
            "ignore_column",
        ),
        *("two_round", "save_binary", "precise_float_parser", "parser_config_file"),
    ),
    "save_model, load_model and warm_start keep and continue models": (
        *("input_model", "output_model", "snapshot_freq", "refit_decay_rate", "convert_model"),
        *("convert_model_language", "saved_feature_importance_type"),
    ),
    "methods of the classifier predict": (
        *("start_iteration_predict", "num_iteration_predict", "predict_raw_score", "predict_leaf_index"),
        *("predict_contrib", "predict_disable_shape_check", "pred_early_stop", "pred_early_stop_freq"),
        *("pred_early_stop_margin", "output_result"),
    ),
}
REFUSED = parameters.REFUSED | {name: reason for reason, names in _REASONS.items() for name in names}


def verdict(name: str, ours: Iterable[str]) -> str:
    """Return what a parameter of another library is here, in Markdown.

    Raises
    ------
    KeyError
        If nothing is known of it.
    """
    if name in ours:
        return "the same"
    if name in DIALECT:
        return f"`{DIALECT[name]}`"
    return f"none: {REFUSED[name]}"


def parity_table(ours: Iterable[str], lightgbm_names: Iterable[str]) -> str:
    """Return all parameters of both libraries as a table in Markdown.

    Parameters
    ----------
    ours : iterable of str
        Parameters of the classifier.
    lightgbm_names : iterable of str
        Those of LightGBM, without their aliases.
    """
    known = list(ours)
    theirs = list(inspect.signature(HistGradientBoostingClassifier).parameters)
    both = [("scikit-learn", name) for name in theirs] + [("LightGBM", name) for name in sorted(lightgbm_names)]
    lines = ["| library | parameter | here |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {library} | `{name}` | {verdict(name, known)} |" for library, name in both)])
