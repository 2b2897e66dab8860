"""What a fitted estimator answers: labels and probabilities, or numbers; classifiers made of others call each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce

import numpy as np
import onnx
from onnx import helper
from sklearn.base import is_regressor
from sklearn.frozen import FrozenEstimator

from ordinal_objectives.aliases import Estimator, FloatArray, LabelArray
from ordinal_objectives.decision import KappaRule
from ordinal_objectives.decisions import OrdinalCalibratedClassifier, OrdinalPredictionSets
from ordinal_objectives.decisions.tuned import CutPoints, OrdinalTunedClassifier
from ordinal_objectives.distributions import OrdinalDistributionRegressor
from ordinal_objectives.distributions.binned_target import SAME_RANK
from ordinal_objectives.estimators.ensemble import OrdinalEnsembleClassifier
from ordinal_objectives.estimators.ordered_classifier import OrderedClassifier
from ordinal_objectives.estimators.wrappers import FittedMember
from ordinal_objectives.export.model import member_scorer, multi_output_scorer, scoring_model
from ordinal_objectives.export.onnx import probabilities
from ordinal_objectives.export.onnx.graph import Features, Graph

# As skl2onnx calls them.
_LABEL, _PROBABILITIES, _NUMBERS, _QUANTILES = "label", "probabilities", "variable", "quantiles"
# Adds an estimator that no reader here knows to a graph, and returns its probabilities.
Others = Callable[[Features, Estimator], str]


def answers_of(model: Estimator, floats: str, levels: Sequence[float] = ()) -> list[onnx.ValueInfoProto]:
    """Return names, types and shapes of what a fitted estimator answers; ``levels`` are those of quantiles."""
    number = int(helper.np_dtype_to_tensor_dtype(np.dtype(floats)))
    if isinstance(model, OrdinalDistributionRegressor):
        sizes = {_NUMBERS: 1, **({_QUANTILES: len(levels)} if len(levels) else {})}
        return [helper.make_tensor_value_info(name, number, [None, size]) for name, size in sizes.items()]
    if is_regressor(model):
        return [helper.make_tensor_value_info(_NUMBERS, number, [None, model.n_outputs_])]
    n_classes = len(model.classes_)
    own_each = not isinstance(model, OrderedClassifier) and model.has_labels()
    label = helper.np_dtype_to_tensor_dtype(as_tensor(model.classes_).dtype)
    return [
        helper.make_tensor_value_info(_LABEL, int(label), [None, n_classes] if own_each else [None]),
        helper.make_tensor_value_info(_PROBABILITIES, number, [None, n_classes]),
    ]


def add_answers(
    features: Features,
    model: Estimator,
    outputs: Sequence[str],
    others: Others,
    iterations: int | None = None,
    levels: Sequence[float] = (),
) -> None:
    """Add what a fitted estimator answers to a graph.

    Parameters
    ----------
    features : Features
        Of the graph.
    model : fitted estimator
    outputs : sequence of str
        Names of the answers, as many as :func:`answers_of` has.
    others : callable
        Adds classifiers inside another that no reader here knows.
    iterations : int or None
        Number of the first iterations, of a classifier of ordered labels.
    levels : sequence of float
        Of the quantiles that a regressor of distributions answers.
    """
    graph = features.graph
    if isinstance(model, OrdinalDistributionRegressor):
        member = _of_member(features, model.fitted_member(), model.target_.n_classes, others)
        _add_numbers(graph, member, model, outputs, levels)
        return
    if isinstance(model, OrderedClassifier):
        proba = _probabilities(features, model, iterations, others)
        labels = graph.constant(as_tensor(model.ordered_classes_))
        graph.op("Gather", labels, _class_codes(features, proba, model), axis=0, output=outputs[0])
        graph.op("Gather", proba, graph.integers(_sorted_places(model)), axis=1, output=outputs[1])
        return
    scorer, operator = multi_output_scorer(model)
    raw = probabilities.raw_predictions(features, scorer)
    if len(outputs) == 1:
        graph.op("Identity", raw, output=outputs[0])
        return
    if not operator:
        raise ValueError("model must have probabilities; a classifier of loss='squared_error' has none")
    proba = graph.op("Sigmoid", raw) if operator == "Sigmoid" else graph.op("Softmax", raw, axis=1)
    if scorer.n_outputs == 1 and len(model.classes_) == 2:
        proba = _both_classes(features, proba)
    elif operator == "Sigmoid":  # a label is each output's own
        graph.op("Identity", proba, output=outputs[1])
        graph.cast(graph.op("Greater", proba, 0.5), np.int64, output=outputs[0])
        return
    graph.op("Identity", proba, output=outputs[1])
    codes = graph.op("ArgMax", proba, axis=1, keepdims=0)
    graph.op("Gather", graph.constant(as_tensor(model.classes_)), codes, axis=0, output=outputs[0])


def _add_numbers(
    graph: Graph, proba: str, model: OrdinalDistributionRegressor, outputs: Sequence[str], levels: Sequence[float]
) -> None:
    """Add what a regressor predicts of class probabilities, and the quantiles of some levels."""
    target = model.target_
    with graph.in_doubles():
        proba = graph.floats(proba)
        sums = graph.op("CumSum", proba, graph.constant(np.array(1)))
        total = graph.op("ReduceSum", proba, graph.integers(1), keepdims=1)
        zero = graph.op("Mul", total, 0.0)
        at_knots = graph.op("Div", graph.op("Concat", zero, sums, axis=1), total)
        inner = graph.columns(at_knots, np.arange(1, target.n_classes))

        def number_below(values: str | FloatArray, level: str | float) -> str:
            below = graph.op("Less", values, graph.op("Sub", level, SAME_RANK))
            return graph.op("ReduceSum", graph.cast(below, np.int64), graph.integers(1), keepdims=1)

        def quantile(level: float) -> str:
            k = number_below(inner, level)
            after = graph.op("Add", k, graph.integers(1))
            low, high = (graph.op("GatherElements", at_knots, place, axis=1) for place in (k, after))
            width = graph.op("Max", graph.op("Sub", high, low), np.finfo(np.float64).tiny)
            inside = graph.op("Clip", graph.op("Div", graph.op("Sub", level, low), width), 0.0, 1.0)
            first, last = (graph.op("Gather", target.knots, place) for place in (k, after))
            rank = graph.op("Add", first, graph.op("Mul", inside, graph.op("Sub", last, first)))
            bounds = [graph.op("Gather", graph.integers(ends), k) for ends in (target.first, target.last)]
            place = number_below(target.share[np.newaxis], rank)
            return graph.op("Gather", target.values, graph.op("Min", graph.op("Max", place, bounds[0]), bounds[1]))

        predicted = (
            graph.op("MatMul", proba, target.means[:, np.newaxis]) if model.prediction == "mean" else quantile(0.5)
        )
        found = [
            predicted,
            *([graph.joined([quantile(float(level)) for level in levels])] if len(levels) else []),
        ]
    for number, output in zip(found, outputs, strict=True):
        graph.op("Identity", graph.floats(number), output=output)


def as_tensor(labels: LabelArray) -> LabelArray:
    """Return labels in a type that ONNX has, equal to what they were.

    Raises
    ------
    TypeError
        If they are neither text nor integers, floats or booleans.
    OverflowError
        If an integer is beyond int64.
    """
    values, kind = labels.tolist(), labels.dtype.kind
    if all(isinstance(label, str) for label in values):
        return np.array(list(map(str.__str__, values)), dtype=object)  # of an enumeration that is text, the text itself
    if kind in "iu":
        return np.array(values, dtype=np.int64)
    if kind not in "bf" or labels.dtype.itemsize > 8:
        raise TypeError(f"labels must be text, integers, floats or booleans for a graph to hold them; got {values!r}")
    return labels


def _sorted_places(model: OrderedClassifier) -> list[int]:
    """Return the columns of probabilities, lowest class first, in the order of ``classes_``."""
    ordered = model.ordered_classes_.tolist()
    return [ordered.index(label) for label in model.classes_.tolist()]


def _probabilities(features: Features, model: OrderedClassifier, iterations: int | None, others: Others) -> str:
    """Return the probabilities of a classifier of this package, (n_samples, n_classes), lowest class first.

    Raises
    ------
    TypeError
        If it is of a kind that no graph is known for.
    """
    graph, n_classes = features.graph, model.n_classes_
    of = partial(_of_member, features, n_classes=n_classes, others=others)
    if isinstance(model, OrdinalEnsembleClassifier):
        parts = [graph.op("Mul", of(one), weight) for weight, one in model.weighted_copies()]
        return reduce(lambda total, part: graph.op("Add", total, part), parts)
    if isinstance(model, OrdinalTunedClassifier):
        return of(model.fitted_member())
    if isinstance(model, OrdinalCalibratedClassifier):
        with graph.in_doubles():  # a curve makes differences of small probabilities larger
            proba = probabilities.recalibrated(graph, of(model.fitted_member()), model.fitted_curve(), n_classes)
        return proba if graph.is_double else graph.floats(proba)
    if isinstance(model, OrdinalPredictionSets):
        raise TypeError(
            "model must be one whose answers a graph holds, and it holds no sets; got OrdinalPredictionSets: write its "
            "estimators_, trained on class codes"
        )
    return probabilities.ordinal_probabilities(features, scoring_model(model, iterations))


def _of_member(features: Features, member: FittedMember, n_classes: int, others: Others) -> str:
    """Return a member's probabilities of all classes: 0 for one without rows, each row divided by its sum."""
    graph = features.graph
    proba = _member_probabilities(features, member.estimator, others)
    columns = member.columns.tolist()
    if columns != list(range(n_classes)):
        placed = np.zeros((len(columns), n_classes))
        placed[np.arange(len(columns)), columns] = 1.0
        proba = graph.op("MatMul", proba, placed)
    return graph.op("Div", proba, graph.op("ReduceSum", proba, graph.integers(1), keepdims=1))


def _member_probabilities(features: Features, estimator: object, others: Others) -> str:
    """Return the probabilities of a member, also of a frozen one or a search; columns as its ``classes_``."""
    graph = features.graph
    while isinstance(estimator, FrozenEstimator) or hasattr(estimator, "best_estimator_"):
        estimator = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator.best_estimator_
    if isinstance(estimator, OrderedClassifier):
        proba, places = _probabilities(features, estimator, None, others), _sorted_places(estimator)
        return proba if places == sorted(places) else graph.columns(proba, places)
    scorer = member_scorer(estimator, features.by_value)
    if scorer is None:
        with graph.in_doubles(False):
            proba = others(features, estimator)
        return graph.floats(proba)
    raw = probabilities.raw_predictions(features, scorer)
    if scorer.n_outputs > 1:
        return graph.op("Softmax", raw, axis=1)
    return _both_classes(features, graph.op("Sigmoid", raw))


def _both_classes(features: Features, second: str) -> str:
    """Return the probabilities of two classes, given that of the second."""
    graph = features.graph
    return graph.op("Concat", graph.op("Sub", 1.0, second), second, axis=1)


def _class_codes(features: Features, proba: str, model: OrderedClassifier) -> str:
    """Return the code of each row's class, (n_samples,), by the decision of a fitted classifier."""
    graph, n_classes = features.graph, model.n_classes_

    def mean_class() -> str:
        return graph.op("MatMul", proba, np.arange(n_classes)[:, np.newaxis])

    def number_of(reached: str) -> str:
        return graph.op("ReduceSum", graph.cast(reached, np.int64), graph.integers(1), keepdims=0)

    rule = getattr(model, "decision_", None)  # of a tuned classifier
    if isinstance(rule, CutPoints):
        return number_of(graph.op("GreaterOrEqual", mean_class(), rule.cuts[np.newaxis]))
    if rule is None:
        model.check_fitted_decision()
    if isinstance(rule, KappaRule) and rule.kappa > 0.0:
        by_chance = (1.0 - rule.kappa) * (rule.shares @ rule.weights)
        costs = graph.op("MatMul", proba, rule.weights)
        return graph.op("ArgMin", graph.op("Sub", costs, by_chance[np.newaxis]), axis=1, keepdims=0)
    if model.cost_matrix is not None:
        costs = graph.op("MatMul", proba, model.cost_matrix)
        return graph.op("ArgMin", costs, axis=1, keepdims=0)
    if model.decision_rule == "mode":
        return graph.op("ArgMax", proba, axis=1, keepdims=0)
    # Sums within rounding of a tie count as a tie.
    rounding = 4 * float(np.finfo(graph.dtype).eps)
    if model.decision_rule == "mean":
        code = graph.op("Ceil", graph.op("Sub", mean_class(), 0.5 + rounding * n_classes))
        code = graph.cast(graph.op("Max", code, 0.0), np.int64)
        return graph.op("Squeeze", code, graph.integers(1))
    return number_of(graph.op("Less", probabilities.cumulative(graph, proba, n_classes), 0.5 - rounding))
