"""Converters of this package's classifiers for skl2onnx, and graphs of scikit-learn's estimators by it."""

from __future__ import annotations

import copy
import warnings
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import compose
from sklearn.base import is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier

from ordinal_objectives.aliases import LabelArray
from ordinal_objectives.estimators.wrappers import all_inside, last_step
from ordinal_objectives.export.onnx.answers import add_answers, answers_of
from ordinal_objectives.export.onnx.graph import ML, OPSETS, Column, Features, Graph
from ordinal_objectives.utils import extras, validation

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
    *("OrdinalCalibratedClassifier", "OrdinalEnsembleClassifier", "OrdinalTunedClassifier"),
)
# Classifiers to which what a sparse matrix leaves out is 0, as it is to scikit-learn's.
_LIGHTGBM = ("LGBMClassifier", "LGBMOrdinalClassifier")
_ENCODERS = (OneHotEncoder, OrdinalEncoder, TargetEncoder)
_TREES = (DecisionTreeClassifier, ExtraTreesClassifier, RandomForestClassifier)
_SCALERS = (MinMaxScaler, RobustScaler, StandardScaler)
# scikit-learn's estimators of which skl2onnx writes what they answer.
_WRITTEN = (
    *(Pipeline, ColumnTransformer, FunctionTransformer, SimpleImputer, *_SCALERS, *_ENCODERS),
    *(LogisticRegression, *_TREES),
)
# The values of their parameters for which it does; of others, all.
_SETTINGS: dict[str, tuple[object, ...]] = {
    "add_indicator": (False,),
    **dict.fromkeys(("func", "max_categories", "min_frequency", "transformer_weights"), (None,)),
    "handle_unknown": ("error", "ignore", "use_encoded_value"),
    "solver": ("lbfgs", "liblinear", "newton-cg", "sag", "saga"),
}
# A scaler that shifts by more is off by more than about 1e-3 in float32.
_FAR = 1e4
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
    add_answers(Features(graph, columns), operator.raw_operator, outputs, add_estimator)
    container.initializers.extend(graph.constants)
    container.nodes.extend(graph.nodes)
    container.node_domain_version_pair_sets.update(graph.opsets().items())


def to_onnx_by_skl2onnx(estimator: object, inputs: list[onnx.ValueInfoProto]) -> onnx.ModelProto:
    """Return the graph of a fitted estimator of scikit-learn's, or of a pipeline; see :func:`to_onnx`."""
    computed = _rows_after(estimator, _StepRows()).computed
    register_converters()
    types = []
    for one in inputs:
        tensor = one.type.tensor_type
        types.append((one.name, _TYPES[tensor.elem_type]([None, tensor.shape.dim[1].dim_value])))
    last, _ = last_step(estimator)
    # A product with the rounded 1 / scale is not the quotient, and trees cut where training rows are.
    options: dict[object, object] = {StandardScaler: {"div": "div"}}
    if not is_regressor(last):
        options[id(last)] = {"zipmap": False}
    estimator, steps = _with_empty_text_as_missing(estimator, last)
    is_text = [isinstance(kind, data_types.StringTensorType) for _, kind in types]
    if len(types) > 1 and len(set(is_text)) == 1 and _takes_a_matrix(estimator):
        # skl2onnx would join the columns itself as the first one's type, or in float32, or take the first alone.
        joined = ColumnTransformer([("columns", "passthrough", list(range(len(types))))])
        joined.transformers_ = joined.transformers
        estimator = Pipeline([("joined", joined), ("steps", estimator)])
    try:
        made: onnx.ModelProto = skl2onnx.to_onnx(estimator, initial_types=types, options=options, target_opset=OPSETS)
    except (AssertionError, AttributeError, RuntimeError) as error:
        whole = [name for name, kind in types if isinstance(kind, data_types.Int64TensorType)]
        hint = f": try an X_example with floats in the columns {validation.first_few(whole, repr)}" if whole else ""
        raise ValueError(f"skl2onnx cannot write a step{hint}. Its error: {error}") from error
    is_double = any(isinstance(kind, data_types.DoubleTensorType) for _, kind in types)
    if _computes_in_float32(made.graph) and computed and (_cuts_at_rows(last) or any(map(_is_far, steps))):
        warnings.warn(
            "XGBoost cuts at numbers of the training, LightGBM next to 0, scikit-learn's trees at numbers that a "
            "sample lacked, and the graph rounds those that a step computed, as a scaler, to float32, with few digits "
            "of columns far from 0: rows may be on the other side. Take floats='float64' and an X_example of floats, "
            "or leave out scaling, of no use to trees",
            stacklevel=2,
        )
    if is_double and any(node.op_type == "Imputer" for node in made.graph.node):
        raise ValueError(
            "floats='float64' is not possible with SimpleImputer: ONNX Runtime imputes only in float32; take "
            "floats='float32', or leave missing values to the classifier"
        )
    missing = {one.missing_values for one in steps if isinstance(one, SimpleImputer)}
    fractions = sorted(one for one in missing if isinstance(one, float) and one % 1 > 0)
    if fractions and any(part.name == "replaced_value_int64" for one in made.graph.node for part in one.attribute):
        raise ValueError(
            f"SimpleImputer of whole numbers must have a whole one as missing_values, since a graph cuts off fractions;"
            f" got {fractions}: take floats in these columns of X_example"
        )
    _make_fractions_unknown(made.graph)
    _name_inputs(made.graph, [name for name, _ in types])
    return made


def _computes_in_float32(graph: onnx.GraphProto) -> bool:
    """Tell whether a graph has sums or products of float32; raise ValueError if it makes text of floats.

    ONNX's own inference of types ends the process where a node's type is unknown.
    """
    types = {one.name: one.type.tensor_type.elem_type for one in graph.input}
    single, in_single = onnx.TensorProto.FLOAT, set[str]()
    for node in graph.node:
        found = next((types[name] for name in node.input if name in types), 0)
        if node.op_type == "Cast":
            to = onnx.helper.get_node_attr_value(node, "to")
            if to == onnx.TensorProto.STRING and found in (single, onnx.TensorProto.DOUBLE):
                raise ValueError(
                    "floats and text cannot be written as columns of one step, since skl2onnx makes text of all, and a "
                    "runtime writes floats with other digits: give them to a step of their own"
                )
            found = to
        elif node.domain == ML and node.op_type not in ("ArrayFeatureExtractor", "LabelEncoder"):
            found = single  # of the answers of a Scaler, an encoder, trees
        types |= dict.fromkeys(node.output, found)
        in_single |= {node.op_type} if found == single else set()
    return not in_single.isdisjoint(("Add", "Div", "MatMul", "Mul", "Scaler", "Sub"))


def _is_far(step: Any) -> bool:
    """Tell whether a scaler shifts a column by so much that float32 keeps few digits of it."""
    center, scale = getattr(step, "center_", getattr(step, "mean_", None)), getattr(step, "scale_", None)
    shift = getattr(step, "min_", 0.0 if center is None or scale is None else center / scale)
    return bool((np.abs(shift) > _FAR).any())


def _cuts_at_rows(estimator: Any) -> bool:
    """Tell whether an estimator has trees inside, also frozen ones, that cut where many rows may be."""
    return any(
        type(one).__name__.startswith(("XGB", "LGBM"))
        or isinstance(one, _TREES)
        or (isinstance(one, FrozenEstimator) and _cuts_at_rows(one.estimator))
        for _, one in all_inside(estimator)
    )


def _takes_a_matrix(estimator: Any) -> bool:
    """Tell whether scikit-learn's estimator takes all columns as one array, and not each as it is."""
    if isinstance(estimator, Pipeline):
        return _takes_a_matrix(estimator.steps[0][1])
    return isinstance(estimator, _WRITTEN) and not isinstance(estimator, (ColumnTransformer, *_ENCODERS))


def _make_fractions_unknown(graph: onnx.GraphProto) -> None:
    """Make numbers that are not whole unknown to one-hot encoders, whose graphs cut off their fractions."""
    cast = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "Cast"}
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        if node.op_type == "OneHotEncoder" and node.input[0] in cast:
            whole, levels = node.input[0], onnx.helper.get_node_attr_value(node, "cats_int64s")
            name = f"{node.output[0]}_whole"
            other = next(one for one in range(len(levels) + 1) if one not in levels)
            graph.initializer.append(onnx.numpy_helper.from_array(np.array([other]), f"{name}_other"))
            nodes += [
                onnx.helper.make_node("CastLike", [whole, cast[whole]], [f"{name}_number"]),
                onnx.helper.make_node("Equal", [f"{name}_number", cast[whole]], [f"{name}_same"]),
                onnx.helper.make_node("Where", [f"{name}_same", whole, f"{name}_other"], [name]),
            ]
            node.input[0] = name
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)


class _StepRows(NamedTuple):
    """What rows may be before or after a step."""

    with_missing: bool = True
    sparse: bool = False
    computed: bool = False


def _rows_after(estimator: Any, rows: _StepRows) -> _StepRows:
    """Return what rows may be after an estimator, and refuse what may be written otherwise than it answers.

    Of many estimators and settings skl2onnx writes something else without a word. Those of other libraries are written
    by converters that the user registered.

    Raises
    ------
    TypeError
        If an estimator of scikit-learn's is not known to be written as it answers.
    ValueError
        If a setting of one is not, or rows that may come to it are not.
    """
    if isinstance(estimator, str):
        return rows if estimator == "passthrough" else _StepRows(False)
    if hasattr(estimator, "best_estimator_"):
        return _rows_after(estimator.best_estimator_, rows)
    name = type(estimator).__name__
    reads_zeros = isinstance(estimator, _WRITTEN) or name in _LIGHTGBM  # of a pipeline, its steps
    if rows.sparse and is_classifier(estimator) and not reads_zeros:
        raise ValueError(
            f"{name} cannot be written after a step that gives sparse matrices, since what they leave out may be "
            f"missing to it, and is 0 in a graph: train with sparse_output=False and sparse_threshold=0"
        )
    if not type(estimator).__module__.startswith("sklearn."):
        return rows._replace(with_missing=True)
    _check_settings(estimator, rows)
    if isinstance(estimator, SimpleImputer):
        missing = not _is_nan(estimator.missing_values) or any(map(_is_nan, estimator.statistics_.tolist()))
        return rows._replace(with_missing=missing)
    if isinstance(estimator, Pipeline):
        for _, step in estimator.steps:
            rows = _rows_after(step, rows)
        return rows
    if isinstance(estimator, ColumnTransformer):
        found = [_rows_after(part[1], rows) for part in estimator.transformers_]
        missing, computed = any(one.with_missing for one in found), any(one.computed for one in found)
        return _StepRows(missing, estimator.sparse_output_, computed)
    if isinstance(estimator, _SCALERS):
        return rows._replace(computed=True)
    if isinstance(estimator, (OrdinalEncoder, TargetEncoder)):
        return _StepRows()
    if isinstance(estimator, OneHotEncoder):
        return _StepRows(False, estimator.sparse_output)
    return rows


def _check_settings(estimator: Any, rows: _StepRows) -> None:
    """Raise as :func:`_rows_after` for an estimator of scikit-learn's, its settings and the rows that come to it."""
    name = type(estimator).__name__
    if type(estimator) not in _WRITTEN:
        raise TypeError(
            f"model must have no {name}, of which skl2onnx may write other answers; of scikit-learn's estimators these "
            f"are known to be written: {', '.join(one.__name__ for one in _WRITTEN)}. For others call "
            f"register_converters, then skl2onnx, and compare the answers"
        )
    for parameter, value in estimator.get_params(deep=False).items():
        known = _SETTINGS.get(parameter, (value,))
        if not any(value is one or (isinstance(one, str) and value == one) for one in known):
            raise ValueError(
                f"{name}({parameter}={value!r}) cannot be written: skl2onnx writes other answers; train with "
                f"{parameter}={' or '.join(map(repr, known))}"
            )
    if rows.with_missing and isinstance(estimator, _TREES):
        raise ValueError(
            f"{name} cannot be written where numbers may be missing, which a graph would take otherwise: put a "
            f"SimpleImputer before it in a pipeline, or leave it out"
        )
    if rows.computed and isinstance(estimator, _ENCODERS):
        raise ValueError(
            f"{name} cannot be written after a step that computes numbers, which a graph rounds so that they are no "
            f"levels: encode the columns as they are"
        )
    if isinstance(estimator, TargetEncoder) and estimator.target_type_ == "multiclass":
        raise ValueError(
            "TargetEncoder of more than two classes cannot be written: train with target_type='continuous', which "
            "encodes a level by the mean of numbers, and with the class codes 0, 1, ... as labels"
        )
    imputed = isinstance(estimator, SimpleImputer) and not estimator.keep_empty_features
    if imputed and any(map(_is_nan, estimator.statistics_.tolist())):
        raise ValueError(
            "SimpleImputer cannot be written where a column had no value in the training: scikit-learn leaves it out, "
            "and a graph keeps it; leave it out before, or train with keep_empty_features=True"
        )


class _MissingText(float):
    """NaN among the levels of text, which skl2onnx writes as text."""

    def __str__(self) -> str:
        return ""


def _with_empty_text_as_missing(estimator: object, last: object) -> tuple[Any, list[Any]]:
    """Return a copy of a fitted pipeline, but for its last step, for which "" is missing text, and all its parts.

    skl2onnx writes a missing level as the text "nan" or "None", which no reader of the graph would guess.

    Raises
    ------
    ValueError
        If a step cannot be written so that missing values are what they are in the pipeline.
    """
    copies: dict[int, object] = {id(last): last}
    estimator = copy.deepcopy(estimator, copies)
    steps = list(copies.values())
    imputers = [one for one in steps if isinstance(one, SimpleImputer) and hasattr(one, "statistics_")]
    encoders = [one for one in steps if isinstance(one, _ENCODERS) and hasattr(one, "categories_")]
    none_is_level = any(level is None for one in encoders for levels in one.categories_ for level in levels)
    _check_imputed_text(steps)
    for step in steps:
        if isinstance(step, ColumnTransformer) and hasattr(step, "transformers_"):
            found, n_features = step.transformers_, step.n_features_in_
            step.transformers_ = [(name, one, _numbers_of(columns, n_features)) for name, one, columns in found]
        elif isinstance(step, Pipeline):
            step.steps = [
                (name, FunctionTransformer() if one in (None, "passthrough") else one) for name, one in step.steps
            ]
    for imputer in imputers:
        _prepare_imputer(imputer, none_is_level)
    for encoder in encoders:
        if isinstance(encoder, OrdinalEncoder):
            _prepare_ordinal_encoder(encoder)
        encoder.categories_ = [_with_empty_text(encoder, levels) for levels in encoder.categories_]
    return estimator, steps


def _numbers_of(columns: Any, n_features: int) -> Any:
    """Return numbers of columns for a mask, which skl2onnx takes for numbers, or for those from the end."""
    try:
        return np.arange(n_features)[columns].tolist()
    except (IndexError, TypeError):  # names
        return columns


def _check_imputed_text(steps: list[Any]) -> None:
    """Raise ValueError if "" is a level after an imputer of text, since it is missing text to a graph."""
    for pipeline in steps:
        before = False
        for _, one in pipeline.steps if isinstance(pipeline, Pipeline) else ():
            if isinstance(one, SimpleImputer) and hasattr(one, "statistics_"):
                before = one.missing_values != "" and any(isinstance(value, str) for value in one.statistics_)
            levels = getattr(one, "categories_", ()) if isinstance(one, _ENCODERS) else ()
            if before and any(level == "" for some in levels for level in some.tolist()):
                raise ValueError(
                    f"{type(one).__name__} must have no level '' after a SimpleImputer of text, since '' is missing "
                    f"text to a graph; name it otherwise, or train with missing_values=''"
                )


def _prepare_imputer(imputer: SimpleImputer, none_is_level: bool) -> None:
    # Statistics of numbers are objects too, where they are a constant.
    is_text = any(isinstance(one, str) for one in imputer.statistics_)
    if is_text and not isinstance(imputer.missing_values, str):
        if none_is_level and imputer.missing_values is not None:
            raise ValueError("None is a level beside a SimpleImputer of NaN, and a graph cannot tell them apart")
        imputer.missing_values = ""


def _prepare_ordinal_encoder(encoder: OrdinalEncoder) -> None:
    """Make levels that the encoder refuses NaN, and a missing one the encoder's own value: skl2onnx gives it a code."""
    if encoder.handle_unknown == "error":
        encoder.handle_unknown, encoder.unknown_value = "use_encoded_value", np.nan
    if not any(_is_nan(level) for levels in encoder.categories_ for level in levels[-1:]):
        return
    code = float(encoder.encoded_missing_value)
    if not np.isnan(code) and code.is_integer():
        return
    if not np.isnan(code) or not np.isnan(encoder.unknown_value):
        raise ValueError(
            f"OrdinalEncoder(encoded_missing_value={encoder.encoded_missing_value}, unknown_value="
            f"{encoder.unknown_value}) cannot be written; train with a whole number as encoded_missing_value, or with "
            f"NaN for both"
        )
    encoder.categories_ = [levels[:-1] if _is_nan(levels[-1]) else levels for levels in encoder.categories_]


def _with_empty_text(encoder: object, levels: LabelArray) -> LabelArray:
    """Return the levels of one column, the missing one written as ""."""
    if levels.dtype.kind == "f" and np.isnan(levels).any():
        raise ValueError(
            f"{type(encoder).__name__} of numbers with a missing level cannot be written; train on their text, or "
            f"leave them numbers"
        )
    if levels.dtype != object:
        return levels
    missing = [level is None or _is_nan(level) for level in levels]
    if sum(missing) + ("" in levels) > 1:
        raise ValueError(
            f"{type(encoder).__name__} must have one level that is missing or empty, since '' is missing text to a "
            f"graph; got {[level for level in levels if level is None or _is_nan(level) or level == '']}"
        )
    written = levels.copy()
    for place in np.flatnonzero(missing):
        of_codes = isinstance(encoder, OrdinalEncoder) and levels[place] is not None
        written[place] = _MissingText("nan") if of_codes else ""
    return written


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and np.isnan(value)


def _name_inputs(graph: onnx.GraphProto, names: list[str]) -> None:
    """Give the inputs of a graph these names: skl2onnx changes those with blanks or digits in front."""
    changed = {one.name: name for one, name in zip(graph.input, names, strict=True)}
    named = [onnx.ValueInfoProto(name=changed[one.name], type=one.type) for one in graph.input]
    del graph.input[:]
    graph.input.extend(named)
    for node in graph.node:
        node.input[:] = [changed.get(name, name) for name in node.input]


def add_estimator(features: Features, estimator: object) -> str:
    """Add scikit-learn's estimator to a graph and return its probabilities, columns as its ``classes_``."""
    graph, n_features = features.graph, len(features.columns)
    if not isinstance(estimator, Pipeline) and all(column.kind != "string" for column in features.columns):
        # skl2onnx gives estimators one input, which is all their columns.
        features = Features.from_matrix(graph, features.numbers(list(range(n_features))), n_features)
    types = {"number": graph.element_type, "int64": onnx.TensorProto.INT64, "string": onnx.TensorProto.STRING}
    given: dict[str, onnx.ValueInfoProto] = {}
    widths = Counter(column.tensor for column in features.columns)
    for column in features.columns:
        width = widths[column.tensor]
        given[column.tensor] = onnx.helper.make_tensor_value_info(column.tensor, types[column.kind], [None, width])
    made = to_onnx_by_skl2onnx(estimator, list(given.values()))
    prefix = graph.name(type(estimator).__name__) + "_"
    inside = compose.add_prefix_graph(made.graph, prefix)
    inputs = {prefix + tensor: tensor for tensor in given}
    graph.constants.extend(inside.initializer)
    for node in inside.node:
        node.input[:] = [inputs.get(name, name) for name in node.input]
        graph.nodes.append(node)
    return str(inside.output[1].name)
