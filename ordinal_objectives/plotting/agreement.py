"""The agreement of raters: the kappa of each two of them with its interval, and what a model can reach."""

from __future__ import annotations

from typing import Any

import numpy as np

from ordinal_objectives.agreement import AgreementReport, agreement_report
from ordinal_objectives.aliases import ArrayLike
from ordinal_objectives.metrics import Interval
from ordinal_objectives.plotting import style
from ordinal_objectives.utils.shared_docs import documented


@documented
class AgreementDisplay:
    """Kappa of each two raters with its interval, from the lowest to the highest.

    Bands show the intervals of Krippendorff's alpha and of the highest quadratic weighted kappa that a model can reach.
    A rater whose pairs are all at the bottom stands out.

    Parameters
    ----------
    report : AgreementReport
        What :func:`~ordinal_objectives.agreement.agreement_report` returns.

    Attributes
    ----------
    <<ax_, figure_>>

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from ordinal_objectives.plotting import AgreementDisplay
    >>> display = AgreementDisplay.from_raters([0, 0, 1, 1, 2, 2], ["Ann", "Bob"] * 3, [1, 1, 2, 3, 3, 3])
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['Ann, Bob']
    """

    def __init__(self, report: AgreementReport) -> None:
        self.report = report

    @classmethod
    @documented
    def from_raters(
        cls, row: ArrayLike, rater: ArrayLike, label: ArrayLike, *, ax: style.Axes | None = None, **options: Any
    ) -> AgreementDisplay:
        """Plot the agreement of raters.

        Parameters
        ----------
        row, rater, label : array-like, shape (n_answers,)
            The row that is rated, who rates it, and the answer.
        <<ax>>
        **options
            Those of :func:`~ordinal_objectives.agreement.agreement_report`.
        """
        return cls(agreement_report(row, rater, label, **options)).plot(ax)

    def plot(self, ax: style.Axes | None = None) -> AgreementDisplay:
        """Draw a point and a line for each pair, and a band for alpha and for the ceiling.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        pairs = sorted(self.report.pairs.items(), key=lambda pair: (not np.isnan(pair[1].value), pair[1].value))
        ax = style.axes_or_new(ax, 7.0, 1.2 + 0.3 * len(pairs))
        for found, name, color in (
            (self.report.alpha, "Krippendorff's alpha", "tab:blue"),
            (self.report.ceiling, "highest kappa of a model", "tab:orange"),
        ):
            _draw_band(ax, found, name, color)
        values, low, high = np.array([found for _, found in pairs]).T
        places = np.arange(len(pairs))
        ax.hlines(places, low, high, color="0.3")
        ax.plot(values, places, "o", color="0.1")
        ax.set_yticks(places, [f"{a}, {b}" for (a, b), _ in pairs], parse_math=False)
        ax.set_xlabel(f"weighted kappa, {100.0 * self.report.level:.4g}% intervals")
        ax.legend(loc="best")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _draw_band(ax: style.Axes, found: Interval, name: str, color: str) -> None:
    ax.axvspan(found.low, found.high, color=color, alpha=0.15)
    ax.axvline(found.value, color=color, linestyle="--", label=name)
