"""Bootstrap intervals of metrics: samples of the rows are weights of the rows, which metrics take many at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, stdtrit

from ordinal_objectives.aliases import ArrayLike, FloatArray, IndexArray, IntArray, Seed
from ordinal_objectives.estimators.held_out import check_groups
from ordinal_objectives.estimators.labels import OrderedLabels
from ordinal_objectives.metrics import table
from ordinal_objectives.metrics.table import METRICS, Metric
from ordinal_objectives.ordinal_labels import OrdinalLabels
from ordinal_objectives.utils import documented, validation
from ordinal_objectives.utils.arrays import as_array

# So many weights are in memory at a time.
_BLOCK = 2**21
# A metric of given rows, of weights (n_samples, n_rows) to values (n_samples,).
OfDraws = Callable[[FloatArray], FloatArray]


class Interval(NamedTuple):
    """A value and its bootstrap interval; see :func:`interval`.

    Attributes
    ----------
    value : float
        The metric of the rows, or the difference of two.
    low, high : float
        Ends of the interval. NaN where the value is.

    Examples
    --------
    >>> from ordinal_objectives.metrics import Interval
    >>> found = Interval(0.5, 0.25, 0.75)
    >>> found.low <= found.value <= found.high
    True
    """

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float, drawn: FloatArray, level: float) -> Interval:
        """Return the interval between quantiles of the values of samples; undefined ones, NaN, are left out."""
        defined = drawn[~np.isnan(drawn)]
        if np.isnan(value) or not defined.size:
            return cls(value, np.nan, np.nan)
        low, high = np.quantile(defined, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
        return cls(value, float(low), float(high))


@dataclass(frozen=True)
class BootstrapSample:
    """Rows with weight, of which samples are drawn.

    Attributes
    ----------
    y : ndarray of int or OrdinalLabels, shape (n_rows,)
        Class codes, or intervals of them. Labels of several answers have a row for each.
    weight : ndarray of float64, shape (n_rows,)
    unit : ndarray of int, shape (n_rows,)
        Rows with the same number are drawn together.
    row : ndarray of int, shape (n_rows,)
        The place of each among the rows that were given.
    """

    y: Any
    weight: FloatArray
    unit: IndexArray
    row: IndexArray

    @classmethod
    def of(
        cls, y: IntArray | OrdinalLabels, sample_weight: ArrayLike | None, groups: ArrayLike | None
    ) -> BootstrapSample:
        """Return the rows of positive weight.

        Raises
        ------
        ValueError
            If fewer than two rows, or groups, have weight.
        """
        weight = validation.row_weights(sample_weight, len(y))
        of_groups = check_groups(groups, len(y))
        row = np.arange(len(y))
        if isinstance(y, OrdinalLabels) and y.between and not y.is_plain:
            weight = weight * y.labelled
        elif isinstance(y, OrdinalLabels):
            row, y, of_answers = y.answers()
            weight = weight[row] * of_answers
        counted = np.flatnonzero(weight)
        y, weight, row = y[counted], weight[counted], row[counted]
        found, unit = np.unique(row if of_groups is None else of_groups[row], return_inverse=True)
        if found.size < 2:
            name, units = ("y_true", "rows") if of_groups is None else ("groups", "groups")
            raise ValueError(f"{name} must have at least two {units} with weight to draw from; got {found.size}")
        return cls(y, weight, unit, row)

    def expanded(self, level: float) -> float:
        """Return the level between whose quantiles the values of samples lie, so that few units do not shorten them."""
        n_units = int(self.unit.max()) + 1
        quantile = stdtrit(n_units - 1, 0.5 + level / 2.0) * np.sqrt(n_units / (n_units - 1))
        return float(2.0 * ndtr(quantile) - 1.0)

    def function(self, metric: Metric | Callable[..., float], response: Any) -> OfDraws:
        """Return a metric of a response to these rows, checked, in the types of codes."""
        response = response[self.row]
        if not isinstance(metric, Metric):
            return partial(_one_by_one, metric, self.y, response)
        labels = range(response.shape[1]) if metric.judges == "probabilities" else None
        if metric.by_weights is None:
            return partial(_one_by_one, partial(metric.function, labels=labels), self.y, response)
        if metric.judges != "decisions":
            return metric.by_weights(self.y, response, None, labels).value_of
        # Decisions differ by their true and predicted class only: weights of the pairs tell all.
        true = np.unique(self.y.codes if isinstance(self.y, OrdinalLabels) else self.y, return_inverse=True)[1]
        levels, predicted = np.unique(response, return_inverse=True)
        _, first, pair = np.unique(true * levels.size + predicted, return_index=True, return_inverse=True)
        of_pairs = metric.by_weights(self.y[first], response[first], None, None).value_of
        return lambda weight: of_pairs(table.sums_by(weight, pair, first.size))

    def draw(self, functions: Sequence[OfDraws], n_draws: int, random: np.random.RandomState) -> FloatArray:
        """Return the values of functions of weights for the same samples, (n_functions, n_draws)."""
        n_units, n_rows = int(self.unit.max()) + 1, len(self.unit)
        at_once = max(1, _BLOCK // n_rows)
        drawn = []
        for start in range(0, n_draws, at_once):
            n = min(at_once, n_draws - start)
            units = random.randint(n_units, size=(n, n_units)) + n_units * np.arange(n)[:, np.newaxis]
            times = np.bincount(units.ravel(), minlength=n * n_units).reshape(n, n_units)
            weight = times[:, self.unit] * self.weight
            drawn.append(np.stack([function(weight) for function in functions]))
        return np.concatenate(drawn, axis=1)


def _one_by_one(metric: Callable[..., float], y: Any, response: Any, weight: FloatArray) -> FloatArray:
    """Return the values of a metric that takes the weights of one sample."""
    rows = [np.flatnonzero(of_one) for of_one in weight]
    return np.array(
        [metric(y[row], response[row], sample_weight=one[row]) for one, row in zip(weight, rows, strict=True)],
        dtype=np.float64,
    )


@documented
def interval(
    metric: str | Callable[..., float],
    y_true: ArrayLike,
    response: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    other: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    level: float = 0.95,
    n_draws: int = 1000,
    random_state: Seed = 0,
) -> Interval:
    r"""Return a metric with its bootstrap interval, or the difference of two models on the same rows.

    It is the expanded percentile interval [1]_. Each of ``n_draws`` samples takes as many rows as there are, at random
    and with replacement; a row brings its weight along as often as it is drawn. The interval lies between the quantiles
    :math:`\Phi(\pm \sqrt{n / (n - 1)} \, t)` of the metric's values in the samples, linearly interpolated, where n is
    the number of rows or groups, and t the quantile of Student's distribution at :math:`(1 + level) / 2` for n - 1
    degrees of freedom. With large n these are the quantiles :math:`(1 \pm level) / 2`. With small n they lie further
    out: samples vary by the factor (n - 1) / n too little, and how far they vary is itself uncertain.

    Parameters
    ----------
    metric : str or callable
        A name in :data:`METRICS`, one of the functions of this module, or one of your own,
        ``metric(y, response, sample_weight=...) -> float``, which is called for each sample.
    y_true : array-like, shape (n_samples,)
        Labels, as the metric takes them; OrdinalLabels too, whose answers of one row stay together.
    response : array-like, shape (n_samples,) or (n_samples, n_classes)
        What the metric judges: decisions, probabilities, columns from the lowest class to the highest, or scores.
    sample_weight : array-like of float, shape (n_samples,), or None
        Weights; None for ones. Rows of weight 0 are not drawn.
    other : array-like of the shape of ``response``, or None
        What another model says of the same rows. Then value and interval are those of the metric of ``response``
        minus the metric of ``other``, both in the same samples.
    labels : array-like of shape (n_classes,), or None
        The classes from lowest to highest, as the metric takes them.
    groups : array-like, shape (n_samples,), or None
        The group of each row, such as a patient. Then whole groups are drawn, as many as there are.
    level : float
        In (0, 1).
    n_draws : int
        Number of samples.
    random_state : int, RandomState instance or None
        Seed of the samples: each takes ``randint(n, size=n)`` of it, with the number n of rows of positive weight, or
        of groups. None takes NumPy's global state.

    Returns
    -------
    Interval

    Raises
    ------
    TypeError, ValueError
        If the metric refuses its arguments, fewer than two rows or groups have weight, or a number is out of bounds.

    Warns
    -----
    UndefinedMetricWarning
        If the metric of all rows is undefined. Samples in which it is undefined are left out of the quantiles.

    Notes
    -----
    The interval says how far the metric would vary with other rows of the same population, for this model; it does not
    hold the variance of the training. Rows that depend on each other need ``groups``. With fewer than some twenty rows
    or groups, intervals of skewed metrics are still too short. A calibration error grows with the noise in its bins, of
    which samples have more than the rows: its interval lies too high, often above the value.

    References
    ----------
    .. [1] T. Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician 69 (2015), 371-386.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.metrics import interval
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(4, size=400)
    >>> near, far = (np.clip(y + rng.integers(-k, k + 1, size=400), 0, 3) for k in (1, 2))
    >>> found = interval("mae", y, near)
    >>> round(found.value, 2), round(found.low, 2), round(found.high, 2)
    (0.52, 0.47, 0.56)
    >>> interval("mae", y, near, other=far).high < 0  # near is better, and not by chance
    True
    """
    if isinstance(metric, str):
        validation.check_choice(metric, METRICS, name="metric")
    known = METRICS.get(metric) if isinstance(metric, str) else METRICS.of(metric)
    level = validation.check_number("level", level, above=0.0, below=1.0)
    n_draws = validation.check_integer("n_draws", n_draws, 1)
    function: Any = metric if known is None else known.function
    if labels is not None and "labels" in table.parameters_of(function):
        function = partial(function, labels=labels)
    responses = [response] if other is None else [response, other]
    values = [float(function(y_true, one, sample_weight=sample_weight)) for one in responses]
    if known is None:
        y: Any = y_true if isinstance(y_true, OrdinalLabels) else as_array(y_true, name="y_true")
        rows = BootstrapSample.of(np.zeros(len(y), dtype=np.int32), sample_weight, groups)
        rows = replace(rows, y=y[rows.row])
        functions = [rows.function(function, as_array(one, name="response")) for one in responses]
    else:
        read = [_as_codes(known, y_true, one, labels) for one in responses]
        rows = BootstrapSample.of(read[0][0], sample_weight, groups)
        functions = [rows.function(known, one) for _, one in read]
    drawn, level = rows.draw(functions, n_draws, validation.random_numbers(random_state)), rows.expanded(level)
    if other is None:
        return Interval.of(values[0], drawn[0], level)
    return Interval.of(values[0] - values[1], drawn[0] - drawn[1], level)


def _as_codes(
    metric: Metric, y_true: ArrayLike, response: ArrayLike, labels: ArrayLike | None
) -> tuple[IntArray | OrdinalLabels, Any]:
    """Return labels and what is judged as arrays, in class codes; both have been checked."""
    if isinstance(y_true, OrdinalLabels):
        y = y_true.with_codes(y_true.classes)
        if metric.judges == "decisions":
            return y, OrderedLabels(y_true.classes).encode(response, name="y_pred")
        return y, validation.check_proba(response)
    check: Any = {
        "decisions": table.check_decisions,
        "probabilities": table.check_forecasts,
        "scores": table.check_scores,
    }[metric.judges]
    true, read, _ = check(y_true, response, None, labels)
    return true, read
