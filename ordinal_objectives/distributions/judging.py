"""Judging predicted distributions of a number: metrics of quantiles and intervals, and scorers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ordinal_objectives.aliases import ArrayLike, Estimator, FloatArray
from ordinal_objectives.estimators.class_order import response_of
from ordinal_objectives.scorers import RoutedScorer
from ordinal_objectives.utils import validation

_MEASURES = ("crps", "quantile_loss", "coverage", "width", "log_loss")


def numbers_of(values: ArrayLike, name: str, *, warn: bool = False) -> FloatArray:
    """Return finite numbers, one-dimensional, or raise ValueError that names the argument."""
    if values is None:
        raise ValueError("requires y to be passed, but the target y is None" if name == "y" else f"{name} is None")
    numbers = validation.as_floats(column_or_1d(validation.readable(values, name=name), warn=warn), name=name)
    validation.check_finite(numbers, name, "it must hold finite numbers, without NaN or infinity")
    return numbers


def ends_of(y: Any, name: str = "y") -> FloatArray | None:
    """Return the lowest and the highest number that each row may be, (n_samples, 2); None where it has one number.

    Two fields of a structured array, or columns of a table, named "lower" and "upper" are read by name. An event, which
    is boolean or so named, and a time, as survival libraries have them, are that number where the event was seen, and
    more than it where not. Other columns are the lowest and the highest.

    Raises
    ------
    ValueError
        If there are other fields, or unnamed columns may be an event and a time.
    """
    fields = getattr(getattr(y, "dtype", None), "names", None)
    if fields is None and np.asarray(y).shape[1:] != (2,):
        return None
    y = validation.readable(y, name=name)
    names = [str(one) for one in fields or validation.names_along(y, "columns", [0, 1])]
    columns = [y[one] for one in fields] if fields else list(np.asarray(y).T)
    columns = [np.array(column.tolist()) if column.dtype.kind == "O" else column for column in columns]
    numbers = dict(zip(names, (validation.as_floats(column, name=name) for column in columns), strict=True))
    if set(names) == {"lower", "upper"}:
        return np.column_stack([numbers["lower"], numbers["upper"]])
    events = [one for one, column in zip(names, columns, strict=True) if column.dtype.kind == "b" or one == "event"]
    if len(names) == 2 and len(events) == 1:
        event = numbers.pop(events[0])
        (time,) = numbers.values()
        if not np.isin(event, (0.0, 1.0)).all() or not np.isfinite(time).all():
            raise ValueError(f"{name} must hold events that are 0 or 1, and finite times")
        return np.column_stack([np.where(event, time, np.nextafter(time, np.inf)), np.where(event, time, np.inf)])
    if fields:
        raise ValueError(
            f"{name} must have the fields 'lower' and 'upper', or a boolean event and a time; got {fields}"
        )
    lower, upper = numbers.values()
    if np.isin(lower, (0.0, 1.0)).all() and np.isfinite(upper).all() and (lower != upper).any():
        raise ValueError(
            f"{name} must say what its two columns are, of which the first holds only 0 and 1: pass a table with the "
            f"columns 'lower' and 'upper', or 'event' and 'time', or a structured array of a boolean event and a time"
        )
    return np.column_stack([lower, upper])


def known_numbers(y: ArrayLike, name: str) -> FloatArray:
    """Return numbers of which each is known, or raise ValueError that says what judges the others."""
    given = np.asarray(y)
    if given.dtype.names is not None or given.shape[1:] == (2,):
        raise ValueError(
            f"{name} must hold one known number a row; where only the lowest and the highest that it may be are known, "
            f"take log_loss or DistributionScorer('log_loss'); got shape {given.shape}, dtype {given.dtype}"
        )
    return numbers_of(y, name)


def levels_of(q: ArrayLike, name: str = "q") -> FloatArray:
    """Return levels of quantiles, at least one-dimensional, or raise ValueError unless they are in [0, 1]."""
    levels = np.atleast_1d(validation.as_floats(q, name=name))
    if levels.ndim > 1 or not ((levels >= 0.0) & (levels <= 1.0)).all():
        hint = validation.percent_hint(levels if np.ndim(q) else levels[0])
        raise ValueError(f"{name} must hold levels in [0, 1], one-dimensional; got {q!r}{hint}")
    return levels


def quantile_loss(
    y_true: ArrayLike, quantiles: ArrayLike, levels: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean quantile loss, also called pinball loss, over rows and levels.

    For a level q and a quantile z it is q (y - z) where y is above z, and (1 - q) (z - y) below. Twice the mean over
    many evenly spaced levels is the continuous ranked probability score, so that any model of quantiles can be compared
    by it (Koenker and Bassett, Regression quantiles, Econometrica 1978).

    Parameters
    ----------
    y_true : array-like of float, shape (n_samples,)
        Numbers.
    quantiles : array-like of float, shape (n_samples, n_levels), or (n_samples,) for one level
        Predicted quantiles.
    levels : array-like of float, shape (n_levels,), or float
        Levels in [0, 1], one for each column.
    sample_weight : array-like of float, shape (n_samples,), or None, default=None
        Weights of the rows.

    Returns
    -------
    float
        In the unit of y; lower is better.

    Raises
    ------
    ValueError
        If shapes differ, a number is not finite, or a level is outside [0, 1].

    Examples
    --------
    >>> from ordinal_objectives.distributions import quantile_loss
    >>> quantile_loss([1.0, 4.0], [[0.0, 2.0], [0.0, 2.0]], [0.25, 0.75])
    0.75
    """
    y, at = known_numbers(y_true, "y_true"), levels_of(levels, "levels")
    validation.refuse_other_order_of_classes(at.tolist(), quantiles, "quantiles", axes=["columns"], what="levels")
    found = validation.as_floats(quantiles, name="quantiles")
    found = found[:, np.newaxis] if found.ndim == 1 else found
    validation.check_shape("quantiles", found, (len(y), len(at)))
    validation.check_finite(found, "quantiles", "they must be finite")
    above = y[:, np.newaxis] - found
    losses = np.maximum(at * above, (at - 1.0) * above).mean(axis=1)
    return float(np.average(losses, weights=validation.relative_weights(sample_weight, len(y))))


def interval_coverage(y_true: ArrayLike, interval: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Return the share of rows whose number lies in their interval, ends included.

    Parameters
    ----------
    y_true : array-like of float, shape (n_samples,)
        Numbers.
    interval : array-like of float, shape (n_samples, 2)
        Lower and upper ends.
    sample_weight : array-like of float, shape (n_samples,), or None, default=None
        Weights of the rows.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If shapes differ, a number is missing, or a lower end is above the upper one.

    Examples
    --------
    >>> from ordinal_objectives.distributions import interval_coverage
    >>> interval_coverage([1.0, 4.0], [[0.0, 2.0], [0.0, 2.0]])
    0.5
    """
    y, ends = known_numbers(y_true, "y_true"), _interval(interval)
    check_consistent_length(y, ends)
    inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
    return float(np.average(inside, weights=validation.relative_weights(sample_weight, len(y))))


def interval_width(interval: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Return the mean width of intervals, in the unit of y.

    Parameters
    ----------
    interval : array-like of float, shape (n_samples, 2)
        Lower and upper ends.
    sample_weight : array-like of float, shape (n_samples,), or None, default=None
        Weights of the rows.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If a number is missing, or a lower end is above the upper one.

    Examples
    --------
    >>> from ordinal_objectives.distributions import interval_width
    >>> interval_width([[0.0, 2.0], [0.0, 1.0]])
    1.5
    """
    ends = _interval(interval)
    return float(np.average(ends[:, 1] - ends[:, 0], weights=validation.relative_weights(sample_weight, len(ends))))


def _interval(interval: ArrayLike) -> FloatArray:
    ends = validation.as_floats(interval, name="interval")
    if ends.ndim != 2 or ends.shape[1] != 2 or not (ends[:, 0] <= ends[:, 1]).all():
        raise ValueError("interval must have two columns, lower ends that are not above the upper ones")
    return ends


class DistributionScorer(RoutedScorer):
    """Scorer of :class:`.OrdinalDistributionRegressor`, alone or at the end of a pipeline or a search.

    For ``scoring=`` of cross-validation and searches: higher is better.

    Parameters
    ----------
    measure : {"crps", "quantile_loss", "coverage", "width", "log_loss"}
        "crps": minus the continuous ranked probability score. "quantile_loss": minus :func:`quantile_loss` at
        ``levels``. "coverage": minus the distance of the coverage of central intervals from what they promise.
        "width": minus their mean width, which says something beside the coverage only. "log_loss": minus
        :meth:`.OrdinalDistributionRegressor.log_loss`, also where some numbers are known within bounds only.
    levels : array-like of float, or float, default=0.5
        Of "quantile_loss".
    coverage : float, default=0.9
        Of the intervals.

    Raises
    ------
    ValueError
        If the measure is unknown.

    Examples
    --------
    >>> from ordinal_objectives.distributions import DistributionScorer
    >>> DistributionScorer("crps")
    DistributionScorer('crps')
    """

    def __init__(self, measure: str = "crps", *, levels: ArrayLike = 0.5, coverage: float = 0.9) -> None:
        validation.check_choice(measure, _MEASURES, name="measure")
        self.measure, self.levels, self.coverage = measure, levels_of(levels, "levels"), coverage

    def __repr__(self) -> str:
        more = {"crps": "", "log_loss": "", "quantile_loss": f", levels={self.levels.tolist()}"}
        return f"DistributionScorer({self.measure!r}{more.get(self.measure, f', coverage={self.coverage}')})"

    def __call__(
        self, estimator: Estimator, X: object, y_true: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Score a fitted estimator on some rows.

        Parameters
        ----------
        estimator : object
            An ``OrdinalDistributionRegressor``, or a pipeline or a search that ends in one.
        X : array-like, sparse matrix or data frame, shape (n_samples, n_features)
            Features.
        y_true : array-like of float, shape (n_samples,), or (n_samples, 2) for "log_loss"
            Numbers; or the lowest and the highest that each may be, as in ``fit``.
        sample_weight : array-like of float, shape (n_samples,), or None, default=None
            Weights of the rows.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If y is not what the measure takes.
        """
        judged = partial(response_of, estimator, what=f"{self!r} judges distributions")
        if self.measure == "crps":
            return -float(judged("crps", X, y_true, sample_weight))
        if self.measure == "log_loss":
            return -float(judged("log_loss", X, y_true, sample_weight))
        if self.measure == "quantile_loss":
            quantiles = judged("predict_quantile", X, self.levels)
            return -quantile_loss(y_true, quantiles, self.levels, sample_weight)
        interval = judged("predict_interval", X, self.coverage)
        if self.measure == "width":
            return -interval_width(interval, sample_weight)
        return -abs(interval_coverage(y_true, interval, sample_weight) - self.coverage)
