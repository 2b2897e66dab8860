"""A decision curve: the net benefit of acting by a model's probabilities, beside acting for all and for none."""

from __future__ import annotations

from typing import Any

import numpy as np

from ordinal_objectives.aliases import ArrayLike, Estimator
from ordinal_objectives.metrics.decision_curve import NetBenefit, net_benefit
from ordinal_objectives.plotting import style
from ordinal_objectives.plotting.classes import classes_in_order, proba_in_order
from ordinal_objectives.utils import documented

# Names of the two other choices in the legend.
_ALL, _NONE = "act for all", "act for none"


@documented
class NetBenefitDisplay:
    """The net benefit of acting where a model states P(y >= k) of at least t, along t.

    It is of use at thresholds where it lies above the lines of acting for all rows and for none. Several models are
    drawn into the same axes, each with its name.

    Parameters
    ----------
    net_benefit : NetBenefit
        What :func:`ordinal_objectives.metrics.net_benefit` returns. Intervals, if there are, are drawn as a band.
    name : str, default="model"
        Name of the model, for the legend.

    Attributes
    ----------
    <<ax_, figure_>>

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from ordinal_objectives.plotting import NetBenefitDisplay
    >>> proba = [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]
    >>> display = NetBenefitDisplay.from_predictions([0, 2], proba, at_least=1)
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['act for all', 'act for none', 'model']
    """

    def __init__(self, net_benefit: NetBenefit, name: str = "model") -> None:
        self.net_benefit, self.name = net_benefit, name

    @classmethod
    @documented
    def from_estimator(
        cls,
        estimator: Estimator,
        X: object,
        y: ArrayLike,
        *,
        at_least: object,
        labels: ArrayLike | None = None,
        name: str | None = None,
        ax: style.Axes | None = None,
        **options: Any,
    ) -> NetBenefitDisplay:
        """Plot the net benefit of acting by a fitted classifier's probabilities for (X, y).

        Parameters
        ----------
        estimator : fitted classifier
            Of this package or another, or a pipeline or search, with ``predict_proba``.
        X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
            Rows to predict, others than those of the training.
        y : array-like, shape (n_samples,)
            Labels.
        at_least : label
            The class from which on one acts.
        labels : sequence or None, default=None
            The classes, lowest first. None takes those of a classifier of this package, also inside another, the
            categories of an ordered y, or numbers in their order; names without an order are refused.
        name : str or None, default=None
            Name in the legend. None takes that of the estimator's class.
        <<ax>>
        **options
            ``sample_weight``, ``thresholds``, ``groups``, ``level``, ``n_draws`` and ``random_state`` of
            :func:`ordinal_objectives.metrics.net_benefit`.
        """
        known = classes_in_order(estimator, y, labels)
        proba = proba_in_order(estimator, X, known)
        found = net_benefit(y, proba, at_least=at_least, labels=known.ordered_classes_, **options)
        return cls(found, type(estimator).__name__ if name is None else name).plot(ax)

    @classmethod
    @documented
    def from_predictions(
        cls,
        y_true: ArrayLike,
        proba: ArrayLike,
        *,
        at_least: object,
        name: str = "model",
        ax: style.Axes | None = None,
        **options: Any,
    ) -> NetBenefitDisplay:
        """Plot the net benefit of acting by probabilities.

        Parameters
        ----------
        y_true : array-like, shape (n_samples,)
            Class codes, or labels in the order of ``labels``.
        proba : array-like of float, shape (n_samples, n_classes)
            Lowest class first.
        at_least : label
            The class from which on one acts.
        name : str, default="model"
            Name in the legend.
        <<ax>>
        **options
            ``labels``, ``sample_weight``, ``thresholds``, ``groups``, ``level``, ``n_draws`` and ``random_state`` of
            :func:`ordinal_objectives.metrics.net_benefit`.
        """
        return cls(net_benefit(y_true, proba, at_least=at_least, **options), name).plot(ax)

    def plot(self, ax: style.Axes | None = None) -> NetBenefitDisplay:
        """Draw the curve with its band, and the two other choices where the axes do not have them.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        found, ax = self.net_benefit, style.axes_or_new(ax, 6.0, 4.5)
        if _ALL not in [line.get_label() for line in ax.lines]:
            ax.plot(found.thresholds, found.treat_all, color="0.5", linewidth=1.2, label=_ALL)
            ax.axhline(0.0, color="black", linewidth=0.8, linestyle="--", label=_NONE)
            top = max(found.share, found.model.max(), 1e-9)
            ax.set_ylim(-0.15 * top, 1.1 * top)  # acting for all falls without bound
        (line,) = ax.plot(found.thresholds, found.model, linewidth=1.8, label=self.name)
        if found.low is not None and found.high is not None:
            ax.fill_between(found.thresholds, found.low, found.high, color=line.get_color(), alpha=0.15, linewidth=0)
        ax.set_xlabel(f"act from this P(y >= {found.at_least}) on", parse_math=False)
        bands = "" if found.low is None else f"; bands: {100.0 * found.level:.4g}%"
        ax.set(xlim=(0.0, min(1.0, float(np.ceil(10.0 * found.thresholds[-1]) / 10.0))), ylabel=f"net benefit{bands}")
        ax.grid(alpha=0.25)
        for text in ax.legend(loc="best").get_texts():
            text.set_parse_math(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
