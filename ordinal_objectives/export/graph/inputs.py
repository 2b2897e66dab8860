"""Columns as a graph takes them in: one tensor, or one for each column of a frame; categories become codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper

from ordinal_objectives.estimators.tables import column_kinds, levels_in
from ordinal_objectives.export.graph.builder import Graph

INPUT = "X"
# How a tensor's type is called by the encoder of labels, and its NumPy type.
_KEYS = {"string": "keys_strings", "int64": "keys_int64s", "float": "keys_floats"}


@dataclass(frozen=True)
class Column:
    """One column of the rows: a tensor of its own, or a part of one.

    Attributes
    ----------
    tensor : str
    place : int or None
        Its column of the tensor; None for a tensor that is this column.
    kind : {"number", "int64", "string"}
        Type of its values; numbers are float32 or float64.
    """

    tensor: str
    place: int | None
    kind: str

    def values(self, graph: Graph) -> str:
        """Return the column, (n_samples, 1)."""
        return self.tensor if self.place is None else graph.columns(self.tensor, [self.place])


def inputs_like(X_example: Any, floats: str) -> tuple[list[onnx.ValueInfoProto], list[Column]]:
    """Return the inputs of a graph for rows like these, and where their columns are.

    Parameters
    ----------
    X_example : array, or frame or Arrow table, shape (n_samples, n_features)
        Of a frame each column is an input of its own, with the column's name.
    floats : {"float32", "float64"}
        Type of numbers.

    Raises
    ------
    ValueError
        If a column holds dates, or an array holds text.
    """
    number = int(helper.np_dtype_to_tensor_dtype(np.dtype(floats)))
    if not hasattr(X_example, "columns"):
        values = np.asarray(X_example)
        if values.ndim != 2:
            raise ValueError(f"X_example must have shape (n_samples, n_features); got {values.shape}")
        if values.dtype.kind not in "fiub":
            raise ValueError(f"X_example must be a frame where columns hold text; got an array of {values.dtype}")
        tensor = helper.make_tensor_value_info(INPUT, number, [None, values.shape[1]])
        return [tensor], [Column(INPUT, place, "number") for place in range(values.shape[1])]
    tensors, columns = [], []
    types = {"number": number, "int64": onnx.TensorProto.INT64, "string": onnx.TensorProto.STRING}
    for place, (name, dtype, kind) in enumerate(column_kinds(X_example)):
        kind = _tensor_kind(X_example, place, name, dtype, kind)
        tensors.append(helper.make_tensor_value_info(str(name), types[kind], [None, 1]))
        columns.append(Column(str(name), None, kind))
    return tensors, columns


def _tensor_kind(X: Any, place: int, name: Any, dtype: Any, kind: str) -> str:
    """Return the type of a column's tensor."""
    if kind == "text":
        return "string"
    if kind == "category":
        levels, _ = levels_in(X, place)
        if not levels or any(isinstance(level, str) for level in levels):
            return "string"
        return "int64" if all(isinstance(level, int) for level in levels) else "number"
    if kind != "number":
        raise ValueError(f"X_example must hold numbers, text and categories; column {name!r} is of type {dtype}")
    return "int64" if isinstance(dtype, np.dtype) and dtype.kind in "iu" else "number"


@dataclass(frozen=True)
class Features:
    """The columns of a graph's rows.

    Attributes
    ----------
    columns : list of Column
    """

    columns: Sequence[Column]

    @classmethod
    def of_matrix(cls, matrix: str, n_features: int) -> Features:
        """Return the columns of one tensor of numbers."""
        return cls([Column(matrix, place, "number") for place in range(n_features)])

    def matrix(self, graph: Graph, levels: Mapping[int, list[Any]]) -> str:
        """Return all columns as numbers, (n_samples, n_features), with codes of levels and NaN for unknown ones."""
        parts = []
        for by_value, group in groupby(range(len(self.columns)), lambda place: place in levels):
            places = list(group)
            if by_value:
                parts += [self.codes(graph, place, levels[place]) for place in places]
            else:
                parts.append(self.numbers(graph, places))
        return parts[0] if len(parts) == 1 else graph.op("Concat", *parts, axis=1)

    def numbers(self, graph: Graph, places: list[int]) -> str:
        """Return columns of numbers, (n_samples, n_places), in the graph's floats."""
        of = [self.columns[place] for place in places]
        for column in of:
            if column.kind == "string":
                raise ValueError(f"column {column.tensor!r} of X_example must hold numbers; it holds text")
        if len({column.tensor for column in of}) == 1 and of[0].place is not None:
            tensor = graph.floats(of[0].tensor)
            return tensor if len(places) == len(self.columns) else graph.columns(tensor, places)
        parts = [graph.floats(column.values(graph)) for column in of]
        return parts[0] if len(parts) == 1 else graph.op("Concat", *parts, axis=1)

    def codes(self, graph: Graph, place: int, levels: list[Any]) -> str:
        """Return the number of each row's level, NaN where it is unknown."""
        return self.looked_up(graph, place, levels, np.arange(len(levels)), np.nan)

    def looked_up(self, graph: Graph, place: int, levels: list[Any], values: NDArray[Any], otherwise: float) -> str:
        """Return what belongs to the level of each row, in the graph's floats, (n_samples, 1)."""
        column = self.columns[place]
        kind = "float" if column.kind == "number" else column.kind
        given = column.values(graph)
        if kind == "float":
            given = graph.cast(given, np.float32)
        keys = [_as_key(level, kind) for level in levels]
        name = repr(place if column.place is not None else column.tensor)
        if None in keys:
            raise ValueError(
                f"column {name} of X_example must be of the type that the levels of the training have; these are "
                f"{levels[:3]}..."
            )
        if len(set(keys)) != len(keys):
            twice = next(level for level, key in zip(levels, keys, strict=True) if keys.count(key) > 1)
            raise ValueError(f"column {name} must have levels that float32 tells apart; two of them are near {twice!r}")
        attributes = {
            _KEYS[kind]: keys or [_as_key(0, kind)],
            "values_floats": np.float32(values).tolist() or [otherwise],
        }
        found = graph.ml("LabelEncoder", given, default_float=float(otherwise), **attributes)
        return graph.floats(found) if graph.is_double else found


def _as_key(level: Any, kind: str) -> Any:
    """Return a level as a key of the encoder, or None if it is of another type."""
    if kind == "string":
        return level if isinstance(level, str) else None
    if isinstance(level, str):
        return None
    if kind == "int64":
        return int(level) if float(level).is_integer() and -(2**63) <= level < 2**63 else None
    return float(np.float32(level))
