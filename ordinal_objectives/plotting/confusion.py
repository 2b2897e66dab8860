"""Which classes are taken for which others, in their order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import confusion_matrix

from ordinal_objectives.estimators.labels import OrderedLabels, as_labels, ordered_categories
from ordinal_objectives.plotting.style import (
    axes_or_new,
    class_names_of,
    classes_in_order,
    draw_shares,
    name_ticks,
    pyplot,
)
from ordinal_objectives.utils.shared_docs import documented
from ordinal_objectives.utils.validation import as_floats


@documented
class OrdinalConfusionDisplay:
    """A confusion matrix whose rows and columns are the classes in their order, lowest first.

    Colours are shares of each true class. The further a cell lies from the diagonal, the larger is the error; the title
    says the mean absolute error and what share of rows is within one class of the truth.

    Parameters
    ----------
    matrix : array-like of float, shape (n_classes, n_classes)
        Rows, or their weights, by true class (row) and predicted class (column).
    <<class_names>>

    Attributes
    ----------
    <<ax_, figure_>>

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from ordinal_objectives.plotting import OrdinalConfusionDisplay
    >>> display = OrdinalConfusionDisplay.from_predictions([0, 1, 2, 2], [0, 1, 1, 2], class_names=["a", "b", "c"])
    >>> display.ax_.get_title().splitlines()
    ['mean absolute error 0.25', '100% within one class']
    """

    def __init__(self, matrix: ArrayLike, class_names: Any = None) -> None:
        self.matrix = as_floats(matrix, name="matrix")
        n = self.matrix.shape[0]
        if self.matrix.shape != (n, n) or n < 2 or (self.matrix < 0).any() or not self.matrix.sum() > 0:
            raise ValueError(
                f"matrix must be a square of numbers of at least 0, not all of them 0; got shape {self.matrix.shape}"
            )
        self.class_names = class_names_of(class_names, n)

    @classmethod
    @documented
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        labels: Any = None,
        sample_weight: ArrayLike | None = None,
        ax: Any = None,
    ) -> OrdinalConfusionDisplay:
        """Plot what a fitted classifier predicts for (X, y).

        Parameters
        ----------
        estimator : fitted classifier
            Of this package or another, or a pipeline or search.
        X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
            Rows to predict.
        y : array-like, shape (n_samples,)
            Labels.
        labels : sequence or None, default=None
            The classes, lowest first. None takes ``ordered_classes_``, the categories of an ordered y, or numbers in
            their order; names without an order are refused.
        sample_weight : array-like of float, shape (n_samples,), or None, default=None
            Weights of the rows; None counts them.
        <<ax>>
        """
        labels = classes_in_order(estimator, y, labels).ordered_classes_
        return cls.from_predictions(y, estimator.predict(X), labels=labels, sample_weight=sample_weight, ax=ax)

    @classmethod
    @documented
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        labels: Any = None,
        class_names: Any = None,
        sample_weight: ArrayLike | None = None,
        ax: Any = None,
    ) -> OrdinalConfusionDisplay:
        """Plot predictions beside labels.

        Parameters
        ----------
        y_true, y_pred : array-like, shape (n_samples,)
            Class codes, names of which ``labels`` or ``class_names`` says the order, or ordered categoricals.
        labels : sequence or None, default=None
            The classes, lowest first. None takes the categories of an ordered categorical; of names ``class_names``; of
            codes those of ``class_names``, or those up to the largest.
        class_names : sequence of str or None, default=None
            None prints ``labels``.
        sample_weight : array-like of float, shape (n_samples,), or None, default=None
            Weights of the rows; None counts them.
        <<ax>>

        Raises
        ------
        ValueError
            If a label is not among the classes, or nothing says the order of names.
        """
        known = OrderedLabels(_labels_of(y_true, y_pred, class_names) if labels is None else labels, name="labels")
        codes = known.encode(y_true, name="y_true"), known.encode(y_pred, name="y_pred")
        classes = range(len(known.ordered_classes_))
        matrix = confusion_matrix(*codes, labels=list(classes), sample_weight=sample_weight)
        return cls(matrix, known.ordered_classes_ if class_names is None else class_names).plot(ax=ax)

    def plot(self, ax: Any = None) -> OrdinalConfusionDisplay:
        """Draw the matrix.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        plt = pyplot()
        n = len(self.class_names)
        ax = axes_or_new(ax, 2.5 + 0.55 * min(n, 20), 2.0 + 0.5 * min(n, 20))
        of_class = self.matrix.sum(axis=1, keepdims=True)
        shares = np.divide(self.matrix, of_class, out=np.zeros_like(self.matrix), where=of_class > 0)
        texts = [[f"{rows:.4g}" if rows > 0 else "" for rows in of_true] for of_true in self.matrix]
        draw_shares(ax, shares, texts, self.class_names, "share of the true class")
        for k in range(n):
            ax.add_patch(plt.Rectangle((k - 0.5, k - 0.5), 1, 1, fill=False, edgecolor="black", linewidth=1.2))
        name_ticks(ax.yaxis, self.class_names)
        ax.set(xlabel="predicted class", ylabel="true class")
        distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
        share = self.matrix / self.matrix.sum()
        error, near = (share * distance).sum(), share[distance <= 1].sum()
        ax.set_title(f"mean absolute error {error:.3g}\n{near:.0%} within one class", fontsize="medium")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _labels_of(y_true: Any, y_pred: Any, class_names: Any) -> Any:
    """Return the classes, lowest first, of labels whose order is not given."""
    orders = [found for found in map(ordered_categories, (y_true, y_pred)) if found is not None]
    if orders:
        if orders[0].tolist() != orders[-1].tolist():
            raise ValueError(
                f"y_true and y_pred must have the same categories; got {orders[0].tolist()} and {orders[-1].tolist()}. "
                f"Pass labels=, the classes, lowest first"
            )
        return orders[0]
    given = as_labels("y_true", y_true), as_labels("y_pred", y_pred)
    if all(values.dtype.kind in "biuf" for values in given):
        return range(max(2, int(max(map(np.max, given))) + 1) if class_names is None else len(class_names))
    if class_names is None:
        raise ValueError("labels must hold the classes, lowest first, where y_true and y_pred hold names; got None")
    return list(class_names)
