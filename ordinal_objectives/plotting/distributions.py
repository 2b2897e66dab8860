"""Predicted distributions of a number: along a feature, of rows, as intervals, and whether they are calibrated."""

from __future__ import annotations

import numpy as np

from ordinal_objectives.aliases import ArrayLike, LabelArray
from ordinal_objectives.distributions import OrdinalDistributionRegressor, interval_coverage
from ordinal_objectives.inspection import rows
from ordinal_objectives.plotting import style
from ordinal_objectives.utils import documented, validation

# Levels of the quantiles that a fan is drawn between; the median is the line inside.
_LEVELS = np.array([0.05, 0.15, 0.25, 0.35, 0.5, 0.65, 0.75, 0.85, 0.95])


@documented
class DistributionFanDisplay:
    """Quantiles of a number along one feature, or of each row: bands around the median, darker towards the middle.

    Parameters
    ----------
    values : array-like, shape (n_points,)
        Of the feature: rising numbers; or categories, or names of rows, as text, which are drawn as bars.
    quantiles : array-like of float, shape (n_points, n_levels)
        At ``levels``.
    levels : array-like of float, shape (n_levels,)
        Rising, an odd number of them, symmetric around 0.5.
    feature_name : str
        For the axis.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    <<figure_>>

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from ordinal_objectives.plotting import DistributionFanDisplay
    >>> quantiles = [[0.0, 1.0, 3.0], [1.0, 2.0, 5.0]]
    >>> display = DistributionFanDisplay([10.0, 20.0], quantiles, [0.1, 0.5, 0.9], "age").plot()
    >>> len(display.ax_.collections), len(display.ax_.lines)
    (1, 1)
    """

    def __init__(self, values: ArrayLike, quantiles: ArrayLike, levels: ArrayLike, feature_name: str) -> None:
        self.values: LabelArray = np.asarray(values)
        self.quantiles = np.asarray(quantiles)
        self.levels, self.feature_name = np.asarray(levels), feature_name

    @classmethod
    @documented
    def from_estimator(
        cls,
        estimator: OrdinalDistributionRegressor,
        X: object,
        feature: int | str | None = None,
        *,
        grid_resolution: int = 50,
        ax: style.Axes | None = None,
    ) -> DistributionFanDisplay:
        """Plot the predicted distribution of each row, or its mean over rows where a feature has each of its values.

        Parameters
        ----------
        estimator : OrdinalDistributionRegressor
            Fitted, around a classifier of this package, or a pipeline or search that ends in one.
        X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
            Rows to draw, or to average over.
        feature : int, str or None, default=None
            Column, or its name. None draws each row of X by itself, as new rows without y; a few dozen at most can be
            told apart. A data frame's index names them.
        grid_resolution : int, default=50
            At most so many values of the feature.
        <<ax>>
        """
        if feature is None:
            quantiles = estimator.predict_quantile(X, _LEVELS)
            return cls(style.row_names_of(None, len(quantiles), X), quantiles, _LEVELS, "row").plot(ax)
        values, tables = rows.over_grid(estimator.estimator_, X, feature, grid_resolution, None)
        proba = np.array([estimator.estimator_.predict_proba(table).mean(axis=0) for table in tables])
        quantiles = estimator.target_.quantiles(proba, _LEVELS[np.newaxis])
        return cls(values, quantiles, _LEVELS, rows.name_of(estimator.estimator_, X, feature)).plot(ax)

    def plot(self, ax: style.Axes | None = None) -> DistributionFanDisplay:
        """Draw a band for each pair of levels, and the median; bars where the values are text.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self.ax_ = ax = style.axes_or_new(ax, 6.0, 4.0)
        middle = len(self.levels) // 2
        colors = style.pyplot().get_cmap("Blues")(np.linspace(0.2, 0.6, middle))
        median, as_bars = self.quantiles[:, middle], self.values.dtype.kind in "OUS"
        places: LabelArray = np.arange(len(self.values)) if as_bars else self.values
        for i in range(middle):
            label = f"{self.levels[-1 - i] - self.levels[i]:.0%}"
            low, high = self.quantiles[:, i], self.quantiles[:, -1 - i]
            if as_bars:
                ax.bar(places, high - low, 0.8, low, color=colors[i], label=label)
            else:
                ax.fill_between(places, low, high, color=colors[i], linewidth=0, label=label)
        if as_bars:
            ax.hlines(median, np.subtract(places, 0.4), np.add(places, 0.4), color="black", label="median")
            style.name_ticks(ax.xaxis, list(map(str, self.values)))
        else:
            ax.plot(places, median, color="black", label="median")
        ax.set_xlabel(self.feature_name, parse_math=False)
        ax.set_ylabel("y")
        ax.legend(fontsize="small")
        self.figure_ = ax.figure
        return self


@documented
class PredictionIntervalsDisplay:
    """Intervals of rows in the order of their middle, and what happened: outside of them in another colour.

    Parameters
    ----------
    y : array-like of float, shape (n_samples,)
        Numbers.
    interval : array-like of float, shape (n_samples, 2)
        Lower and upper ends.
    coverage : float or None, default=None
        Probability of the intervals, for the title.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    <<figure_>>

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from ordinal_objectives.plotting import PredictionIntervalsDisplay
    >>> display = PredictionIntervalsDisplay([1.0, 4.0], [[0.0, 2.0], [0.0, 2.0]], 0.9).plot()
    >>> display.ax_.get_title()
    '90% intervals: 50% of 2 rows inside'
    """

    def __init__(self, y: ArrayLike, interval: ArrayLike, coverage: float | None = None) -> None:
        self.y, self.interval, self.coverage = np.asarray(y), np.asarray(interval), coverage
        self.share_inside = interval_coverage(y, interval)

    @classmethod
    @documented
    def from_estimator(
        cls,
        estimator: OrdinalDistributionRegressor,
        X: object,
        y: ArrayLike,
        *,
        coverage: float = 0.9,
        ax: style.Axes | None = None,
    ) -> PredictionIntervalsDisplay:
        """Plot the central intervals of some rows; a few hundred at most can be told apart.

        Parameters
        ----------
        estimator : OrdinalDistributionRegressor
            Fitted.
        X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
            Rows that it was not trained on.
        y : array-like of float, shape (n_samples,)
            Their numbers.
        coverage : float, default=0.9
            Probability of the intervals.
        <<ax>>
        """
        return cls(y, estimator.predict_interval(X, coverage), coverage).plot(ax)

    def plot(self, ax: style.Axes | None = None) -> PredictionIntervalsDisplay:
        """Draw a line for each interval, and a point for each number.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self.ax_ = ax = style.axes_or_new(ax, 7.0, 4.0)
        order = np.argsort(self.interval.mean(axis=1), kind="stable")
        (low, high), y, place = self.interval[order].T, self.y[order], np.arange(len(order))
        inside = (low <= y) & (y <= high)
        ax.vlines(place, low, high, color="0.75")
        for kind, color, name in ((inside, "tab:blue", "inside"), (~inside, "tab:red", "outside")):
            ax.plot(place[kind], y[kind], ".", color=color, label=name)
        ax.set(xlabel="rows by the middle of their interval", ylabel="y")
        stated = "" if self.coverage is None else f"{100 * self.coverage:.4g}% intervals: "
        ax.set_title(f"{stated}{self.share_inside:.0%} of {len(y)} rows inside", fontsize="medium")
        ax.legend(fontsize="small")
        self.figure_ = ax.figure
        return self


@documented
class PITDisplay:
    """Histogram of the probability integral transform: level where the predicted distributions are calibrated.

    A hump says that they are too wide, a valley that they are too narrow, a slope that they lie to one side.

    Parameters
    ----------
    ends : array-like of float, shape (n_samples, 2)
        P(y' < y | x) and P(y' <= y | x) of each row: it is spread evenly between them.
    n_bins : int, default=10
        Number of bars.

    Attributes
    ----------
    heights_ : ndarray of float64, shape (n_bins,)
        1 each where all is calibrated.
    ax_ : matplotlib.axes.Axes
    <<figure_>>

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from ordinal_objectives.plotting import PITDisplay
    >>> PITDisplay([[0.0, 0.5], [0.6, 0.6]], n_bins=2).plot().heights_
    array([1., 1.])
    """

    def __init__(self, ends: ArrayLike, n_bins: int = 10) -> None:
        self.ends, self.n_bins = np.asarray(ends), validation.check_integer("n_bins", n_bins, 1)

    @classmethod
    @documented
    def from_estimator(
        cls,
        estimator: OrdinalDistributionRegressor,
        X: object,
        y: ArrayLike,
        *,
        n_bins: int = 10,
        ax: style.Axes | None = None,
    ) -> PITDisplay:
        """Plot the histogram of some rows.

        Parameters
        ----------
        estimator : OrdinalDistributionRegressor
            Fitted.
        X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
            Rows that it was not trained on.
        y : array-like of float, shape (n_samples,)
            Their numbers.
        n_bins : int, default=10
            Number of bars.
        <<ax>>
        """
        return cls(estimator.pit(X, y), n_bins).plot(ax)

    def plot(self, ax: style.Axes | None = None) -> PITDisplay:
        """Draw the bars, and a line at the height of calibrated ones.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self.ax_ = ax = style.axes_or_new(ax, 5.0, 3.5)
        edges = np.linspace(0.0, 1.0, self.n_bins + 1)
        low, high = self.ends.T[:, :, np.newaxis]
        # A row without width lies in the bar that its end closes.
        step = np.where(low == high, edges >= low, np.clip((edges - low) / np.where(high > low, high - low, 1.0), 0, 1))
        step[:, 0], step[:, -1] = 0.0, 1.0
        self.heights_ = np.diff(step.mean(axis=0)) * self.n_bins
        ax.bar(edges[:-1], self.heights_, 1 / self.n_bins, align="edge", color="tab:blue", edgecolor="white")
        ax.axhline(1.0, color="black", linewidth=0.8, linestyle="--")
        ax.set(xlabel="P(y' <= y | x)", ylabel="density", xlim=(0.0, 1.0))
        self.figure_ = ax.figure
        return self
