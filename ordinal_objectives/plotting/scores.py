"""Scores and the thresholds that cut them: of each class after a training, and round by round."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ordinal_objectives.aliases import ArrayLike, FloatArray
from ordinal_objectives.inspection.rows import unwrapped
from ordinal_objectives.plotting import style
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import as_floats, check_codes, check_finite, check_shape, check_thresholds

# Lines of losses: the training, and the sets that are evaluated.
_STYLES = ("-", "--", ":", "-.")


@documented
class ScoreDistributionDisplay:
    """Distribution of the score in each true class, cut by the thresholds.

    A row of points is a true class, and the colour of a point is the class that is predicted. Where every row is
    predicted to be of the class between whose thresholds its score lies, as by the median of one score, these regions
    are tinted. Where that does not hold for all rows, since thresholds move with x or another rule decides, the axis
    says for how many rows the two differ: the dashed lines are then the thresholds of a row without shifts.

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
        class_names: style.Names = None,
        predicted: ArrayLike | None = None,
    ) -> None:
        self.thresholds = check_thresholds(thresholds, ordered=False)
        n_classes = self.thresholds.shape[0] + 1
        self.y = check_codes(y, n_classes)
        self.raw_prediction: FloatArray = as_floats(raw_prediction, name="raw_prediction")
        check_shape("raw_prediction", self.raw_prediction, self.y.shape)
        check_finite(self.raw_prediction, "raw_prediction", "scores must be finite")
        self.class_names = style.class_names_of(class_names, n_classes)
        # A score at a threshold belongs to the lower class.
        regions = np.searchsorted(np.sort(self.thresholds), self.raw_prediction)
        self.predicted = regions if predicted is None else check_codes(predicted, n_classes, name="predicted")
        check_shape("predicted", self.predicted, self.y.shape)
        self.n_outside_ = int(np.count_nonzero(self.predicted != regions))

    @classmethod
    @documented
    def from_estimator(
        cls, estimator: object, X: object, y: ArrayLike, *, ax: style.Axes | None = None
    ) -> ScoreDistributionDisplay:
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
        codes, predicted = model.encode_labels(y), model.encode_labels(model.predict(X))
        return cls(model.predict_raw(X), codes, model.thresholds_, model.ordered_classes_, predicted).plot(ax=ax)

    def plot(self, ax: style.Axes | None = None) -> ScoreDistributionDisplay:
        """Draw one row of points and a bar of quartiles for each class, and a line for each threshold.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        n_classes, thresholds, scores = len(self.class_names), np.sort(self.thresholds), self.raw_prediction
        ax, colors = style.axes_or_new(ax, 8.0, 1.2 + 0.6 * n_classes), style.class_colors(n_classes)
        low, high = min(scores.min(), thresholds[0]), max(scores.max(), thresholds[-1])
        margin = 0.05 * (high - low) or 1.0
        edges = np.concatenate([[low - margin], thresholds, [high + margin]])
        ax.set_xlim(edges[0], edges[-1])
        jitter = np.random.default_rng(0)
        for k in range(n_classes):
            if not self.n_outside_:  # between two thresholds the class between them is predicted
                ax.axvspan(edges[k], edges[k + 1], color=colors[k], alpha=0.08, linewidth=0)
            rows = np.flatnonzero(self.y == k)
            if len(rows) == 0:
                continue
            height, alpha = k + jitter.uniform(-0.28, 0.28, len(rows)), min(1.0, max(0.08, 60 / len(rows)))
            for label in np.unique(self.predicted[rows]):
                points = self.predicted[rows] == label
                line = {"color": colors[label], "alpha": alpha, "markersize": 5}
                ax.plot(scores[rows[points]], height[points], ".", **line)
            first, median, third = np.quantile(scores[rows], [0.25, 0.5, 0.75])
            ax.plot([first, third], [k, k], color="black", linewidth=3, solid_capstyle="butt")
            ax.plot([median], [k], "o", color="white", markeredgecolor="black", markersize=6)
        for threshold in self.thresholds:
            ax.axvline(threshold, color="black", linewidth=1, linestyle="--")
        ax.set_yticks(range(n_classes), self.class_names, parse_math=False)
        ax.set(ylim=(-0.6, n_classes - 0.4), ylabel="true class")
        style.colour_bar(ax, colors, self.class_names, "predicted class")
        without_shifts, outside = "", ""
        if self.n_outside_:
            n, of = self.n_outside_, self.y.size
            without_shifts = " of a row without shifts"
            outside = f"\npredicted class: for {n} of {of} rows not the one between the dashed lines"
        dashed = f"score f(x); dashed: thresholds{without_shifts}"
        caption = f"{dashed}; bar and dot: quartiles and median of each class{outside}"
        ax.set_xlabel(caption, fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self


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
        class_names: style.Names = None,
        n_iter: int | None = None,
    ) -> None:
        self.losses = {name: as_floats(values, name="losses") for name, values in losses.items()}
        self.thresholds = as_floats(thresholds, name="thresholds")
        check_shape("thresholds", self.thresholds, ("n_rounds + 1", "n_classes - 1"))
        self.class_names = style.class_names_of(class_names, self.thresholds.shape[1] + 1)
        self.n_iter = n_iter

    @classmethod
    @documented
    def from_estimator(cls, estimator: object, *, axes: style.Pair | None = None) -> TrainingDisplay:
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
            # Libraries measure after each round of this fit, first the loss; the engine after 0, 1, ... rounds of all.
            if watched != "training":
                if isinstance(found, dict):
                    found = [np.nan] * (1 + model.n_earlier_rounds()) + next(iter(found.values()))
                losses[watched] = found
        return cls(losses, model.threshold_history_, model.ordered_classes_, model.n_iter_).plot(axes)

    def plot(self, axes: style.Pair | None = None) -> TrainingDisplay:
        """Draw the losses beside a line for each threshold.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        left, right = style.pair_or_new(axes)
        for i, (name, values) in enumerate(self.losses.items()):
            left.plot(values, label=name, color="black" if i == 0 else "0.45", linestyle=_STYLES[i % len(_STYLES)])
        colors = style.class_colors(self.thresholds.shape[1])
        for path, color in zip(self.thresholds.T, colors, strict=True):
            right.plot(path, color=color)
        if self.n_iter is not None and self.n_iter < max(map(len, self.losses.values())) - 1:
            left.axvline(self.n_iter, color="black", linewidth=0.8)
            left.annotate(f" kept: {self.n_iter}", (self.n_iter, 1.0), xycoords=("data", "axes fraction"), va="top")
        for ax, label in ((left, "mean loss"), (right, "thresholds")):
            ax.set(xlabel="rounds", ylabel=label)
            ax.grid(alpha=0.25)
        left.legend(frameon=False)
        style.colour_bar(right, colors, style.threshold_names(self.class_names), "threshold between classes")
        self.axes_, self.figure_ = np.array([left, right]), left.figure
        return self
