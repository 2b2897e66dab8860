"""Converters of this package's estimators for skl2onnx, and classifiers of scikit-learn inside ours by it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import onnx
from onnx import compose
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ordinal_objectives.estimators.wrappers import last_step
from ordinal_objectives.export.onnx.answers import add_answers, answers_of
from ordinal_objectives.export.onnx.graph import OPSETS, Column, Features, Graph
from ordinal_objectives.utils import extras

try:
    import skl2onnx
    from skl2onnx.common import data_types
except ImportError as error:
    raise extras.not_installed(error, "onnx") from error

_TYPES = {
    onnx.TensorProto.BOOL: data_types.BooleanTensorType,
    onnx.TensorProto.DOUBLE: data_types.DoubleTensorType,
    onnx.TensorProto.FLOAT16: data_types.Float16TensorType,
    onnx.TensorProto.FLOAT: data_types.FloatTensorType,
    onnx.TensorProto.INT64: data_types.Int64TensorType,
    onnx.TensorProto.STRING: data_types.StringTensorType,
}
_NAMES = (
    *("HistGradientBoostingMultiOutputClassifier", "HistGradientBoostingMultiOutputRegressor"),
    *("HistGradientBoostingOrdinalClassifier", "LGBMOrdinalClassifier", "XGBOrdinalClassifier"),
    *("OrdinalCalibratedClassifier", "OrdinalDistributionRegressor", "OrdinalEnsembleClassifier"),
    "OrdinalTunedClassifier",
)
_ZIPMAP = {"zipmap": [True, False, "columns"], "nocl": [True, False], "output_class_labels": [False, True]}


def register_converters() -> None:
    """Tell skl2onnx how to convert the estimators of this package, so that its ``to_onnx`` takes pipelines of them.

    Estimators whose library is not installed are left out. Calling it again changes nothing. The steps before are
    skl2onnx's: it writes some of them for some settings or rows otherwise than scikit-learn answers, without an error.
    Compare the answers on rows like those to come.

    Examples
    --------
    >>> import numpy as np, onnxruntime, skl2onnx
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.export import register_converters
    >>> X = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
    >>> y = np.digitize(X[:, 0], [-0.5, 0.5])
    >>> pipeline = make_pipeline(StandardScaler(), HistGradientBoostingOrdinalClassifier(max_iter=20)).fit(X, y)
    >>> register_converters()
    >>> graph = skl2onnx.to_onnx(pipeline, X[:1], options={"zipmap": False})
    >>> session = onnxruntime.InferenceSession(graph.SerializeToString())
    >>> label, probabilities = session.run(None, {"X": X})
    >>> bool(np.abs(probabilities - pipeline.predict_proba(X)).max() < 2e-6)
    True
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
    add_answers(Features(graph, columns), operator.raw_operator, outputs, add_estimator)
    container.initializers.extend(graph.constants)
    container.nodes.extend(graph.nodes)
    container.node_domain_version_pair_sets.update(graph.opsets().items())


def add_estimator(features: Features, estimator: object) -> str:
    """Add scikit-learn's estimator to a graph by skl2onnx and return its probabilities, columns as its ``classes_``."""
    graph, first = features.graph, estimator
    while isinstance(first, Pipeline):
        first = first.steps[0][1]
    if not isinstance(first, ColumnTransformer) and all(column.kind != "string" for column in features.columns):
        # To skl2onnx an estimator has one input, which is all its columns.
        n_features = len(features.columns)
        features = Features.from_matrix(graph, features.numbers(list(range(n_features))), n_features)
    types = {
        "number": data_types.DoubleTensorType if graph.is_double else data_types.FloatTensorType,
        "int64": data_types.Int64TensorType,
        "string": data_types.StringTensorType,
    }
    given: dict[str, Any] = {}
    widths = Counter(column.tensor for column in features.columns)
    for column in features.columns:
        given[column.tensor] = types[column.kind]([None, widths[column.tensor]])
    register_converters()
    # A product with the rounded 1 / scale is not the quotient, and trees cut where training rows are.
    options: dict[object, object] = {StandardScaler: {"div": "div"}, id(last_step(estimator)[0]): {"zipmap": False}}
    made = skl2onnx.to_onnx(estimator, initial_types=list(given.items()), options=options, target_opset=OPSETS)
    prefix = graph.name(type(estimator).__name__) + "_"
    inside = compose.add_prefix_graph(made.graph, prefix)
    # skl2onnx changes names with blanks, or digits in front.
    inputs = {one.name: tensor for one, tensor in zip(inside.input, given, strict=True)}
    graph.constants.extend(inside.initializer)
    for node in inside.node:
        node.input[:] = [inputs.get(name, name) for name in node.input]
        graph.nodes.append(node)
    return str(inside.output[1].name)
