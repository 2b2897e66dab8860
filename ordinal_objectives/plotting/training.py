"""The losses of a training, and the path of its thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ordinal_objectives.inspection.rows import unwrapped
from ordinal_objectives.plotting.style import class_colors, class_names_of, colour_bar, pair_of, pyplot, threshold_names
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import as_floats

# Lines of losses: the training, and the sets that are evaluated.
_STYLES = ("-", "--", ":", "-.")


@documented
class TrainingDisplay:
    """Losses after 0, 1, ... rounds beside the thresholds that belong to them.

    Parameters
    ----------
    losses : mapping of str to array-like of float, shape (n_rounds + 1,)
        Of the training and of evaluation sets; NaN where a loss is not known.
    thresholds : array-like of float, shape (n_rounds + 1, n_classes - 1)
        After 0, 1, ... rounds.
    <<class_names>>
    n_iter : int or None, default=None
        Rounds that predictions use, where others follow.

    Attributes
    ----------
    axes_ : ndarray of matplotlib.axes.Axes, shape (2,)
        The losses', and the thresholds'.
    <<figure_>>

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from ordinal_objectives.plotting import TrainingDisplay
    >>> display = TrainingDisplay({"training": [1.0, 0.8]}, [[-1.0, 1.0], [-1.2, 1.1]]).plot()
    >>> [len(ax.lines) for ax in display.axes_]
    [1, 2]
    """

    def __init__(
        self,
        losses: Mapping[str, ArrayLike],
        thresholds: ArrayLike,
        class_names: Any = None,
        n_iter: int | None = None,
    ) -> None:
        self.losses = {name: as_floats(values, name="losses") for name, values in losses.items()}
        self.thresholds = as_floats(thresholds, name="thresholds")
        if self.thresholds.ndim != 2:
            raise ValueError(f"thresholds must have shape (n_rounds + 1, n_classes - 1); got {self.thresholds.shape}")
        self.class_names = class_names_of(class_names, self.thresholds.shape[1] + 1)
        self.n_iter = n_iter

    @classmethod
    @documented
    def from_estimator(cls, estimator: Any, *, axes: Any = None) -> TrainingDisplay:
        """Plot the training of a fitted ordinal classifier.

        Parameters
        ----------
        estimator : fitted classifier of this package, or a pipeline or search that ends in one
            Losses of evaluation sets are those of ``evals_result_``, which no file keeps.
        <<axes>>
        """
        model, _ = unwrapped(estimator)
        losses: dict[str, ArrayLike] = {"training": model.training_loss_}
        for watched, found in getattr(model, "evals_result_", {}).items():
            if watched == "training":
                continue
            # The hosts measure after 1, 2, ... rounds, first the loss; the engine the loss after 0, 1, ... rounds.
            losses[watched] = [np.nan, *next(iter(found.values()))] if isinstance(found, dict) else found
        return cls(losses, model.threshold_history_, model.ordered_classes_, model.n_iter_).plot(axes)

    def plot(self, axes: Any = None) -> TrainingDisplay:
        """Draw the losses beside a line for each threshold.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        plt = pyplot()
        if axes is None:
            _, axes = plt.subplots(1, 2, figsize=(9.0, 4.0), sharex=True, layout="constrained")
        left, right = pair_of(axes, "the losses and the thresholds")
        for i, (name, values) in enumerate(self.losses.items()):
            left.plot(values, label=name, color="black" if i == 0 else "0.45", linestyle=_STYLES[i % len(_STYLES)])
        colors = class_colors(self.thresholds.shape[1])
        for path, color in zip(self.thresholds.T, colors, strict=True):
            right.plot(path, color=color)
        if self.n_iter is not None and self.n_iter < max(map(len, self.losses.values())) - 1:
            left.axvline(self.n_iter, color="black", linewidth=0.8)
            left.annotate(f" kept: {self.n_iter}", (self.n_iter, 1.0), xycoords=("data", "axes fraction"), va="top")
        left.set(xlabel="rounds", ylabel="mean loss")
        right.set(xlabel="rounds", ylabel="thresholds")
        for ax in (left, right):
            ax.grid(alpha=0.25)
        left.legend(frameon=False)
        colour_bar(right, colors, threshold_names(self.class_names), "threshold between classes")
        self.axes_, self.figure_ = np.array([left, right]), left.figure
        return self
