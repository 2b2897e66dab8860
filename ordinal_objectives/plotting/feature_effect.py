"""The score and the shifts along one feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.inspection import FeatureEffect, LocalEffects, accumulated_local_effects, feature_effect
from ordinal_objectives.inspection.rows import name_of, unwrapped
from ordinal_objectives.plotting.style import class_colors, class_names_of, colour_bar, pair_of, pyplot, threshold_names
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import check_choice


@documented
class FeatureEffectDisplay:
    """The score and the shifts of single thresholds along one feature: partial dependence or accumulated local effects.

    The score moves all thresholds alike; a shift moves one of them. Shifts are zero where odds are proportional.

    Parameters
    ----------
    effect : FeatureEffect or LocalEffects
        What :func:`ordinal_objectives.inspection.feature_effect` or
        :func:`ordinal_objectives.inspection.accumulated_local_effects` returns. Categories are drawn as bars and
        points.
    feature_name : str
        Name of the feature, for the axes.
    <<class_names>>
        A threshold is named by the classes on its sides.

    Attributes
    ----------
    axes_ : ndarray of matplotlib.axes.Axes, shape (2,)
        The score's, and the shifts', which share their scale.
    <<figure_>>

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

    def __init__(
        self, effect: FeatureEffect | LocalEffects, feature_name: str, class_names: list[str] | None = None
    ) -> None:
        n_classes = effect.shifts.shape[1] + 1
        names = class_names_of(class_names, n_classes)
        self.effect, self.feature_name = effect, feature_name
        self.threshold_names = threshold_names(names)

    @classmethod
    @documented
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        feature: int | str,
        *,
        kind: str = "partial",
        grid_resolution: int = 50,
        axes: Any = None,
    ) -> FeatureEffectDisplay:
        """Plot the effect of a feature in a fitted ordinal classifier.

        Parameters
        ----------
        estimator : fitted classifier of this package, or a pipeline or search that ends in one
            The features are those that the pipeline is given.
        X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
            Rows to average over.
        feature : int or str
            Column, or its name.
        kind : {"partial", "local"}, default="partial"
            "partial": partial dependence. "local": accumulated local effects, which do not combine features in ways
            that the data do not have; of a feature of numbers alone.
        grid_resolution : int, default=50
            At most so many values of the feature, or intervals.
        <<axes>>
        """
        check_choice(kind, ("partial", "local"), name="kind")
        of = accumulated_local_effects if kind == "local" else feature_effect
        effect: Any = of(estimator, X, feature, grid_resolution=grid_resolution)
        name = name_of(estimator, X, feature)
        return cls(effect, name, [str(label) for label in unwrapped(estimator)[0].ordered_classes_]).plot(axes)

    def plot(self, axes: Any = None) -> FeatureEffectDisplay:
        """Draw the score beside the shifts, a line for each threshold, coloured from the lowest to the highest.

        Of categories the score is drawn as bars and the shifts as points.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        plt = pyplot()
        if axes is None:
            _, axes = plt.subplots(1, 2, figsize=(9.0, 4.0), sharex=True, sharey=True, layout="constrained")
        left, right = pair_of(axes, "the score and the shifts")
        n = len(self.threshold_names)
        colors = class_colors(n)
        values: NDArray[Any] = self.effect.values
        style: dict[str, Any] = {"linewidth": 2.0}
        if values.dtype.kind == "O":
            positions = np.arange(len(values))
            left.bar(positions, self.effect.score, color="0.35")
            style = {"linestyle": "", "marker": "o"}
            for ax in (left, right):
                ax.set_xticks(
                    positions, [str(value) for value in values], rotation=45 if len(values) > 6 else 0, parse_math=False
                )
            values = positions
        else:
            style |= {"marker": "o"} if len(values) < 10 else {}
            left.plot(values, self.effect.score, color="black", **style)
        for shift, color in zip(self.effect.shifts.T, colors, strict=True):
            right.plot(values, shift, color=color, **style)
        right.axhline(0.0, color="black", linewidth=0.8, linestyle="--", zorder=1)
        for ax, title in ((left, "score f: moves all thresholds"), (right, "shifts $v_k$: move single thresholds")):
            ax.set_title(title, fontsize="medium")
            ax.set_xlabel(self.feature_name, parse_math=False)
            ax.grid(alpha=0.25)
        what = "accumulated local effect" if isinstance(self.effect, LocalEffects) else "partial dependence"
        left.set_ylabel(f"{what}, scale of the thresholds")
        colour_bar(right, colors, self.threshold_names, "threshold between classes")
        self.axes_, self.figure_ = np.array([left, right]), left.figure
        return self
