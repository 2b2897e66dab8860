"""Along one feature, the score, or row by row: the score and the shifts, and class probabilities."""

from __future__ import annotations

import numpy as np

from ordinal_objectives import inspection
from ordinal_objectives.aliases import ArrayLike, Estimator, LabelArray, Params
from ordinal_objectives.inspection.rows import name_of, unwrapped
from ordinal_objectives.plotting import style
from ordinal_objectives.plotting.classes import classes_in_order, proba_in_order
from ordinal_objectives.utils import documented, validation

# Percentages stand in parts of bars from this probability on, for up to so many rows; black on light colours.
_LEAST_WRITTEN, _MOST_ROWS_WRITTEN, _LUMINANCE = 0.07, 20, np.array([0.299, 0.587, 0.114])


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
        self,
        effect: inspection.FeatureEffect | inspection.LocalEffects,
        feature_name: str,
        class_names: style.Names = None,
    ) -> None:
        self.effect, self.feature_name = effect, feature_name
        self.threshold_names = style.threshold_names(style.class_names_of(class_names, effect.shifts.shape[1] + 1))

    @classmethod
    @documented
    def from_estimator(
        cls,
        estimator: object,
        X: object,
        feature: int | str,
        *,
        kind: str = "partial",
        grid_resolution: int = 50,
        categorical_features: ArrayLike | None = None,
        axes: style.Pair | None = None,
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
            that the data do not have; only of a feature of numbers.
        grid_resolution : int, default=50
            At most so many values of the feature, or intervals.
        categorical_features : array-like of int, str or bool, or None, default=None
            Columns whose numbers are categories, as :func:`.inspection.feature_effect` takes them.
        <<axes>>
        """
        validation.check_choice(kind, ("partial", "local"), name="kind")
        effect_of = inspection.accumulated_local_effects if kind == "local" else inspection.feature_effect
        given: Params = {"grid_resolution": grid_resolution, "categorical_features": categorical_features}
        effect = effect_of(estimator, X, feature, **given)
        return cls(effect, name_of(estimator, X, feature), unwrapped(estimator)[0].ordered_classes_).plot(axes)

    def plot(self, axes: style.Pair | None = None) -> FeatureEffectDisplay:
        """Draw the score beside the shifts, a line for each threshold, coloured from the lowest to the highest.

        Of categories the score is drawn as bars and the shifts as points.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        left, right = style.pair_or_new(axes, sharey=True)
        colors = style.class_colors(len(self.threshold_names))
        values = self.effect.values
        line: Params = {"linewidth": 2.0}
        if values.dtype.kind == "O":
            for ax in (left, right):
                style.name_values(ax, values)
            values, line = np.arange(len(values)), {"linestyle": "", "marker": "o"}
            left.bar(values, self.effect.score, color="0.35")
        else:
            line |= {"marker": "o"} if len(values) < 10 else {}
            left.plot(values, self.effect.score, color="black", **line)
        for shift, color in zip(self.effect.shifts.T, colors, strict=True):
            right.plot(values, shift, color=color, **line)
        right.axhline(0.0, color="black", linewidth=0.8, linestyle="--", zorder=1)
        for ax, title in ((left, "score f: moves all thresholds"), (right, "shifts $v_k$: move single thresholds")):
            ax.set_title(title, fontsize="medium")
            ax.set_xlabel(self.feature_name, parse_math=False)
            ax.grid(alpha=0.25)
        what = "accumulated local effect" if isinstance(self.effect, inspection.LocalEffects) else "partial dependence"
        left.set_ylabel(f"{what}, scale of the thresholds")
        style.colour_bar(right, colors, self.threshold_names, "threshold between classes")
        self.axes_, self.figure_ = np.array([left, right]), left.figure
        return self


@documented
class ClassProbabilitiesDisplay:
    """Class probabilities stacked from the lowest class to the highest, along the score or one feature.

    Parameters
    ----------
    values : array-like, shape (n_values,)
        Where the probabilities belong: increasing numbers, or categories.
    proba : array-like of float, shape (n_values, n_classes)
        Lowest class first.
    name : str
        What the values are.
    <<class_names>>

    Attributes
    ----------
    <<ax_, figure_>>

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from ordinal_objectives.plotting import ClassProbabilitiesDisplay
    >>> display = ClassProbabilitiesDisplay([0.0, 1.0], [[0.7, 0.3], [0.2, 0.8]], "age").plot()
    >>> len(display.ax_.collections)
    2
    """

    def __init__(self, values: ArrayLike, proba: ArrayLike, name: str, class_names: style.Names = None) -> None:
        self.values: LabelArray = np.asarray(values)
        self.proba = validation.check_proba(proba, len(self.values))
        self.name = name
        self.class_names = style.class_names_of(class_names, self.proba.shape[1], proba)

    @classmethod
    @documented
    def from_estimator(
        cls,
        estimator: object,
        X: object,
        feature: int | str | None = None,
        *,
        grid_resolution: int = 50,
        categorical_features: ArrayLike | None = None,
        ax: style.Axes | None = None,
    ) -> ClassProbabilitiesDisplay:
        """Plot the probabilities of a fitted ordinal classifier.

        Parameters
        ----------
        estimator : fitted classifier of this package, or a pipeline or search that ends in one
            What is drawn; the features are those that the pipeline is given.
        X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
            Rows to average over.
        feature : int, str or None, default=None
            Column, or its name: probabilities are averaged over the rows with each of its values (partial dependence).
            None takes the score: rows are averaged with those of about the same score.
        grid_resolution : int, default=50
            At most so many values.
        categorical_features : array-like of int, str or bool, or None, default=None
            Columns whose numbers are categories, as :func:`.inspection.feature_effect` takes them.
        <<ax>>
        """
        model, prepared = unwrapped(estimator)
        names = model.ordered_classes_
        if feature is not None:
            given: Params = {"grid_resolution": grid_resolution, "categorical_features": categorical_features}
            values, proba = inspection.partial_probabilities(estimator, X, feature, **given)
            return cls(values, proba, name_of(estimator, X, feature), names).plot(ax=ax)
        rows = prepared(X)
        scores, row_proba = model.predict_raw(rows), model.predict_proba_ordered(rows)
        parts = np.array_split(np.argsort(scores, kind="stable"), min(grid_resolution, len(scores)))
        means = np.array([[scores[part].mean(), *row_proba[part].mean(axis=0)] for part in parts])
        return cls(means[:, 0], means[:, 1:], "score f(x)", names).plot(ax=ax)

    def plot(self, ax: style.Axes | None = None) -> ClassProbabilitiesDisplay:
        """Draw an area for each class, or bars where the values are categories.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        ax, colors = style.axes_or_new(ax, 7.0, 4.0), style.class_colors(self.proba.shape[1])
        if self.values.dtype.kind in "OUS":
            bottom = np.cumsum(self.proba, axis=1) - self.proba
            for k, color in enumerate(colors):
                ax.bar(np.arange(len(bottom)), self.proba[:, k], bottom=bottom[:, k], color=color, width=0.8)
            style.name_values(ax, self.values)
        else:
            ax.stackplot(self.values, self.proba.T, colors=colors, linewidth=0)
            ax.set_xlim(self.values[0], self.values[-1])
        ax.set_ylim(0.0, 1.0)
        ax.set_xlabel(self.name, parse_math=False)
        ax.set_ylabel("probability of the class, stacked")
        style.colour_bar(ax, colors, self.class_names, "class")
        self.ax_, self.figure_ = ax, ax.figure
        return self


@documented
class RowProbabilitiesDisplay:
    """Predicted class probabilities of some rows, as new ones without y: a bar for each, stacked from the lowest class.

    The class at the dashed line, at half of the probability, is the median class, which classifiers of this package
    predict unless ``decision_rule`` says otherwise. A few dozen rows at most can be told apart.

    Parameters
    ----------
    proba : array-like of float, shape (n_rows, n_classes)
        Lowest class first.
    <<class_names>>
    row_names : sequence of str or None, default=None
        None prints the index of a data frame ``proba``, or 0, 1, ...

    Attributes
    ----------
    <<ax_, figure_>>

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from ordinal_objectives.plotting import RowProbabilitiesDisplay
    >>> proba = [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]
    >>> display = RowProbabilitiesDisplay(proba, ["low", "middle", "high"], ["Ann", "Ben"]).plot()
    >>> len(display.ax_.patches)
    6
    """

    def __init__(self, proba: ArrayLike, class_names: style.Names = None, row_names: style.Names = None) -> None:
        self.proba = validation.check_proba(proba)
        self.class_names = style.class_names_of(class_names, self.proba.shape[1], proba)
        self.row_names = style.row_names_of(row_names, len(self.proba), proba)

    @classmethod
    @documented
    def from_estimator(
        cls,
        estimator: Estimator,
        X: object,
        *,
        labels: ArrayLike | None = None,
        row_names: style.Names = None,
        ax: style.Axes | None = None,
    ) -> RowProbabilitiesDisplay:
        """Plot what a fitted classifier predicts for the rows of X.

        Parameters
        ----------
        estimator : fitted classifier
            Of this package or another, or a pipeline or search, with ``predict_proba``.
        X : array-like, sparse matrix, data frame or Arrow table, shape (n_rows, n_features)
            Rows to predict.
        labels : sequence or None, default=None
            The classes, lowest first. None takes those of a classifier of this package, also inside another, or numbers
            in their order; names without an order are refused.
        row_names : sequence of str or None, default=None
            None prints the index of a data frame X, or 0, 1, ...
        <<ax>>

        Raises
        ------
        TypeError
            If the estimator has no ``predict_proba``; of a number
            :meth:`DistributionFanDisplay.from_estimator` draws the rows.
        ValueError
            If nothing says the order of the classes, or there are other names than rows.
        """
        known = classes_in_order(estimator, None, labels)
        proba = proba_in_order(estimator, X, known)
        names = style.row_names_of(row_names, len(proba), X)
        return cls(proba, known.ordered_classes_, names).plot(ax=ax)

    def plot(self, ax: style.Axes | None = None) -> RowProbabilitiesDisplay:
        """Draw a bar for each row, from the top down, with percentages where they have room.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        n_rows, colors = len(self.proba), style.class_colors(self.proba.shape[1])
        ax = style.axes_or_new(ax, 7.0, 1.4 + 0.3 * min(n_rows, 40))
        left, places = np.cumsum(self.proba, axis=1) - self.proba, np.arange(n_rows)
        for k, color in enumerate(colors):
            ax.barh(places, self.proba[:, k], 0.8, left[:, k], color=color)
            ink = "black" if color[:3] @ _LUMINANCE > 0.5 else "white"
            for i in np.flatnonzero(self.proba[:, k] >= _LEAST_WRITTEN) if n_rows <= _MOST_ROWS_WRITTEN else ():
                middle = left[i, k] + self.proba[i, k] / 2
                ax.text(
                    middle, float(i), f"{self.proba[i, k]:.0%}", ha="center", va="center", color=ink, fontsize="x-small"
                )
        ax.axvline(0.5, color="black", linewidth=0.8, linestyle="--")
        ax.set(xlim=(0.0, 1.0), ylim=(n_rows - 0.5, -0.5), ylabel="row")
        ax.set_xlabel("probability of the class, stacked; dashed: the class here is the median")
        style.name_ticks(ax.yaxis, self.row_names)
        style.colour_bar(ax, colors, self.class_names, "class")
        self.ax_, self.figure_ = ax, ax.figure
        return self
