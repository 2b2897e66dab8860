"""Class probabilities along the score or one feature, stacked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.inspection import partial_probabilities
from ordinal_objectives.inspection.rows import name_of, unwrapped
from ordinal_objectives.plotting.style import axes_or_new, class_colors, class_names_of, colour_bar, pyplot
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import check_proba


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

    def __init__(self, values: ArrayLike, proba: ArrayLike, name: str, class_names: Any = None) -> None:
        self.values: NDArray[Any] = np.asarray(values)
        self.proba = check_proba(proba, len(self.values))
        self.name = name
        self.class_names = class_names_of(class_names, self.proba.shape[1])

    @classmethod
    @documented
    def from_estimator(
        cls, estimator: Any, X: Any, feature: int | str | None = None, *, grid_resolution: int = 50, ax: Any = None
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
        <<ax>>
        """
        model, prepared = unwrapped(estimator)
        names = [str(label) for label in model.ordered_classes_]
        if feature is not None:
            values, proba = partial_probabilities(estimator, X, feature, grid_resolution=grid_resolution)
            return cls(values, proba, name_of(estimator, X, feature), names).plot(ax=ax)
        rows = prepared(X)
        scores, of_rows = model.predict_raw(rows), model.predict_proba_ordered(rows)
        parts = np.array_split(np.argsort(scores, kind="stable"), min(grid_resolution, len(scores)))
        means = np.array([[scores[part].mean(), *of_rows[part].mean(axis=0)] for part in parts])
        return cls(means[:, 0], means[:, 1:], "score f(x)", names).plot(ax=ax)

    def plot(self, ax: Any = None) -> ClassProbabilitiesDisplay:
        """Draw an area for each class, or bars where the values are categories.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        pyplot()
        ax, colors = axes_or_new(ax, 7.0, 4.0), class_colors(self.proba.shape[1])
        if self.values.dtype.kind in "OUS":
            places, bottom = np.arange(len(self.values)), np.zeros(len(self.values))
            for of_class, color in zip(self.proba.T, colors, strict=True):
                ax.bar(places, of_class, bottom=bottom, color=color, width=0.8)
                bottom = bottom + of_class
            rotation = 45 if len(places) > 6 else 0
            ax.set_xticks(places, [str(value) for value in self.values], rotation=rotation, parse_math=False)
        else:
            ax.stackplot(self.values, self.proba.T, colors=colors, linewidth=0)
            ax.set_xlim(self.values[0], self.values[-1])
        ax.set_ylim(0.0, 1.0)
        ax.set_xlabel(self.name, parse_math=False)
        ax.set_ylabel("probability of the class, stacked")
        colour_bar(ax, colors, self.class_names, "class")
        self.ax_, self.figure_ = ax, ax.figure
        return self
