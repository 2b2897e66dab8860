"""Class probabilities: trees and a linear part make linear predictors, a link makes probabilities of them."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache, reduce

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from onnx import numpy_helper
from scipy.special import erfcx

from ordinal_objectives.aliases import FloatArray, IndexArray, Params
from ordinal_objectives.decisions.calibrated import LEAST, Curve, Isotonic, Recalibration, Sigmoids
from ordinal_objectives.estimators.linear import LinearPart
from ordinal_objectives.export.model import LIGHTGBM_ZERO, Scorer, ScoringModel, ScoringTree, refuse_effects
from ordinal_objectives.export.onnx.graph import ML, Features, Graph
from ordinal_objectives.losses import AllThreshold, CostWeighted, CumulativeLink, ImmediateThreshold

_LOSSES = (AllThreshold, CostWeighted, CumulativeLink, ImmediateThreshold)
_LINKS = ("logit", "cloglog", "loglog", "probit", "cauchit")
# Degree of the polynomial in the normal link's tail, whose error is below 1e-9.
_DEGREE = 14


def linear_predictors(features: Features, found: ScoringModel) -> str:
    """Return the linear predictors of a fitted classifier, (n_samples, n_classes - 1)."""
    graph, scorer = features.graph, found.scorer
    matrix = _without_marks(graph, features.matrix(scorer.levels), scorer, len(features.columns))
    scores = tree_scores(graph, _as_read(graph, matrix, scorer, len(features.columns)), scorer)
    if found.model.linear_ is not None:
        features = Features.from_matrix(graph, matrix, len(features.columns))
        scores = graph.op("Add", scores, _linear_scores(features, found.model.linear_))
    return graph.op("Sub", (found.thresholds - scorer.offset)[np.newaxis], scores)


def raw_predictions(features: Features, scorer: Scorer) -> str:
    """Return the sums of trees and offset, (n_samples, n_outputs)."""
    graph, n_features = features.graph, len(features.columns)
    matrix = _without_marks(graph, features.matrix(scorer.levels), scorer, n_features)
    scores = tree_scores(graph, _as_read(graph, matrix, scorer, len(features.columns)), scorer)
    return graph.op("Add", scores, scorer.offset[np.newaxis])


def _without_marks(graph: Graph, matrix: str, scorer: Scorer, n_features: int) -> str:
    """Return features with NaN in the place of the number that stands for a missing value, which no code is."""
    if np.isnan(scorer.missing):
        return matrix
    as_read = graph.floats(graph.cast(matrix, np.float32)) if graph.is_double else matrix
    is_number = ~np.isin(np.arange(n_features), list(scorer.levels))[np.newaxis]
    missing = graph.op("And", graph.op("Equal", as_read, np.float32(scorer.missing)), graph.constant(is_number))
    return graph.op("Where", missing, np.nan, matrix)


def _as_read(graph: Graph, matrix: str, scorer: Scorer, n_features: int) -> str:
    """Return features as the trees' trainer reads them."""

    def where(features: IndexArray | list[int]) -> str:
        mask = np.zeros((1, n_features), bool)
        mask[0, features] = True
        return graph.constant(mask)

    if scorer.reads_float32 and graph.is_double:
        matrix = graph.floats(graph.cast(matrix, np.float32))
    if len(scorer.zero_is_missing):
        small = graph.op("LessOrEqual", graph.op("Abs", matrix), LIGHTGBM_ZERO)
        missing = graph.op("And", small, where(scorer.zero_is_missing))
        matrix = graph.op("Where", missing, np.nan, matrix)
    by_code = sorted(scorer.by_category - set(scorer.levels))
    if by_code:  # codes lose their fractions: LightGBM rounds towards zero, and to XGBoost those below zero are none
        whole = graph.op("Floor", matrix)
        if not scorer.reads_float32:
            below = graph.op("Less", matrix, 0.0)
            whole = graph.op("Where", below, graph.op("Ceil", matrix), whole)
        matrix = graph.op("Where", where(by_code), whole, matrix)
    return matrix


def _linear_scores(features: Features, linear: LinearPart) -> str:
    """Return the linear part's score, (n_samples, 1)."""
    graph = features.graph
    parts = [
        features.looked_up(place, levels, weights, 0.0)
        for (place, levels), weights in zip(linear.levels.items(), linear.level_weights, strict=True)
    ]
    if len(linear.places):
        numbers = features.numbers(linear.places.tolist())
        with graph.in_doubles():  # a mean far from 0, rounded to float32, would move all rows
            numbers = graph.floats(numbers)
            known = graph.op("Not", graph.op("IsNaN", numbers))
            inside = graph.op("Max", graph.op("Min", numbers, linear.high), linear.low)
            scaled = graph.op("Div", graph.op("Sub", inside, linear.mean), linear.scale)
            scaled = graph.op("Where", known, scaled, 0.0)
            score = graph.op("MatMul", scaled, linear.weights[:, np.newaxis])
        parts.append(score if graph.is_double else graph.floats(score))
    return reduce(lambda total, part: graph.op("Add", total, part), parts)


def tree_scores(graph: Graph, features: str, scorer: Scorer) -> str:
    """Return the sum of the trees, (n_samples, n_outputs); its offset is not in it.

    Parameters
    ----------
    graph : Graph
    features : str
        Codes in the place of levels, NaN where a value is missing.
    scorer : Scorer
    """
    if not scorer.trees:
        n_samples = graph.op("Slice", graph.op("Shape", features), graph.integers(0), graph.integers(1))
        shape = graph.op("Concat", n_samples, graph.integers(scorer.n_outputs), axis=0)
        return graph.op("ConstantOfShape", shape, value=numpy_helper.from_array(np.zeros(1, dtype=graph.dtype)))
    attributes = _tree_attributes(scorer.trees, graph.is_double)
    found = graph.op("TreeEnsembleRegressor", features, domain=ML, n_targets=scorer.n_outputs, **attributes)
    return graph.floats(found) if graph.is_double else found  # it answers in float32


def _tree_attributes(trees: list[ScoringTree], is_double: bool) -> Params:
    """Return nodes and leaves of all trees, in the columns that ONNX has for them."""
    columns: dict[str, list[object]] = defaultdict(list)

    def add(tree: int, node: int, mode: str, feature: int, value: float, sides: tuple[int, int], missing: bool) -> None:
        names = ("treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids")
        entries = (tree, node, mode, feature, value, *sides, int(missing))
        for name, entry in zip((*names, "missing_value_tracks_true"), entries, strict=True):
            columns[f"nodes_{name}"].append(entry)

    for number, tree in enumerate(trees):
        thresholds = tree.threshold if is_double else rounded_down(tree.threshold)
        n_nodes = len(tree.feature)
        splits = np.column_stack([tree.feature, tree.left, tree.right]).tolist()
        for node, (feature, left, right) in enumerate(splits):
            if feature < 0:
                add(number, node, "LEAF", 0, 0.0, (0, 0), False)
                for output, value in enumerate(tree.value[node].tolist()):
                    for name, entry in (("treeids", number), ("nodeids", node), ("ids", output), ("weights", value)):
                        columns[f"target_{name}"].append(entry)
            elif node not in tree.categories:
                add(
                    number, node, "BRANCH_LEQ", feature, float(thresholds[node]), (left, right), tree.missing_left[node]
                )
            else:
                # A chain of nodes that compare with one code each. The first node is only for missing values:
                # onnxruntime joins nodes that compare with codes, and forgets there which way missing values go.
                codes = tree.categories[node].tolist()
                chain = [*range(n_nodes, n_nodes + len(codes)), right]
                n_nodes += len(codes)
                add(number, node, "BRANCH_LT", feature, -np.inf, (left, chain[0]), tree.missing_left[node])
                for code, at, otherwise in zip(codes, chain[:-1], chain[1:], strict=True):
                    add(number, at, "BRANCH_EQ", feature, code, (left, otherwise), False)
    found = dict(columns)
    for name in ("nodes_values", "target_weights"):
        values = found.pop(name)
        if is_double:
            found[f"{name}_as_tensor"] = numpy_helper.from_array(np.array(values, dtype=np.float64), name)
        else:
            found[name] = np.array(values, dtype=np.float32).tolist()
    return found


def rounded_down(thresholds: FloatArray) -> FloatArray:
    """Return the largest float32 that is at most each number: a float32 is up to both or to none.

    The nearest float32 may be above a threshold. Then a value between the two would go the other way.
    """
    with np.errstate(over="ignore"):
        near = thresholds.astype(np.float32)
    near = np.where(near > thresholds, np.nextafter(near, np.float32(-np.inf)), near)
    return near.astype(np.float64)


def ordinal_probabilities(features: Features, found: ScoringModel) -> str:
    """Return the class probabilities of a fitted classifier, (n_samples, n_classes), lowest class first.

    Raises
    ------
    ValueError
        Unless the loss and its link are built in, and there are no random effects.
    """
    refuse_effects(found, "ONNX")
    graph, loss = features.graph, found.model.trained_spec().loss
    if type(loss) not in _LOSSES or loss.link.name not in _LINKS or loss.codes is None:
        raise ValueError(
            f"model must have a built-in loss and link; a graph cannot hold {loss.name!r} with {loss.link.name!r}"
        )
    margins = linear_predictors(features, found)
    if isinstance(loss, ImmediateThreshold):
        products = _running_sums(graph, _log_odds(graph, margins, loss.link.name))
        return graph.op("Softmax", _padded(graph, products, 0.0, (1, 0)), axis=1)
    if found.scorer.n_outputs > 1 and loss.ordered:  # margins that move with x may cross
        margins = _in_order(graph, margins, len(found.thresholds))
    return graph.op("Max", _differences(graph, _inverse_link(graph, margins, loss.link.name)), 0.0)


def recalibrated(graph: Graph, proba: str, recalibration: Recalibration, n_classes: int) -> str:
    """Return recalibrated class probabilities, (n_samples, n_classes), lowest class first."""
    stated = graph.op("Min", cumulative(graph, proba, n_classes), 1.0)
    changed = _in_order(graph, _on_curve(graph, stated, recalibration.curve), n_classes - 1)
    total = recalibration.total
    sums = graph.op("Add", graph.op("Mul", changed, total), stated)
    return _differences(graph, graph.op("Div", sums, total + 1.0))


def cumulative(graph: Graph, proba: str, n_classes: int) -> str:
    """Return P(y <= k), (n_samples, n_classes - 1)."""
    return _running_sums(graph, graph.columns(proba, np.arange(n_classes - 1)))


def _running_sums(graph: Graph, values: str) -> str:
    return graph.op("CumSum", values, graph.constant(np.array(1)))


def _on_curve(graph: Graph, stated: str, curve: Curve) -> str:
    """Return what cumulative probabilities become."""
    if isinstance(curve, Sigmoids):
        inside = _clipped(graph, stated, LEAST, 1.0 - LEAST)
        logit = graph.op("Log", graph.op("Div", inside, graph.op("Sub", 1.0, inside)))
        stretched = graph.op("Mul", logit, curve.stretches[np.newaxis])
        return graph.op("Sigmoid", graph.op("Add", stretched, curve.shifts[np.newaxis]))
    assert isinstance(curve, Isotonic)
    x, y = curve.regression.X_thresholds_, curve.regression.y_thresholds_
    if len(x) == 1:
        return graph.op("Add", graph.op("Mul", stated, 0.0), y)
    # The line from the last point that is reached; infinity, that there is a point to compare with.
    inside = _clipped(graph, stated, x[0], x[-1])
    ends = np.append(x[1:-1], np.inf)
    reached = graph.op("GreaterOrEqual", graph.op("Unsqueeze", inside, graph.integers(2)), ends)
    place = graph.op("ReduceSum", graph.cast(reached, np.int64), graph.integers(2), keepdims=0)
    start, low, slope = (graph.op("Gather", of, place) for of in (x[:-1], y[:-1], np.diff(y) / np.diff(x)))
    return graph.op("Add", low, graph.op("Mul", slope, graph.op("Sub", inside, start)))


def _clipped(graph: Graph, values: str, low: float, high: float) -> str:
    return graph.op("Max", graph.op("Min", values, high), low)


def _differences(graph: Graph, below: str) -> str:
    """Return class probabilities by those of the classes up to each."""
    return graph.op("Sub", _padded(graph, below, 1.0, (0, 1)), _padded(graph, below, 0.0, (1, 0)))


def _in_order(graph: Graph, values: str, n_values: int) -> str:
    """Return the values of each row, (n_samples, n_values), in increasing order."""
    smallest, places = graph.name("sorted"), graph.name("places")
    graph.node("TopK", [values, graph.integers(n_values)], [smallest, places], axis=1, largest=0, sorted=1)
    return smallest


def _padded(graph: Graph, values: str, fill: float, columns: tuple[int, int]) -> str:
    """Return a table with columns of one value before and after."""
    before, after = columns
    value = graph.constant(np.array(fill, dtype=graph.dtype))
    return graph.op("Pad", values, graph.integers([0, before, 0, after]), value)


def _inverse_link(graph: Graph, x: str, link: str) -> str:
    """Return G(x)."""
    if link == "logit":
        return graph.op("Sigmoid", x)
    if link == "loglog":
        return graph.op("Exp", graph.op("Neg", graph.op("Exp", graph.op("Neg", x))))
    if link == "cloglog":
        return graph.op("Sub", 1.0, _inverse_link(graph, graph.op("Neg", x), "loglog"))
    tail = graph.op("Exp", _LOG_TAIL[link](graph, graph.op("Abs", x)))
    return _where_positive(graph, x, graph.op("Sub", 1.0, tail), tail)


def _where_positive(graph: Graph, x: str, yes: str, no: str) -> str:
    return graph.op("Where", graph.op("Greater", x, 0.0), yes, no)


def _normal_log_tail(graph: Graph, x: str) -> str:
    """Return log Phi(-x), x >= 0, as log(t / 2) - z^2 + P(2 t - 1), with z = x / sqrt 2 and t = 2 / (2 + z)."""
    z = graph.op("Mul", x, np.sqrt(0.5))
    t = graph.op("Div", 2.0, graph.op("Add", z, 2.0))
    u = graph.op("Sub", graph.op("Add", t, t), 1.0)
    powers = _tail_polynomial()
    total: str | float = powers[-1]
    for power in powers[-2::-1]:
        total = graph.op("Add", graph.op("Mul", total, u), power)
    half = graph.op("Log", graph.op("Mul", t, 0.5))
    return graph.op("Sub", graph.op("Add", half, total), graph.op("Mul", z, z))


@lru_cache
def _tail_polynomial() -> tuple[float, ...]:
    """Return the coefficients of P in u = 2 t - 1: log(erfc(z) exp(z^2) / t), z = 2 / t - 2, interpolated."""

    def logarithm(u: FloatArray) -> FloatArray:
        t = (u + 1.0) / 2.0
        return np.log(erfcx(2.0 / t - 2.0) / t)

    found = Chebyshev.interpolate(logarithm, _DEGREE)
    return tuple(found.convert(kind=Polynomial).coef.tolist())


def _cauchy_log_tail(graph: Graph, x: str) -> str:
    """Return log(atan(1 / x) / pi), x >= 0. Runtimes have Atan only of float32."""
    near = graph.op("Less", x, 1.0)
    inverse = graph.op("Div", 1.0, graph.op("Max", x, 1.0))
    small = graph.op("Where", near, x, inverse)
    if graph.is_double:
        angle = graph.floats(graph.op("Atan", graph.cast(small, np.float32)))
    else:
        angle = graph.op("Atan", small)
    angle = graph.op("Where", near, graph.op("Sub", np.pi / 2, angle), angle)
    return graph.op("Log", graph.op("Mul", angle, 1.0 / np.pi))


_LOG_TAIL = {"probit": _normal_log_tail, "cauchit": _cauchy_log_tail}


def _log_odds(graph: Graph, x: str, link: str) -> str:
    """Return log((1 - G(x)) / G(x)), exact also where one of them is small."""
    if link == "logit":
        return graph.op("Neg", x)
    if link in _LOG_TAIL:
        log_tail = _LOG_TAIL[link](graph, graph.op("Abs", x))  # of a tail of at most 1/2
        log_rest = graph.op("Log", graph.op("Sub", 1.0, graph.op("Exp", log_tail)))
        odds = graph.op("Sub", log_tail, log_rest)
        return _where_positive(graph, x, odds, graph.op("Neg", odds))
    # The complementary log-log link has 1 - G = exp(-u), u = exp(x); the log-log link is its mirror.
    u = graph.op("Exp", x if link == "cloglog" else graph.op("Neg", x))
    log_tail = graph.op("Neg", u)
    odds = graph.op("Sub", log_tail, _log_one_minus_exp(graph, u))
    return odds if link == "cloglog" else graph.op("Neg", odds)


def _log_one_minus_exp(graph: Graph, u: str) -> str:
    """Return log(1 - exp(-u)), by its series log u - u / 2 + u^2 / 24 - u^4 / 2880 where u is small."""
    square = graph.op("Mul", u, u)
    series = graph.op("Sub", graph.op("Log", u), graph.op("Mul", u, 0.5))
    series = graph.op("Add", series, graph.op("Mul", square, 1 / 24))
    series = graph.op("Sub", series, graph.op("Mul", graph.op("Mul", square, square), 1 / 2880))
    away = graph.op("Log", graph.op("Sub", 1.0, graph.op("Exp", graph.op("Neg", u))))
    return graph.op("Where", graph.op("Less", u, 0.25), series, away)
