"""LightGBM on a Dask cluster: its own network grows the trees, XGBoost's collective adds up sums for the thresholds.

LightGBM's Dask module takes no callbacks, and its network shows Python no sum. So each worker calls ``train`` of one
machine here, with the rows that it has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import partial
from os import PathLike
from threading import Thread
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urlparse

import lightgbm
import numpy as np
from scipy.sparse import issparse, vstack

from ordinal_objectives.aliases import FloatArray, Level, Params, Table
from ordinal_objectives.utils import documented, extras

try:
    import cloudpickle
    import distributed
    from dask import delayed
    from xgboost.collective import CommunicatorContext
    from xgboost.core import XGBoostError
    from xgboost.tracker import RabitTracker
except ImportError as error:
    raise extras.not_installed(error, "lightgbm", "xgboost", "dask") from None

from ordinal_objectives.adapters.arguments import Asked, check_same_names
from ordinal_objectives.adapters.collective import Collective
from ordinal_objectives.adapters.dask import (
    DaskClassifier,
    DaskCollection,
    DaskData,
    fault_of_rows,
    numbers_of_rows,
    parts_of,
    watched,
)
from ordinal_objectives.adapters.lgbm import booster as lgbm_booster, input_checks
from ordinal_objectives.adapters.lgbm.estimator import LGBMOrdinalClassifier
from ordinal_objectives.adapters.lgbm.host import LIGHTGBM
from ordinal_objectives.adapters.lgbm.train import TreesOfRounds, network_params, train_spec
from ordinal_objectives.estimators import arguments
from ordinal_objectives.estimators.held_out import rounds_unsearched
from ordinal_objectives.estimators.host_classifier import NO_METRICS
from ordinal_objectives.rows import fail_together
from ordinal_objectives.tables import names_as_text, refuse_text_and_dates

type _Encode = Callable[..., Any]


class _Trained(NamedTuple):
    """What one worker returns: the booster, the history of the evaluation sets, and the trees of each round."""

    booster: lightgbm.Booster
    history: Params
    trees: TreesOfRounds


class _Parts(NamedTuple):
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


class _Given(NamedTuple):
    """What a training is given, the same on all workers; ``options`` are for :func:`.train.train_spec`."""

    asked: Asked
    params: Params
    n_rounds: int
    columns: Params
    levels: list[list[Level]]
    callbacks: list[Any]
    options: Params


def _train(client: distributed.Client, given: _Given, training: _Parts, evaluated: Sequence[_Parts]) -> _Trained:
    """Train on the workers that have rows of the training set, and return what the first one has.

    Parameters
    ----------
    client : distributed.Client
    given : _Given
    training : _Parts
    evaluated : sequence of _Parts
        ``training`` itself among them is evaluated as LightGBM's training set.

    Raises
    ------
    RuntimeError
        If a worker is lost.
    """
    workers = _placed(client, training.futures, [])
    addresses = list(workers)
    sets = [None if parts is training else _placed(client, parts.futures, addresses) for parts in evaluated]
    seen = int(input_checks.value_of(given.params, "bin_construct_sample_cnt") or 200_000)
    seed = int(input_checks.value_of(given.params, "data_random_seed") or 1)
    share = min(1.0, seen / training.n_rows)
    hosts, threads = [urlparse(address).hostname for address in addresses], client.nthreads()
    sent = cloudpickle.dumps(given)  # Dask would pickle a user's callbacks by reference

    async def train_there() -> _Trained:
        # Of two trainings, each would hold workers that the other waits for.
        async with distributed.MultiLock(addresses, client):
            return await train_alone()

    async def train_alone() -> _Trained:
        drawn = [client.submit(_drawn, part, share, [seed, i]) for i, part in enumerate(training.futures)]
        sample = client.submit(_joined_rows, drawn, workers=addresses)
        started = await client.run(_start_tracker, len(addresses), hosts[0], workers=addresses[:1])
        connect = started[addresses[0]]
        of_sets = {a: [None if placed is None else placed[a] for placed in sets] for a in addresses}
        futures = []
        for i, address in enumerate(addresses):
            rows = workers[address], of_sets[address], sample
            here = {**connect, "dmlc_task_id": f"{i:08}"}, hosts[i], threads[address]
            pinned = {"workers": [address], "allow_other_workers": False, "pure": False}
            futures.append(client.submit(_train_here, sent, *rows, *here, **pinned))
        try:
            found = await client.gather(futures, asynchronous=True)
        except Exception as error:
            raise await _cause(futures, error) from None
        return next(result for result in found if result is not None)

    trained: _Trained = watched(client, addresses, train_there)
    return trained


def _start_tracker(n_workers: int, host: str) -> Params:
    """Start what the workers of a training find each other by; it ends with them. Return how they reach it."""
    tracker = RabitTracker(n_workers, host, sortby="task")
    tracker.start()

    def wait() -> None:
        with suppress(XGBoostError):  # a worker is lost, which its own error says
            tracker.wait_for()

    Thread(target=wait, daemon=True).start()
    found: Params = tracker.worker_args()
    return found


async def _cause(futures: Sequence[distributed.Future], first: Exception) -> BaseException:
    """Return the error of the worker that failed; those of the others, which may be known before it, lost it."""
    asked = [asyncio.ensure_future(future.exception()) for future in futures]
    done, waiting = await asyncio.wait(asked, timeout=2)  # seconds; one that does not notice would wait for ever
    for one in waiting:
        one.cancel()
    errors = [error for one in asked if one in done and (error := one.result()) is not None]
    is_lost = [isinstance(error, XGBoostError) or str(error).startswith("Socket ") for error in errors]
    return next((error for error, lost in zip(errors, is_lost, strict=True) if not lost), first)


def _parts_on_workers(client: distributed.Client, rows: DaskData, name: str, encode: _Encode) -> _Parts:
    """Return rows, checked, in the memory of the workers; their labels are class codes.

    Parameters
    ----------
    client : distributed.Client
    rows : DaskData
    name : str
        What messages call the features.
    encode : callable
        ``encode(X, name=name)`` returns features as numbers, an array or a sparse matrix.
    """
    X, names = parts_of(rows.X), names_as_text(rows.X)
    columns = [[None] * len(X) if values is None else parts_of(values) for values in rows[1:]]
    if any(len(column) != len(X) for column in columns):
        raise ValueError(f"labels, weights and init_score of {name} must be partitioned as X is")
    futures = client.compute([delayed(_checked)(name, names, encode, *part) for part in zip(X, *columns, strict=True)])
    sizes = client.gather([client.submit(_sizes, part) for part in futures])  # raises what is wrong with a part
    kept = [future for future, (n_rows, _) in zip(futures, sizes, strict=True) if n_rows]
    return _Parts(kept, *map(sum, zip(*sizes, strict=True)))


def _checked(
    name: str, names: list[str] | None, encode: _Encode, X: Table, codes: Any, weight: Any, start: Any
) -> _Part:
    """Return a part of some rows; raise ValueError for what is wrong with it."""
    check_same_names(names, names_as_text(X), name=f"each part of {name}")
    fault = fault_of_rows({"data": X, "label": codes, "weight": weight, "init_score": start})
    if fault is not None:
        raise ValueError(fault.replace("{name}", name))
    refuse_text_and_dates(X, name=name)
    numbers = [None if values is None else numbers_of_rows(values, name=name) for values in (codes, weight, start)]
    return _Part(encode(X, name=name), *numbers)


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
    return part.X[rows]


def _joined_rows(parts: Sequence[Any]) -> Table:
    """Return the rows of several parts, arrays or sparse matrices."""
    return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)


def _joined(parts: Sequence[_Part], like: Table) -> _Part:
    """Return parts as one; without any, a row of the sample that weighs nothing, since LightGBM takes no empty set."""
    if not parts:
        return _Part(like[:1], np.zeros(1), np.zeros(1), None)
    return _Part(
        _joined_rows([part.X for part in parts]),
        *(None if values[0] is None else np.concatenate(values) for values in list(zip(*parts, strict=True))[1:]),
    )


def _train_here(
    given: bytes,
    own: list[_Part],
    evaluated: list[list[_Part] | None],
    sample: Table,
    connect: Mapping[str, Any],
    host: str,
    n_threads: int,
) -> _Trained | None:
    """Train with the other workers on this one's rows; the first returns the booster.

    None among the evaluated sets stands for the training set.
    """
    asked, params, n_rounds, columns, levels, callbacks, options = cloudpickle.loads(given)
    params = {"num_threads": n_threads} | params
    with CommunicatorContext(**connect):
        workers = Collective()

        def datasets() -> list[lightgbm.Dataset]:
            # All workers find the same bins, those of a sample of all rows. LightGBM would take each feature's from the
            # rows of one worker.
            bins = lightgbm.Dataset(sample, np.zeros(sample.shape[0]), params=dict(params), **columns).construct()
            bins.pandas_categorical = levels  # which the sets of rows take over

            def dataset(parts: list[_Part]) -> lightgbm.Dataset:
                part = _joined(parts, sample)
                return lightgbm.Dataset(part.X, part.codes, weight=part.weight, init_score=part.start, reference=bins)

            first = dataset(own)
            return [first, *(first if parts is None else dataset(parts) for parts in evaluated)]

        train_set, *valid_sets = fail_together(workers, datasets)
        history, trees = dict[str, Any](), TreesOfRounds()
        watching = [*([lightgbm.record_evaluation(history)] if valid_sets else []), trees]
        options |= {"valid_sets": valid_sets or None, "callbacks": [*watching, *callbacks]}
        booster = train_spec(asked, network_params(host) | params, train_set, n_rounds, **options)
        return _Trained(booster, history, trees) if workers.rank == 0 else None


@documented
class DaskLGBMOrdinalClassifier(DaskClassifier, LGBMOrdinalClassifier):
    """Ordinal classifier that LightGBM grows on a Dask cluster, with the conventions of its ``DaskLGBMClassifier``.

    LightGBM's own network grows the trees. The sums that thresholds are learned from XGBoost's collective adds up, so
    that XGBoost must be installed too. All workers take the bins of a sample of ``subsample_for_bin`` rows of all of
    them. Fitted, it is an :class:`.estimator.LGBMOrdinalClassifier`: arrays in memory are predicted here, Dask
    collections where they are, lazily.

    Parameters
    ----------
    <<n_estimators>>
        On a cluster "auto" is 100: rows stay with their workers.
    <<classes, loss, link, training_cost, step parameters>>
    <<proportional, shift_l2, shift_penalty, max_shifts>>
    <<linear, linear_l2>>
        ``linear`` must be False on a cluster.
    <<random_intercept>>
        Refused on a cluster.
    <<decision_rule, cost_matrix>>
    <<class_weight>>
    num_leaves : int or "auto", default="auto"
        On a cluster "auto" is 31.
    boosting_type, max_depth, learning_rate, subsample_for_bin, min_split_gain, min_child_weight, \
min_child_samples, subsample, subsample_freq, colsample_bytree, reg_alpha, reg_lambda, random_state, n_jobs, \
importance_type, early_stopping_round
        As in :class:`lightgbm.LGBMClassifier`, with the defaults of :class:`.estimator.LGBMOrdinalClassifier`. Each
        worker draws from its own rows. ``n_jobs=None`` takes a worker's threads, and ``min_child_samples`` is at
        least 1.
    <<validation_fraction>>
        Refused on a cluster: pass ``eval_set``.
    <<progress>>
        Must be False on a cluster.
    **host_params
        Any other parameter of :func:`lightgbm.train`. ``tree_learner`` may be "data" or "voting".

    Attributes
    ----------
    client : distributed.Client
        The one that was set, or else the current one.
    <<classes_, ordered_classes_, n_classes_, thresholds_, proportional_, booster_, n_iter_, best_iteration_>>
    <<feature_importances_, evals_result_, n_features_in_, is_categorical_, feature_names_in_, diagnostics_>>
    <<training_loss_, threshold_history_>>

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> from distributed import Client, LocalCluster
    >>> from ordinal_objectives import DaskLGBMOrdinalClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1.0, 0.0, 1.0])
    >>> with LocalCluster(n_workers=2, dashboard_address=None) as cluster, Client(cluster):  # doctest: +SKIP
    ...     X_, y_ = da.from_array(X, chunks=(150, 3)), da.from_array(y, chunks=150)
    ...     model = DaskLGBMOrdinalClassifier(n_estimators=20).fit(X_, y_)
    ...     proba = model.predict_proba(X_).compute()
    """

    _refused_there: ClassVar = {"validation_fraction": "pass eval_set, since rows stay with their workers"}
    _parameter_names: ClassVar = LIGHTGBM.parameter_names._replace(
        refused={
            **LIGHTGBM.parameter_names.refused,
            **dict.fromkeys(input_checks.SAME["eval_metric"], NO_METRICS),
            "client": "set the attribute client, as with DaskXGBOrdinalClassifier",
        },
        refused_by_fit={
            **LIGHTGBM.parameter_names.refused_by_fit,
            **dict.fromkeys(("eval_X", "eval_y"), "pass eval_set"),
            "eval_names": "evaluation sets are called valid_0, valid_1, ...",
            "eval_metric": NO_METRICS,
        },
        attributes={**LIGHTGBM.parameter_names.attributes, "client_": "client"},
        no_attributes={
            **LIGHTGBM.parameter_names.no_attributes,
            "to_local": "arrays in memory are predicted by the classifier itself",
        },
    )
    _in_memory: ClassVar = LGBMOrdinalClassifier
    _beside_sets: ClassVar = ("eval_sample_weight", "eval_init_score")

    @documented(like=LGBMOrdinalClassifier.fit)
    @arguments.explains_keywords
    def fit(  # type: ignore[override]
        self,
        X: DaskCollection,
        y: DaskCollection,
        *,
        sample_weight: Any = None,
        init_score: Any = None,
        eval_set: list[tuple[DaskCollection, DaskCollection]] | None = None,
        eval_sample_weight: list[Any] | None = None,
        eval_init_score: list[Any] | None = None,
        categorical_feature: list[str] | list[int] | str = "auto",
        callbacks: list[Any] | None = None,
        init_model: LGBMOrdinalClassifier | lightgbm.Booster | str | PathLike[str] | None = None,
    ) -> DaskLGBMOrdinalClassifier:
        """Fit the model on the cluster.

        Parameters
        ----------
        X : dask.array.Array or dask.dataframe.DataFrame, shape (n_samples, n_features)
            One block of columns. NaN is missing.
        y : Dask collection, shape (n_samples,)
            Labels: integers, strings, or categories, partitioned as ``X`` is.
        sample_weight : Dask collection of float or None, shape (n_samples,)
            Weights of the rows, finite and non-negative, partitioned as ``X`` is. None for ones.
        init_score : Dask collection of float or None, shape (n_samples,)
            Scores that the trees' are added to, partitioned as ``X`` is.
        eval_set : list of (X, y) pairs of Dask collections, or None
            Evaluated each round, as "valid_0", "valid_1", ... A pair of the very X and y of this call is the training
            set, as LightGBM has it: called "training", with its weights, and left out of early stopping.
        eval_sample_weight : list of Dask collections or None
            Weights of each evaluation set.
        eval_init_score : list of Dask collections or None
            Start scores of each evaluation set.
        <<categorical_feature>>
        callbacks : list of callable or None
            LightGBM callbacks; each worker has a copy.
        <<init_model>>

        Returns
        -------
        DaskLGBMOrdinalClassifier

        Raises
        ------
        TypeError
            If X, y, weights or start scores are no Dask collections.
        ValueError
            If labels, weights or parameters are not what the docs allow; the message names the argument.
        RuntimeError
            If a worker is lost. To try once more, restart the client and make the collections again.
        """
        eval_set = arguments.evaluation_pairs(eval_set)
        is_training = [rows is X and labels is y for rows, labels in eval_set]
        y = self._check_collections(X, y)
        X, y, sample_weight, init_score, eval_set, eval_sample_weight, eval_init_score = self._persisted(
            X, y, sample_weight, init_score, eval_set, eval_sample_weight, eval_init_score
        )
        init_model = copy(self) if init_model is self else init_model
        with self._all_or_nothing():
            given = self._resolved_params(warns_at=4)
            if given["min_child_samples"] == 0:  # a split that counts as one without rows ends LightGBM's training
                allowed = "at least 1 on a cluster, where LightGBM estimates how many rows a leaf has"
                raise ValueError(f"min_child_samples must be {allowed}; got 0")
            self._fit_labels(X, y)
            self._check_starts(init_model, init_score, self._beside_sets[1], eval_init_score)
            booster, earlier = self._read_model(init_model)
            self._check_continued(init_model, booster, earlier)
            sets = self._evaluation_sets(eval_set, eval_sample_weight, eval_init_score)
            arguments.check_rounds("early_stopping_round", given["early_stopping_round"], len(sets))
            callbacks = list(callbacks or ())
            self._take_columns(LIGHTGBM.learn_columns(self, self._header(X)))
            encode = partial(self.columns_.encode, ensure_min_samples=0)
            codes = self._codes(y)
            rows = DaskData(X, codes, self._weights(codes, sample_weight), init_score)
            training = _parts_on_workers(self.client, rows, "X", partial(encode, refuse_new=booster is not None))
            evaluated = [
                training
                if is_training[i]
                else _parts_on_workers(
                    self.client, part._replace(y=self._codes(part.y)), f"X of evaluation set {i}", encode
                )
                for i, part in enumerate(sets)
            ]
            names = "auto" if self.columns_.names is None else self.columns_.names
            asked = _Given(
                (self._spec(), None),
                self._native_params(training.n_weighted),
                rounds_unsearched("n_estimators", given["n_estimators"]),  # workers hold the rows: none is searched
                {"categorical_feature": LIGHTGBM.categorical_columns(self, categorical_feature), "feature_name": names},
                LIGHTGBM.levels_of_frames(self),
                callbacks,
                {"init_model": booster, "carried": self._carried(), "set_names": ["X", "X of an evaluation set"]},
            )
            with self._under_way():
                trained = _train(self.client, asked, training, evaluated)
            self.booster_, self.evals_result_ = trained.booster, trained.history
            record, n_iter = lgbm_booster.carried_record(self.booster_), lgbm_booster.iterations_of(self.booster_)
            n_rounds = trained.trees.rounds_of(n_iter, stopped=self.booster_.best_iteration > 0)
            self._n_rounds = None if n_rounds == n_iter else n_rounds
            self._keep(record.copied(), n_iter)
            self._carry()
        least = LIGHTGBM.least_leaf(given, training.n_weighted)
        self._warn_if_constant(training.n_weighted, LIGHTGBM.leaf_name, least, stacklevel=4)
        return self
