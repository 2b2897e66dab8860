"""Nodes and constants of an ONNX graph, with names of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx
from numpy.typing import ArrayLike, NDArray
from onnx import helper, numpy_helper

# What every node here is known in. Versions of ai.onnx from 18 on take the axes of a reduction as an input too.
OPSETS = {"": 17, "ai.onnx.ml": 3}
_ML = "ai.onnx.ml"


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

    def constant(self, values: NDArray[Any]) -> str:
        """Return the name of a constant tensor of any type."""
        key = (
            values.dtype.str,
            values.shape,
            repr(values.tolist()).encode() if values.dtype == object else values.tobytes(),
        )
        if key not in self._known:
            self._known[key] = self.name("constant")
            self.constants.append(numpy_helper.from_array(values, self._known[key]))
        return self._known[key]

    def numbers(self, values: ArrayLike) -> str:
        """Return the name of a constant of the graph's floats; a single one has shape (1,)."""
        return self.constant(np.atleast_1d(np.asarray(values, dtype=self.dtype)))

    def scalar(self, value: float) -> str:
        """Return the name of a constant without dimensions."""
        return self.constant(np.array(value, dtype=self.dtype))

    def integers(self, values: ArrayLike) -> str:
        """Return the name of a constant of integers; a single one has shape (1,)."""
        return self.constant(np.atleast_1d(np.asarray(values, dtype=np.int64)))

    def node(self, kind: str, inputs: list[str], outputs: list[str], **attributes: Any) -> None:
        """Add a node of several outputs."""
        self.nodes.append(helper.make_node(kind, inputs, outputs, name=self.name("node"), **attributes))

    def op(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        output = output or self.name(kind)
        self.node(kind, list(inputs), [output], **attributes)
        return output

    def ml(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node of ai.onnx.ml and return the name of its output."""
        return self.op(kind, *inputs, domain=_ML, **attributes)

    def cast(self, value: str, to: Any, output: str | None = None) -> str:
        """Return a tensor in another type."""
        return self.op("Cast", value, to=int(helper.np_dtype_to_tensor_dtype(np.dtype(to))), output=output)

    def floats(self, value: str) -> str:
        """Return a tensor in the graph's floats."""
        return self.cast(value, self.dtype)

    def total(self, value: str, *, keepdims: bool = True) -> str:
        """Return the sums of the rows."""
        return self.op("ReduceSum", value, self.integers(1), keepdims=int(keepdims))

    def columns(self, value: str, places: ArrayLike) -> str:
        """Return some columns of a tensor."""
        return self.op("Gather", value, self.integers(places), axis=1)
