"""What the classifiers have in common that train on a Dask cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import dask
import dask.array as da
import distributed
import numpy as np
from dask import delayed
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.adapters import dask_rows
from ordinal_objectives.aliases import Column, Params, Table
from ordinal_objectives.estimators import arguments, tables
from ordinal_objectives.estimators.host_classifier import HostClassifier
from ordinal_objectives.estimators.labels import OrderedLabels
from ordinal_objectives.utils import documented


class DaskRows(NamedTuple):
    """Features, labels or their codes, weights and start scores: Dask collections, the last two may be None."""

    X: Table
    y: Column
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

    def _check_collections(self, X: Table, y: Column) -> Column:
        """Return labels in one dimension; refuse what is no Dask collection, and parameters that need all rows here."""
        dask_rows.check_client(self.client)
        dask_rows.check_table(X)
        y = dask_rows.flat_labels(y, "y")
        self._refuse_on_cluster(self._refused_there)
        return y

    def _evaluation_sets(self, eval_set: object, *beside: object) -> list[DaskRows]:
        """Return every evaluation set, checked, its labels in one dimension and among the classes."""
        pairs = arguments.evaluation_pairs(eval_set)
        each = [arguments.one_for_each(*one) for one in zip(beside, [pairs] * 2, self._beside_sets, strict=True)]
        sets, name = list[DaskRows](), "y of an evaluation set"
        for (X, y), *numbers in zip(pairs, *each, strict=True):
            dask_rows.check_table(X, self.n_features_in_, name="X of an evaluation set")
            for called, values in zip(self._beside_sets, numbers, strict=True):
                dask_rows.check_numbers_of_rows(called, values)
            labels = dask_rows.flat_labels(y, name)
            self._labels.encode(self._distinct(labels, name), name=name)
            sets.append(DaskRows(X, labels, *numbers))
        return sets

    @documented
    def predict(self, X: Table, **start: Any) -> Table:
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

    def _blockwise(self, name: str, X: Table, start: Params) -> Table:
        """Return the result of a method of a classifier in memory for every block of rows."""
        if not dask.is_dask_collection(X):
            return getattr(super(), name)(X, **start)
        check_is_fitted(self)
        dask_rows.check_table(X, self.n_features_in_)
        if start:
            raise TypeError(f"predictions of a Dask collection take only X; got {', '.join(start)}")
        labels = self.ordered_classes_[:0]
        nothing = {"predict": labels, "predict_raw": np.empty(0)}.get(name, np.empty((0, self.n_classes_)))
        in_memory = self._in_memory()
        in_memory.__setstate__(self.__getstate__())

        def of(block: Any) -> Any:
            return getattr(in_memory, name)(block) if block.shape[0] else nothing

        if not isinstance(X, da.Array):
            return X.map_partitions(of, meta=nothing)
        X = X.rechunk({1: -1})
        if nothing.ndim == 1:
            return X.map_blocks(of, drop_axis=1, meta=nothing)
        return X.map_blocks(of, chunks=(X.chunks[0], (self.n_classes_,)), meta=nothing)

    def _check_features(self, X: object, *, reset: bool) -> Any:
        if dask.is_dask_collection(X):
            raise TypeError(
                "X is a Dask collection, which predict, predict_raw, predict_proba and predict_proba_ordered take; "
                "give other methods rows in memory"
            )
        return super()._check_features(X, reset=reset)

    def _fit_labels(self, X: Table, y: Column) -> None:
        """Find the classes of all workers' labels, and the features."""
        self._begin_on_cluster(OrderedLabels(self.classes).fit(self._distinct(y)), X.shape[1])
        names = tables.column_names(X)
        arguments.keep_names(self, names, tables.names_as_text(X) if names is None else None)

    def _header(self, X: object) -> Any:
        """Return the first part without its rows: what it declares, Dask may not know."""
        return self.client.compute(delayed(tables.without_rows)(parts_of(X)[0])).result()

    def _distinct(self, y: Column, name: str = "y") -> Column:
        """Return the labels that the workers have, each once."""

        def unmasked(block: object) -> Any:
            if np.ma.is_masked(block):
                raise ValueError(f"{name} contains missing labels (masked); every row needs a label")
            return block

        is_array = isinstance(y, da.Array)
        distinct = da.unique(y.map_blocks(unmasked, meta=np.empty(0, y.dtype))) if is_array else y.drop_duplicates()
        try:
            return self.client.compute(distinct).result()
        except TypeError as error:  # NumPy cannot sort labels of different types
            raise ValueError(f"{name} must hold labels of one type, and no missing ones; {error}") from error

    def _codes(self, y: Column) -> Column:
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
        array = blocks_of(codes)
        counts = self.client.compute(da.bincount(array, minlength=self.n_classes_)).result()
        of_class = self._class_weights(counts)
        if sample_weight is None:
            return array.map_blocks(lambda block: of_class[block], meta=of_class[:0])

        def times(block: Any, weight: Any) -> Any:
            # What is wrong the training refuses by name; an error raised here would not be shown.
            if len(weight) != len(block):
                return weight
            try:
                return of_class[block] * dask_rows.numbers_of_rows(weight, name="sample_weight")
            except (TypeError, ValueError):
                return weight

        # By position, as trainers take weights: the product of two frames would join rows by their index.
        given = blocks_of(sample_weight)
        if given.numblocks != array.numblocks:
            raise ValueError(
                f"sample_weight must be partitioned as y is; got {given.numblocks[0]} parts for those "
                f"{array.numblocks[0]} of y"
            )
        return da.map_blocks(times, array, given, meta=of_class[:0])


def parts_of(X: Table) -> list[Any]:
    """Return the parts of a Dask array, frame or series, delayed."""
    parts = X.rechunk({1: -1}) if isinstance(X, da.Array) and X.ndim > 1 else X
    return list(np.ravel(np.asarray(parts.to_delayed(), dtype=object)))


def blocks_of(values: Any) -> da.Array:
    """Return one dimension of a Dask array, frame or series, partitioned as it is."""
    return values if isinstance(values, da.Array) else values.to_dask_array()
