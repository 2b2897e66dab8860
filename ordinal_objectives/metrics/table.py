"""The table of metrics, whose properties scorers, ``eval_metric`` and messages read, and checks of their arguments.

Each metric enters itself where it is defined, by its decorator; :mod:`ordinal_objectives.metrics` imports all of them.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ordinal_objectives.aliases import ArrayLike, FloatArray, IndexArray, IntArray, NDArray, RealArray
from ordinal_objectives.estimators.labels import OrderedLabels, as_labels, ordered_categories
from ordinal_objectives.ordinal_labels import OrdinalLabels
from ordinal_objectives.utils import validation
from ordinal_objectives.utils.arrays import as_array

# What a metric judges, and the method of an estimator that returns it.
_RESPONSE = {"decisions": "predict", "probabilities": "predict_proba", "scores": "predict_raw"}
RESPONSES = tuple(_RESPONSE.values())


class OfWeights(NamedTuple):
    """A metric of given rows as a function of their weights.

    Attributes
    ----------
    weight : ndarray of float64, shape (n_rows,)
        Those of the rows.
    value_of : callable
        Of weights (..., n_rows), of which each last axis has a positive one, to values (...); NaN where undefined.
    """

    weight: FloatArray
    value_of: Callable[[FloatArray], FloatArray]

    def value(self) -> float:
        """Return the metric at the weights of the rows."""
        return float(self.value_of(self.weight))

    @classmethod
    def mean(cls, losses: NDArray[Any], weight: FloatArray) -> OfWeights:
        """Return the weighted mean of a loss of each row."""
        return cls(weight, lambda weight: weight @ losses / weight.sum(axis=-1))


def sums_by(weight: FloatArray, group: IndexArray, n_groups: int) -> FloatArray:
    """Return sums of weights (..., n_rows) over the rows of each group, (..., n_groups)."""
    if weight.ndim == 1:
        return np.bincount(group, weight, n_groups).astype(np.float64, copy=False)
    n_rows = len(group)
    member = csr_matrix((np.ones(n_rows), group, np.arange(n_rows + 1)), shape=(n_rows, n_groups))
    return np.asarray(weight @ member)


@dataclass(frozen=True)
class Metric:
    """A metric and its properties.

    Parameters
    ----------
    name : str
        Short name, by which `eval_metric` finds it.
    function : callable
        ``function(y_true, response, sample_weight=None, *, labels=None) -> float``.
    judges : {"decisions", "probabilities", "scores"}
        What `response` is.
    higher_is_better : bool
        Whether a high value is good.
    of_intervals : bool
        Whether `y_true` may be intervals of classes.
    by_weights : callable or None
        ``by_weights(y_true, response, sample_weight, labels) -> OfWeights``: the metric as a function of the weights of
        its rows, by which the bootstrap draws many samples at once. None: `function` is called for each sample.
    grows_with_noise : bool
        Whether samples of the rows have larger values than the rows, so that a bootstrap interval lies too high.
    """

    name: str
    function: Callable[..., float]
    judges: str
    higher_is_better: bool = False
    of_intervals: bool = False
    by_weights: Callable[..., OfWeights] | None = None
    grows_with_noise: bool = False

    @property
    def response_method(self) -> str:
        """The method of an estimator that gives what the metric judges."""
        return _RESPONSE[self.judges]

    @property
    def by_rounds(self) -> bool:
        """Whether `eval_metric` takes it: what is known after each round are probabilities, not scores."""
        return self.judges != "scores"

    @property
    def scorer_name(self) -> str:
        """The name of its scorer, of which higher is better, as scikit-learn names its own."""
        return self.name if self.higher_is_better else f"neg_{self.name}"


class MetricTable(dict[str, Metric]):
    """Metrics by their short names."""

    def entry[Function: Callable[..., float]](self, name: str, **traits: Any) -> Callable[[Function], Function]:
        """Return a decorator that enters a function, with the traits of :class:`Metric`, and leaves it as it is."""

        def enter(function: Function) -> Function:
            self[name] = Metric(name, function, **traits)
            return function

        return enter

    def of(self, function: object) -> Metric | None:
        """Return the metric of a function; None for one that is not in the table, or anything else."""
        return next((metric for metric in self.values() if metric.function is function), None)


METRICS = MetricTable()


def on_codes(metric: Callable[..., Any], n_classes: int) -> Callable[..., Any]:
    """Return `metric` for class codes: with ``labels=range(n_classes)`` where it takes `labels` and has none yet."""
    has_own = "labels" in getattr(metric, "keywords", {})  # of a partial
    return partial(metric, labels=range(n_classes)) if "labels" in parameters_of(metric) and not has_own else metric


def parameters_of(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a callable by name; none of one without a signature."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _order(y_true: ArrayLike, labels: ArrayLike | None) -> ArrayLike | None:
    return ordered_categories(y_true) if labels is None else labels


def _codes(y: ArrayLike, labels: ArrayLike | None, *, name: str) -> IntArray:
    if isinstance(labels, range) and labels == range(len(labels)):
        return validation.check_codes(y, len(labels), name=name)
    if labels is not None:
        return OrderedLabels(labels, name="labels").encode(y, name=name)
    dtype = as_array(y, name=name).dtype
    if dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold class codes; got values of dtype {dtype}. Pass labels=, lowest class first")
    return validation.check_codes(y, name=name)


def check_decisions(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    sample_weight: ArrayLike | None,
    labels: ArrayLike | None,
    *,
    nearest: bool = False,
) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
    """Return class codes of truth and prediction, and weights.

    Labels of several answers a row have a row for each. Of intervals, ``nearest`` takes the class next to the
    prediction for the truth.

    Raises
    ------
    ValueError
        If labels have no known order or are not among `labels`, or shapes or weights are wrong.
    """
    if isinstance(y_true, OrdinalLabels):
        _check_same_classes(y_true, labels)
        predicted = OrderedLabels(y_true.classes).encode(y_pred, name="y_pred")
        check_consistent_length(y_true, predicted)
        if nearest and y_true.between:
            weight = _weights_of_intervals(y_true, sample_weight)
            return np.clip(predicted, *y_true.bounds()).astype(np.int64), predicted.astype(np.int64), weight
        true, predicted, weight = y_true.judged(predicted, validation.row_weights(sample_weight, len(y_true)))
        return true.astype(np.int64), predicted.astype(np.int64), validation.relative_weights(weight, true.size)
    labels = _order(y_true, labels)
    true, predicted = _codes(y_true, labels, name="y_true"), _codes(y_pred, labels, name="y_pred")
    check_consistent_length(true, predicted)
    return true.astype(np.int64), predicted.astype(np.int64), validation.relative_weights(sample_weight, true.size)


def check_forecasts(
    y_true: ArrayLike, proba: ArrayLike, sample_weight: ArrayLike | None, labels: ArrayLike | None
) -> tuple[IntArray, RealArray, FloatArray]:
    """Return class codes, probabilities and weights.

    Raises
    ------
    ValueError
        As `check_decisions`, or if `proba` holds no probabilities, or its columns are not those of the labels.
    """
    P = validation.check_proba(proba)
    n_classes = P.shape[1]
    if isinstance(y_true, OrdinalLabels):
        _check_same_classes(y_true, labels)
        validation.check_shape("proba", P, ("n_samples", len(y_true.classes)))
        _check_columns(proba, y_true.classes, n_classes)
        check_consistent_length(y_true, P)
        weight = validation.row_weights(sample_weight, len(y_true))
        y_true, P, sample_weight = y_true.judged(P, weight)
        labels = range(n_classes)
    else:
        labels = _order(y_true, labels)
        _check_columns(proba, labels, n_classes)
    true = _codes(y_true, labels, name="y_true")
    if labels is None:
        _check_range(true, n_classes)
    elif len(as_labels("labels", labels)) != n_classes:
        raise ValueError(f"labels must hold one label for each of the {n_classes} columns of proba; got {labels!r}")
    check_consistent_length(true, P)
    return true, P, validation.relative_weights(sample_weight, true.size)


def check_intervals(
    y_true: OrdinalLabels, proba: ArrayLike, sample_weight: ArrayLike | None, labels: ArrayLike | None
) -> tuple[IntArray, IntArray, RealArray, FloatArray]:
    """Return the lowest and the highest code of intervals, shape (n_samples, 1) each, probabilities and weights."""
    P = validation.check_proba(proba)
    _check_same_classes(y_true, labels)
    validation.check_shape("proba", P, ("n_samples", len(y_true.classes)))
    _check_columns(proba, y_true.classes, P.shape[1])
    check_consistent_length(y_true, P)
    lower, upper = (end[:, np.newaxis] for end in y_true.bounds())
    return lower, upper, P, _weights_of_intervals(y_true, sample_weight)


def _weights_of_intervals(y_true: OrdinalLabels, sample_weight: ArrayLike | None) -> FloatArray:
    of_rows = validation.row_weights(sample_weight, len(y_true))
    return validation.relative_weights(of_rows * y_true.labelled, len(y_true))


def _check_same_classes(y_true: OrdinalLabels, labels: ArrayLike | None) -> None:
    """Raise ValueError unless ``labels`` are the classes of ``y_true``."""
    classes = y_true.classes.tolist()
    if labels is not None and as_labels("labels", labels).tolist() != classes:
        raise ValueError(f"labels must be the classes of y_true, {classes}; got {labels!r}")


def _check_columns(proba: ArrayLike, labels: ArrayLike | None, n_classes: int) -> None:
    """Raise ValueError if probabilities are a table that has the classes in another order."""
    known = range(n_classes) if labels is None else labels
    validation.refuse_other_order_of_classes(as_labels("labels", known).tolist(), proba, "proba", axes=["columns"])


def _check_range(true: IntArray, n_classes: int) -> None:
    """Refuse numbers that may be other labels than the codes 0..n_classes - 1."""
    validation.check_codes(true, n_classes, name="y_true")
    if true.min() > 0 or true.max() < n_classes - 1:
        raise ValueError(
            f"y_true holds {true.min()} to {true.max()} and proba has {n_classes} columns: these may be codes, of "
            f"which the sample lacks 0 or {n_classes - 1}, or other labels. Pass labels=, the classes from lowest to "
            f"highest; for codes labels=range({n_classes})"
        )


def check_scores(
    y_true: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None, labels: ArrayLike | None
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return class codes, scores and weights.

    Raises
    ------
    ValueError
        As `check_decisions`, or if a score is not finite.
    """
    true = _codes(y_true, _order(y_true, labels), name="y_true")
    values = validation.as_floats(column_or_1d(validation.readable(score, name="score")), name="score")
    check_consistent_length(true, values)
    validation.check_finite(values, "score", "scores must be finite")
    return true, values, validation.relative_weights(sample_weight, true.size)


def undefined(metric: str, reason: str) -> float:
    """Return NaN, with a warning at the caller of the metric."""
    warnings.warn(f"The {metric} is undefined: {reason}.", UndefinedMetricWarning, stacklevel=3)
    return float("nan")
