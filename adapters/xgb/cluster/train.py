"""Training on a Dask cluster, with the conventions of ``xgboost.dask``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import xgboost

from ordinal_objectives.utils.extras import not_installed

try:
    import distributed
    import xgboost.dask
except ImportError as error:
    raise not_installed(error, "xgboost", "dask") from None

from ordinal_objectives.adapters.arguments import check_asked, given_options, spec_and_record
from ordinal_objectives.adapters.xgb.cluster.input_checks import check_client, check_parts
from ordinal_objectives.adapters.xgb.train import arguments_of, objective_of
from ordinal_objectives.adapters.xgb.train import train as train_here
from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils.shared_docs import documented


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

    Thresholds are functions of sums over rows. Each worker passes over its own rows, the sums are added up by the
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
    <<n_classes, loss, link, hessian, threshold_update, thresholds>>
    <<proportional, shift_l2, shift_penalty, max_shifts, shift_method>>
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
        other categories in one part than in another; the message names it.
    RuntimeError, xgboost.core.XGBoostError
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
    ordinal = given_options(options)
    given: dict[str, Any] = {
        "evals": evals,
        "xgb_model": xgb_model,
        "callbacks": callbacks,
        "custom_metric": custom_metric,
    }
    return train_spec(
        spec_and_record("xgb.dask.train", **ordinal), client, params, dtrain, num_boost_round, **given, **options
    )


def train_spec(
    asked: tuple[OrdinalSpec, ThresholdRecord | None],
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
    objective = objective_of(asked, params, options, dtrain, carried=carried)
    options |= arguments_of(objective, params, options)
    client = client or distributed.get_client()
    check_client(client)
    check_parts(client, [(dtrain, "the training set"), *(options.get("evals") or [])])
    try:
        result: dict[str, Any] = xgboost.dask.train(
            client=client, dtrain=dtrain, num_boost_round=num_boost_round, **options
        )
    except distributed.CancelledError as error:
        raise RuntimeError(f"a worker has left the training, or its rows are lost: {error}") from error
    return result
