"""Predictions beside classes: which are taken for which, whether P(y <= k) is calibrated, sets, and raters' answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ordinal_objectives.aliases import ArrayLike, BoolArray, Estimator, FloatArray
from ordinal_objectives.estimators.class_order import class_order
from ordinal_objectives.estimators.labels import OrderedLabels, as_labels, ordered_categories
from ordinal_objectives.metrics.of_probabilities import CumulativeReliability, cumulative_reliability
from ordinal_objectives.ordinal_labels import OrdinalLabels
from ordinal_objectives.plotting import style
from ordinal_objectives.utils import documented, validation

# Squares are written into for up to so many classes.
_MOST_WRITTEN = 12
# A share of fewer rows than these jumps from 0 to 1 by chance.
_FEWEST_IN_BIN = 10


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

    def __init__(self, matrix: ArrayLike, class_names: style.Names = None) -> None:
        self.matrix = validation.as_floats(matrix, name="matrix")
        self.class_names = style.class_names_of(class_names, len(self.matrix), matrix, "matrix", ("index", "columns"))

    @classmethod
    @documented
    def from_estimator(
        cls,
        estimator: Estimator,
        X: object,
        y: ArrayLike,
        *,
        labels: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        ax: style.Axes | None = None,
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
            The classes, lowest first. None takes those of a classifier of this package, also inside another, the
            categories of an ordered y, or numbers in their order; names without an order are refused.
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
        labels: ArrayLike | None = None,
        class_names: style.Names = None,
        sample_weight: ArrayLike | None = None,
        ax: style.Axes | None = None,
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

    def plot(self, ax: style.Axes | None = None) -> OrdinalConfusionDisplay:
        """Draw the matrix.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        n = len(self.class_names)
        ax = style.axes_or_new(ax, 2.5 + 0.55 * min(n, 20), 2.0 + 0.5 * min(n, 20))
        in_class = self.matrix.sum(axis=1, keepdims=True)
        shares = np.divide(self.matrix, in_class, out=np.zeros_like(self.matrix), where=in_class > 0)
        texts = [[f"{rows:.4g}" if rows > 0 else "" for rows in row] for row in self.matrix]
        _draw_shares(ax, shares, texts, self.class_names, "share of the true class")
        for k in range(n):
            square = style.pyplot().Rectangle((k - 0.5, k - 0.5), 1, 1, fill=False, edgecolor="black", linewidth=1.2)
            ax.add_patch(square)
        style.name_ticks(ax.yaxis, self.class_names)
        ax.set(xlabel="predicted class", ylabel="true class")
        distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
        share = self.matrix / self.matrix.sum()
        error, near = (share * distance).sum(), share[distance <= 1].sum()
        ax.set_title(f"mean absolute error {error:.3g}\n{near:.0%} within one class", fontsize="medium")
        self.ax_, self.figure_ = ax, ax.figure
        return self


@documented
class PredictionSetsDisplay:
    """For each true class: how often its rows' sets hold each class, and how many classes they hold.

    The squares on the diagonal are the coverage of each class.

    Parameters
    ----------
    y : array-like of int, shape (n_samples,)
        True class codes.
    sets : array-like of bool, shape (n_samples, n_classes)
        Whether each class is in the set of a row.
    <<class_names>>

    Attributes
    ----------
    <<ax_, figure_>>

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from ordinal_objectives.plotting import PredictionSetsDisplay
    >>> display = PredictionSetsDisplay([0, 1], [[True, False], [True, True]]).plot()
    >>> display.ax_.get_title()
    'coverage 100%; mean size 1.5'
    """

    def __init__(self, y: ArrayLike, sets: ArrayLike, class_names: style.Names = None) -> None:
        self.sets: BoolArray = np.asarray(sets)
        self.y = validation.check_codes(y, self.sets.shape[1])
        self.class_names = style.class_names_of(class_names, self.sets.shape[1], sets, "sets")

    @classmethod
    @documented
    def from_estimator(
        cls, estimator: Estimator, X: object, y: ArrayLike, *, ax: style.Axes | None = None
    ) -> PredictionSetsDisplay:
        """Plot the sets that a fitted :class:`~ordinal_objectives.OrdinalPredictionSets` has for (X, y).

        Parameters
        ----------
        estimator : OrdinalPredictionSets
            Fitted.
        X : array-like, sparse matrix or data frame, shape (n_samples, n_features)
            Rows, others than those of ``fit``.
        y : array-like, shape (n_samples,)
            Labels.
        <<ax>>
        """
        sets = estimator.predict_set(X)
        return cls(estimator.encode_labels(y), sets, estimator.ordered_classes_).plot(ax=ax)

    def plot(self, ax: style.Axes | None = None) -> PredictionSetsDisplay:
        """Draw the shares.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        n = self.sets.shape[1]
        ax = style.axes_or_new(ax, 3.0 + 0.55 * min(n, 20), 2.0 + 0.5 * min(n, 20))
        shares, sizes, names = np.zeros((n, n)), self.sets.sum(axis=1), []
        for k, name in enumerate(self.class_names):
            in_class = self.y == k
            rows = int(in_class.sum())
            shares[k] = self.sets[in_class].mean(axis=0) if rows else np.nan
            names.append(f"{name} ({sizes[in_class].mean():.1f} classes)" if rows else f"{name} (no rows)")
        texts = [[f"{share:.0%}" if share > 0.005 else "" for share in row] for row in shares]
        _draw_shares(ax, shares, texts, self.class_names, "share of the rows' sets")
        style.name_ticks(ax.yaxis, names)
        ax.set(xlabel="class in the set", ylabel="true class (mean size of its sets)")
        covered = self.sets[np.arange(len(self.y)), self.y].mean()
        ax.set_title(f"coverage {covered:.0%}; mean size {sizes.mean():.3g}", fontsize="medium")
        self.ax_, self.figure_ = ax, ax.figure
        return self


@documented
class CumulativeReliabilityDisplay:
    """Stated P(y <= k) beside the share of rows that it happened to, with a band and the counts.

    A curve on the diagonal is calibrated. Bands are the confidence intervals of the share in each bin, by itself, those
    of Clopper and Pearson; the bars below count the rows of all thresholds in each bin. Curves skip bins of fewer than
    10 rows (of ``reliability.count``), whose shares jump by chance; the axis says what share of the rows is in them.

    Parameters
    ----------
    reliability : CumulativeReliability
        What :func:`ordinal_objectives.decisions.cumulative_reliability` returns.
    <<class_names>>

    Attributes
    ----------
    left_out_ : float
        Share of the rows that are in the skipped bins, a mean over the thresholds.
    ax_, counts_ax_ : matplotlib.axes.Axes
    <<figure_>>

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from ordinal_objectives.plotting import CumulativeReliabilityDisplay
    >>> display = CumulativeReliabilityDisplay.from_predictions([0, 1, 1, 2] * 5, [[0.2, 0.5, 0.3]] * 20, n_bins=2)
    >>> len(display.ax_.lines)  # the diagonal and two thresholds
    3
    """

    def __init__(self, reliability: CumulativeReliability, class_names: style.Names = None) -> None:
        self.reliability = reliability
        self.class_names = style.class_names_of(class_names, len(reliability.stated) + 1)
        count = reliability.count
        self.left_out_ = float(count[count < _FEWEST_IN_BIN].sum() / count.sum())

    @classmethod
    @documented
    def from_estimator(
        cls,
        estimator: Estimator,
        X: object,
        y: ArrayLike,
        *,
        labels: ArrayLike | None = None,
        ax: style.Axes | None = None,
        **options: Any,
    ) -> CumulativeReliabilityDisplay:
        """Plot how well the probabilities of a fitted classifier are calibrated on (X, y).

        Parameters
        ----------
        estimator : fitted classifier
            Of this package or another, or a pipeline or search, with ``predict_proba``.
        X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
            Rows to predict, better others than those of the training.
        y : array-like, shape (n_samples,)
            Labels.
        labels : sequence or None, default=None
            The classes, lowest first. None takes those of a classifier of this package, also inside another, the
            categories of an ordered y, or numbers in their order; names without an order are refused.
        <<ax>>
        **options
            ``n_bins``, ``level`` and ``sample_weight`` of
            :func:`ordinal_objectives.decisions.cumulative_reliability`.
        """
        known = classes_in_order(estimator, y, labels)
        proba = proba_in_order(estimator, X, known)
        found = cumulative_reliability(known.encode(y), proba, labels=range(proba.shape[1]), **options)
        return cls(found, known.ordered_classes_).plot(ax=ax)

    @classmethod
    @documented
    def from_predictions(
        cls,
        y_true: ArrayLike,
        proba: ArrayLike,
        *,
        class_names: style.Names = None,
        ax: style.Axes | None = None,
        **options: Any,
    ) -> CumulativeReliabilityDisplay:
        """Plot how well probabilities are calibrated.

        Parameters
        ----------
        y_true : array-like, shape (n_samples,)
            Class codes, or labels in the order of ``labels``.
        proba : array-like of float, shape (n_samples, n_classes)
            Lowest class first.
        <<class_names>>
        <<ax>>
        **options
            ``labels``, ``n_bins``, ``level`` and ``sample_weight`` of
            :func:`ordinal_objectives.decisions.cumulative_reliability`.
        """
        found = cumulative_reliability(y_true, proba, **options)
        return cls(found, style.class_names_of(class_names, len(found.stated) + 1, proba)).plot(ax=ax)

    def plot(self, ax: style.Axes | None = None) -> CumulativeReliabilityDisplay:
        """Draw a curve with its band for each threshold, and the counts below.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        found, ax = self.reliability, style.axes_or_new(ax, 6.5, 5.5)
        colors = style.class_colors(len(found.stated))
        counts_ax = ax.inset_axes((0.0, -0.28, 1.0, 0.2), sharex=ax)
        ax.plot([0, 1], [0, 1], color="black", linewidth=0.8, linestyle="--", zorder=1)
        for k, color in enumerate(colors):
            filled = found.count[k] >= _FEWEST_IN_BIN
            curves = found.stated, found.happened, found.low, found.high
            stated, happened, low, high = (of[k][filled] for of in curves)
            ax.fill_between(stated, low, high, color=color, alpha=0.15, linewidth=0)
            ax.plot(stated, happened, marker="o", markersize=4, color=color, linewidth=1.5)
        n_bins = found.count.shape[1]
        counts_ax.bar((np.arange(n_bins) + 0.5) / n_bins, found.count.sum(axis=0), width=0.9 / n_bins, color="0.5")
        ax.set(xlim=(0, 1), ylim=(0, 1), ylabel="share of rows with y <= k")
        ax.tick_params(labelbottom=False)
        ax.grid(alpha=0.25)
        skipped = f"\nnot drawn: bins of fewer than {_FEWEST_IN_BIN} rows, {self.left_out_:.1%} of all"
        counts_ax.set(xlabel=f"stated P(y <= k){skipped if self.left_out_ else ''}", ylabel="rows")
        style.colour_bar(ax, colors, style.threshold_names(self.class_names), "threshold between classes")
        self.ax_, self.counts_ax_, self.figure_ = ax, counts_ax, ax.figure
        return self


@documented
class RatersSpreadDisplay:
    """Raters' answers beside the model's probabilities, from rows with a low mean class to rows with a high one.

    A column holds neighbours by the model's mean class. Where raters use more classes than the model expects in the
    same column, the model is too sure; titles say the standard deviation in a column.

    Parameters
    ----------
    labels : OrdinalLabels
        Answers, no intervals; rows without one are left out.
    proba : array-like of float, shape (n_samples, n_classes)
        Lowest class first.
    n_columns : int, default=25
        Columns at most; with fewer rows each has its own.
    class_names : sequence of str or None, default=None
        None prints those of ``labels``.

    Attributes
    ----------
    raters, model : ndarray of float64, shape (n_columns, n_classes)
        Shares of the classes among the answers of a column, and the mean of the probabilities, where a row counts by
        its answers.
    axes_ : pair of matplotlib.axes.Axes
    <<figure_>>

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from ordinal_objectives import OrdinalLabels
    >>> from ordinal_objectives.plotting import RatersSpreadDisplay
    >>> answers = OrdinalLabels.from_counts([[0, 1, 1], [2, 1, 0]])
    >>> RatersSpreadDisplay(answers, [[0.1, 0.4, 0.5], [0.8, 0.2, 0.0]]).plot().raters.round(2).tolist()
    [[0.67, 0.33, 0.0], [0.0, 0.5, 0.5]]
    """

    def __init__(
        self, labels: OrdinalLabels, proba: ArrayLike, *, n_columns: int = 25, class_names: style.Names = None
    ) -> None:
        if labels.between and not labels.is_plain:
            raise TypeError(f"labels must be the answers of several raters, and no intervals; got {labels!r}")
        n_classes, P = len(labels.classes), validation.check_proba(proba, len(labels))
        names = style.class_names_of(labels.classes, n_classes, proba)
        self.class_names = names if class_names is None else style.class_names_of(class_names, n_classes, proba)
        answers, rows = labels.patterns[labels.codes], np.flatnonzero(labels.labelled)
        rows = rows[np.argsort(P[rows] @ np.arange(n_classes), kind="stable")]
        columns = np.array_split(rows, min(validation.check_integer("n_columns", n_columns, 1), len(rows)))
        total = answers.sum(axis=1)
        self.raters = np.array([answers[rows].sum(axis=0) / total[rows].sum() for rows in columns])
        self.model = np.array([np.average(P[rows], axis=0, weights=total[rows]) for rows in columns])

    @classmethod
    @documented
    def from_estimator(
        cls, estimator: Estimator, X: object, labels: OrdinalLabels, *, axes: style.Pair | None = None, **options: Any
    ) -> RatersSpreadDisplay:
        """Plot raters' answers beside the probabilities of a fitted classifier.

        Parameters
        ----------
        estimator : fitted classifier
            Of this package or another, or a pipeline or search, with ``predict_proba``.
        X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
            Rows to predict, better others than those of the training.
        labels : OrdinalLabels
            Their answers.
        <<axes>>
        **options
            ``n_columns`` and ``class_names``.
        """
        proba = proba_in_order(estimator, X, classes_in_order(estimator, labels.classes, labels.classes))
        return cls(labels, proba, **options).plot(axes)

    def plot(self, axes: style.Pair | None = None) -> RatersSpreadDisplay:
        """Draw a column of shares for each group of rows, twice.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self.axes_ = style.pair_or_new(axes, sharey=True)
        colors, places = style.class_colors(len(self.class_names)), np.arange(len(self.raters))
        what = {"raters' answers": self.raters, "the model's probabilities": self.model}
        for ax, (title, shares) in zip(self.axes_, what.items(), strict=True):
            below = np.cumsum(shares, axis=1) - shares
            codes = np.arange(len(colors))
            spread = np.sqrt(np.maximum(shares @ codes**2 - (shares @ codes) ** 2, 0.0)).mean()
            for k, color in enumerate(colors):
                ax.bar(places, shares[:, k], 1.0, below[:, k], color=color)
            ax.set(xlim=(-0.5, len(places) - 0.5), ylim=(0, 1), xticks=[], xlabel="rows by mean class, low to high")
            ax.set_title(f"{title}\nstandard deviation {spread:.2f} classes", fontsize="medium")
        self.axes_[0].set_ylabel("share")
        style.colour_bar(self.axes_[1], colors, self.class_names, "class")
        self.figure_ = self.axes_[0].figure
        return self


def proba_in_order(estimator: Estimator, X: object, known: OrderedLabels) -> FloatArray:
    """Return the probabilities of a classifier, lowest class first; 0 of classes that it does not know."""
    of_classes = estimator.predict_proba(X)
    proba = np.zeros((len(of_classes), len(known.ordered_classes_)))
    proba[:, known.encode(estimator.classes_, name="classes_ of the estimator")] = of_classes
    return proba


def classes_in_order(estimator: Estimator, y: ArrayLike | None, labels: ArrayLike | None) -> OrderedLabels:
    """Return the classes of any fitted classifier, lowest first.

    They are ``labels``, or else those that the classifier or one inside it knows, as for scorers, the categories of an
    ordered y, or numbers in their order.

    Raises
    ------
    ValueError
        If the classes are text of which nothing says the order.
    """
    check_is_fitted(estimator)
    classes, last = estimator.classes_, estimator
    while hasattr(last, "best_estimator_") or isinstance(last, Pipeline):
        last = last[-1] if isinstance(last, Pipeline) else last.best_estimator_
    orders = labels, class_order(last, np.asarray(classes)), None if y is None else ordered_categories(y)
    own = next((order for order in orders if order is not None), None)
    if own is None and np.asarray(classes).dtype.kind not in "biuf":
        raise ValueError(
            f"labels must hold the classes, lowest first: {type(last).__name__} does not say their order; got None for "
            f"{np.asarray(classes).tolist()}"
        )
    return OrderedLabels(np.sort(classes) if own is None else own, name="labels")


def _labels_of(y_true: ArrayLike, y_pred: ArrayLike, class_names: style.Names) -> Any:
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
        highest = max(int(values.max()) for values in given)
        return range(max(2, highest + 1) if class_names is None else len(class_names))
    if class_names is None:
        raise ValueError("labels must hold the classes, lowest first, where y_true and y_pred hold names; got None")
    return list(class_names)


def _draw_shares(ax: style.Axes, shares: FloatArray, texts: list[list[str]], columns: list[str], label: str) -> None:
    """Draw shares of classes as grey squares, true classes from the top down, with texts where there are few.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    shares : ndarray of float64, shape (n_classes, n_classes)
        From 0 to 1; NaN stays empty.
    texts : list of list of str
        What is written into each square.
    columns : list of str
        Names of the classes.
    label : str
        What the shares are.
    """
    image = ax.imshow(np.ma.masked_invalid(shares), cmap="Greys", vmin=0.0, vmax=1.0)
    for i, j in np.ndindex(shares.shape) if len(shares) <= _MOST_WRITTEN else ():
        color = "white" if shares[i, j] > 0.5 else "black"
        if texts[i][j]:
            ax.text(j, i, texts[i][j], ha="center", va="center", color=color, fontsize="small")
    style.name_ticks(ax.xaxis, columns)
    if max(map(len, columns)) > 4:
        ax.tick_params(axis="x", labelrotation=45)
    ax.figure.colorbar(image, ax=ax, label=label)
