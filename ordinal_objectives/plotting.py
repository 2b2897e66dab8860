"""Pictures of a fitted ordinal model, as scikit-learn-style displays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.validation import check_codes, check_thresholds


class ScoreDistributionDisplay:
    """Distribution of the score in each true class, cut by the thresholds.

    Parameters
    ----------
    raw_prediction : array-like of float, shape (n_samples,)
        Scores f(x).
    y : array-like of int, shape (n_samples,)
        True class codes 0..n_classes - 1.
    thresholds : array-like of float, shape (n_classes - 1,)
        On the scale of the scores.
    class_names : sequence of str or None, default=None
        Names of the classes, lowest first; None prints the codes.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

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
    ) -> None:
        self.thresholds = check_thresholds(thresholds, ordered=False)
        n_classes = self.thresholds.shape[0] + 1
        self.y = check_codes(y, n_classes)
        self.raw_prediction: NDArray[np.float64] = np.asarray(raw_prediction, dtype=np.float64)
        if self.raw_prediction.shape != self.y.shape:
            raise ValueError(
                f"raw_prediction must have shape {self.y.shape}, one score a label; got {self.raw_prediction.shape}"
            )
        self.class_names = [str(k) for k in range(n_classes)] if class_names is None else list(map(str, class_names))
        if len(self.class_names) != n_classes:
            raise ValueError(f"class_names must hold {n_classes} names; got {len(self.class_names)}")

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: ArrayLike, *, ax: Any = None) -> ScoreDistributionDisplay:
        """Plot the scores that a fitted ordinal classifier gives to (X, y)."""
        display = cls(
            estimator.predict_raw(X),
            estimator.encode_labels(y),
            estimator.thresholds_,
            [str(label) for label in estimator.ordered_classes_],
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> ScoreDistributionDisplay:
        """Draw one row of points and a box for each class, and a line for each threshold.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        try:
            import matplotlib.pyplot as plt
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(f"{error}: pip install 'ordinal-objectives[plot]'", name=error.name) from None

        if ax is None:
            _, ax = plt.subplots(figsize=(8.0, 1.2 + 0.6 * len(self.class_names)), layout="constrained")
        shift = np.random.default_rng(0)
        colors = plt.get_cmap("viridis")(np.linspace(0.1, 0.85, len(self.class_names)))
        self._shade_regions(ax, colors)
        for k, color in enumerate(colors):
            scores = self.raw_prediction[self.y == k]
            if scores.size == 0:
                continue
            height = k + shift.uniform(-0.28, 0.28, scores.size)
            ax.plot(scores, height, ".", color=color, alpha=min(1.0, max(0.08, 60 / scores.size)), markersize=5)
            low, middle, high = np.quantile(scores, [0.25, 0.5, 0.75])
            ax.plot([low, high], [k, k], color="black", linewidth=3, solid_capstyle="butt")
            ax.plot([middle], [k], "o", color="white", markeredgecolor="black", markersize=6)
        for threshold in self.thresholds:
            ax.axvline(threshold, color="black", linewidth=1, linestyle="--")
        ax.set_yticks(range(len(self.class_names)), self.class_names)
        ax.set_ylim(-0.6, len(self.class_names) - 0.4)
        ax.set_ylabel("true class")
        ax.set_xlabel("score f(x); dashed: thresholds; bar and dot: quartiles and median of each class")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _shade_regions(self, ax: Any, colors: NDArray[Any]) -> None:
        """Tint the part of the score axis between two thresholds in the colour of the class between them."""
        low, high = self.raw_prediction.min(), self.raw_prediction.max()
        low, high = min(low, self.thresholds.min()), max(high, self.thresholds.max())
        margin = 0.05 * (high - low) or 1.0
        edges = np.concatenate([[low - margin], np.sort(self.thresholds), [high + margin]])
        for k, color in enumerate(colors):
            ax.axvspan(edges[k], edges[k + 1], color=color, alpha=0.08, linewidth=0)
        ax.set_xlim(edges[0], edges[-1])
