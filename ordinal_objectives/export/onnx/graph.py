"""An ONNX graph while it is built: nodes and constants with names of their own, and the columns that it takes in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import onnx
from numpy.typing import DTypeLike
from onnx import helper, numpy_helper

from ordinal_objectives.aliases import ArrayLike, LabelArray, Level, Params
from ordinal_objectives.columns import levels_in
from ordinal_objectives.tables import column_kinds
from ordinal_objectives.utils.validation import check_shape

# What every node here is known in. Versions of ai.onnx from 18 on take the axes of a reduction as an input too.
ML = "ai.onnx.ml"
OPSETS = {"": 17, ML: 3}
# The input that an array becomes.
_INPUT = "X"
# Name of a tensor's type in the encoder of labels.
_KEYS = {"string": "keys_strings", "int64": "keys_int64s", "float": "keys_floats"}


class Graph:
    """A graph while it is built.

    Parameters
    ----------
    floats : {"float32", "float64"}
        Type of its numbers.
    prefix : str
        Begins the names of nodes and constants.
    taken : iterable of str
        Names that are not to be given: those of inputs and outputs.

    Attributes
    ----------
    nodes : list of onnx.NodeProto
    constants : list of onnx.TensorProto
    """

    def __init__(self, floats: str, prefix: str = "", taken: Iterable[str] = ()) -> None:
        self.dtype = self._answers = np.dtype(floats)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self._prefix, self._n_names, self._taken = prefix, 0, frozenset(taken)
        self._known: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    @property
    def element_type(self) -> int:
        """ONNX's number of the type of its numbers."""
        return int(helper.np_dtype_to_tensor_dtype(self.dtype))

    @property
    def is_double(self) -> bool:
        """Whether its numbers are float64."""
        return self.dtype == np.float64

    def opsets(self) -> dict[str, int]:
        """Return the operator sets of its nodes: of :data:`OPSETS`, or the first of a user's converter."""
        return {node.domain: OPSETS.get(node.domain, 1) for node in self.nodes}

    @contextmanager
    def in_doubles(self, doubles: bool = True) -> Iterator[None]:
        """Compute in float64 for a while, or in the type that the graph was made for."""
        before, self.dtype = self.dtype, np.dtype(np.float64) if doubles else self._answers
        try:
            yield
        finally:
            self.dtype = before

    def name(self, kind: str) -> str:
        """Return a name that nothing else has."""
        while True:
            self._n_names += 1
            found = f"{self._prefix}{kind}_{self._n_names}"
            if found not in self._taken:
                return found

    def constant(self, values: LabelArray) -> str:
        """Return the name of a constant tensor of any type."""
        content = repr(values.tolist()).encode() if values.dtype == object else values.tobytes()
        key = (values.dtype.str, values.shape, content)
        if key not in self._known:
            self._known[key] = self.name("constant")
            self.constants.append(numpy_helper.from_array(values, self._known[key]))
        return self._known[key]

    def integers(self, values: ArrayLike) -> str:
        """Return the name of a constant of integers; a single one has shape (1,)."""
        return self.constant(np.atleast_1d(np.asarray(values, dtype=np.int64)))

    def node(self, kind: str, inputs: list[str], outputs: list[str], **attributes: object) -> None:
        """Add a node of several outputs."""
        self.nodes.append(helper.make_node(kind, inputs, outputs, name=self.name("node"), **attributes))

    def op(self, kind: str, *inputs: str | ArrayLike, output: str | None = None, **attributes: object) -> str:
        """Add a node and return the name of its output; inputs that are not names become constants of floats."""
        names = [
            one if isinstance(one, str) else self.constant(np.atleast_1d(np.asarray(one, dtype=self.dtype)))
            for one in inputs
        ]
        output = output or self.name(kind)
        self.node(kind, names, [output], **attributes)
        return output

    def cast(self, value: str, to: DTypeLike, output: str | None = None) -> str:
        """Return a tensor in another type."""
        return self.op("Cast", value, to=int(helper.np_dtype_to_tensor_dtype(np.dtype(to))), output=output)

    def floats(self, value: str) -> str:
        """Return a tensor in the graph's floats."""
        return self.cast(value, self.dtype)

    def columns(self, value: str, places: ArrayLike) -> str:
        """Return some columns of a tensor."""
        return self.op("Gather", value, self.integers(places), axis=1)

    def joined(self, parts: list[str]) -> str:
        """Return the columns of several tensors as one."""
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=1)


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
    is_category : bool
        Whether it has a category type.
    """

    tensor: str
    place: int | None
    kind: str
    is_category: bool = False


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
        check_shape("X_example", values, ("n_samples", "n_features"))
        if values.dtype.kind not in "fiub":
            raise ValueError(f"X_example must be a frame where columns hold text; got an array of {values.dtype}")
        tensor = helper.make_tensor_value_info(_INPUT, number, [None, values.shape[1]])
        return [tensor], [Column(_INPUT, place, "number") for place in range(values.shape[1])]
    tensors, columns = [], []
    types = {"number": number, "int64": onnx.TensorProto.INT64, "string": onnx.TensorProto.STRING}
    for place, (name, dtype, kind) in enumerate(column_kinds(X_example)):
        if kind not in ("number", "text", "category"):
            raise ValueError(f"X_example must hold numbers, text and categories; column {name!r} is of type {dtype}")
        tensor_kind = "string" if kind == "text" else "number"
        if kind == "category":
            levels, _ = levels_in(X_example, place)
            if not levels or any(isinstance(level, str) for level in levels):
                tensor_kind = "string"
            elif all(isinstance(level, int) for level in levels):
                tensor_kind = "int64"
        elif isinstance(dtype, np.dtype) and dtype.kind in "iu":
            tensor_kind = "int64"
        tensors.append(helper.make_tensor_value_info(str(name), types[tensor_kind], [None, 1]))
        columns.append(Column(str(name), None, tensor_kind, kind == "category"))
    return tensors, columns


@dataclass(frozen=True)
class Features:
    """The columns of a graph's rows.

    Attributes
    ----------
    graph : Graph
    columns : list of Column
    """

    graph: Graph
    columns: Sequence[Column]

    @classmethod
    def from_matrix(cls, graph: Graph, matrix: str, n_features: int) -> Features:
        """Return the columns of one tensor of numbers."""
        return cls(graph, [Column(matrix, place, "number") for place in range(n_features)])

    @property
    def by_value(self) -> list[int]:
        """Columns that have a category type."""
        return [place for place, column in enumerate(self.columns) if column.is_category]

    def matrix(self, levels: Mapping[int, list[object]]) -> str:
        """Return all columns as numbers, (n_samples, n_features), with codes of levels and NaN for unknown ones."""
        parts = []
        for by_value, group in groupby(range(len(self.columns)), lambda place: place in levels):
            if by_value:
                parts += [
                    self.looked_up(place, levels[place], np.arange(len(levels[place])), np.nan) for place in group
                ]
            else:
                parts.append(self.numbers(list(group)))
        return self.graph.joined(parts)

    def numbers(self, places: list[int]) -> str:
        """Return columns of numbers, (n_samples, n_places), in the graph's floats."""
        columns = [self.columns[place] for place in places]
        for column in columns:
            if column.kind == "string":
                raise ValueError(f"column {column.tensor!r} must hold numbers; it holds text, or comes with text")
        if len({column.tensor for column in columns}) == 1 and columns[0].place is not None:
            tensor = self.graph.floats(columns[0].tensor)
            return tensor if len(places) == len(self.columns) else self.graph.columns(tensor, places)
        return self.graph.joined([self.graph.floats(self._values(column)) for column in columns])

    def looked_up(self, place: int, levels: Sequence[object], values: LabelArray, otherwise: float) -> str:
        """Return what belongs to the level of each row, in the graph's floats, (n_samples, 1)."""
        graph, column = self.graph, self.columns[place]
        kind = "float" if column.kind == "number" else column.kind
        given = self._values(column)
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
        attributes: Params = {
            _KEYS[kind]: keys or [_as_key(0, kind)],
            "values_floats": np.float32(values).tolist() or [otherwise],
            "default_float": float(otherwise),
        }
        found = graph.op("LabelEncoder", given, domain=ML, **attributes)
        return graph.floats(found) if graph.is_double else found

    def _values(self, column: Column) -> str:
        """Return a column, (n_samples, 1)."""
        return column.tensor if column.place is None else self.graph.columns(column.tensor, [column.place])


def _as_key(level: Level, kind: str) -> Level:
    """Return a level as a key of the encoder, or None if it is of another type."""
    if isinstance(level, str) != (kind == "string"):
        return None
    if kind == "int64":
        return int(level) if float(level).is_integer() and -(2**63) <= level < 2**63 else None
    return level if kind == "string" else float(np.float32(level))
