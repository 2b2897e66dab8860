"""Pictures of a fitted ordinal model, as scikit-learn-style displays."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.extras import not_installed
from ordinal_objectives.inspection import FeatureEffect, feature_effect
from ordinal_objectives.validation import check_codes, check_thresholds

# More thresholds than this are named at even distances alone.
_MOST_NAMES = 10


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
        plt = _pyplot()
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


class FeatureEffectDisplay:
    """The score and the shifts of single thresholds along one feature: their partial dependence.

    The score moves all thresholds alike; a shift moves one of them. Shifts are zero where odds are proportional.

    Parameters
    ----------
    effect : FeatureEffect
        What :func:`ordinal_objectives.inspection.feature_effect` returns.
    feature_name : str
    class_names : sequence of str or None, default=None
        Names of the classes, lowest first; None prints the codes. A threshold is named by the classes on its sides.

    Attributes
    ----------
    axes_ : ndarray of matplotlib.axes.Axes, shape (2,)
        The score's, and the shifts', which share their scale.
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from ordinal_objectives.inspection import FeatureEffect
    >>> from ordinal_objectives.plotting import FeatureEffectDisplay
    >>> effect = FeatureEffect(np.arange(3.0), np.arange(3.0), np.outer(np.arange(3.0), [1.0, -1.0]))
    >>> display = FeatureEffectDisplay(effect, "age", ["low", "middle", "high"]).plot()
    >>> [len(ax.lines) for ax in display.axes_]  # the last one is at zero
    [1, 3]
    """

    def __init__(self, effect: FeatureEffect, feature_name: str, class_names: list[str] | None = None) -> None:
        n_classes = effect.shifts.shape[1] + 1
        names = [str(k) for k in range(n_classes)] if class_names is None else list(map(str, class_names))
        if len(names) != n_classes:
            raise ValueError(f"class_names must hold {n_classes} names; got {len(names)}")
        self.effect, self.feature_name = effect, feature_name
        self.threshold_names = [f"{low} | {high}" for low, high in pairwise(names)]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, feature: int | str, *, grid_resolution: int = 50, axes: Any = None
    ) -> FeatureEffectDisplay:
        """Plot the effect of a feature in a fitted ordinal classifier.

        Parameters
        ----------
        estimator : fitted classifier of this package
        X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
            Rows to average over.
        feature : int or str
            Column, or its name.
        grid_resolution : int, default=50
        axes : pair of matplotlib.axes.Axes or None, default=None
        """
        effect = feature_effect(estimator, X, feature, grid_resolution=grid_resolution)
        names = getattr(estimator, "feature_names_in_", None)
        name = feature if isinstance(feature, str) else f"feature {feature}" if names is None else str(names[feature])
        return cls(effect, name, [str(label) for label in estimator.ordered_classes_]).plot(axes)

    def plot(self, axes: Any = None) -> FeatureEffectDisplay:
        """Draw the score beside the shifts, a line for each threshold, coloured from the lowest to the highest.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        plt = _pyplot()
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import BoundaryNorm, ListedColormap

        if axes is None:
            _, axes = plt.subplots(1, 2, figsize=(9.0, 4.0), sharex=True, sharey=True, layout="constrained")
        left, right = axes
        n = len(self.threshold_names)
        colors = plt.get_cmap("viridis")(np.linspace(0.0, 0.9, n))
        marker = "o" if len(self.effect.values) < 10 else None
        left.plot(self.effect.values, self.effect.score, color="black", linewidth=2, marker=marker)
        for shift, color in zip(self.effect.shifts.T, colors, strict=True):
            right.plot(self.effect.values, shift, color=color, linewidth=2, marker=marker)
        right.axhline(0.0, color="black", linewidth=0.8, linestyle="--", zorder=1)
        for ax, title in ((left, "score f: moves all thresholds"), (right, "shifts $v_k$: move single thresholds")):
            ax.set_title(title, fontsize="medium")
            ax.set_xlabel(self.feature_name)
            ax.grid(alpha=0.25)
        left.set_ylabel("partial dependence, scale of the thresholds")
        named = range(0, n, -(-n // _MOST_NAMES))
        scale = ScalarMappable(BoundaryNorm(np.arange(-0.5, n), n), ListedColormap(colors))
        bar = right.figure.colorbar(scale, ax=right, ticks=list(named), label="threshold between classes")
        bar.ax.set_yticklabels([self.threshold_names[k] for k in named])
        bar.ax.minorticks_off()
        self.axes_, self.figure_ = np.array([left, right]), left.figure
        return self


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise not_installed(error, "plot") from None
    return plt
