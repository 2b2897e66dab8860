"""LightGBM on a Dask cluster: its own network grows the trees, XGBoost's collective adds up sums for the thresholds.

LightGBM's Dask module takes no callbacks, and its network shows Python no sum. So each worker calls ``train`` of one
machine here, with the rows that it has.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlparse

import cloudpickle
import distributed
import lightgbm
import numpy as np
from dask import delayed
from scipy.sparse import issparse, vstack
from xgboost.collective import CommunicatorContext, get_world_size
from xgboost.tracker import RabitTracker

from ordinal_objectives.adapters.arguments import Asked, check_same_names
from ordinal_objectives.adapters.collective import Collective
from ordinal_objectives.adapters.dask_classifier import DaskRows, parts_of
from ordinal_objectives.adapters.dask_rows import check_partitions, fault_of_rows, numbers_of_rows, watched
from ordinal_objectives.adapters.lgbm import parameters
from ordinal_objectives.adapters.lgbm.train import TreesOfRounds, train_spec
from ordinal_objectives.aliases import FloatArray, Params, Table
from ordinal_objectives.estimators.tables import names_as_text, refuse_text_and_dates
from ordinal_objectives.rows import fail_together
from ordinal_objectives.utils.validation import refuse_masked

Listed: TypeAlias = Callable[..., Any]


class Trained(NamedTuple):
    """What one worker returns: the booster, the history of the evaluation sets, and the trees of each round."""

    booster: lightgbm.Booster
    history: Params
    trees: TreesOfRounds


class Parts(NamedTuple):
    """Parts of some rows on the workers, without the empty ones; the number of rows, and of those with weight."""

    futures: list[distributed.Future]
    n_rows: int
    n_weighted: int


class _Part(NamedTuple):
    """Rows in the memory of one worker."""

    X: Table
    codes: FloatArray | None
    weight: FloatArray | None
    start: FloatArray | None


class Given(NamedTuple):
    """What a training is given, the same on all workers; ``options`` are for :func:`.train.train_spec`."""

    asked: Asked
    params: Params
    n_rounds: int
    categorical_feature: Any
    callbacks: list[Any]
    options: Params


def train(client: distributed.Client, given: Given, training: Parts, evaluated: Sequence[Parts]) -> Trained:
    """Train on the workers that have rows of the training set, and return what the first one has.

    Parameters
    ----------
    client : distributed.Client
    given : Given
    training : Parts
    evaluated : sequence of Parts

    Raises
    ------
    RuntimeError
        If a worker is lost.
    """
    workers = _placed(client, training.futures, [])
    addresses = list(workers)
    sets = [_placed(client, parts.futures, addresses) for parts in evaluated]
    seen = int(parameters.value_of(given.params, "bin_construct_sample_cnt") or 200_000)
    seed = int(parameters.value_of(given.params, "data_random_seed") or 1)
    share = min(1.0, seen / training.n_rows)
    hosts, threads = [urlparse(address).hostname for address in addresses], client.nthreads()
    sent = cloudpickle.dumps(given)  # Dask would pickle a user's callbacks by reference

    async def train_there() -> Trained:
        drawn = [client.submit(_drawn, part, share, [seed, i]) for i, part in enumerate(training.futures)]
        sample = client.submit(_joined_rows, drawn, workers=addresses)
        tracker = await client.submit(
            RabitTracker, len(addresses), hosts[0], sortby="task", actor=True, workers=addresses[:1], pure=False
        )
        await tracker.start()
        connect = await tracker.worker_args()
        futures = [
            client.submit(
                _train_here, sent, workers[address], [placed[address] for placed in sets], sample,
                {**connect, "dmlc_task_id": f"{i:08}"}, hosts[i], threads[address],
                workers=[address], allow_other_workers=False, pure=False,
            )
            for i, address in enumerate(addresses)
        ]  # fmt: skip
        found = await client.gather(futures, asynchronous=True)
        return next(result for result in found if result is not None)

    trained: Trained = watched(client, addresses, train_there)
    return trained


def parts_on_workers(client: distributed.Client, rows: DaskRows, name: str, listed: Listed) -> Parts:
    """Return rows, checked, in the memory of the workers; their labels are class codes.

    Parameters
    ----------
    client : distributed.Client
    rows : DaskRows
    name : str
        What messages call the features.
    listed : callable
        ``listed(X, name=name)`` returns features whose categories are listed as in the training.
    """
    check_partitions(rows.X, name, label=rows.y, weight=rows.weight, init_score=rows.margin)
    X, names = parts_of(rows.X), names_as_text(rows.X)
    columns = [[None] * len(X) if values is None else parts_of(values) for values in rows[1:]]
    futures = client.compute([delayed(_checked)(name, names, listed, *part) for part in zip(X, *columns, strict=True)])
    sizes = client.gather([client.submit(_sizes, part) for part in futures])  # raises what is wrong with a part
    kept = [future for future, (n_rows, _) in zip(futures, sizes, strict=True) if n_rows]
    return Parts(kept, *map(sum, zip(*sizes, strict=True)))


def _checked(
    name: str, names: list[str] | None, listed: Listed, X: Table, codes: Any, weight: Any, start: Any
) -> _Part:
    """Return a part of some rows; raise ValueError for what is wrong with it."""
    check_same_names(names, names_as_text(X), name=f"each part of {name}")
    fault = fault_of_rows({"data": X, "label": codes, "weight": weight, "init_score": start})
    if fault is not None:
        raise ValueError(fault.replace("{name}", name))
    refuse_masked(X, name=name)
    refuse_text_and_dates(X, name=name)
    numbers = [None if values is None else numbers_of_rows(values, name=name) for values in (codes, weight, start)]
    return _Part(listed(X, name=name), *numbers)


def _sizes(part: _Part) -> tuple[int, int]:
    """Return the number of rows of a part, and of those with weight."""
    n_rows = int(part.X.shape[0])
    return n_rows, n_rows if part.weight is None else int(np.count_nonzero(part.weight))


def _placed(
    client: distributed.Client, parts: list[distributed.Future], addresses: list[str]
) -> dict[str, list[distributed.Future]]:
    """Return which of the addresses reads which parts: one that has them, where it can be; of any, if none is given."""
    who_has = client.who_has(parts)
    placed: dict[str, list[distributed.Future]] = {address: [] for address in addresses}
    for i, part in enumerate(parts):
        holders = [address for address in sorted(who_has[part.key]) if address in placed or not addresses]
        placed.setdefault(holders[0] if holders else addresses[i % len(addresses)], []).append(part)
    return dict(sorted(placed.items()))


def _drawn(part: _Part, share: float, seed: list[int]) -> Table:
    """Return a share of the rows of a part."""
    if share == 1.0:
        return part.X
    n = part.X.shape[0]
    rows = np.sort(np.random.default_rng(seed).choice(n, size=max(1, round(share * n)), replace=False))
    return part.X.iloc[rows] if hasattr(part.X, "iloc") else part.X[rows]


def _joined_rows(parts: Sequence[Any]) -> Table:
    """Return the rows of several parts: arrays, sparse matrices or pandas frames."""
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts, ignore_index=True)
    return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)


def _joined(parts: Sequence[_Part], like: Table) -> _Part:
    """Return parts as one; without any, a row of the sample that weighs nothing, since LightGBM takes no empty set."""
    if not parts:
        first = like.iloc[:1] if hasattr(like, "iloc") else like[:1]
        return _Part(first, np.zeros(1), np.zeros(1), None)
    return _Part(
        _joined_rows([part.X for part in parts]),
        *(None if values[0] is None else np.concatenate(values) for values in list(zip(*parts, strict=True))[1:]),
    )


def _train_here(
    given: bytes,
    own: list[_Part],
    evaluated: list[list[_Part]],
    sample: Table,
    connect: Mapping[str, Any],
    host: str,
    n_threads: int,
) -> Trained | None:
    """Train with the other workers on this one's rows; the first returns the booster."""
    asked, params, n_rounds, categorical_feature, callbacks, options = cloudpickle.loads(given)
    params = {"num_threads": n_threads, "tree_learner": "data"} | params
    with CommunicatorContext(**connect):
        workers = Collective()

        def datasets() -> list[lightgbm.Dataset]:
            # All workers find the same bins, those of a sample of all rows. LightGBM would take each feature's from the
            # rows of one worker.
            bins = lightgbm.Dataset(
                sample, np.zeros(sample.shape[0]), params=dict(params), categorical_feature=categorical_feature
            ).construct()
            parts = [_joined(own, sample), *(_joined(parts, sample) for parts in evaluated)]
            return [
                lightgbm.Dataset(part.X, part.codes, weight=part.weight, init_score=part.start, reference=bins)
                for part in parts
            ]

        train_set, *valid_sets = fail_together(workers, datasets)
        history, trees = Params(), TreesOfRounds()
        watching = [*([lightgbm.record_evaluation(history)] if valid_sets else []), trees]
        booster = train_spec(
            asked, params | _network(workers, host), train_set, n_rounds, valid_sets=valid_sets or None,
            callbacks=[*watching, *callbacks], **options,
        )  # fmt: skip
        return Trained(booster, history, trees) if workers.rank == 0 else None


def _network(workers: Collective, host: str) -> Params:
    """Return LightGBM's parameters of a network over the same workers."""
    with socket.socket() as free:
        free.bind(("", 0))
        port = free.getsockname()[1]
        addresses = [workers.tell(f"{host}:{port}", rank) for rank in range(get_world_size())]
    return {"machines": ",".join(addresses), "local_listen_port": port, "num_machines": len(addresses)}
