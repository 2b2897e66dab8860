"""Training on a Dask cluster, with the conventions of ``xgboost.dask``, and the checks before it begins.

XGBoost's own errors name no argument there, or come together with the lost connections of other workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xgboost
from scipy.sparse import issparse

from ordinal_objectives.aliases import Table
from ordinal_objectives.utils.extras import not_installed

try:
    import distributed
    import xgboost.dask
except ImportError as error:
    raise not_installed(error, "xgboost", "dask") from None

from ordinal_objectives.adapters.arguments import Asked, check_asked, check_same_names, given_options, spec_and_record
from ordinal_objectives.adapters.dask_rows import LARGEST, check_client, fault_of_rows, numbers_of_rows, watched
from ordinal_objectives.adapters.xgb.train import arguments_of, judged_first, train as train_here
from ordinal_objectives.estimators.tables import refuse_text_and_dates
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import first_few, refuse_masked

__all__ = ["train"]


@documented(like=train_here)
def train(
    client: distributed.Client | None,
    params: Mapping[str, Any],
    dtrain: xgboost.dask.DaskDMatrix,
    num_boost_round: int = 10,
    *,
    evals: Sequence[tuple[xgboost.dask.DaskDMatrix, str]] | None = None,
    xgb_model: xgboost.Booster | None = None,
    callbacks: Sequence[xgboost.callback.TrainingCallback] | None = None,
    custom_metric: Callable[..., Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Train an ordinal model on a Dask cluster: :func:`xgboost.dask.train` with the thresholds in place.

    Thresholds are functions of sums over rows. Each worker computes those of its own rows, the sums are added up by the
    allreduce that XGBoost grows its trees with, and all workers take the same step. The classes are those of all
    workers' rows, and the loss of the training and evaluation sets is the mean over all of theirs.

    Parameters
    ----------
    client : distributed.Client or None
        None takes the current one.
    <<params>>
    dtrain : xgboost.dask.DaskDMatrix or DaskQuantileDMatrix
        Labels are class codes 0..n_classes - 1; a worker may lack some, or have no rows.
    <<num_boost_round>>
    evals : sequence of (DaskDMatrix, name) pairs or None
        Evaluated each round with the ordinal loss.
    xgb_model : Booster or None
        Model to continue, which must carry its thresholds.
    callbacks : sequence of xgboost.callback.TrainingCallback or None
        Each worker has a copy.
    custom_metric : callable or None
        ``custom_metric(proba, dmatrix) -> (name, value)``, called on each worker with its own rows. XGBoost takes the
        mean of the workers' values, unweighted.
    <<n_classes, loss, link, step parameters, thresholds>>
    <<shift parameters, shift_method>>
        "host" is refused: XGBoost does not add up such leaves over workers.
    <<split_outputs>>
    **options
        ``early_stopping_rounds``, ``verbose_eval`` and ``coll_cfg`` of :func:`xgboost.dask.train`.

    Returns
    -------
    dict
        ``"booster"``, which carries its thresholds, and ``"history"``.

    Raises
    ------
    TypeError
        If a matrix is none of ``xgboost.dask``, or the client is asynchronous.
    ValueError
        If a parameter is refused, or features, labels, weights or start scores that one worker has, or a column has
        another name or other categories in one part than in another, or another name in an evaluation set; the message
        names it.
    RuntimeError
        If a worker is lost. To try once more, restart the client, since the other workers may still wait in XGBoost's
        allreduce, and make the matrices again: rows were lost with the worker.

    Examples
    --------
    >>> import dask.array as da, numpy as np, xgboost.dask
    >>> from distributed import Client, LocalCluster
    >>> from ordinal_objectives.adapters import xgb as oxgb
    >>> from ordinal_objectives.adapters.xgb import dask as oxgb_dask
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> with LocalCluster(n_workers=2, dashboard_address=None) as cluster, Client(cluster) as client:  # doctest: +SKIP
    ...     data = da.from_array(X, chunks=(150, 3))
    ...     dtrain = xgboost.dask.DaskDMatrix(client, data, da.from_array(y, chunks=150))
    ...     model = oxgb_dask.train(client, {"max_depth": 2}, dtrain, 20)
    >>> proba = oxgb.predict_proba(model["booster"], xgboost.DMatrix(X))  # doctest: +SKIP
    """
    given = dict(locals())
    asked = spec_and_record("xgb.dask.train", **given_options(options))
    return train_spec(asked, **given.pop("options"), **given)


def train_spec(
    asked: Asked,
    client: distributed.Client | None,
    params: Mapping[str, Any],
    dtrain: xgboost.dask.DaskDMatrix,
    num_boost_round: int,
    *,
    carried: Mapping[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Train the model of a specification; ``options`` are the other arguments of :func:`train`."""
    check_asked(params, num_boost_round, 0)
    options |= arguments_of(asked, params, options, dtrain, carried=carried)
    options |= judged_first(options)
    client = client or distributed.get_client()
    check_client(client)
    matrices = [(dtrain, "the training set"), *(options.get("evals") or [])]
    check_matrices(matrices)

    async def train_there() -> dict[str, Any]:
        await check_parts(client, matrices)
        result: dict[str, Any] = await xgboost.dask.train(
            client=client, dtrain=dtrain, num_boost_round=num_boost_round, **options
        )
        return result

    trained: dict[str, Any] = watched(client, {one for matrix, _ in matrices for one in matrix.worker_map}, train_there)
    return trained


# The categories of each column, in their order; None of a column without any.
Columns = Mapping[Any, list[Any] | None]


class _WorkerRows(NamedTuple):
    """A fault in the parts of a matrix that one worker has, if any; the sum of their weights; their columns."""

    fault: str | None
    total: float | None = None
    columns: Columns | None = None


def check_matrices(matrices: Sequence[tuple[object, str]]) -> None:
    """Raise TypeError if one is none of ``xgboost.dask``."""
    for matrix, name in matrices:
        if not isinstance(matrix, xgboost.dask.DaskDMatrix):
            raise TypeError(f"{name} must be an xgboost.dask.DaskDMatrix; got {type(matrix).__name__}")


async def check_parts(client: distributed.Client, matrices: Sequence[tuple[xgboost.dask.DaskDMatrix, str]]) -> None:
    """Raise ValueError if a worker has rows that no training can take, or other columns than another worker.

    XGBoost checks the rows of a worker after all workers have connected: the error of one worker then comes together
    with the lost connections of the others. It compares the number of categories, and no names of columns; where an
    evaluation set has others than the training, it raises an AssertionError without words.

    Parameters
    ----------
    client : distributed.Client
    matrices : sequence of (DaskDMatrix, name) pairs
    """
    asked = [
        [
            client.submit(_check_worker, parts, matrix.missing, workers=[address], pure=False)
            for address, parts in matrix.worker_map.items()
        ]
        for matrix, _ in matrices
    ]
    trained: list[str] | None = None
    for found, (_, name) in zip(await client.gather(asked, asynchronous=True), matrices, strict=True):
        faults = [seen.fault for seen in found if seen.fault is not None]
        known = [seen.columns for seen in found if seen.columns is not None]
        faults += [fault for other in known if (fault := _differing(known[0], other)) is not None]
        if faults:
            raise ValueError(faults[0].replace("{name}", name))
        names = [str(column) for column in known[0]] if known else trained
        trained = names if trained is None else trained
        check_same_names(trained, names, name=f"X of {name}")
        totals = [seen.total for seen in found if seen.total is not None]
        if totals and not any(totals):
            raise ValueError(f"weights of {name} are zero for every row; at least one must be positive")


def _check_worker(parts: Sequence[Mapping[str, Any]], missing: float) -> _WorkerRows:
    """Check the parts of a matrix that one worker has."""
    total, columns = None, None
    for part in parts:
        here = _columns(part["data"])
        columns = here if columns is None else columns
        fault = fault_of_rows(part) or _fault_of_features(part["data"], missing) or _differing(columns, here)
        if fault is not None:
            return _WorkerRows(fault)
        if part.get("weight") is not None:
            total = (total or 0.0) + float(numbers_of_rows(part["weight"], name="weights").sum())
    return _WorkerRows(None, total, columns)


def _fault_of_features(data: object, missing: float) -> str | None:
    """Return what XGBoost refuses, or would misread, in the features of a part."""
    try:
        refuse_masked(data, name="X of {name}")
        refuse_text_and_dates(data, name="X of {name}")
    except (TypeError, ValueError) as error:
        return str(error)
    if np.isinf(missing):
        return None
    for values in _floats(data):
        for extreme in (np.fmax.reduce(values, axis=None, initial=0.0), np.fmin.reduce(values, axis=None, initial=0.0)):
            if abs(extreme) > LARGEST:
                return f"X of {{name}} must hold missing or finite numbers that float32 can hold; got {extreme}"
    return None


def _floats(data: Table) -> Iterator[Any]:
    """Yield the floats in the features of a part, if they are in memory, without a copy of all of them."""
    if _is_pandas(data):
        for _, column in data.items():
            if column.dtype.kind == "f":
                yield column.to_numpy(dtype=np.float64, na_value=np.nan)
        return
    values = data.data if issparse(data) else data
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        yield values


def _columns(data: Table) -> Columns:
    """Return the columns of a part, by their names in a pandas frame and else by their numbers."""
    if not _is_pandas(data):
        return dict.fromkeys(range(data.shape[1]))
    dtypes = zip(data.columns, data.dtypes, strict=True)
    return {name: dtype.categories.tolist() if hasattr(dtype, "categories") else None for name, dtype in dtypes}


def _is_pandas(data: object) -> bool:
    return type(data).__module__.partition(".")[0] == "pandas"


def _differing(one: Columns, other: Columns) -> str | None:
    """Return which column has another name or other categories in one part than in another."""
    names = ([str(name) for name in columns] for columns in (one, other))
    try:
        check_same_names(*names, name="each part of X of {name}")
    except ValueError as error:
        return str(error)
    for name, categories in one.items():
        if other[name] != categories:
            both = " and ".join(first_few(of or ["none"], repr) for of in (categories, other[name]))
            return (
                f"column {name!r} of {{name}} must have the same categories in all parts; got {both}. "
                f"X.categorize() of dask.dataframe makes them so"
            )
    return None
