"""Converters of this package's classifiers for skl2onnx, and graphs of scikit-learn's estimators by it."""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy as np
import onnx
from onnx import compose
from sklearn.base import is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    StandardScaler,
    TargetEncoder,
)

from ordinal_objectives.aliases import LabelArray
from ordinal_objectives.estimators.wrappers import inside, last_step
from ordinal_objectives.export.onnx.answers import add_answers, answers_of
from ordinal_objectives.export.onnx.graph import OPSETS, Column, Features, Graph
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
_ENCODERS = (OneHotEncoder, OrdinalEncoder, TargetEncoder)
# Classifiers of which a calibration takes scores, and skl2onnx writes probabilities.
_OF_OTHER_SCORES = (QuadraticDiscriminantAnalysis, TunedThresholdClassifierCV, FixedThresholdClassifier)
# Patterns of words, and what finds the same in a runtime, whose own \w knows no letters beyond English ones.
_WORDS = {r"(?u)\b\w\w+\b": r"[\p{L}\p{N}_]{2,}", r"(?u)\b\w+\b": r"[\p{L}\p{N}_]+"}
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
    container.node_domain_version_pair_sets.update((node.domain, OPSETS[node.domain]) for node in graph.nodes)


def to_onnx_by_skl2onnx(estimator: object, inputs: list[onnx.ValueInfoProto]) -> onnx.ModelProto:
    """Return the graph of a fitted estimator of scikit-learn's, or of a pipeline; see :func:`to_onnx`."""
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
    options |= {id(one): {"tokenexp": _words_of(one)} for one in steps if _finds_words(one)}
    options |= {id(one): {"raw_scores": True} for one in _of_raw_scores(_with_all_inside(estimator))}
    try:
        made: onnx.ModelProto = skl2onnx.to_onnx(estimator, initial_types=types, options=options, target_opset=OPSETS)
    except RuntimeError as error:
        whole = [name for name, kind in types if isinstance(kind, data_types.Int64TensorType)]
        if not whole:
            raise
        raise ValueError(
            f"skl2onnx cannot write a step, perhaps since it is given whole numbers: try an X_example with floats in "
            f"the columns {validation.first_few(whole, repr)}. Its error: {error}"
        ) from error
    if any(node.op_type == "Imputer" for node in made.graph.node) and any(
        isinstance(kind, data_types.DoubleTensorType) for _, kind in types
    ):
        raise ValueError(
            "floats='float64' is not possible with SimpleImputer: ONNX Runtime imputes only in float32; take "
            "floats='float32', or leave missing values to the classifier"
        )
    _name_inputs(made.graph, [name for name, _ in types])
    return made


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
    _check_classifiers(estimator)
    _check_power_transformers(steps)
    _check_imputed_text(steps)
    _check_scales(steps)
    for step in steps:
        if isinstance(step, ColumnTransformer) and hasattr(step, "transformers_"):
            found, n_features = step.transformers_, step.n_features_in_
            step.transformers_ = [(name, one, _numbers_of(columns, n_features)) for name, one, columns in found]
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


def _check_classifiers(estimator: object) -> None:
    """Raise ValueError if skl2onnx writes other probabilities than a classifier has."""
    n_classes, every = len(getattr(estimator, "classes_", ())), _with_all_inside(estimator)
    calibrations = [one for one in every if isinstance(one, CalibratedClassifierCV)]
    is_calibrated = {id(part) for one in calibrations for part in (one.estimator, *_calibrated(one))}
    for one in every:
        what, instead = "", "another classifier"
        if isinstance(one, KNeighborsClassifier) and one.weights not in ("uniform", None):
            what, instead = f"weights={one.weights!r}", "without weights"
        if isinstance(one, CalibratedClassifierCV) and one.method == "isotonic":
            what, instead = "method='isotonic'", "without method"
        if others := [part for part in _calibrated(one) if _has_other_scores(part)]:
            other = _last_of(others[0])
            what = f"{type(other).__name__}({'probability=True' if hasattr(other, 'probability') else ''})"
        if isinstance(one, LinearDiscriminantAnalysis) and id(one) not in is_calibrated:
            what = "" if len(getattr(one, "classes_", range(n_classes))) != 2 else "of two classes"
        if what:
            raise ValueError(
                f"{type(one).__name__}({what}) cannot be written: skl2onnx makes other probabilities of it; train "
                f"{instead}"
            )


def _with_all_inside(estimator: object) -> list[Any]:
    """Return an estimator and all that is in it, as it is given and as it is fitted."""
    every = [estimator]
    for one in every:  # and what is found in it
        every += [inner for _, inner in inside(one)] + list(getattr(one, "estimators_", ())) + _calibrated(one)
        every += [vars(one)[name] for name in ("best_estimator_", "final_estimator_") if hasattr(one, name)]
    return every


def _calibrated(one: object) -> list[Any]:
    """Return the fitted classifiers of a calibration."""
    return [part.estimator for part in getattr(one, "calibrated_classifiers_", ())]


def _last_of(classifier: Any) -> Any:
    """Return the classifier in which fitted pipelines and searches end."""
    while isinstance(classifier, Pipeline) or hasattr(classifier, "best_estimator_"):
        classifier = classifier[-1] if isinstance(classifier, Pipeline) else classifier.best_estimator_
    return classifier


def _of_raw_scores(every: list[Any]) -> list[Any]:
    """Return the last steps of which calibrations take scores, where skl2onnx would write probabilities of its own."""
    scored = [one for each in every for one in _calibrated(each) if hasattr(one, "decision_function")]
    return [_last_of(one) for one in scored if _last_of(one) is not one]


def _has_other_scores(calibrated: Any) -> bool:
    """Tell whether skl2onnx writes other scores than those that a calibration takes of a classifier."""
    if not hasattr(calibrated, "decision_function"):
        return False
    last, members = _last_of(calibrated), []
    if isinstance(last, _OF_OTHER_SCORES) or getattr(last, "probability", None) is True:  # of SVC
        return True
    if isinstance(last, (BaggingClassifier, OneVsRestClassifier, OneVsOneClassifier)):
        members = last.estimators_
    elif isinstance(last, StackingClassifier):
        members = [last.final_estimator_]
    if isinstance(last, BaggingClassifier) and last is not calibrated:
        return True
    if isinstance(last, OneVsRestClassifier) and not all(hasattr(one, "predict_proba") for one in members):
        return True
    return any(_last_of(one) is not one or _has_other_scores(one) for one in members)


def _check_scales(steps: list[Any]) -> None:
    """Raise ValueError if skl2onnx counts or scales otherwise than a step."""
    for one in steps:
        what = ""
        if isinstance(one, CountVectorizer) and one.analyzer == "char":  # takes several blanks for one
            what = "analyzer='char'"
        if isinstance(one, Normalizer) and one.norm == "max":
            what = "norm='max'"
        if isinstance(one, (TfidfTransformer, TfidfVectorizer)) and one.sublinear_tf:
            what = "sublinear_tf=True"
        if what:
            name = what.split("=")[0]
            raise ValueError(f"{type(one).__name__}({what}) cannot be written; train with another {name}")


def _finds_words(step: Any) -> bool:
    of_words = isinstance(step, CountVectorizer) and hasattr(step, "vocabulary_") and step.analyzer == "word"
    return of_words and step.tokenizer is None


def _words_of(vectorizer: Any) -> str:
    """Return the pattern by which a runtime finds the words that a vectorizer does.

    Raises
    ------
    ValueError
        If letters beyond English ones would belong to words in one place and not in the other, or words end elsewhere.
    """
    pattern: str = vectorizer.token_pattern
    if pattern in _WORDS:
        return _WORDS[pattern]
    if any(part in pattern for part in (r"\w", r"\W", r"\b", r"\B", r"\d", r"\D", r"\s", r"\S")):
        raise ValueError(
            f"{type(vectorizer).__name__}(token_pattern={pattern!r}) cannot be written, since a graph knows letters "
            f"and digits of English only: list the characters, as in '[a-z]+', or take {' or '.join(map(repr, _WORDS))}"
        )
    bare, compiled = re.sub(r"\\.|\[\^?\]?[^\]]*\]", "x", pattern), re.compile(pattern)
    if compiled.groups or compiled.match("") or re.search(r"[|$]|[+*?}]\?", bare):
        raise ValueError(
            f"{type(vectorizer).__name__}(token_pattern={pattern!r}) cannot be written, since a graph takes the "
            f"longest match, all of it and none that is empty: leave out groups, '|', '$' and '?' after a repetition"
        )
    return pattern


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


def _check_power_transformers(steps: list[Any]) -> None:
    """Raise ValueError if a missing number may come to a step for which skl2onnx writes 0 instead."""
    after_imputer = {
        id(one)
        for pipeline in steps
        if isinstance(pipeline, Pipeline)
        for place, (_, one) in enumerate(pipeline.steps)
        if any(isinstance(before, SimpleImputer) for _, before in pipeline.steps[:place])
    }
    for one in steps:
        fitted = isinstance(one, PowerTransformer) and hasattr(one, "lambdas_")
        if fitted and one.method == "yeo-johnson" and id(one) not in after_imputer:
            raise ValueError(
                "PowerTransformer(method='yeo-johnson') cannot be written where numbers may be missing: put a "
                "SimpleImputer before it in a pipeline, or leave it out, since trees do not need it"
            )


def _prepare_imputer(imputer: SimpleImputer, none_is_level: bool) -> None:
    if imputer.indicator_ is not None:
        raise ValueError("SimpleImputer(add_indicator=True) cannot be written; train with add_indicator=False")
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
        written[place] = "" if levels[place] is None else _MissingText("nan")
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
    for column in features.columns:
        width = 1 if column.place is None else n_features
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
