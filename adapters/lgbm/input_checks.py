"""What LightGBM would misread, or end the process over: parameters by all their names, rows, levels of categories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import lightgbm
import numpy as np
from lightgbm.basic import _ConfigAliases

from ordinal_objectives import tables
from ordinal_objectives.adapters import arguments
from ordinal_objectives.adapters.arguments import refuse_parameters
from ordinal_objectives.aliases import Params, Table
from ordinal_objectives.columns import Columns, plain_level
from ordinal_objectives.estimators import held_out
from ordinal_objectives.tables import column_kinds, describe_column
from ordinal_objectives.utils.validation import as_objects, first_few, refuse_masked, signs_of

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
    "callbacks": "callbacks= in fit",
    "eval_metric": "eval_metric= in fit",
    **dict.fromkeys(_ALIASES["categorical_feature"], "categorical_feature= in fit"),
}
KNOWN = frozenset(alias for aliases in _ALIASES.values() for alias in aliases) - set(REFUSED) - set(DIALECT)
OF_MACHINE = frozenset(alias for name in ("num_threads", "verbosity", "device_type") for alias in _ALIASES[name])
OF_NETWORK = frozenset(
    alias for name in ("local_listen_port", "machines", "num_machines", "tree_learner") for alias in _ALIASES[name]
)
# All names of a parameter by the constructor's, or LightGBM's primary one where it has none. By LightGBM's rule the
# primary one counts of several that are given, or else the shortest.
_SPELLED = {native: name for name, native in NATIVE.items()} | {"metric": "eval_metric"}
SAME = {_SPELLED.get(primary, primary): names for primary, names in _ALIASES.items()}
# What fit of LightGBM's own classifier takes, or took, and ours does not.
FIT_HINTS = {
    "verbose": "pass callbacks=[lightgbm.log_evaluation()] to fit",
    "feature_name": "names are those of the columns of X, as with 'auto'",
    "eval_class_weight": "pass eval_sample_weight",
}
# The same of predictions.
PREDICT_HINTS = {
    "validate_features": "names of columns are compared",
    "predict_disable_shape_check": "columns of X are those of fit",
    "pred_early_stop": "all trees of a row count",
    **dict.fromkeys(_ALIASES["num_threads"], "n_jobs of the constructor says how many threads predict"),
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


def checked_params(params: Mapping[str, Any]) -> Params:
    """Return the parameters of a training as LightGBM takes them; raise ValueError for one that is refused.

    ``metric="None"`` is left out, monotone constraints become numbers, and groups of features lists.
    """
    params = check_metrics(params)
    refuse_parameters(params, {alias: why for name, why in _REFUSED_BY_TRAIN.items() for alias in _ALIASES[name]})
    for name in _ALIASES["boosting"]:
        refuse_boosting(name, params.get(name))
    for name in _ALIASES["monotone_constraints"]:
        if params.get(name) is not None:
            params[name] = signs_of(params[name], name=name)
    groups = params.get("interaction_constraints")
    if isinstance(groups, Sequence) and not isinstance(groups, str):  # sets of columns make its file unreadable
        params["interaction_constraints"] = [[*one] for one in groups]
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


# Types of polars and Arrow that LightGBM reads.
_READ = re.compile(r"u?int(8|16|32|64)|float|double|bool|U?Int(8|16|32|64)|Float(32|64)|Boolean")


def check_columns(X: object, name: str = "X") -> None:
    """Raise ValueError if a polars frame or an Arrow table has a column over which LightGBM ends the process."""
    if not hasattr(X, "columns") or hasattr(X, "iloc"):
        return
    columns = ((column, str(dtype)) for column, dtype, _ in column_kinds(X))
    strange = [f"column {column!r} of type {dtype}" for column, dtype in columns if not _READ.fullmatch(dtype)]
    if strange:
        raise ValueError(
            f"{name} must hold numbers and booleans of types that LightGBM reads; got {first_few(strange)}. Pass a "
            f"pandas frame, where categories are read too, or numbers with categorical_feature="
        )


def check_rows(data: object, name: str) -> None:
    """Raise ValueError if rows hold what LightGBM does not read.

    Parameters
    ----------
    data : object
        Whatever LightGBM takes as the rows of a data set or of a prediction. What is no array, frame or table, as a
        file, is left to LightGBM.
    name : str
        The argument's name in messages.
    """
    rows: Any = np.asarray(data) if isinstance(data, list) and data and isinstance(data[0], (list, tuple)) else data
    for part in rows if isinstance(rows, list) else [rows]:
        tables.check_table(part, name=name)
        tables.refuse_text_and_dates(part, name=name)
        check_columns(part, name)


def written_names(names: Iterable[Any]) -> list[str]:
    """Return names of columns as LightGBM writes them into its model."""
    return [re.sub(r"\s", "_", str(name)) for name in names]


def are_made_up(names: Sequence[str]) -> bool:
    """Return whether LightGBM made up these names of columns."""
    return names == [f"Column_{place}" for place in range(len(names))]


def check_set(data: lightgbm.Dataset, name: str, train_set: lightgbm.Dataset) -> None:
    """Raise ValueError for what LightGBM would read otherwise of a data set, to train on or to evaluate.

    It takes NaN for 0, and labels that are missing too, and reads nothing of categorical features in a tuple.
    """
    check_rows(data.data, name)
    if data.label is None and data.data is not None and not isinstance(data.data, (str, PathLike)):
        raise ValueError(f"{name} has no labels; pass label= to lightgbm.Dataset")
    columns = data.categorical_feature
    is_list = isinstance(columns, list) and all(type(column) in (str, int) for column in columns)
    if columns is not None and not held_out.is_auto(columns) and not is_list:
        raise ValueError(f"categorical_feature of {name} must be 'auto' or a list of str and int; got {columns!r}")
    for field in ("label", "weight", "init_score"):
        values = getattr(data, field)
        if values is None:
            continue
        refuse_masked(values, name=f"{field} of {name}")
        try:
            numbers = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            continue  # left to LightGBM
        if not np.isfinite(numbers).all():
            raise ValueError(f"{field} of {name} holds NaN or infinite values")
    if data is not train_set:
        _check_same_levels(data.data, train_set, name)


def categorical_places(columns: Any, names: Sequence[str] | None, n_features: int) -> list[int]:
    """Return the places of columns that ``categorical_feature`` names; none for None and "auto".

    Raises
    ------
    ValueError
        If it holds what is neither the name nor the number of a column.
    """
    if columns is None or held_out.is_auto(columns):
        return []
    given, known = as_objects(columns, name="categorical_feature").tolist(), list(names or ())
    places: list[Any] = [
        known.index(column) if isinstance(column, str) and column in known else column
        for column in (given if isinstance(given, list) else [None])
    ]
    for place in places:
        is_place = isinstance(place, (int, np.integer)) and not isinstance(place, bool)
        if not is_place or not 0 <= place < n_features:
            raise ValueError(
                f"categorical_feature must be 'auto' or a list of columns' names, or of their places below "
                f"{n_features}; got {columns!r}"
            )
    return [int(place) for place in places]


def check_linear(linear_tree: object, train_set: lightgbm.Dataset) -> None:
    """Raise ValueError if linear leaves are to be fitted to rows that LightGBM did not keep, where it crashes."""
    whole, parts = train_set, train_set.data if isinstance(train_set.data, list) else [train_set.data]
    while whole.used_indices is not None and whole.reference is not None:
        whole = whole.reference
    kept = whole is train_set or bool(value_of(whole.params or {}, "linear_tree"))
    if linear_tree and (not kept or any(isinstance(part, lightgbm.Sequence) for part in parts)):
        raise ValueError(
            f"params['linear_tree'] = {linear_tree!r} needs an array as train_set, or a part of a Dataset made with "
            f"params={{'linear_tree': True}}: LightGBM fits linear leaves to rows that it keeps of these alone"
        )


def check_signs(params: Mapping[str, Any], data: lightgbm.Dataset) -> None:
    """Raise ValueError for signs that make LightGBM end the process: too few, or of categories."""
    X, signs = data.data, value_of(params, "monotone_constraints")
    if signs is None or len(signs) == 0 or not hasattr(X, "shape"):
        return
    if isinstance(signs, dict) or len(signs) != X.shape[1]:
        raise ValueError(f"monotone_constraints must hold a sign for each of the {X.shape[1]} columns; got {signs!r}")
    columns, names = data.categorical_feature, data.feature_name
    if held_out.is_auto(names):
        names = tables.names_as_text(X) or []
    places = category_places(X) if held_out.is_auto(columns) else columns or ()
    if any(signs[names.index(place) if isinstance(place, str) else place] for place in places):
        raise ValueError(f"monotone_constraints must be 0 for categories, which have no order; got {signs!r}")


def category_places(X: object) -> list[int]:
    """Return the columns of a pandas frame that have a category type."""
    return [i for i, (_, _, kind) in enumerate(column_kinds(X)) if kind == "category"] if hasattr(X, "iloc") else []


def _check_same_levels(X: Table, train_set: lightgbm.Dataset, name: str) -> None:
    """Raise ValueError if rows to evaluate have columns or categories that the training set has not.

    LightGBM takes 0 for columns that lack, codes of their own for categories where the training set is no frame, and
    missing values for levels of another type.
    """
    trained = train_set.data
    here, there = (getattr(rows, "shape", (0, 0)) for rows in (X, trained))
    if len(here) == len(there) == 2 and here[1] != there[1] and here[1] * there[1]:
        raise ValueError(f"{name} must have the {there[1]} columns of the training set; got {here[1]}")
    if tables.column_names(X) is not None:
        arguments.check_same_names(tables.column_names(trained), tables.column_names(X), name=name)
    tables.refuse_other_order(tables.names_as_text(trained), X, name=name)
    if not hasattr(X, "iloc"):
        return
    if hasattr(trained, "iloc"):
        Columns.learn(trained, declared=True).encode(X, name=name)
    else:
        with_codes(X, train_set.pandas_categorical, name=name)


def with_codes(X: Table, levels: Sequence[list[Any]] | None, *, name: str) -> Any:
    """Return a pandas frame as numbers by the levels of a model, ``pandas_categorical``; anything else as it is.

    Raises
    ------
    ValueError
        If the model holds levels of other columns than the frame, or none, or has text where the frame has numbers.
    """
    places, levels = category_places(X), levels or []
    if not places:
        return X
    if len(places) != len(levels):
        raise ValueError(
            f"{name} must have categories in the {len(levels)} columns of which the model holds levels; got "
            f"{first_few([describe_column(X, place) for place in places])}"
        )
    plain = {place: [plain_level(level) for level in own] for place, own in zip(places, levels, strict=True)}
    return Columns(X.shape[1], plain).encode(X, name=name)
