"""What P(y <= k) says beside what happened, one curve for each threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ordinal_objectives.decisions.reliability import CumulativeReliability, cumulative_reliability
from ordinal_objectives.plotting.style import (
    axes_or_new,
    class_colors,
    class_names_of,
    classes_in_order,
    colour_bar,
    pyplot,
    threshold_names,
)
from ordinal_objectives.utils.shared_docs import documented


@documented
class CumulativeReliabilityDisplay:
    """Stated P(y <= k) beside the share of rows that it happened to, with a band and the counts.

    A curve on the diagonal is calibrated. Bands are the confidence intervals of the share in each bin, by itself, those
    of Clopper and Pearson; the bars below count the rows of all thresholds in each bin.

    Parameters
    ----------
    reliability : CumulativeReliability
        What :func:`ordinal_objectives.decisions.cumulative_reliability` returns.
    <<class_names>>

    Attributes
    ----------
    ax_, counts_ax_ : matplotlib.axes.Axes
    <<figure_>>

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from ordinal_objectives.plotting import CumulativeReliabilityDisplay
    >>> display = CumulativeReliabilityDisplay.from_predictions([0, 1, 1, 2], [[0.2, 0.5, 0.3]] * 4, n_bins=2)
    >>> len(display.ax_.lines)  # two thresholds and the diagonal
    3
    """

    def __init__(self, reliability: CumulativeReliability, class_names: Any = None) -> None:
        self.reliability = reliability
        self.class_names = class_names_of(class_names, len(reliability.stated) + 1)

    @classmethod
    @documented
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, labels: Any = None, ax: Any = None, **options: Any
    ) -> Any:
        """Plot how well the probabilities of a fitted classifier are calibrated on (X, y).

        Parameters
        ----------
        estimator : fitted classifier
            Of this package or another, or a pipeline or search, with ``predict_proba``.
        X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
            Rows to predict, better others than those of the training.
        y : array-like, shape (n_samples,)
            Labels.
        labels : sequence or None, default=None
            The classes, lowest first. None takes ``ordered_classes_``, the categories of an ordered y, or numbers in
            their order; names without an order are refused.
        <<ax>>
        **options
            ``n_bins``, ``level`` and ``sample_weight`` of
            :func:`ordinal_objectives.decisions.cumulative_reliability`.
        """
        known = classes_in_order(estimator, y, labels)
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(f"estimator must have predict_proba; got {type(estimator).__name__}")
        columns = known.encode(estimator.classes_, name="classes_ of the estimator")
        proba = np.zeros((len(codes := known.encode(y)), len(known.ordered_classes_)))
        proba[:, columns] = estimator.predict_proba(X)
        found = cumulative_reliability(codes, proba, labels=range(proba.shape[1]), **options)
        return cls(found, known.ordered_classes_).plot(ax=ax)

    @classmethod
    @documented
    def from_predictions(
        cls, y_true: ArrayLike, proba: ArrayLike, *, class_names: Any = None, ax: Any = None, **options: Any
    ) -> Any:
        """Plot how well probabilities are calibrated.

        Parameters
        ----------
        y_true : array-like, shape (n_samples,)
            Class codes, or labels in the order of ``labels``.
        proba : array-like of float, shape (n_samples, n_classes)
            Lowest class first.
        <<class_names>>
        <<ax>>
        **options
            ``labels``, ``n_bins``, ``level`` and ``sample_weight`` of
            :func:`ordinal_objectives.decisions.cumulative_reliability`.
        """
        return cls(cumulative_reliability(y_true, proba, **options), class_names).plot(ax=ax)

    def plot(self, ax: Any = None) -> CumulativeReliabilityDisplay:
        """Draw a curve with its band for each threshold, and the counts below.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        pyplot()
        of, ax = self.reliability, axes_or_new(ax, 6.5, 5.5)
        colors = class_colors(len(of.stated))
        counts_ax = ax.inset_axes([0.0, -0.28, 1.0, 0.2], sharex=ax)
        ax.plot([0, 1], [0, 1], color="black", linewidth=0.8, linestyle="--", zorder=1)
        for stated, happened, low, high, count, color in zip(
            of.stated, of.happened, of.low, of.high, of.count, colors, strict=True
        ):
            seen = count > 0
            ax.fill_between(stated[seen], low[seen], high[seen], color=color, alpha=0.15, linewidth=0)
            ax.plot(stated[seen], happened[seen], marker="o", markersize=4, color=color, linewidth=1.5)
        n_bins = of.count.shape[1]
        counts_ax.bar((np.arange(n_bins) + 0.5) / n_bins, of.count.sum(axis=0), width=0.9 / n_bins, color="0.5")
        ax.set(xlim=(0, 1), ylim=(0, 1), ylabel="share of rows with y <= k")
        ax.tick_params(labelbottom=False)
        ax.grid(alpha=0.25)
        counts_ax.set(xlabel="stated P(y <= k)", ylabel="rows")
        colour_bar(ax, colors, threshold_names(self.class_names), "threshold between classes")
        self.ax_, self.counts_ax_, self.figure_ = ax, counts_ax, ax.figure
        return self
