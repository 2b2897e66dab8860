"""What a cluster would refuse in words that name nothing: looked at before a training begins."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import dask
import distributed
import numpy as np
import xgboost.dask
from sklearn.exceptions import DataConversionWarning

# What XGBoost keeps beside the features of a part, and what it may hold.
_ALLOWED = {
    "label": ("labels", "finite"),
    "weight": ("weights", "finite and non-negative"),
    "base_margin": ("base_margin", "finite"),
}


def check_collection(name: str, value: Any) -> None:
    """Raise TypeError unless this is a Dask collection."""
    if not dask.is_dask_collection(value):
        raise TypeError(f"{name} must be a Dask array or data frame; got {type(value).__name__}")


def check_given(name: str, value: Any) -> None:
    """Raise TypeError unless this is None or a Dask collection."""
    if value is not None:
        check_collection(name, value)


def flat_labels(y: Any, name: str) -> Any:
    """Return labels in one dimension, with scikit-learn's warning if they are a column of a table.

    Raises
    ------
    TypeError, ValueError
        If they are no Dask collection, or several columns.
    """
    check_collection(name, y)
    if y.ndim == 1:
        return y
    if y.ndim != 2 or y.shape[1] != 1:
        raise ValueError(f"{name} must be one-dimensional; got {y.shape[1]} columns")
    warnings.warn(
        f"A column-vector {name} was passed when a 1d array was expected; pass one of its columns",
        DataConversionWarning,
        stacklevel=2,
    )
    return y[y.columns[0]] if hasattr(y, "columns") else y[:, 0]


def check_parts(client: distributed.Client | None, matrices: Sequence[tuple[xgboost.dask.DaskDMatrix, str]]) -> None:
    """Raise ValueError if a worker has labels, weights or start scores that no training can take.

    XGBoost looks at a worker's when it has connected all of them: the error of the one that refuses its own comes
    along with those of others, which lost the connection.

    Parameters
    ----------
    client : distributed.Client or None
    matrices : sequence of (DaskDMatrix, name) pairs
    """
    client = client or distributed.get_client()
    asked = [
        [client.submit(_look_at, parts, workers=[address], pure=False) for address, parts in matrix.worker_map.items()]
        for matrix, _ in matrices
    ]
    for found, (_, name) in zip(client.gather(asked), matrices, strict=True):
        for fault, _ in found:
            if fault is not None:
                raise ValueError(fault.format(name=name))
        totals = [total for _, total in found if total is not None]
        if totals and not any(totals):
            raise ValueError(f"weights of {name} are zero for every row; at least one must be positive")


def _look_at(parts: Sequence[Mapping[str, Any]]) -> tuple[str | None, float | None]:
    """Return what is wrong with the parts of a matrix that one worker has, and the sum of its weights, if any."""
    total = None
    for part in parts:
        for kind, (what, allowed) in _ALLOWED.items():
            values = part.get(kind)
            if values is None:
                continue
            rows = part["data"].shape[0]
            if len(values) != rows:
                return f"{what} of {{name}} must be parted as X is; got {len(values)} for {rows} rows", None
            if hasattr(values, "to_numpy"):
                values = values.to_numpy()
            if values.dtype.kind not in "if":
                continue
            wrong = ~np.isfinite(values)
            if kind == "weight":
                wrong |= values < 0
                total = (total or 0.0) + float(values.sum())
            if wrong.any():
                return f"{what} of {{name}} must be {allowed}; got {values[wrong].ravel()[0]}", None
    return None, total
