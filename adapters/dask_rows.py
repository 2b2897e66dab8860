"""Rows on a Dask cluster: what a training takes, and what is wrong with a part of them."""

from __future__ import annotations

import asyncio
import warnings
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

import dask
import distributed
import numpy as np
from sklearn.exceptions import DataConversionWarning

from ordinal_objectives.aliases import Column, FloatArray, Table
from ordinal_objectives.estimators.tables import refuse_but_numbers, refuse_text_and_dates
from ordinal_objectives.utils.validation import as_floats, first_few

# Arrays beside the features of a part, and the values that they may hold.
_ALLOWED = {
    "label": ("labels", "finite"),
    "weight": ("weights", "finite and non-negative"),
    "base_margin": ("base_margin", "finite"),
    "init_score": ("init_score", "finite"),
}
LARGEST = float(np.finfo(np.float32).max)
Trained = TypeVar("Trained")
# Seconds in which Dask notices that a worker has gone.
_NOTICED = 10


def check_client(client: object) -> None:
    """Raise TypeError unless this is a synchronous client."""
    if not isinstance(client, distributed.Client):
        raise TypeError(f"client must be a distributed.Client or None; got {type(client).__name__}")
    if client.asynchronous:
        raise TypeError("client must not be asynchronous: the training waits for its results; got one that is")


def watched(client: distributed.Client, addresses: Collection[str], train: Callable[[], Awaitable[Trained]]) -> Trained:
    """Return what a training on workers returns; raise its error, or RuntimeError if a worker is lost.

    The other workers may wait for a lost one for ever, and Dask for a worker of that address; or their error is a lost
    connection, which may come before Dask has noticed the worker.
    """

    async def finished() -> tuple[Trained | None, Exception | None]:
        try:
            return await train(), None
        except (Exception, distributed.CancelledError) as error:
            is_cancelled = isinstance(error, distributed.CancelledError)
            return None, RuntimeError(f"rows of the training are lost: {error}") if is_cancelled else error

    async def watch() -> Trained | None:
        training, waited = asyncio.ensure_future(finished()), 0
        while True:
            await asyncio.wait([training], timeout=1)
            result, error = training.result() if training.done() else (None, None)
            if training.done() and error is None:
                return result
            lost = sorted(set(addresses) - set(await client.nthreads()))
            if lost:
                training.cancel()
                raise RuntimeError(
                    f"worker {', '.join(lost)} has left the training, and the others may still wait for it: call "
                    f"client.restart() before the next one"
                ) from error
            if error is not None:
                if waited == _NOTICED or isinstance(error, (TypeError, ValueError)):
                    raise error
                waited += 1
                await asyncio.sleep(1)

    return client.sync(watch)


def check_collection(name: str, value: object) -> None:
    """Raise TypeError unless this is a Dask collection."""
    if not dask.is_dask_collection(value):
        raise TypeError(f"{name} must be a Dask array or data frame; got {type(value).__name__}")


def check_table(X: object, n_features: int | None = None, *, name: str = "X") -> None:
    """Raise TypeError or ValueError unless this is a Dask collection of rows and columns that XGBoost takes.

    Parameters
    ----------
    X : object
    n_features : int or None
        How many columns it must have; None takes any.
    name : str
        The argument's name in messages.
    """
    check_collection(name, X)
    shape: tuple[Any, ...] = getattr(X, "shape", ())
    if len(shape) != 2 or shape[1] == 0:
        raise ValueError(f"{name} must be two-dimensional, with at least one column; got {_dimensions(shape)}")
    if n_features is not None and shape[1] != n_features and not np.isnan(shape[1]):
        raise ValueError(f"{name} must have the {n_features} features of the training; got {shape[1]}")
    twice = [column for column, count in Counter(getattr(X, "columns", ())).items() if count > 1]
    if twice:
        raise ValueError(f"{name} must have columns of different names; got more than once: {first_few(twice, repr)}")
    refuse_text_and_dates(X)


def check_numbers_of_rows(name: str, value: Any) -> None:
    """Raise TypeError or ValueError unless this is None or a Dask collection of one dimension."""
    if value is None:
        return
    check_collection(name, value)
    if value.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, a number for each row; got {_dimensions(value.shape)}")


def _dimensions(shape: Sequence[Any]) -> str:
    return f"{shape[1]} columns" if len(shape) == 2 else f"{len(shape)} dimension(s)"


def check_partitions(X: Table, name: str, **beside: Any) -> None:
    """Raise ValueError unless labels, weights and start scores have as many parts as the rows."""
    parts = X.npartitions if hasattr(X, "columns") else X.numblocks[0]
    for kind, values in beside.items():
        if values is not None and values.npartitions != parts:
            raise ValueError(
                f"{_ALLOWED[kind][0]} of {name} must be partitioned as X is; got {values.npartitions} parts for {parts}"
            )


def flat_labels(y: Column, name: str) -> Column:
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


def numbers_of_rows(values: Any, *, name: str) -> FloatArray:
    """Return labels, weights or start scores of a part as float64; a number that is missing is NaN.

    Raises
    ------
    TypeError, ValueError
        If they are no numbers, or some are masked.
    """
    refuse_but_numbers(values, name=name, hint="Pass numbers")
    if hasattr(values, "to_numpy"):
        return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
    return as_floats(values, name=name)


def fault_of_rows(part: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the labels, weights or start scores of a part."""
    if part.get("label") is None:
        return "labels of {name} are missing; make the matrix with label="
    rows = part["data"].shape[0]
    for kind, (what, allowed) in _ALLOWED.items():
        values = part.get(kind)
        if values is None:
            continue
        if len(values) != rows:
            return f"{what} of {{name}} must be partitioned as X is; got {len(values)} for {rows} rows"
        if values.size != rows:
            return f"{what} of {{name}} must have one number a row; got {values.shape[1]} columns"
        try:
            values = numbers_of_rows(values, name=f"{what} of {{name}}")
        except (TypeError, ValueError) as error:
            return str(error)
        wrong = ~(np.abs(values) <= LARGEST)
        if kind == "weight":
            wrong |= values < 0
        if wrong.any():
            got = values[wrong].ravel()[0]
            beyond = ", which float32 cannot hold" if LARGEST < abs(got) < np.inf else ""
            return f"{what} of {{name}} must be {allowed}; got {got}{beyond}"
    return None
