"""Converters of this package's classifiers for skl2onnx, and graphs of scikit-learn's estimators by it."""

from __future__ import annotations

from typing import Any

import onnx
from onnx import compose
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ordinal_objectives.export.graph.answers import add_answers, answers_of, last_step
from ordinal_objectives.export.graph.builder import OPSETS, Graph
from ordinal_objectives.export.graph.inputs import Column, Features
from ordinal_objectives.utils.extras import not_installed

try:
    import skl2onnx
    from skl2onnx.common import data_types
except ImportError as error:
    raise not_installed(error, "onnx") from error

_TYPES = {
    onnx.TensorProto.BOOL: data_types.BooleanTensorType,
    onnx.TensorProto.DOUBLE: data_types.DoubleTensorType,
    onnx.TensorProto.FLOAT: data_types.FloatTensorType,
    onnx.TensorProto.INT64: data_types.Int64TensorType,
    onnx.TensorProto.STRING: data_types.StringTensorType,
}
_NAMES = (
    "HistGradientBoostingMultiOutputClassifier",
    "HistGradientBoostingMultiOutputRegressor",
    "HistGradientBoostingOrdinalClassifier",
    "LGBMOrdinalClassifier",
    "OrdinalEnsembleClassifier",
    "XGBOrdinalClassifier",
)
_ZIPMAP = {"zipmap": [True, False, "columns"], "nocl": [True, False], "output_class_labels": [False, True]}


def register_converters() -> None:
    """Tell skl2onnx how to convert the estimators of this package, so that its ``to_onnx`` takes pipelines of them.

    Estimators whose library is not installed are left out. Calling it again changes nothing.

    Examples
    --------
    >>> from ordinal_objectives.export import register_converters
    >>> register_converters()
    """
    import ordinal_objectives

    for name in _NAMES:
        if name in ordinal_objectives.__all__:
            kind = getattr(ordinal_objectives, name)
            options = {} if name.endswith("Regressor") else _ZIPMAP
            skl2onnx.update_registered_converter(
                kind, f"OrdinalObjectives{name}", _shapes, _convert, options=options, overwrite=True
            )


def _floats(inputs: Any) -> str:
    return "float64" if any(isinstance(one.type, data_types.DoubleTensorType) for one in inputs) else "float32"


def _shapes(operator: Any) -> None:
    """Set the types and shapes of an estimator's outputs."""
    n_samples = operator.inputs[0].get_first_dimension()
    for output, info in zip(operator.outputs, answers_of(operator.raw_operator, _floats(operator.inputs)), strict=True):
        tensor = info.type.tensor_type
        output.set_type(_TYPES[tensor.elem_type]([n_samples, *(one.dim_value for one in tensor.shape.dim[1:])]))


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of an estimator."""
    graph = Graph(_floats(operator.inputs), scope.get_unique_variable_name(type(operator.raw_operator).__name__) + "_")
    columns = []
    for one in operator.inputs:
        kind = {"StringTensorType": "string", "Int64TensorType": "int64"}.get(type(one.type).__name__, "number")
        columns += [Column(one.full_name, place, kind) for place in range(one.type.shape[1])]
    outputs = [one.full_name for one in operator.outputs]
    add_answers(graph, Features(columns), operator.raw_operator, outputs, others=add_estimator)
    container.initializers.extend(graph.constants)
    for node in graph.nodes:
        version = OPSETS[node.domain]
        container.nodes.append(node)
        container.node_domain_version_pair_sets.add((node.domain, version))


def pipeline_to_onnx(pipeline: Pipeline, inputs: list[onnx.ValueInfoProto]) -> onnx.ModelProto:
    """Return the graph of a fitted pipeline that ends in a classifier of this package; see :func:`to_onnx`."""
    register_converters()
    return _by_skl2onnx(pipeline, inputs)


def _by_skl2onnx(estimator: Any, inputs: list[onnx.ValueInfoProto]) -> onnx.ModelProto:
    types = []
    for one in inputs:
        tensor = one.type.tensor_type
        types.append((one.name, _TYPES[tensor.elem_type]([None, tensor.shape.dim[1].dim_value])))
    last = last_step(estimator)
    # A product with the rounded 1 / scale is not the quotient, and trees cut where training rows are.
    options: dict[Any, Any] = {StandardScaler: {"div": "div"}}
    if not is_regressor(last):
        options[id(last)] = {"zipmap": False}
    made: onnx.ModelProto = skl2onnx.to_onnx(estimator, initial_types=types, options=options, target_opset=OPSETS)
    _name_inputs(made.graph, [name for name, _ in types])
    return made


def _name_inputs(graph: onnx.GraphProto, names: list[str]) -> None:
    """Give the inputs of a graph these names: skl2onnx changes those with blanks or digits in front."""
    changed = {one.name: name for one, name in zip(graph.input, names, strict=True)}
    named = [onnx.ValueInfoProto(name=changed[one.name], type=one.type) for one in graph.input]
    del graph.input[:]
    graph.input.extend(named)
    for node in graph.node:
        node.input[:] = [changed.get(name, name) for name in node.input]


def add_estimator(graph: Graph, features: Features, estimator: Any) -> str:
    """Add scikit-learn's estimator to a graph and return its probabilities, columns as its ``classes_``."""
    register_converters()
    if not isinstance(estimator, Pipeline) and all(column.kind != "string" for column in features.columns):
        n_features = len(features.columns)  # skl2onnx gives estimators one input, which is all their columns
        features = Features.of_matrix(features.numbers(graph, list(range(n_features))), n_features)
    types = {"number": graph.element_type, "int64": onnx.TensorProto.INT64, "string": onnx.TensorProto.STRING}
    given: dict[str, tuple[str, onnx.ValueInfoProto]] = {}
    for column in features.columns:
        width = 1 if column.place is None else len(features.columns)
        info = onnx.helper.make_tensor_value_info(column.tensor, types[column.kind], [None, width])
        given[column.tensor] = (column.tensor, info)
    made = _by_skl2onnx(estimator, [info for _, info in given.values()])
    prefix = graph.name(type(estimator).__name__) + "_"
    inside = compose.add_prefix_graph(made.graph, prefix)
    of_input = {prefix + name: tensor for name, (tensor, _) in given.items()}
    graph.constants.extend(inside.initializer)
    for node in inside.node:
        node.input[:] = [of_input.get(name, name) for name in node.input]
        graph.nodes.append(node)
    return str(inside.output[1].name)
