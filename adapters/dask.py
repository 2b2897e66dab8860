"""What trainings and classifiers on a Dask cluster share: what they take, what is wrong with a part, lost workers."""

from __future__ import annotations

import asyncio
import contextlib
import warnings
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, ClassVar, NamedTuple

import dask
import dask.array as da
import distributed
import numpy as np
from dask import delayed
from dask.base import unpack_collections
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives import tables
from ordinal_objectives.aliases import ArrayLike, FloatArray, Params, Table
from ordinal_objectives.estimators import arguments
from ordinal_objectives.estimators.host_classifier import HostClassifier, begin_on_cluster, refuse_on_cluster
from ordinal_objectives.estimators.labels import OrderedLabels, ordered_categories
from ordinal_objectives.tables import refuse_but_numbers, refuse_text_and_dates
from ordinal_objectives.utils import documented
from ordinal_objectives.utils.validation import as_floats, first_few

# An array, a frame or a series of Dask, whose parts may be on other machines.
type DaskCollection = Any
# Arrays beside the features of a part, and the values that they may hold.
_ALLOWED = {
    "label": ("labels", "finite"),
    "weight": ("weights", "finite and non-negative"),
    "base_margin": ("base_margin", "finite"),
    "init_score": ("init_score", "finite"),
}
LARGEST = float(np.finfo(np.float32).max)
# Seconds in which Dask notices that a worker has gone.
_NOTICED = 10


def watched[Trained](
    client: distributed.Client, addresses: Collection[str], train: Callable[[], Awaitable[Trained]]
) -> Trained:
    """Return what a training on workers returns; raise its error, or RuntimeError if a worker is lost.

    The other workers may wait for a lost one for ever, and Dask for a worker of that address; or their error is a lost
    connection, which may come before Dask has noticed the worker. An interrupt of the caller cancels the training.
    """

    async def finished() -> tuple[Trained | None, Exception | None]:
        try:
            return await train(), None
        except (Exception, distributed.CancelledError) as error:
            is_cancelled = isinstance(error, distributed.CancelledError)
            return None, RuntimeError(f"rows of the training are lost: {error}") if is_cancelled else error

    async def watch() -> Trained | None:
        training, waited = asyncio.ensure_future(finished()), 0
        try:
            while True:
                await asyncio.wait([training], timeout=1)
                result, error = training.result() if training.done() else (None, None)
                if training.done() and error is None:
                    return result
                lost = sorted(set(addresses) - set(await client.nthreads()))
                if lost:
                    raise RuntimeError(
                        f"worker {', '.join(lost)} has left the training, and the others may still wait for it: call "
                        f"client.restart() before the next one"
                    ) from error
                if error is not None:
                    if waited == _NOTICED or isinstance(error, (TypeError, ValueError)):
                        raise error
                    waited += 1
                    await asyncio.sleep(1)
        finally:
            training.cancel()

    return client.sync(watch)


def _flat_labels(y: DaskCollection, name: str) -> DaskCollection:
    """Return labels in one dimension, with scikit-learn's warning if they are a column of a table.

    Raises
    ------
    ValueError
        If they are several columns.
    """
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


class DaskData(NamedTuple):
    """Features, labels or their codes, weights and start scores: Dask collections, the last two may be None."""

    X: DaskCollection
    y: DaskCollection
    weight: Any
    margin: Any


class DaskClassifier(HostClassifier):
    """A classifier whose rows stay with the workers of a Dask cluster; fitted, it also predicts rows in memory.

    A subclass says what is refused on a cluster and what to do instead (``_refused_there``), what ``fit`` calls the
    weights and the start scores of evaluation sets (``_beside_sets``), and which classifier predicts a block of rows.
    """

    _refused_there: ClassVar[Mapping[str, str]]
    _beside_sets: ClassVar[tuple[str, str]]
    _in_memory: ClassVar[type[HostClassifier]]

    @property
    def client(self) -> distributed.Client:
        """The client that trains: the one that was set, or else the current one."""
        return self.__dict__.get("_client") or distributed.get_client()

    @client.setter
    def client(self, client: distributed.Client | None) -> None:
        self._client = client

    def __getstate__(self) -> Params:
        state: Params = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_client"}

    def _check_collections(self, X: DaskCollection, y: DaskCollection) -> DaskCollection:
        """Return labels in one dimension; refuse text in X, and parameters that need all rows here."""
        refuse_text_and_dates(X)
        y = _flat_labels(y, "y")
        refuse_on_cluster(self, self._refused_there)
        return y

    def _persisted(self, *given: Any) -> Any:
        """Return what ``fit`` is given, its Dask collections computed: each part is read once, and never differs."""
        collections, again = unpack_collections(*given)
        kinds = [isinstance(one, da.Array) for one in collections]
        # All of a kind at once, since they may come from one source; Dask warns of both kinds in one call.
        computed = {
            kind: iter(self.client.persist([one for one, of in zip(collections, kinds, strict=True) if of is kind]))
            for kind in set(kinds)
        }
        return again([next(computed[kind]) for kind in kinds])

    def _evaluation_sets(self, eval_set: object, *beside: list[Any] | None) -> list[DaskData]:
        """Return every evaluation set, checked, its labels in one dimension and among the classes."""
        pairs = arguments.evaluation_pairs(eval_set)
        each = [
            arguments.one_for_each(values, pairs, what) for values, what in zip(beside, self._beside_sets, strict=True)
        ]
        sets, name = list[DaskData](), "y of an evaluation set"
        for (X, y), *numbers in zip(pairs, *each, strict=True):
            refuse_text_and_dates(X)
            labels = _flat_labels(y, name)
            self._labels.encode(self._distinct(labels, name), name=name)
            sets.append(DaskData(X, labels, *numbers))
        return sets

    @documented
    def predict(self, X: object, **start: Any) -> Any:
        """Return labels, (n_samples,); of a Dask collection a Dask array."""
        return self._blockwise("predict", X, start)

    @documented
    def predict_raw(self, X: object, **start: object) -> Any:
        """Return the score f(x), (n_samples,); of a Dask collection a Dask array."""
        return self._blockwise("predict_raw", X, start)

    @documented
    def predict_proba(self, X: object, **start: object) -> Any:
        """Return the class probabilities, columns as ``classes_``; of a Dask collection a Dask array."""
        return self._blockwise("predict_proba", X, start)

    @documented
    def predict_proba_ordered(self, X: object, **start: object) -> Any:
        """Return the class probabilities from the lowest class on; of a Dask collection a Dask array."""
        return self._blockwise("predict_proba_ordered", X, start)

    def _blockwise(self, name: str, X: Any, start: Params) -> Any:
        """Return the result of a method of a classifier in memory for every block of rows."""
        if not dask.is_dask_collection(X):
            return getattr(super(), name)(X, **start)
        check_is_fitted(self)
        given = {key: scores for key, scores in start.items() if scores is not None}
        if other := given.keys() - {self._host.start_name}:
            raise TypeError(f"{name} takes X and {self._host.start_name}; got {', '.join(sorted(other))}")
        labels = self.ordered_classes_[:0]
        nothing = {"predict": labels, "predict_raw": np.empty(0)}.get(name, np.empty((0, self.n_classes_)))
        in_memory = self._in_memory()
        in_memory.__setstate__(self.__getstate__())
        with contextlib.suppress(ValueError):  # without a client each task has the model
            in_memory = self.client.scatter(in_memory, hash=False)

        def of(block: Any, *scores: Any, model: Any) -> Any:
            beside = {key: np.ravel(one) for key, one in zip(given, scores, strict=True)}
            return getattr(model, name)(block, **beside) if block.shape[0] else nothing

        arrays = [_blocks_of(scores) for scores in given.values()]
        if not isinstance(X, da.Array):
            import dask.dataframe as dd

            series = [dd.from_dask_array(scores) for scores in arrays]
            return X.map_partitions(of, *series, meta=nothing, align_dataframes=False, model=in_memory)
        X, arrays = X.rechunk({1: -1}), [scores[:, np.newaxis] for scores in arrays]
        if nothing.ndim == 1:
            return da.map_blocks(of, X, *arrays, drop_axis=1, meta=nothing, model=in_memory)
        return da.map_blocks(of, X, *arrays, chunks=(X.chunks[0], (self.n_classes_,)), meta=nothing, model=in_memory)

    def _fit_labels(self, X: DaskCollection, y: DaskCollection) -> None:
        """Find the classes of all workers' labels, and the features."""
        begin_on_cluster(self, OrderedLabels(self.classes).fit(self._distinct(y)), X.shape[1])
        names = tables.column_names(X)
        arguments.keep_names(self, names, tables.names_as_text(X) if names is None else None)

    def _header(self, X: DaskCollection) -> Table:
        """Return the first part without its rows: what it declares, Dask may not know."""
        return self.client.compute(delayed(tables.without_rows)(parts_of(X)[0])).result()

    def _distinct(self, y: DaskCollection, name: str = "y") -> ArrayLike:
        """Return the labels that the workers have, each once."""

        def unmasked(block: object) -> Any:
            if np.ma.is_masked(block):
                raise ValueError(f"{name} contains missing labels (masked); every row needs a label")
            return block

        if not isinstance(y, da.Array):
            return self._distinct_in_parts(y, name)
        return self.client.compute(da.unique(y.map_blocks(unmasked, meta=np.empty(0, y.dtype)))).result()

    def _distinct_in_parts(self, y: DaskCollection, name: str) -> ArrayLike:
        """Return the labels of a series; raise ValueError if the order is sought, and parts state different ones."""
        import pandas as pd

        found = self.client.gather(self.client.compute([part.drop_duplicates() for part in parts_of(y)]))
        parts = [part for part in found if len(part)] or found[:1]
        orders = [() if (order := ordered_categories(part)) is None else tuple(order) for part in parts]
        other = next((order for order in orders if order != orders[0]), None)
        if other is not None and self.classes is None and name == "y":
            both = " and ".join(first_few(order, repr) or "none" for order in (orders[0], other))
            raise ValueError(f"y must have the same ordered categories in all parts; got {both}. Pass classes=")
        return pd.concat(parts).drop_duplicates()

    def _codes(self, y: DaskCollection) -> DaskCollection:
        """Return class codes, partitioned as the labels are."""
        labels, none = self._labels, np.empty(0, np.int32)

        def encode(block: Any) -> Any:
            return labels.encode(block) if len(block) else none

        if isinstance(y, da.Array):
            return y.map_blocks(encode, meta=none)
        import pandas as pd

        def encode_part(part: Any) -> Any:
            return pd.Series(encode(part), index=part.index, name=part.name, dtype="int32")

        return y.map_partitions(encode_part, meta=(y.name, "int32"))

    def _weights(self, codes: Any, sample_weight: Any) -> Any:
        """Return the weights of the rows times those of their classes, or None."""
        if self.class_weight is None:
            return sample_weight
        array = _blocks_of(codes)
        counts = self.client.compute(da.bincount(array, minlength=self.n_classes_)).result()
        of_class = self._class_weights(counts)
        if sample_weight is None:
            return array.map_blocks(lambda block: of_class[block], meta=of_class[:0])

        def times(block: Any, weight: Any) -> Any:
            # What is wrong the training refuses by name; an error raised here would not be shown.
            if len(weight) != len(block):
                return weight
            try:
                return of_class[block] * numbers_of_rows(weight, name="sample_weight")
            except (TypeError, ValueError):
                return weight

        # By position, as trainers take weights: the product of two frames would join rows by their index.
        return da.map_blocks(times, array, _blocks_of(sample_weight), meta=of_class[:0])


def parts_of(X: DaskCollection) -> list[Any]:
    """Return the parts of a Dask array, frame or series, delayed."""
    parts = X.rechunk({1: -1}) if isinstance(X, da.Array) and X.ndim > 1 else X
    return list(np.ravel(np.asarray(parts.to_delayed(), dtype=object)))


def _blocks_of(values: DaskCollection) -> da.Array:
    """Return one dimension of a Dask array, frame or series, partitioned as it is."""
    return values if isinstance(values, da.Array) else values.to_dask_array()
