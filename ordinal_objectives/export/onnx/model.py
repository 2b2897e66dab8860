"""A fitted estimator as one ONNX graph."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import onnx
from onnx import helper
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives import tables
from ordinal_objectives.aliases import ArrayLike, Estimator
from ordinal_objectives.distributions import OrdinalDistributionRegressor
from ordinal_objectives.distributions.judging import levels_of
from ordinal_objectives.estimators.ordered_classifier import OrderedClassifier
from ordinal_objectives.estimators.ordinal_classifier import OrdinalClassifier
from ordinal_objectives.export.onnx.answers import add_answers, answers_of, as_tensor
from ordinal_objectives.export.onnx.graph import OPSETS, Features, Graph, inputs_like
from ordinal_objectives.utils.validation import check_choice, first_few

# Version of the file format that recent runtimes read.
_IR_VERSION = 8


def to_onnx(
    model: Estimator,
    X_example: Any,
    *,
    floats: str = "float32",
    iterations: int | None = None,
    quantiles: ArrayLike = (),
) -> onnx.ModelProto:
    """Write a fitted classifier as an ONNX graph.

    The graph takes rows in and answers with ``label``, (n_samples,), what ``predict`` returns, and ``probabilities``,
    (n_samples, n_classes), what ``predict_proba`` returns; of a regressor with ``variable``, (n_samples, n_outputs),
    and of OrdinalDistributionRegressor also with ``quantiles``, (n_samples, n_levels), where they are asked for. Any
    number of rows may be asked for at a time.

    Parameters
    ----------
    model : fitted classifier, estimator of several outputs, or search
        Of this package's classifiers those of XGBoost, LightGBM and the native engine, OrdinalEnsembleClassifier,
        OrdinalCalibratedClassifier and OrdinalTunedClassifier; and OrdinalDistributionRegressor. Of a search the best
        model is taken. A pipeline is skl2onnx's to write, see :func:`register_converters`; so is a pipeline or a
        classifier of scikit-learn's inside one of these, whose answers are worth a comparison.
    X_example : array-like of float, or data frame or Arrow table, shape (n_samples, n_features)
        Rows like those to be predicted, for the types of their columns. An array gives one input, "X", (n_samples,
        n_features). A frame gives one input for each column, (n_samples, 1), with the column's name: text and
        categories of text are strings, integers int64, other numbers ``floats``. A missing number is NaN, missing text
        is "".
    floats : {"float32", "float64"}, default="float32"
        Type of the numbers. With "float32", thresholds of splits are rounded down to float32, so that rows of float32
        numbers take the way that they take in the model; others are rounded before they are asked for. The graph's
        probabilities differ from the model's by at most 2e-6, with "float64" by 1e-6: ONNX's sums of trees answer in
        float32 either way.
    iterations : int or None, default=None
        Number of the first iterations, with the thresholds that belong to them; None for all that the model predicts
        with. Not with classifiers around others.
    quantiles : array-like of float, shape (n_levels,), default=()
        Levels of the quantiles that the graph of an OrdinalDistributionRegressor answers with. Each compares the rows
        with all distinct training values of y.

    Returns
    -------
    onnx.ModelProto
        Operator sets 17 of ONNX and 3 of ONNX-ML. ``onnx.save(found, "model.onnx")`` writes it. Its metadata hold
        ``classes_``, the labels of the columns of ``probabilities``, and ``ordered_classes_``, lowest first, as JSON.

    Raises
    ------
    TypeError
        If the model is none of these, as a pipeline and OrdinalPredictionSets are not, or its labels are neither text
        nor integers, floats or booleans.
    ValueError
        If an integer label is beyond int64.
        If its loss or link is a user's own, or its booster has no trees that could be written, or X_example lacks
        what the training had.
    ModuleNotFoundError
        If skl2onnx is not installed where it is needed.

    Warns
    -----
    UserWarning
        If the graph computes in float32 and a column has whole numbers that float32 rounds: rows may be on the other
        side of a split.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.export import to_onnx
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3)).astype(np.float32)
    >>> y = np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20, classes=["low", "middle", "high"]).fit(X, y)
    >>> found = to_onnx(model, X)
    >>> [output.name for output in found.graph.output]
    ['label', 'probabilities']
    """
    check_choice(floats, ("float32", "float64"), name="floats")
    model = getattr(model, "best_estimator_", model)
    is_distribution = isinstance(model, OrdinalDistributionRegressor)
    if not (isinstance(model, OrderedClassifier) or hasattr(model, "trained_parts") or is_distribution):
        raise TypeError(f"model must be an estimator of this package; got {type(model).__name__}")
    check_is_fitted(model)
    inputs, columns = inputs_like(X_example, floats)
    levels = levels_of(quantiles, "quantiles") if is_distribution else np.empty(0)
    if np.size(quantiles) and not is_distribution:
        raise ValueError(f"quantiles must be left out for a {type(model).__name__}; got {quantiles!r}")
    answers = answers_of(model, floats, levels.tolist())
    names, taken = ([one.name for one in those] for those in (inputs, answers))
    _check_columns(model, X_example, names, taken, len(columns))
    whole = [place for place, one in enumerate(columns) if one.kind == "int64" and not one.is_category]
    large = [
        repr(names[one]) for one in whole if np.abs(np.asarray(tables.column_at(X_example, one))).max(initial=0) > 2**24
    ]
    if large and floats == "float32" and type(model).__name__ != "XGBOrdinalClassifier":
        warnings.warn(
            f"the graph may round whole numbers beyond 2**24 to float32, as in {first_few(large)}: rows may be on the "
            "other side of a split. Take floats='float64', and floats in these columns of X_example",
            stacklevel=2,
        )
    if iterations is not None and not isinstance(model, OrdinalClassifier):
        raise ValueError(f"iterations must be None for a {type(model).__name__}; got {iterations!r}")
    graph = Graph(floats, taken=[*names, *taken])
    add_answers(Features(graph, columns), model, taken, _add_by_skl2onnx, iterations, levels.tolist())
    body = helper.make_graph(graph.nodes, type(model).__name__, inputs, answers, graph.constants)
    opsets = [helper.make_opsetid(*one) for one in (OPSETS | graph.opsets()).items()]
    made = helper.make_model(body, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="ordinal-objectives")
    onnx.checker.check_model(made)
    # A server names the columns of ``probabilities`` by these.
    classes = [name for name in ("classes_", "ordered_classes_") if hasattr(model, name)]
    helper.set_model_props(made, {name: json.dumps(as_tensor(getattr(model, name)).tolist()) for name in classes})
    return made


def _check_columns(model: Estimator, X_example: object, inputs: list[str], taken: list[str], n_columns: int) -> None:
    """Raise ValueError unless the columns are those of the training, by names that inputs of a graph can have."""
    if n_columns != model.n_features_in_:
        raise ValueError(f"X_example must have the {model.n_features_in_} features of the training; got {n_columns}")
    known, names = getattr(model, "feature_names_in_", None), tables.column_names(X_example)
    if known is not None and names is not None and names != list(known):
        wrong = [f"{name!r} for {one!r}" for name, one in zip(names, known, strict=True) if name != one]
        raise ValueError(f"X_example must have the columns of the training, in their order; got {first_few(wrong)}")
    tables.refuse_other_order(getattr(model, "_column_numbers", None), X_example, name="X_example")
    strange = [repr(name) for name in inputs if name in ("", *taken)]
    if strange:
        raise ValueError(
            f"X_example must have columns with names, other than {' and '.join(map(repr, taken))}, which the graph's "
            f"answers have; got {first_few(strange)}: train on other names, or on an array"
        )


def _add_by_skl2onnx(features: Features, estimator: object) -> str:
    from ordinal_objectives.export.onnx.converters import add_estimator

    return add_estimator(features, estimator)
