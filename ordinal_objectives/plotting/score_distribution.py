"""The scores of each true class, cut by the thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.inspection.rows import unwrapped
from ordinal_objectives.plotting.style import class_colors, class_names_of, colour_bar, pyplot
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import as_floats, check_codes, check_thresholds


@documented
class ScoreDistributionDisplay:
    """Distribution of the score in each true class, cut by the thresholds.

    Where every row is predicted to be of the class between whose thresholds its score lies, as by the median of one
    score, these regions are tinted. Where that does not hold for all rows, since thresholds move with x or another
    rule decides, points have the colour of the class that is predicted, and the axis says for how many rows the two
    differ: the dashed lines are then the thresholds of a row without shifts.

    Parameters
    ----------
    raw_prediction : array-like of float, shape (n_samples,)
        Scores f(x).
    y : array-like of int, shape (n_samples,)
        True class codes 0..n_classes - 1.
    thresholds : array-like of float, shape (n_classes - 1,)
        On the scale of the scores.
    <<class_names>>
    predicted : array-like of int, shape (n_samples,), or None, default=None
        Class codes that the model predicts; None takes those of the regions.

    Attributes
    ----------
    n_outside_ : int
        Rows whose predicted class is not that of the region their score lies in.
    <<ax_, figure_>>

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from ordinal_objectives.plotting import ScoreDistributionDisplay
    >>> display = ScoreDistributionDisplay([-1.2, -0.8, 0.9, 1.1], [0, 0, 1, 1], [0.0]).plot()
    >>> len(display.ax_.get_yticks())
    2
    """

    def __init__(
        self,
        raw_prediction: ArrayLike,
        y: ArrayLike,
        thresholds: ArrayLike,
        class_names: list[str] | None = None,
        predicted: ArrayLike | None = None,
    ) -> None:
        self.thresholds = check_thresholds(thresholds, ordered=False)
        n_classes = self.thresholds.shape[0] + 1
        self.y = check_codes(y, n_classes)
        self.raw_prediction: NDArray[np.float64] = as_floats(raw_prediction, name="raw_prediction")
        if self.raw_prediction.shape != self.y.shape:
            raise ValueError(
                f"raw_prediction must have shape {self.y.shape}, one score a label; got {self.raw_prediction.shape}"
            )
        if not np.isfinite(self.raw_prediction).all():
            raise ValueError("raw_prediction must be finite; it holds NaN or infinity")
        self.class_names = class_names_of(class_names, n_classes)
        # A score at a threshold belongs to the lower class.
        regions = np.searchsorted(np.sort(self.thresholds), self.raw_prediction)
        self.predicted = regions if predicted is None else check_codes(predicted, n_classes, name="predicted")
        if self.predicted.shape != self.y.shape:
            raise ValueError(f"predicted must have shape {self.y.shape}, one class a label; got {self.predicted.shape}")
        self.n_outside_ = int(np.count_nonzero(self.predicted != regions))

    @classmethod
    @documented
    def from_estimator(cls, estimator: Any, X: Any, y: ArrayLike, *, ax: Any = None) -> ScoreDistributionDisplay:
        """Plot the scores that a fitted ordinal classifier gives to (X, y).

        Parameters
        ----------
        estimator : fitted classifier of this package, or a pipeline or search that ends in one
            What is drawn.
        X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
            Rows to predict.
        y : array-like, shape (n_samples,)
            Labels.
        <<ax>>
        """
        model, prepared = unwrapped(estimator)
        X = prepared(X)
        display = cls(
            model.predict_raw(X),
            model.encode_labels(y),
            model.thresholds_,
            [str(label) for label in model.ordered_classes_],
            model.encode_labels(model.predict(X)),
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> ScoreDistributionDisplay:
        """Draw one row of points and a bar of quartiles for each class, and a line for each threshold.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        plt = pyplot()
        if ax is None:
            _, ax = plt.subplots(figsize=(8.0, 1.2 + 0.6 * len(self.class_names)), layout="constrained")
        shift = np.random.default_rng(0)
        colors = class_colors(len(self.class_names))
        self._set_limits(ax, colors)
        for k in range(len(colors)):
            of_class = self.y == k
            scores = self.raw_prediction[of_class]
            if scores.size == 0:
                continue
            height = k + shift.uniform(-0.28, 0.28, scores.size)
            shown = self.predicted[of_class] if self.n_outside_ else np.full(scores.size, k)
            alpha = min(1.0, max(0.08, 60 / scores.size))
            for label in np.unique(shown):
                points = shown == label
                ax.plot(scores[points], height[points], ".", color=colors[label], alpha=alpha, markersize=5)
            low, middle, high = np.quantile(scores, [0.25, 0.5, 0.75])
            ax.plot([low, high], [k, k], color="black", linewidth=3, solid_capstyle="butt")
            ax.plot([middle], [k], "o", color="white", markeredgecolor="black", markersize=6)
        for threshold in self.thresholds:
            ax.axvline(threshold, color="black", linewidth=1, linestyle="--")
        ax.set_yticks(range(len(self.class_names)), self.class_names, parse_math=False)
        ax.set_ylim(-0.6, len(self.class_names) - 0.4)
        ax.set_ylabel("true class")
        ax.set_xlabel(self._caption(), fontsize="small")
        if self.n_outside_:
            colour_bar(ax, colors, self.class_names, "predicted class")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _caption(self) -> str:
        quartiles = "bar and dot: quartiles and median of each class"
        if not self.n_outside_:
            return f"score f(x); dashed: thresholds; {quartiles}"
        return (
            f"score f(x); dashed: thresholds of a row without shifts; {quartiles}\n"
            f"colour: predicted class; for {self.n_outside_} of {self.y.size} rows not the one between the dashed lines"
        )

    def _set_limits(self, ax: Any, colors: NDArray[Any]) -> None:
        """Set the score axis; tint its part between two thresholds if that is where the class between is predicted."""
        low, high = self.raw_prediction.min(), self.raw_prediction.max()
        low, high = min(low, self.thresholds.min()), max(high, self.thresholds.max())
        margin = 0.05 * (high - low) or 1.0
        edges = np.concatenate([[low - margin], np.sort(self.thresholds), [high + margin]])
        for k, color in enumerate(colors):
            if not self.n_outside_:
                ax.axvspan(edges[k], edges[k + 1], color=color, alpha=0.08, linewidth=0)
        ax.set_xlim(edges[0], edges[-1])
