"""Checks of data that LightGBM would misread without an error, or that would end the process."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from os import PathLike
from typing import Any

import lightgbm
import numpy as np

from ordinal_objectives.adapters.arguments import (
    check_set_names,
    listed_callbacks,
    refuse_parameters,
    refused_by_host,
    refused_columns,
)
from ordinal_objectives.estimators.tables import check_table, column_kinds, refuse_text_and_dates
from ordinal_objectives.utils.validation import first_few

_UNWRITTEN = re.compile(r'[",:\[\]{}]|^$')
# Types of polars and Arrow that LightGBM reads.
_READ = re.compile(r"u?int(8|16|32|64)|float|double|bool|U?Int(8|16|32|64)|Float(32|64)|Boolean")

_METRIC_NAMES = ("metric", "metrics", "metric_types")
_NO_METRIC = {"", "none", "null", "na", "custom"}
_EARLY_STOPPING = ("early_stopping_round", "early_stopping_rounds", "early_stopping", "n_iter_no_change")
_NO_BUILT_IN_METRIC = "built-in metrics do not know the thresholds; pass feval, and metric='None' to lightgbm.train"


def check_columns(X: Any, name: str = "X") -> None:
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


def refused_rows(X: Any, name: str) -> AbstractContextManager[None]:
    """Return what turns any error of LightGBM over rows to predict into a ValueError that names them and columns."""
    return refused_by_host("LightGBM", name, X, _take)


@contextmanager
def refused_sets(sets: list[tuple[str, Any]], has_begun: Callable[[], Any]) -> Iterator[None]:
    """Turn LightGBM's error over a column into a ValueError that names it; errors of other reasons stay as they are.

    Parameters
    ----------
    sets : list of (str, object)
        Name and rows of each data set of a training, which LightGBM reads when the training begins.
    has_begun : callable
        Tells whether all rows have been read, so that none of them is to blame.
    """
    try:
        yield
    except (MemoryError, Warning):
        raise
    except Exception as error:
        for name, X in () if has_begun() else sets:
            columns = refused_columns(X, _take)
            if columns:
                raise ValueError(f"LightGBM refuses {name}: {columns}") from error
        raise


def _take(column: Any) -> None:
    lightgbm.Dataset(column, params={"verbosity": -1}).construct()


def check_rows(data: Any, name: str) -> None:
    """Raise ValueError if rows hold text, dates, durations or types that LightGBM does not read, or a name twice.

    Parameters
    ----------
    data : object
        Whatever LightGBM takes as the rows of a data set or of a prediction. What is no array, frame or table, as a
        file, is left to LightGBM.
    name : str
        The argument's name in messages.
    """
    rows = np.asarray(data) if isinstance(data, list) and data and isinstance(data[0], (list, tuple)) else data
    for part in rows if isinstance(rows, list) else [rows]:
        check_table(part, name=name)
        refuse_text_and_dates(part, name=name)
        check_columns(part, name)


def check_set(data: lightgbm.Dataset, name: str) -> None:
    """Raise ValueError for what LightGBM would read otherwise of a data set.

    It takes NaN for 0, and labels that are missing too, and reads nothing of categorical features in a tuple.
    """
    if not isinstance(data, lightgbm.Dataset):
        raise TypeError(f"{name} must be a lightgbm.Dataset; got {type(data).__name__}: pass lightgbm.Dataset(X, y)")
    check_rows(data.data, name)
    shape: tuple[int, ...] = getattr(data.data, "shape", ())
    if 0 in shape:
        raise ValueError(f"{name} must have rows and columns; got data of shape {shape}")
    _check_names(data, name)
    if data.label is None and data.data is not None and not isinstance(data.data, (str, PathLike)):
        raise ValueError(f"{name} has no labels; pass label= to lightgbm.Dataset")
    columns = data.categorical_feature
    if columns is not None and not _is_auto(columns) and not _is_plain_list(columns):
        raise ValueError(f"categorical_feature of {name} must be 'auto' or a list of str and int; got {columns!r}")
    for field in ("label", "weight", "init_score"):
        try:
            values = np.asarray(getattr(data, field), dtype=np.float64)
        except (TypeError, ValueError):
            continue  # left to LightGBM
        if getattr(data, field) is not None and not np.isfinite(values).all():
            raise ValueError(f"{field} of {name} holds NaN or infinite values")
        if getattr(data, field) is not None and len(shape) == 2 and len(values) != shape[0]:
            raise ValueError(f"{field} of {name} must have an entry for each of the {shape[0]} rows; got {len(values)}")


def _check_names(data: lightgbm.Dataset, name: str) -> None:
    """Raise ValueError for names of columns that LightGBM cannot write into its model."""
    columns = data.feature_name if isinstance(data.feature_name, list) else column_kinds(data.data)
    names = [str(column if isinstance(column, str) else column[0]) for column in columns]
    written = [re.sub(r"\s", "_", one) for one in names]
    times = Counter(written)
    wrong = [repr(one) for one, its in zip(names, written, strict=True) if times[its] > 1 or _UNWRITTEN.search(its)]
    if wrong:
        raise ValueError(
            f'{name} must have columns whose names LightGBM can write, not empty, without any of " , : [ ] {{ }}, and '
            f"different with _ for each space; got column {first_few(wrong)}"
        )


def _is_auto(columns: Any) -> bool:
    return isinstance(columns, str) and columns == "auto"


def _is_plain_list(columns: Any) -> bool:
    return isinstance(columns, list) and all(type(column) in (str, int) for column in columns)


def check_booster(booster: Any) -> None:
    """Raise TypeError unless this is a LightGBM booster."""
    if not isinstance(booster, lightgbm.Booster):
        inside = "; pass its booster_, or call its own methods" if hasattr(booster, "booster_") else ""
        raise TypeError(f"booster must be a lightgbm.Booster; got {type(booster).__name__}{inside}")


def categorical_columns(columns: Any, X: Any) -> Any:
    """Return ``categorical_feature`` as LightGBM reads it, which is a list of Python's own types alone.

    Raises
    ------
    ValueError
        If it holds what is neither the name nor the number of a column.
    """
    if columns is None or _is_auto(columns):
        return columns
    names = list(getattr(X, "columns", ())) if not hasattr(X, "column_names") else X.column_names
    given = np.asarray(columns, dtype=object).tolist()
    for column in given if isinstance(given, list) else [given]:
        is_place = isinstance(column, (int, np.integer)) and not isinstance(column, bool)
        known = isinstance(given, list) and (0 <= column < X.shape[1] if is_place else column in names)
        if not known:
            raise ValueError(
                f"categorical_feature must be 'auto' or a list of columns' names, or of their places below "
                f"{X.shape[1]}; got {columns!r}"
            )
    return [int(column) if isinstance(column, np.integer) else column for column in given]


def callbacks_in(callbacks: Any) -> list[Any]:
    """Return LightGBM's callbacks as a list; raise TypeError for what it cannot call or number."""

    def suits(one: Any) -> bool:
        return callable(one) and isinstance(getattr(one, "__dict__", None), dict)

    return listed_callbacks(callbacks, suits, "functions that LightGBM calls after a round")


def names_of_sets(names: Any, n_sets: int) -> list[str] | None:
    """Return ``eval_names``, checked: one for each evaluation set."""
    if names is None:
        return None
    each = [names] if isinstance(names, str) else list(names)
    if len(each) != n_sets:
        raise ValueError(f"eval_names must have {n_sets} entries; got {len(each)}")
    check_set_names(each, "eval_names")
    return each


def check_valid_names(names: Any, valid_sets: list[lightgbm.Dataset], train_set: lightgbm.Dataset) -> None:
    """Raise ValueError if two sets to evaluate have one name, by ``valid_names`` or by LightGBM's defaults."""
    given = [names] if isinstance(names, str) else list(names or [])
    defaults = ["training" if data is train_set else f"valid_{i}" for i, data in enumerate(valid_sets)]
    check_set_names(given[: len(defaults)] + defaults[len(given) :], "valid_names")


def without_no_metric(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters without a metric that is LightGBM's word for none."""
    return {name: value for name, value in params.items() if name not in _METRIC_NAMES or _asks_for_metric(value)}


def check_metrics(params: Mapping[str, Any]) -> None:
    """Raise ValueError for a built-in metric, which would be one of the score without its thresholds."""
    refuse_parameters(without_no_metric(params), dict.fromkeys(_METRIC_NAMES, _NO_BUILT_IN_METRIC))


def check_evaluated(params: Mapping[str, Any], has_sets: bool) -> None:
    """Refuse early stopping in the parameters where nothing is measured, or warn of sets that are not evaluated."""
    asked = next((name for name in _EARLY_STOPPING if params.get(name) is not None), None)
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


def _asks_for_metric(value: Any) -> bool:
    names = value.split(",") if isinstance(value, str) else value
    names = names if isinstance(names, (list, tuple, set, frozenset)) else [names]
    return any(str(name).strip().lower() not in _NO_METRIC for name in names)
