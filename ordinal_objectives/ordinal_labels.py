"""Labels that are more, or less, than one class a row: shares of raters, counts, intervals, none."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from ordinal_objectives.aliases import ArrayLike, BoolArray, FloatArray, IndexArray, IntArray, LabelArray
from ordinal_objectives.estimators.labels import (
    OrderedLabels,
    assumed_order,
    distinct_labels,
    is_missing,
    name_none,
    ordered_categories,
    refuse_mixed,
)
from ordinal_objectives.utils import validation
from ordinal_objectives.utils.arrays import as_array
from ordinal_objectives.utils.validation import as_floats, as_objects, check_choice, check_integer, first_few

# Sums of shares may be so far from 1.
_ROUNDING = 1e-6
# Half of the answers is reached but for rounding: shares such as 1/3 + 1/6 have sums below 1/2.
_HALF = 0.5 - 1e-12
# Steps towards the class shares that intervals make most likely.
_SHARE_STEPS = 200


class Ratings(NamedTuple):
    """Answers of raters, checked, without those that are missing.

    Attributes
    ----------
    row, rater, code : ndarray of int, shape (n_answers,)
        Number of the row, of the rater, and of the class.
    n_rows : int
        Number of rows, also of those that nobody has answered.
    raters : ndarray
        Their names.
    classes : ndarray
        Labels from the lowest class to the highest; where all answers are alike, and `classes` is None, this one.
    """

    row: IndexArray
    rater: IndexArray
    code: IntArray
    n_rows: int
    raters: LabelArray
    classes: LabelArray

    @classmethod
    def of(
        cls,
        row: ArrayLike,
        rater: ArrayLike,
        label: ArrayLike,
        classes: ArrayLike | None,
        ids: LabelArray | None = None,
    ) -> Ratings:
        """Read one entry an answer; a rater answers a row once. Rows are numbered as in `ids`, or as they are sorted.

        Raises
        ------
        ValueError
            If the lengths differ, an answer has no row or rater, or a rater more than one answer to a row.
        """
        (codes,), ordered = _read({"label": label}, classes, least=1)
        row, rater, given = _names("row", row), _names("rater", rater), codes >= 0
        validation.check_shape("row", row, codes.shape)
        validation.check_shape("rater", rater, codes.shape)
        rows, number = _numbers(row, ids)
        raters, of_rater = _numbers(rater[given])
        pairs, times = np.unique(np.stack([number[given], of_rater]), axis=1, return_counts=True)
        if (times > 1).any():
            twice = rows[pairs[0, times > 1][0]]
            raise ValueError(f"rater must rate a row once; row {twice} has a rater more than once")
        return cls(number[given], of_rater, codes[given], len(rows), raters, ordered)

    def counts(self) -> FloatArray:
        """Return the number of answers of each row and class, (n_rows, n_classes)."""
        counts = np.zeros((self.n_rows, len(self.classes)))
        np.add.at(counts, (self.row, self.code), 1.0)
        return counts


class OrdinalLabels:
    """Labels of rows that several people have answered, or of which only an interval is known.

    Make them by :meth:`from_columns`, :meth:`from_raters`, :meth:`from_shares`, :meth:`from_counts`,
    :meth:`from_intervals` or :meth:`from_labels`, and pass them to ``fit`` in the place of `y`. Splitters of
    scikit-learn take them; converted to an array they are the label in the middle of each row's answers, by which rows
    are drawn in strata.

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
    >>> essays = OrdinalLabels.from_columns([[3, 4, None], [2, None, 2]], classes=[2, 3, 4])  # three graders
    >>> essays.patterns[essays.codes].tolist()
    [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]
    """

    def __init__(self, patterns: FloatArray, codes: IndexArray, classes: ArrayLike, *, between: bool = False) -> None:
        self.patterns, self.codes, self.between = np.array(patterns), np.array(codes), between
        for array in (self.patterns, self.codes):
            array.setflags(write=False)  # matrices and models refer to them
        self.classes: LabelArray = OrderedLabels(classes).ordered_classes_
        validation.check_shape("patterns", self.patterns, ("n_patterns", len(self.classes)))
        if not (np.isfinite(patterns) & (self.patterns >= 0.0)).all():
            raise ValueError("patterns must hold finite numbers that are not negative")
        if len(codes) and not 0 <= np.min(codes) <= np.max(codes) < len(patterns):
            raise ValueError(f"codes must be numbers of patterns, 0 to {len(patterns) - 1}")

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
            Labels from the lowest class to the highest; None takes the names of a table's columns, in their order, and
            of an array 0, 1, ...
        unlabelled : {"raise", "ignore"}, default="raise"
            Whether rows without a label are an error, or are left out of trainings.
        """
        table, classes = _weights("shares", shares, classes)
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
            Labels from the lowest class to the highest; None takes the names of a table's columns, in their order, and
            of an array 0, 1, ...
        unlabelled : {"raise", "ignore"}, default="raise"
            Whether rows without a label are an error, or are left out of trainings.
        """
        return cls._of_rows(*_weights("counts", counts, classes), unlabelled)

    @classmethod
    def from_columns(
        cls, answers: object, *, classes: ArrayLike | None = None, unlabelled: str = "raise"
    ) -> OrdinalLabels:
        """Return the shares that each row's classes have among its raters, who have a column each.

        Each row counts once.

        Parameters
        ----------
        answers : data frame, Arrow table or array-like, shape (n_samples, n_raters)
            The answers of three graders are ``frame[["g1", "g2", "g3"]]``, rows in the order of those of X. None or NaN
            where a grader did not answer.
        classes : array-like or None, default=None
            Labels from the lowest class to the highest; None takes the categories of ordered categoricals, or finds the
            order as ``fit`` does.
        unlabelled : {"raise", "ignore"}, default="raise"
            Whether rows that nobody has answered are an error, or are left out of trainings.

        Raises
        ------
        ValueError
            If `answers` is no table, holds labels outside of `classes`, or a row has no answer.

        Examples
        --------
        >>> import pandas as pd
        >>> from ordinal_objectives import OrdinalLabels
        >>> essays = pd.DataFrame({"g1": ["low", "high"], "g2": ["low", None], "g3": ["high", None]})
        >>> labels = OrdinalLabels.from_columns(essays, classes=["low", "high"])
        >>> labels.patterns[labels.codes].round(2).tolist()
        [[0.67, 0.33], [0.0, 1.0]]
        """
        codes, ordered = _read(_columns_of(answers), classes)
        counts = np.sum([np.eye(len(ordered))[of] * (of >= 0)[:, np.newaxis] for of in codes], axis=0)
        return cls._of_rows(_shares_of(counts), ordered, unlabelled)

    @classmethod
    def from_raters(
        cls,
        row: ArrayLike,
        rater: ArrayLike,
        label: ArrayLike,
        *,
        index: ArrayLike | None = None,
        n_rows: int | None = None,
        classes: ArrayLike | None = None,
        unlabelled: str = "raise",
    ) -> OrdinalLabels:
        """Return the shares that each row's classes have among its raters; each row counts once.

        One of `index` and `n_rows` says which row of X is meant. Where each rater has a column, take
        :meth:`from_columns`.

        Parameters
        ----------
        row : array-like, shape (n_answers,)
            The row that is rated: its id in `index`, or with `n_rows` its number, from 0 on.
        rater : array-like, shape (n_answers,)
            Who rates it; once each.
        label : array-like, shape (n_answers,)
            The answer; one that is None or NaN is left out.
        index : array-like, shape (n_samples,), or None, default=None
            Ids of the rows of X in their order, such as ``X.index`` or ``frame["id"]``.
        n_rows : int or None, default=None
            Number of the rows of X, where `row` holds their numbers: 0 for the first row of X as ``fit`` is given it.
        classes : array-like or None, default=None
            Labels from the lowest class to the highest; None finds their order as ``fit`` does.
        unlabelled : {"raise", "ignore"}, default="raise"
            Whether rows that nobody has answered are an error, or are left out of trainings.

        Raises
        ------
        ValueError
            If neither or both of `index` and `n_rows` are given, `row` holds others than they say, lengths differ, a
            rater answers a row twice, or a row has no answer.

        Examples
        --------
        >>> from ordinal_objectives import OrdinalLabels
        >>> labels = OrdinalLabels.from_raters(["e7", "e7", "e3"], ["Ann", "Bob", "Ann"], [3, 4, 2], index=["e3", "e7"])
        >>> labels.patterns[labels.codes].tolist()
        [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]
        """
        if (index is None) == (n_rows is None):
            raise ValueError(
                f"row must come with index= or n_rows=: index=X.index where it holds ids, n_rows=len(X) where it holds "
                f"numbers of rows, 0 for the first row of X; got {'neither' if index is None else 'both'}"
            )
        ids = np.arange(check_integer("n_rows", n_rows, 1)) if index is None else _names("index", index)
        ratings = Ratings.of(row, rater, label, classes, ids)
        return cls._of_rows(_shares_of(ratings.counts()), ratings.classes, unlabelled)

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
        (low, high), ordered = _read({"lower": lower, "upper": upper}, classes)
        validation.check_shape("upper", high, low.shape)
        n_classes, known = len(ordered), (low >= 0) | (high >= 0)
        low, high = np.maximum(low, 0), np.where(high < 0, n_classes - 1, high)
        if (low > high).any():
            first = int(np.argmax(low > high))
            got = f"{ordered.tolist()[low[first]]!r} and {ordered.tolist()[high[first]]!r}"
            raise ValueError(f"lower must not lie above upper; got {got} in row {first}")
        k = np.arange(n_classes)
        table = ((k >= low[:, np.newaxis]) & (k <= high[:, np.newaxis])).astype(np.float64)
        table[~known] = 0.0
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
        (codes,), ordered = _read({"y": y}, classes)
        return cls._of_rows(np.eye(len(ordered))[codes] * (codes >= 0)[:, np.newaxis], ordered, unlabelled)

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
        if without.size and unlabelled == "raise":
            raise ValueError(
                f"{without.size} row(s) have no label: {first_few(without.tolist(), str)}, counted from 0; "
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

    def with_codes(self, classes: LabelArray) -> OrdinalLabels:
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


def _read(
    given: dict[str, ArrayLike], classes: ArrayLike | None, *, least: int = 2
) -> tuple[list[IntArray], LabelArray]:
    """Return class codes of labels of several columns, -1 where there is none, and their classes in order.

    Where these are not given, there must be at least so many.
    """
    columns = {name: _column(name, labels) for name, labels in given.items()}
    if classes is None:
        orders = {name: order for name, y in given.items() if (order := ordered_categories(y)) is not None}
        for (first, order), (other, its_order) in itertools.pairwise(orders.items()):
            if not np.array_equal(order, its_order):
                raise ValueError(f"{first} and {other} must have the same categories; got {order} and {its_order}")
        classes = next(iter(orders.values()), None)
    known = [np.array([not is_missing(label) for label in column], dtype=bool) for column in columns.values()]
    labels = [label for column, there in zip(columns.values(), known, strict=True) for label in column[there].tolist()]
    name = next(iter(given)) if len(given) == 1 else f"the columns {first_few(list(given))}"
    codes, ordered = _encode(labels, classes, name=name, least=least)
    parts = np.split(codes, np.cumsum([there.sum() for there in known[:-1]], dtype=int))
    found = [np.full(len(there), -1, np.int32) for there in known]
    for of_all, there, part in zip(found, known, parts, strict=True):
        of_all[there] = part
    return found, ordered


def _encode(labels: list[Any], classes: ArrayLike | None, *, name: str, least: int) -> tuple[IntArray, LabelArray]:
    if classes is None and least == 1 and len(only := distinct_labels(name, labels).distinct) == 1:
        return np.zeros(len(labels), np.int32), only
    order = OrderedLabels(classes)
    codes = order.fit_encode(labels, name=name) if classes is None else order.encode(labels, name=name)
    return codes, order.ordered_classes_


def _column(name: str, y: ArrayLike) -> LabelArray:
    """Return labels as Python's objects, some of which may be missing, (n_samples,)."""
    column = as_objects(y, name=name)
    if column.ndim == 2 and column.shape[1] == 1:
        return column[:, 0]
    validation.check_shape(name, column, ("n_samples",))
    return column


def _columns_of(answers: Any) -> dict[str, ArrayLike]:
    """Return the columns of a table by their names, or numbers; raise ValueError if it is none."""
    is_frame = hasattr(answers, "columns")
    table = answers if is_frame else as_objects(answers, name="answers")
    validation.check_shape("answers", table, ("n_samples", "n_raters"))
    if not is_frame:
        return {f"answers[:, {i}]": table[:, i] for i in range(table.shape[1])}
    names = validation.names_along(answers, "columns", [])
    if hasattr(answers, "iloc"):
        columns = [answers.iloc[:, i] for i in range(len(names))]
    else:
        columns = [answers[name] for name in names]
    return {f"answers[{name!r}]": column for name, column in zip(names, columns, strict=True)}


def _names(name: str, given: ArrayLike) -> LabelArray:
    """Return ids or names, none of them missing, (n,)."""
    names = as_array(given, name=name)
    refuse_mixed(given, names, name=name)
    validation.check_shape(name, names, ("n_answers",))
    if (without := name_none(names)).any():
        raise ValueError(f"{name} must have no missing entry; {without.sum()} are missing (None, NaN or NA)")
    return names


def _numbers(given: LabelArray, ids: LabelArray | None = None) -> tuple[LabelArray, IndexArray]:
    """Return the distinct ids, sorted or as they are given, and the number of each entry among them."""
    if ids is None:
        return np.unique(given, return_inverse=True)
    number = {label: i for i, label in enumerate(ids.tolist())}
    if len(number) < len(ids):
        raise ValueError(f"index must name each row once; got {len(ids)} entries, of which {len(number)} are distinct")
    strange = [label for label in given.tolist() if label not in number]
    if strange:
        raise ValueError(f"row must hold rows of index=, or numbers below n_rows=; got {first_few(strange, repr)}")
    return ids, np.array([number[label] for label in given.tolist()], dtype=np.intp)


def _shares_of(counts: FloatArray) -> FloatArray:
    shares: FloatArray = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    return shares


def _weights(name: str, given: Any, classes: ArrayLike | None) -> tuple[FloatArray, ArrayLike]:
    """Return weights of the classes, 0 in rows of NaN, and the classes."""
    table = as_floats(given, name=name)
    validation.check_shape(name, table, ("n_samples", "n_classes"))
    if classes is None:
        classes = _classes_along(name, given, table.shape[1])
    validation.refuse_other_order_of_classes(as_array(classes, name="classes").tolist(), given, name, axes=["columns"])
    table = np.where(np.isnan(table).all(axis=1, keepdims=True), 0.0, table)
    if not (np.isfinite(table) & (table >= 0.0)).all():
        raise ValueError(f"{name} must hold finite numbers that are not negative, or NaN in a whole row")
    return table, classes


def _classes_along(name: str, table: Any, n_classes: int) -> ArrayLike:
    """Return the names of a table's columns as classes, which are the user's order unless they are sorted text.

    Pivots and cross tables sort their columns, so numbers must rise, and sorted text is warned of as ``fit`` does.
    """
    names = validation.names_along(table, "columns", list(range(n_classes)))
    order = ordered_categories(getattr(table, "columns", None))
    classes = as_array(names, name=f"columns of {name}") if order is None else order
    is_text = any(isinstance(label, str) for label in classes.tolist())
    if order is None and (not is_text or classes.tolist() == sorted(classes.tolist())):
        classes = assumed_order(classes, f"columns of {name}")
    return classes
