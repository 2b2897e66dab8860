"""Labels that are more, or less, than one class a row: shares of raters, counts, intervals, none."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ordinal_objectives.aliases import ArrayLike, BoolArray, FloatArray, IndexArray, IntArray, LabelArray
from ordinal_objectives.estimators.labels import (
    OrderedLabels,
    is_missing,
    name_none,
    ordered_categories,
    refuse_mixed,
)
from ordinal_objectives.utils import validation
from ordinal_objectives.utils.validation import as_floats, as_objects, check_choice, first_few, readable

# Sums of shares may be so far from 1.
_ROUNDING = 1e-6
# Half of the answers is reached but for rounding: shares such as 1/3 + 1/6 have sums below 1/2.
_HALF = 0.5 - 1e-12
# Steps towards the class shares that intervals make most likely.
_SHARE_STEPS = 200


class Ratings(NamedTuple):
    """Answers of raters, checked.

    Attributes
    ----------
    row, rater, code : ndarray of int, shape (n_answers,)
        Number of the row, of the rater, and of the class.
    raters : ndarray
        Their names.
    classes : ndarray
        Labels from the lowest class to the highest.
    """

    row: IndexArray
    rater: IndexArray
    code: IntArray
    raters: LabelArray
    classes: LabelArray

    @classmethod
    def of(cls, row: ArrayLike, rater: ArrayLike, label: ArrayLike, classes: ArrayLike | None) -> Ratings:
        """Read one entry an answer; a rater answers a row once."""
        codes, ordered = _read(label, classes)
        rows, raters = np.asarray(readable(row, name="row")), np.asarray(readable(rater, name="rater"))
        if rows.shape != codes.shape or raters.shape != codes.shape:
            raise ValueError(
                f"row, rater and label must have one entry an answer; got {rows.shape}, {raters.shape}, {codes.shape}"
            )
        if rows.dtype.kind not in "iu" or rows.min() < 0:
            raise ValueError("row must hold numbers of rows, integers from 0 on")
        refuse_mixed(rater, raters, name="rater")
        if (without := name_none(raters)).any():
            raise ValueError(f"rater must name who gave each answer; {without.sum()} have none (None, NaN or NA)")
        names, number = np.unique(raters, return_inverse=True)
        pairs, times = np.unique(np.stack([rows, number]), axis=1, return_counts=True)
        if (times > 1).any():
            raise ValueError(f"rater must rate a row once; row {pairs[0, times > 1][0]} has a rater more than once")
        return cls(rows, number, codes, names, ordered)

    def counts(self) -> tuple[FloatArray, LabelArray]:
        """Return the number of answers of each row and class, (n_rows, n_classes), and the classes."""
        counts = np.zeros((int(self.row.max()) + 1, len(self.classes)))
        np.add.at(counts, (self.row, self.code), 1.0)
        return counts, self.classes


class OrdinalLabels:
    """Labels of rows that several people have answered, or of which only an interval is known.

    Make them by :meth:`from_shares`, :meth:`from_counts`, :meth:`from_raters`, :meth:`from_intervals` or
    :meth:`from_labels`, and pass them to ``fit`` in the place of `y`. scikit-learn's splitters take them; converted to
    an array they are the label in the middle of each row's answers, by which rows are drawn in strata.

    Parameters
    ----------
    patterns : ndarray of float64, shape (n_patterns, n_classes)
        Weight of each class in each distinct label. Where an interval is known, 1 for the classes in it; of a class
        that it covers in part, which part. No row is known where all are 0.
    codes : ndarray of int, shape (n_samples,)
        Pattern of each row.
    classes : array-like, shape (n_classes,)
        Labels from the lowest class to the highest.
    between : bool, default=False
        Whether a label is an interval: the true class is one of those with weight, and unknown.

    Attributes
    ----------
    patterns, codes, classes, between
        As given.

    Examples
    --------
    >>> from ordinal_objectives import OrdinalLabels
    >>> pain = OrdinalLabels.from_intervals([0, 2, 1], [0, None, 2], classes=[0, 1, 2, 3])  # none, at least 2, 1 to 2
    >>> len(pain), pain.patterns[pain.codes].astype(int).tolist()
    (3, [[1, 0, 0, 0], [0, 0, 1, 1], [0, 1, 1, 0]])
    >>> essays = OrdinalLabels.from_raters([0, 0, 1, 1], ["Ann", "Bob", "Ann", "Bob"], [3, 4, 2, 2])
    >>> essays.classes, essays.patterns[essays.codes].tolist()
    (array([2, 3, 4]), [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])
    """

    def __init__(self, patterns: FloatArray, codes: IndexArray, classes: ArrayLike, *, between: bool = False) -> None:
        self.patterns, self.codes, self.between = np.array(patterns), np.array(codes), between
        for array in (self.patterns, self.codes):
            array.setflags(write=False)  # matrices and models refer to them
        self.classes: LabelArray = OrderedLabels(classes).ordered_classes_
        if not (np.isfinite(patterns) & (patterns >= 0.0)).all():
            raise ValueError("patterns must hold finite numbers that are not negative")
        if len(codes) and not 0 <= np.min(codes) <= np.max(codes) < len(patterns):
            raise ValueError(f"codes must be numbers of patterns, 0 to {len(patterns) - 1}")
        if patterns.shape[1] != len(self.classes):
            raise ValueError(f"classes must hold {patterns.shape[1]} labels, one a column; got {len(self.classes)}")

    @classmethod
    def from_shares(
        cls, shares: ArrayLike, *, classes: ArrayLike | None = None, unlabelled: str = "raise"
    ) -> OrdinalLabels:
        """Return labels of which each class has a share.

        Parameters
        ----------
        shares : array-like of float, shape (n_samples, n_classes)
            Lowest class first; not negative, and 1 in all of a row. NaN for a row without a label.
        classes : array-like or None, default=None
            Labels from the lowest class to the highest; None for 0, 1, ...
        unlabelled : {"raise", "ignore"}, default="raise"
            Whether rows without a label are an error, or are left out of trainings.
        """
        table = _weights("shares", shares, classes)
        total = table.sum(axis=1)
        wrong = np.flatnonzero((total > 0) & (np.abs(total - 1.0) > _ROUNDING))
        if wrong.size:
            raise ValueError(
                f"shares must be 1 in all in every row; row {wrong[0]} has {total[wrong[0]]:g}. For numbers of answers "
                f"take from_counts"
            )
        return cls._of_rows(table, classes, unlabelled)

    @classmethod
    def from_counts(
        cls, counts: ArrayLike, *, classes: ArrayLike | None = None, unlabelled: str = "raise"
    ) -> OrdinalLabels:
        """Return labels that are numbers of answers: a row counts as many times as it has answers.

        Parameters
        ----------
        counts : array-like of float, shape (n_samples, n_classes)
            Lowest class first; not negative. All are 0, or NaN, for a row without an answer.
        classes : array-like or None, default=None
            Labels from the lowest class to the highest; None for 0, 1, ...
        unlabelled : {"raise", "ignore"}, default="raise"
            Whether rows without a label are an error, or are left out of trainings.
        """
        return cls._of_rows(_weights("counts", counts, classes), classes, unlabelled)

    @classmethod
    def from_raters(
        cls,
        row: ArrayLike,
        rater: ArrayLike,
        label: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        unlabelled: str = "raise",
    ) -> OrdinalLabels:
        """Return the shares that each row's classes have among its raters; each row counts once.

        Parameters
        ----------
        row : array-like of int, shape (n_answers,)
            Number of the row that is rated, from 0 on.
        rater : array-like, shape (n_answers,)
            Who rates it; once each.
        label : array-like, shape (n_answers,)
            The answer.
        classes : array-like or None, default=None
            Labels from the lowest class to the highest; None finds their order as ``fit`` does.
        unlabelled : {"raise", "ignore"}, default="raise"
            Whether numbers of rows that lack are an error, or are left out of trainings.
        """
        counts, classes = Ratings.of(row, rater, label, classes).counts()
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
        return cls._of_rows(shares, classes, unlabelled)

    @classmethod
    def from_intervals(
        cls, lower: ArrayLike, upper: ArrayLike, *, classes: ArrayLike | None = None, unlabelled: str = "raise"
    ) -> OrdinalLabels:
        """Return labels of which the lowest and the highest class they may be are known.

        Parameters
        ----------
        lower, upper : array-like, shape (n_samples,)
            Labels, both included; the same where the class is known. None or NaN for an open end: "at least 2" is
            ``lower=2, upper=None``.
        classes : array-like or None, default=None
            Labels from the lowest class to the highest; None finds their order as ``fit`` does.
        unlabelled : {"raise", "ignore"}, default="raise"
            Whether rows with both ends open are an error, or are left out of trainings.
        """
        ends = [as_objects(lower, name="lower"), as_objects(upper, name="upper")]
        if ends[0].shape != ends[1].shape or ends[0].ndim != 1:
            raise ValueError(f"lower and upper must have one label a row; got {ends[0].shape} and {ends[1].shape}")
        known = [np.array([not is_missing(label) for label in end], dtype=bool) for end in ends]
        if classes is None:
            orders = [order for order in map(ordered_categories, (lower, upper)) if order is not None]
            classes = orders[0] if orders else None
            if not all(np.array_equal(order, orders[0]) for order in orders):
                raise ValueError(f"lower and upper must have the same categories; got {orders[0]} and {orders[1]}")
        values = [end[there].tolist() for end, there in zip(ends, known, strict=True)]
        found, ordered = _read(values[0] + values[1], classes)
        n_classes = len(ordered)
        low, high = np.zeros(len(ends[0]), np.int32), np.full(len(ends[0]), n_classes - 1, np.int32)
        low[known[0]], high[known[1]] = np.split(found, [len(values[0])])
        if (low > high).any():
            first = int(np.argmax(low > high))
            got = f"{ends[0][first]!r} and {ends[1][first]!r}"
            raise ValueError(f"lower must not lie above upper; got {got} in row {first}")
        k = np.arange(n_classes)
        table = ((k >= low[:, np.newaxis]) & (k <= high[:, np.newaxis])).astype(np.float64)
        table[~(known[0] | known[1])] = 0.0
        return cls._of_rows(table, ordered, unlabelled, between=True)

    @classmethod
    def from_labels(
        cls, y: ArrayLike, *, classes: ArrayLike | None = None, unlabelled: str = "ignore"
    ) -> OrdinalLabels:
        """Return labels of one class a row, of which some may be missing (None or NaN).

        Parameters
        ----------
        y : array-like, shape (n_samples,)
            Labels.
        classes : array-like or None, default=None
            Labels from the lowest class to the highest; None finds their order as ``fit`` does.
        unlabelled : {"raise", "ignore"}, default="ignore"
            Whether rows without a label are an error, or are left out of trainings.
        """
        labels = cls.from_intervals(y, y, classes=classes, unlabelled=unlabelled)
        return cls(labels.patterns, labels.codes, labels.classes)

    @classmethod
    def _of_rows(
        cls, table: FloatArray, classes: ArrayLike | None, unlabelled: str, *, between: bool = False
    ) -> OrdinalLabels:
        check_choice(unlabelled, ("raise", "ignore"), name="unlabelled")
        patterns, codes = np.unique(table, axis=0, return_inverse=True)
        labels = cls(
            patterns, codes.ravel(), np.arange(table.shape[1]) if classes is None else classes, between=between
        )
        without = np.flatnonzero(~labels.labelled)
        if without.size == len(labels):
            raise ValueError("no row has a label")
        if without.size and unlabelled == "raise":
            raise ValueError(
                f"{without.size} row(s) have no label: {first_few(without.tolist(), str)}; "
                f"unlabelled='ignore' leaves them out of trainings"
            )
        return labels

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> OrdinalLabels:
        """Return the labels of some rows: a slice, a mask or numbers."""
        codes = self.codes[rows[0] if isinstance(rows, tuple) else rows]  # scikit-learn indexes arrays by (rows, ...)
        return OrdinalLabels(self.patterns, np.atleast_1d(codes), self.classes, between=self.between)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> LabelArray:
        """Return the label in the middle of each row's answers."""
        return np.asarray(self.classes[self.middle], dtype=dtype)

    def __repr__(self) -> str:
        kind = "intervals" if self.between else "weights of classes"
        return f"OrdinalLabels({len(self)} rows, {len(self.patterns)} distinct {kind}, classes={self.classes.tolist()})"

    @property
    def shape(self) -> tuple[int]:
        """(n_samples,)."""
        return (len(self.codes),)

    @property
    def labelled(self) -> BoolArray:
        """Which rows have a label, (n_samples,)."""
        return np.asarray(self.patterns.any(axis=1))[self.codes]

    @property
    def middle(self) -> IntArray:
        """Class code in the middle of each row's answers, the lower one of two; 0 of a row without a label."""
        below = np.cumsum(self.patterns, axis=1)
        return (below >= below[:, -1:] * _HALF).argmax(axis=1).astype(np.int32)[self.codes]

    @property
    def at_most(self) -> FloatArray:
        """Weight b_k of the answers "y <= k" in each pattern, (n_patterns, n_classes - 1)."""
        return np.cumsum(self.patterns, axis=1)[:, :-1]

    @property
    def is_plain(self) -> bool:
        """Whether each row has at most one class."""
        return bool((np.count_nonzero(self.patterns, axis=1) <= 1).all())

    def times(self, weight: FloatArray | None) -> FloatArray | None:
        """Return weights of the rows times those of their answers, (n_samples,); None where all are 1."""
        total = self._totals()[self.codes]
        if np.allclose(total, 1.0, rtol=0.0, atol=_ROUNDING):
            return weight
        return total if weight is None else total * weight

    def _totals(self) -> FloatArray:
        """Return how often a row with each pattern counts, (n_patterns,)."""
        found: FloatArray = self.patterns.max(axis=1) if self.between else self.patterns.sum(axis=1)
        return found

    @property
    def shares(self) -> FloatArray:
        """Patterns of rows that count once: shares of the answers, or parts of the classes in an interval."""
        total = self._totals()
        found: FloatArray = self.patterns / np.where(total > 0.0, total, 1.0)[:, np.newaxis]
        return found

    def answers(self) -> tuple[IndexArray, IntArray, FloatArray]:
        """Return rows, class codes and weights above 0 of every class that some row may have, row after row."""
        of_pattern, code = np.nonzero(self.patterns)
        sizes = np.bincount(of_pattern, minlength=len(self.patterns))
        number = numbers_in(np.cumsum(sizes) - sizes, sizes, self.codes)
        weight = self.patterns[of_pattern, code]
        return np.repeat(np.arange(len(self)), sizes[self.codes]), code.astype(np.int32)[number], weight[number]

    def reduced(self, weight: FloatArray | None) -> tuple[FloatArray | None, OrdinalLabels | None]:
        """Return weights of the rows times those of their answers, and the shares: None where the middle says all."""
        if self.is_plain:
            return self.times(weight), None
        return self.times(weight), OrdinalLabels(self.shares, self.codes, self.classes, between=self.between)

    def judged(self, predicted: Any, weight: FloatArray | None = None) -> tuple[IntArray, Any, FloatArray]:
        """Return class codes, predictions and weights by which metrics judge each answer: one row an answer.

        Raises
        ------
        ValueError
            If they are intervals, whose class is unknown.
        """
        if self.between and not self.is_plain:
            raise ValueError("intervals have no class to judge by; mae, zero_one, rps and log_loss take them")
        row, code, of_answers = self.answers()
        return code, predicted[row], of_answers if weight is None else of_answers * weight[row]

    def coded(self, classes: LabelArray) -> OrdinalLabels:
        """Return labels whose classes are 0, 1, ..., or raise ValueError unless they are those of an estimator."""
        if classes.tolist() != self.classes.tolist():
            raise ValueError(f"classes must be those of the labels, {self.classes.tolist()}; got {classes.tolist()}")
        return OrdinalLabels(self.patterns, self.codes, range(len(classes)), between=self.between)

    def bounds(self) -> tuple[IntArray, IntArray]:
        """Return the lowest and the highest class code that each row may have, (n_samples,) each."""
        there = self.patterns > 0
        last = self.patterns.shape[1] - 1 - there[:, ::-1].argmax(axis=1)
        return there.argmax(axis=1).astype(np.int32)[self.codes], last.astype(np.int32)[self.codes]

    def weighted(self, class_weights: FloatArray) -> OrdinalLabels:
        """Return labels whose classes count by weights, (n_classes,)."""
        return OrdinalLabels(self.patterns * class_weights, self.codes, self.classes, between=self.between)

    def class_weights(self, weight: FloatArray | None = None) -> FloatArray:
        """Return the sum of the weights of each class, (n_classes,).

        That of an interval goes to its classes by the shares that all rows most likely have (Turnbull's estimate), with
        half a row more of classes that may be there.
        """
        of_patterns = np.bincount(self.codes, weight, len(self.patterns))
        if not self.between or self.is_plain:
            return of_patterns @ self.patterns
        n_counted = np.count_nonzero(self.labelled if weight is None else self.labelled * weight)
        known = np.flatnonzero(of_patterns * self.patterns.sum(axis=1))
        of_patterns, patterns = of_patterns[known], self.patterns[known]
        there, total = patterns.any(axis=0), of_patterns.sum()
        more = there * 0.5 * total / (there.sum() * n_counted)
        shares = there.astype(np.float64)
        for _ in range(_SHARE_STEPS):
            within = patterns * shares
            shares = of_patterns @ (within / within.sum(axis=1, keepdims=True)) + more
        return np.asarray(shares * total / shares.sum())


def numbers_in(first: IndexArray, sizes: IndexArray, groups: Any) -> IndexArray:
    """Return the numbers first, first + 1, ... of the entries of some groups, one group after the other."""
    n, start = sizes[groups], first[groups]
    return np.repeat(start - np.cumsum(n) + n, n) + np.arange(n.sum())


def _read(y: ArrayLike, classes: ArrayLike | None) -> tuple[IntArray, LabelArray]:
    """Return class codes, and the classes in order; where these are given, `y` may hold a single one."""
    labels = OrderedLabels(classes)
    codes = labels.fit_encode(y) if classes is None else labels.encode(y)
    return codes, labels.ordered_classes_


def _weights(name: str, given: Any, classes: ArrayLike | None) -> FloatArray:
    """Return weights of the classes, 0 in rows of NaN."""
    table = as_floats(given, name=name)
    if table.ndim != 2 or table.shape[1] < 2 or not len(table):
        raise ValueError(f"{name} must have shape (n_samples, n_classes), with two classes or more; got {table.shape}")
    known = np.arange(table.shape[1]) if classes is None else np.asarray(classes)
    validation.refuse_other_order_of_classes(known.tolist(), given, name, axes=["columns"])
    table = np.where(np.isnan(table).all(axis=1, keepdims=True), 0.0, table)
    if not (np.isfinite(table) & (table >= 0.0)).all():
        raise ValueError(f"{name} must hold finite numbers that are not negative, or NaN in a whole row")
    return table
