"""All metrics of a fitted model on some rows, with intervals, beside a guess that ignores the features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length

from ordinal_objectives.aliases import ArrayLike, DataFrame, Estimator, FloatArray, IndexArray, LabelArray, Seed
from ordinal_objectives.decision import decide
from ordinal_objectives.estimators.class_order import classes_in_order, columns_in_order, has_response, response_of
from ordinal_objectives.metrics.intervals import BootstrapSample, Interval
from ordinal_objectives.metrics.table import METRICS, Metric, sums_by
from ordinal_objectives.ordinal_labels import OrdinalLabels
from ordinal_objectives.utils import documented, extras, text_tables, validation


@dataclass(frozen=True)
class Report(text_tables.Printed):
    """What :func:`report` returns: printed it is text, in a notebook tables.

    Attributes
    ----------
    model : str
        Name of the model's class.
    classes : ndarray, shape (n_classes,)
        Class labels, lowest first.
    n_rows : int
        Rows of positive weight.
    drawn : str
        What the samples of the intervals are drawn from: "rows", or "groups" with their number.
    level : float
        Of the intervals.
    n_draws : int
        Number of samples.
    values, baseline, differences : dict of str to Interval
        By the short names of :data:`METRICS`: of the model, of the baseline, and of the model minus the baseline. The
        calibration error has none, since its bootstrap intervals lie too high.
    median_class : label
        What the baseline predicts.
    by_class : dict of str to ndarray, shape (n_classes,), or None
        Columns of a table with a row for each class, lowest first. "rows": the sum of their weights, and so the number
        of rows where they have none. "predicted": that of the rows for which the class is predicted. "recall": the
        share of its rows for which it is predicted. "precision": the share of the rows for which it is predicted that
        are of it. "mean_absolute_error": of its rows. "probability": the mean probability that its rows give it. NaN
        where there are no such rows. None where labels are intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.metrics import report
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 2))
    >>> y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=600), [-1.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20).fit(X[:300], y[:300])
    >>> found = report(model, X[300:], y[300:])
    >>> found.values["mae"].value < found.baseline["mae"].value
    True
    >>> list(found.by_class)
    ['rows', 'predicted', 'recall', 'precision', 'mean_absolute_error', 'probability']
    """

    model: str
    classes: LabelArray
    n_rows: int
    drawn: str
    level: float
    n_draws: int
    values: dict[str, Interval]
    baseline: dict[str, Interval]
    differences: dict[str, Interval]
    median_class: object
    by_class: dict[str, FloatArray] | None

    def to_frame(self, of: str = "metrics") -> DataFrame:
        """Return a pandas.DataFrame.

        Parameters
        ----------
        of : {"metrics", "classes"}, default="metrics"
            "metrics": a row for each metric, by its short name, with the columns "value", "low", "high",
            value and ends of "baseline" and "difference", and "higher_is_better". "classes": ``by_class``, a row
            for each class.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        ValueError
            If ``of`` is something else, or labels are intervals, which have no table by class.
        ModuleNotFoundError
            If pandas is not installed.
        """
        validation.check_choice(of, ("metrics", "classes"), name="of")
        if of == "classes":
            if self.by_class is None:
                raise ValueError("of must be 'metrics' where labels are intervals, whose class is not known")
            return extras.data_frame(self.by_class, index=list(self.classes))
        columns: dict[str, list[object]] = {}
        for prefix, found in (("", self.values), ("baseline_", self.baseline), ("difference_", self.differences)):
            for i, end in enumerate(("value", "low", "high")):
                name = prefix.rstrip("_") if prefix and end == "value" else f"{prefix}{end}"
                columns[name] = [one[i] for one in found.values()]
        columns["higher_is_better"] = [METRICS[name].higher_is_better for name in self.values]
        return extras.data_frame(columns, index=list(self.values))

    def _lines(self) -> list[str]:
        return [
            f"{self.model}: {self.n_rows} rows, {len(self.classes)} classes",
            f"{100.0 * self.level:.4g}% intervals by {self.n_draws} samples of the {self.drawn}",
            f"baseline: the median class, {self.median_class}, and the class shares of these rows",
        ]

    def _tables(self) -> Iterator[text_tables.Cells]:
        """Yield the cells of each table by column."""
        for is_higher, head in ((False, "lower is better"), (True, "higher is better")):
            names = [name for name in self.values if METRICS[name].higher_is_better == is_higher]
            if not names:
                continue
            values, differences = ([of[name] for name in names] for of in (self.values, self.differences))
            yield {
                head: [METRICS[name].function.__name__.replace("_", " ") for name in names],
                "value": [_number(one.value) for one in values],
                "interval": [_ends(one) for one in values],
                "baseline": [_number(self.baseline[name].value) for name in names],
                "difference": [_number(one.value) for one in differences],
                "its interval": [_ends(one) for one in differences],
            }
        if self.by_class is not None:
            counts = ("rows", "predicted")
            yield {"class": [str(label) for label in self.classes]} | {
                name.replace("_", " "): [f"{x:.6g}" if name in counts else _number(x) for x in column]
                for name, column in self.by_class.items()
            }


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{np.round(value, 3) + 0.0:.3f}"  # without a sign before zero


def _ends(found: Interval) -> str:
    return "-" if np.isnan(found.low) else f"{_number(found.low)} to {_number(found.high)}"


@documented
def report(
    model: Estimator,
    X: object,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    groups: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    level: float = 0.95,
    n_draws: int = 1000,
    random_state: Seed = 0,
) -> Report:
    """Return how good a fitted classifier is on some rows: print it.

    It holds every metric of :data:`METRICS` that suits the model and the labels, with the bootstrap interval of
    :func:`interval`; the same of a baseline that ignores the features; the difference of both in the same samples; and
    a table by class.

    The baseline predicts the median class of ``y``, and gives each row the class shares of ``y``, both with
    ``sample_weight``. It stays the same in all samples. A model cannot know the shares of rows that it has not seen, so
    that the baseline has a small advantage.

    Parameters
    ----------
    model : fitted classifier
        With ``predict`` and ``predict_proba``: of this package or another, or a pipeline or search. The concordance is
        that of ``predict_raw``, and is left out where there is none.
    X : array-like, sparse matrix, data frame or Arrow table, shape (n_samples, n_features)
        Rows that the model has not seen.
    y : array-like, shape (n_samples,)
        Their labels. OrdinalLabels too; of intervals only the metrics are reported that take them.
    sample_weight : array-like of float, shape (n_samples,), or None
        Weights of the rows; None for ones.
    groups : array-like, shape (n_samples,), or None
        The group of each row, such as a patient. Then samples are of whole groups.
    labels : array-like of shape (n_classes,), or None
        The classes from lowest to highest. None takes the order that the model, or a classifier of this package inside
        it, knows, that of an ordered categorical ``y``, or that of numbers.
    level : float
        Of the intervals, in (0, 1).
    n_draws : int
        Number of samples. 10,000 rows of five classes take a few seconds for 1,000.
    random_state : int, RandomState instance or None
        Seed of the samples. None takes NumPy's global state.

    Returns
    -------
    Report

    Raises
    ------
    NotFittedError
        Before ``fit``.
    ValueError
        If nothing says the order of the classes, ``y`` holds others, fewer than two rows or groups have weight, or an
        argument has the wrong shape or is out of bounds.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier
    >>> from ordinal_objectives.metrics import report
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 2))
    >>> y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=600), [-1.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=20).fit(X[:300], y[:300])
    >>> found = report(model, X[300:], y[300:])
    >>> print(str(found).splitlines()[0])
    HistGradientBoostingOrdinalClassifier: 300 rows, 3 classes
    >>> found.differences["rps"].high < 0  # better than the class shares
    True
    """
    level = validation.check_number("level", level, above=0.0, below=1.0)
    n_draws = validation.check_integer("n_draws", n_draws, 1)
    proba, decisions = model.predict_proba(X), model.predict(X)
    order = classes_in_order(model, y.classes if isinstance(y, OrdinalLabels) else y, labels, "labels=")
    if order is None:
        raise TypeError(f"model must be a fitted classifier, with classes_; got {type(model).__name__}")
    classes = order.ordered_classes_
    soft = y.with_codes(classes) if isinstance(y, OrdinalLabels) else None
    codes: Any = order.encode(y, name="y") if soft is None else soft
    check_consistent_length(X, codes)
    weight = validation.row_weights(sample_weight, len(codes))
    shares = np.bincount(codes, weight, len(classes)) if soft is None else soft.class_weights(weight)
    shares = np.tile(shares / shares.sum(), (len(codes), 1))
    median = decide(shares, rule="median")
    responses: dict[str, tuple[Any, Any]] = {
        "decisions": (order.encode(decisions, name="predictions"), median),
        "probabilities": (columns_in_order(proba, order, model.classes_), shares),
    }
    if soft is None and has_response(model, "predict_raw"):
        score = response_of(model, "predict_raw", X, what="concordance judges scores")
        responses["scores"] = (np.asarray(score), np.zeros(len(codes)))
    rows = BootstrapSample.of(codes, weight, groups)
    of_intervals = isinstance(rows.y, OrdinalLabels)
    judged = [one for one in METRICS.values() if one.judges in responses and (one.of_intervals or not of_intervals)]
    values, baseline, differences = _intervals(rows, judged, responses, level, n_draws, random_state)
    n_units = int(rows.unit.max()) + 1
    return Report(
        model=type(model).__name__,
        classes=classes,
        n_rows=int(np.count_nonzero(np.bincount(rows.row))),
        drawn="rows" if groups is None else f"{n_units} groups",
        level=level,
        n_draws=n_draws,
        values=values,
        baseline=baseline,
        differences=differences,
        median_class=classes[median[0]],
        by_class=None
        if of_intervals
        else _by_class(rows, *(responses[of][0] for of in ("decisions", "probabilities"))),
    )


def _intervals(
    rows: BootstrapSample,
    judged: list[Metric],
    responses: dict[str, tuple[Any, Any]],
    level: float,
    n_draws: int,
    random_state: Seed,
) -> list[dict[str, Interval]]:
    """Return intervals of the model, of the baseline, and of their differences."""
    functions = [rows.function(metric, responses[metric.judges][i]) for i in (0, 1) for metric in judged]
    found = np.array([function(rows.weight[np.newaxis])[0] for function in functions])
    drawn = rows.draw(functions, n_draws, validation.random_numbers(random_state))
    values, draws = found.reshape(2, -1), drawn.reshape(2, len(judged), n_draws)
    level = rows.expanded(level)
    each = zip((*values, values[0] - values[1]), (*draws, draws[0] - draws[1]), strict=True)
    return [
        {
            metric.name: Interval.of(float(value), of_samples * (np.nan if metric.grows_with_noise else 1.0), level)
            for metric, value, of_samples in zip(judged, of_metrics, samples, strict=True)
        }
        for of_metrics, samples in each
    ]


def _by_class(rows: BootstrapSample, decisions: IndexArray, proba: FloatArray) -> dict[str, FloatArray]:
    """Return the columns of the table by class."""
    true, predicted, weight, n_classes = rows.y, decisions[rows.row], rows.weight, proba.shape[1]
    of_class, of_predicted = (sums_by(weight, codes, n_classes) for codes in (true, predicted))
    right = sums_by(weight * (true == predicted), true, n_classes)
    off = sums_by(weight * np.abs(true - predicted), true, n_classes)
    given = sums_by(weight * proba[rows.row, true], true, n_classes)

    def per(sums: FloatArray, total: FloatArray) -> FloatArray:
        return np.divide(sums, total, out=np.full(n_classes, np.nan), where=total > 0.0)

    return {
        "rows": of_class,
        "predicted": of_predicted,
        "recall": per(right, of_class),
        "precision": per(right, of_predicted),
        "mean_absolute_error": per(off, of_class),
        "probability": per(given, of_class),
    }
