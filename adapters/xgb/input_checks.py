"""Checks of data that XGBoost would refuse with other messages, or with a trace of its C++ calls."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray

from ordinal_objectives.adapters.arguments import (
    check_same_columns,
    check_same_names,
    check_sets,
    listed_callbacks,
    refused_by_host,
)
from ordinal_objectives.utils.validation import first_few


def refused_rows(X: Any, missing: float = np.nan, name: str = "X") -> AbstractContextManager[None]:
    """Return what turns any error of XGBoost over rows into a ValueError that names them and their columns."""

    def take(column: Any) -> None:
        xgboost.DMatrix(column, missing=missing, enable_categorical=True)

    return refused_by_host("XGBoost", name, X, take)


def check_finite(X: NDArray[np.floating], missing: float) -> None:
    """Raise ValueError for values that XGBoost refuses in a matrix, and accepts without an error in an array."""
    if not np.isinf(missing) and (np.abs(X) > np.finfo(np.float32).max).any():
        raise ValueError("XGBoost refuses X: Input data contains `inf` or a value too large for float32")


def check_booster(booster: Any) -> None:
    """Raise TypeError unless this is an XGBoost booster."""
    if not isinstance(booster, xgboost.Booster):
        inside = "; pass its booster_, or call its own methods" if hasattr(booster, "booster_") else ""
        raise TypeError(f"booster must be an xgboost.Booster; got {type(booster).__name__}{inside}")


def check_matrix(booster: xgboost.Booster, data: Any) -> None:
    """Raise TypeError unless this is an XGBoost matrix, and ValueError if it has columns that the booster lacks."""
    if not isinstance(data, xgboost.DMatrix):
        raise TypeError(f"data must be an xgboost.DMatrix; got {type(data).__name__}: pass xgboost.DMatrix(data)")
    if data.num_col() > booster.num_features():
        raise ValueError(f"data must have at most the model's {booster.num_features()} columns; got {data.num_col()}")


def check_names(booster: xgboost.Booster, data: xgboost.DMatrix) -> None:
    """Raise ValueError if a matrix's features are not named as the booster's, as XGBoost's own predictions do."""
    check_same_names(booster.feature_names, data.feature_names)


def check_levels(trained: xgboost.Booster | xgboost.DMatrix, data: xgboost.DMatrix, name: str) -> None:
    """Raise ValueError if a matrix has levels of categories that the model or the training's matrix has not, or none.

    XGBoost takes a level that it does not know for another one, unless it comes last.
    """
    if "c" not in (trained.feature_types or ()) or not hasattr(trained, "get_categories"):
        return
    if trained.get_categories().empty() and not data.get_categories().empty():
        raise ValueError(
            f"{name} has levels of categories, and those of the training are not known: XGBoost keeps none "
            f"of codes, and a slice of a booster forgets them. Pass codes, with the feature_types of the training"
        )
    known, here = _levels(trained), _levels(data)
    for place, levels in here.items():
        others = {code: level for code, level in enumerate(levels) if level not in known.get(place, levels)}
        if others and (unseen := [level for code, level in others.items() if code in _codes(data, place)]):
            column = place if data.feature_names is None else data.feature_names[place]
            raise ValueError(
                f"{name} must have the levels of the training in column {column!r}, {first_few(known[place])}; got "
                f"{first_few(unseen)}"
            )


def _levels(of: xgboost.Booster | xgboost.DMatrix) -> dict[int, list[Any]]:
    """Return the levels of columns by place, but for text that XGBoost 3.2 cuts; none without pyarrow."""
    try:
        columns = of.get_categories(export_to_arrow=True).to_arrow()
        found = {place: values.to_pylist() for place, (_, values) in enumerate(columns) if values is not None}
    except (ImportError, UnicodeDecodeError):
        return {}
    return {place: levels for place, levels in found.items() if all(str(level).isascii() for level in levels)}


def _codes(data: xgboost.DMatrix, place: int) -> set[float]:
    """Return the codes that the rows of a column have."""
    return set(np.unique(data.get_data()[:, [place]].data))


def check_continues(booster: Any, dtrain: Any) -> None:
    """Raise ValueError if the rows to train on have other columns than the model that is continued, if one is.

    A file is left to XGBoost, and so are the names of columns on a cluster, which its workers know.
    """
    if isinstance(booster, xgboost.Booster) and hasattr(dtrain, "num_col"):
        names = (dtrain.feature_names or ()) if isinstance(dtrain, xgboost.DMatrix) else None
        here = int(dtrain.num_col())
        check_same_columns("xgb_model", booster.num_features(), here, booster.feature_names, names)
        if isinstance(dtrain, xgboost.DMatrix):
            check_levels(booster, dtrain, "dtrain")


def callbacks_in(callbacks: Any) -> list[Any]:
    """Return XGBoost's callbacks as a list; raise TypeError for anything else."""

    def suits(one: Any) -> bool:
        return isinstance(one, xgboost.callback.TrainingCallback)

    return listed_callbacks(callbacks, suits, "xgboost.callback.TrainingCallback")


def check_dtrain(dtrain: Any) -> None:
    """Raise TypeError unless this is an XGBoost matrix."""
    if not isinstance(dtrain, xgboost.DMatrix):
        raise TypeError(f"dtrain must be an xgboost.DMatrix; got {type(dtrain).__name__}: pass xgboost.DMatrix(X, y)")


def check_evals(evals: Any, kind: type = xgboost.DMatrix) -> None:
    """Raise TypeError unless these are None or pairs of a matrix and a name."""

    def is_pair(one: Any) -> bool:
        return isinstance(one, (list, tuple)) and len(one) == 2 and isinstance(one[0], kind) and isinstance(one[1], str)

    check_sets("evals", evals, is_pair, "(DMatrix, name) pairs")
