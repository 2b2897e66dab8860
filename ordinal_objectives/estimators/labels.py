"""Ordered class labels: checks, distinct values, their order, and their codes 0..K-1."""

from __future__ import annotations

import numbers
import re
import warnings
from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import column_or_1d

from ordinal_objectives.aliases import (
    ArrayLike,
    BoolArray,
    FloatArray,
    IndexArray,
    IntArray,
    LabelArray,
    Params,
)
from ordinal_objectives.utils.arrays import as_array, plain
from ordinal_objectives.utils.validation import as_objects, check_codes, first_few, refuse_soft


class LabelOrderWarning(UserWarning):
    """Plain strings were put into alphabetical order because no order was given.

    Examples
    --------
    An error in place of the warning:

    >>> import warnings
    >>> from ordinal_objectives import LabelOrderWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", LabelOrderWarning)
    """


class OrderedLabels:
    """Order of the classes, and the translation between labels and codes.

    The order is, in this sequence: `classes`; the categories of an ordered categorical (pandas, polars Enum,
    Arrow dictionary), levels without rows included; the numeric order of integers, booleans and floats with
    integer values, gaps allowed; the alphabetical order of strings, with a warning that prints it.

    Parameters
    ----------
    classes : array-like of shape (n_classes,), or None
        Labels from the lowest class to the highest; classes without rows allowed. None takes the order from the labels
        given to `fit`.
    name : str, default="classes"
        Name of `classes` in messages.

    Attributes
    ----------
    ordered_classes_ : ndarray of shape (n_classes,)
        Labels from the lowest class to the highest, of the labels' own type. With `classes` it is there before
        `fit`. Code k is its entry k.
    classes_ : ndarray of shape (n_classes,)
        The same labels sorted as `numpy.unique` sorts them, which is what scikit-learn expects.
    sorted_codes_ : ndarray of intp, shape (n_classes,), or None
        Code of each entry of `classes_`; None where both orders are the same.

    Raises
    ------
    ValueError
        If `classes` is not one-dimensional, has fewer than two entries, duplicates, missing values, or labels that
        cannot be sorted.

    Examples
    --------
    >>> from ordinal_objectives.estimators.labels import OrderedLabels
    >>> labels = OrderedLabels(["low", "middle", "high"]).fit(["high", "low", "low"])
    >>> labels.encode(["low", "high"]), labels.decode([1, 2])
    (array([0, 2], dtype=int32), array(['middle', 'high'], dtype='<U6'))
    >>> labels.classes_, labels.sorted_codes_
    (array(['high', 'low', 'middle'], dtype='<U6'), array([2, 0, 1]))
    >>> OrderedLabels().fit([10, 30, 20, 10]).ordered_classes_
    array([10, 20, 30])
    """

    ordered_classes_: LabelArray
    classes_: LabelArray
    sorted_codes_: IndexArray | None

    def __init__(self, classes: ArrayLike | None = None, *, name: str = "classes") -> None:
        self._declared = classes is not None
        self._name = name
        if classes is not None:
            self._set_classes(as_labels(name, classes).copy())

    def fit(self, y: ArrayLike) -> OrderedLabels:
        """Find the order of the classes, and check the labels to be trained on.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels: integers, floats, booleans, strings or a categorical.

        Returns
        -------
        OrderedLabels
            Itself.

        Raises
        ------
        ValueError
            If `y` is empty or not one-dimensional, has missing or infinite values, only one class, or
            labels outside the declared classes, or is continuous while no classes are declared.

        Warns
        -----
        LabelOrderWarning
            If the order of strings had to be assumed.
        """
        self.fit_encode(y)
        return self

    def fit_encode(self, y: ArrayLike, *, name: str = "y") -> IntArray:
        """Return what :meth:`encode` does after :meth:`fit`, reading the labels once."""
        observed = distinct_labels(name, y, warn=True)
        codes = self._codes_of(observed, name) if self._declared else None
        if len(observed.distinct) < 2:
            only = observed.distinct.tolist()[0]
            raise ValueError(f"{name} must hold labels of at least two classes; got only the class {only!r}")
        if codes is None:
            classes = ordered_categories(y)
            if classes is None:
                classes = assumed_order(observed.distinct, name)
            self._set_classes(classes)
            codes = self._codes_of(observed, name)
        return codes[observed.inverse]

    def encode(self, y: ArrayLike, *, name: str = "y") -> IntArray:
        """Translate labels into codes.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels; a single class is allowed here.
        name : str, default="y"
            Name of `y` in messages.

        Returns
        -------
        ndarray of shape (n_samples,), int32
            Codes 0..n_classes - 1.

        Raises
        ------
        ValueError
            If `y` is empty or not one-dimensional, or holds labels that are not among the classes.
        NotFittedError
            If there are no classes yet.
        """
        if not hasattr(self, "ordered_classes_"):
            raise NotFittedError("OrderedLabels has no classes yet: pass classes= or call fit first")
        labels = distinct_labels(name, y)
        return self._codes_of(labels, name)[labels.inverse]

    def code_of(self, label: Any, *, name: str = "label") -> int:
        """Return the code of one class; raise ValueError if `label` is none of them."""
        classes = self.ordered_classes_.tolist()
        try:
            return self._code_of[plain(as_objects([label], name=name)).tolist()[0]]
        except (KeyError, TypeError):  # lists have no hash
            near = _near(label, classes)
            hint = f"; did you mean {near!r}?" if near else ""
            raise ValueError(f"{name} must be one of the classes {classes}; got {label!r}{hint}") from None

    def decode(self, codes: ArrayLike) -> LabelArray:
        """Translate codes into labels.

        Parameters
        ----------
        codes : array-like of int, shape (n_samples,)
            Codes 0..n_classes - 1.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels, of the type of `ordered_classes_`.

        Raises
        ------
        ValueError
            If a code is out of range.
        """
        return self.ordered_classes_[check_codes(codes, len(self.ordered_classes_), name="codes")]

    def sort_columns(self, proba: FloatArray) -> FloatArray:
        """Bring columns that are in the order of the classes into that of `classes_`.

        Parameters
        ----------
        proba : ndarray of shape (n_samples, n_classes)
            Lowest class first.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            `proba` itself where both orders are the same.
        """
        return proba if self.sorted_codes_ is None else np.take(proba, self.sorted_codes_, axis=1)

    def _codes_of(self, labels: DistinctLabels, name: str) -> IntArray:
        """Return the code of each distinct label; raise ValueError for those that are not among the classes."""
        values = labels.distinct.tolist()
        codes = np.array([self._code_of.get(value, -1) for value in values], dtype=np.int32)
        if codes.min() < 0:
            in_order = dict.fromkeys(labels.inverse[codes[labels.inverse] < 0].tolist())
            unknown = [values[i] for i in in_order]
            raise ValueError(
                f"{name} holds labels outside the classes {self.ordered_classes_.tolist()}; got "
                f"{first_few(unknown, repr)}.{self._misspelt(unknown, values)} {self._advice(values)}"
            )
        return codes

    def _misspelt(self, unknown: list[object], values: list[object]) -> str:
        """Return classes, first those without rows, that are spelled nearly as labels outside of the classes are."""
        classes = self.ordered_classes_.tolist()
        empty = [label for label in classes if label not in values]
        near = {label: _near(label, empty) or _near(label, classes) for label in unknown[:5]}  # as many are shown
        near = {label: found for label, found in near.items() if found}
        if not near:
            return ""
        without_rows = [found for found in dict.fromkeys(near.values()) if found in empty]
        hint = f"; no row has {first_few(without_rows, repr)}, of {self._name}=" if without_rows else ""
        means = f" Did you mean {first_few([f'{found!r} by {label!r}' for label, found in near.items()])}{hint}?"
        texts = [value for value in values if isinstance(value, str)]
        calls = [call for call, spell in _SPELT.items() if {spell(text.strip()) for text in texts} <= set(classes)]
        return f"{means} In pandas: y = y.str.strip(){calls[0]}." if calls else means

    def _advice(self, values: list[object]) -> str:
        """Return what may have happened to labels outside the classes, and what to do."""
        classes = self.ordered_classes_.tolist()
        if {str(value) for value in values} <= {str(label) for label in classes}:
            types = _type_names(values), _type_names(classes)
            return f"They are of type {types[0]}, and the classes of type {types[1]}: give both one type"
        if all(isinstance(number, numbers.Real) for number in (*values, *classes)):
            for kind in (np.float32, np.float16):
                if set(_rounded(values, kind)) <= set(_rounded(classes, kind)):
                    return f"Rounded to {kind.__name__} they are among the classes: give both one type"
        if all(isinstance(value, int) and 0 <= value < len(classes) for value in values):
            return (
                f"These look like codes. A tool that encodes labels before fit (cross_val_predict of probabilities, "
                f"CalibratedClassifierCV(ensemble=False) or (method='temperature'), VotingClassifier, "
                f"StackingClassifier, BaggingClassifier) loses the order of the classes: give it codes "
                f"0..{len(classes) - 1}, lowest class first, and classes=range({len(classes)})"
            )
        return f"Pass {self._name}= with all classes, lowest first, also those that a fit or a fold may lack"

    def _set_classes(self, classes: LabelArray) -> None:
        name = self._name
        if len(classes) < 2:
            raise ValueError(f"{name} must hold at least two labels; got {classes.tolist()}")
        if classes.dtype.kind in "OT" and any(k[-1:] in ("\0", b"\0") for k in classes if isinstance(k, (str, bytes))):
            raise ValueError(f"{name} must not hold text that ends in NUL, which NumPy drops; got {classes.tolist()}")
        self._code_of = {label: code for code, label in enumerate(classes.tolist())}
        if len(self._code_of) < len(classes):
            twice = [label for label, count in Counter(classes.tolist()).items() if count > 1]
            repeated = first_few(twice, repr)
            raise ValueError(f"{name} must be distinct; got more than once: {repeated}")
        try:
            by_label = np.argsort(classes, kind="stable")
        except TypeError:
            raise ValueError(
                f"{name} must be labels that can be sorted; got labels of types {_type_names(classes)}"
            ) from None
        self.ordered_classes_ = classes
        self.sorted_codes_ = None if np.array_equal(by_label, np.arange(len(classes))) else by_label
        self.classes_ = classes if self.sorted_codes_ is None else classes[by_label]


def assumed_order(values: LabelArray, name: str = "y") -> LabelArray:
    """Return distinct numbers in their order, and strings in that of the alphabet, of which a warning tells.

    Raises
    ------
    ValueError
        If numbers have fractions, labels have no order, or strings are numbers that the alphabet has in another order.
    """
    if values.dtype.kind == "f" and (values != np.floor(values)).any():
        fraction = values[values != np.floor(values)][0]
        raise ValueError(
            f"Unknown label type: continuous. {name} holds {fraction}; ordered classes are integers, strings or a "
            f"categorical, or any numbers that classes= declares, such as classes=np.unique({name})"
        )
    try:
        classes: LabelArray = np.unique(values)
    except TypeError:
        raise ValueError(
            f"Unknown label type: mixed. {name} holds labels of types {_type_names(values)}, which have no order"
        ) from None
    labels = classes.tolist()
    if classes.dtype.kind in "UST" or any(isinstance(label, (str, bytes)) for label in labels):
        refuse_numbers_as_text(name, labels)
        more = f" < ... ({len(labels)} labels)" if len(labels) > _MOST_SHOWN else ""
        warnings.warn(
            f"The labels are strings and their order was not given; assumed "
            f"{' < '.join(map(str, labels[:_MOST_SHOWN]))}{more}. "
            f"Pass classes= or an ordered categorical to set it.",
            LabelOrderWarning,
            stacklevel=4,
        )
    return classes


def warn_of_many_classes(y: object, n_rows: int, n_classes: int) -> None:
    """Warn, as scikit-learn does, where labels whose order is not stated have more classes than half their rows."""
    if n_rows > _FEW_ROWS and n_classes > n_rows / 2 and ordered_categories(y) is None:
        warnings.warn(
            f"y holds {n_classes} classes in {n_rows} rows: it may be an id, or a number to predict with "
            f"OrdinalDistributionRegressor. Pass classes= with all classes, lowest first, if they are meant",
            UserWarning,
            stacklevel=5,
        )


def refuse_numbers_as_text(name: str, labels: list[Any]) -> None:
    """Raise ValueError if labels in alphabetical order are text that is all numbers, and these have another order."""
    try:
        rising = sorted(labels, key=float)
    except (TypeError, ValueError):
        return
    if rising != labels and not all(isinstance(label, numbers.Real) for label in labels):
        raise ValueError(
            f"{name} holds numbers as text, of which the order is unknown: {first_few(labels, repr)} by the alphabet. "
            f"Pass numbers, or classes={rising}, from the lowest class to the highest"
        )


def _near(label: object, classes: list[Any]) -> str | None:
    """Return the class that a text may mean; "grade 4" and "grade 5" are two, not one that is misspelt."""
    if not isinstance(label, str) or not all(isinstance(known, str) for known in classes):
        return None
    found = [known for known in classes if known.strip().casefold() == label.strip().casefold()]
    found = found or get_close_matches(label, classes, n=1, cutoff=0.7)
    return next((one for one in found if _DIGITS.sub("", one) != _DIGITS.sub("", label)), None)


def _rounded(values: Iterable[object], kind: Any) -> list[float]:
    with np.errstate(over="ignore"):
        return [float(kind(value)) for value in values]


def _type_names(values: Iterable[object]) -> str:
    return ", ".join(sorted({type(value).__name__ for value in values}))


_MOST_EXACT = 2.0**53
_MOST_SHOWN = 10  # labels in the warning of an assumed order
# In so few rows many classes say nothing.
_FEW_ROWS = 20
_MISSING = "missing labels (None, NaN or NA)"
# What makes labels those of the classes that differ from them in blanks or in case.
_SPELT: Params = {"": str, ".str.lower()": str.lower, ".str.upper()": str.upper, ".str.capitalize()": str.capitalize}
_DIGITS = re.compile(r"\d+")
# Distinct strings for which comparing all rows with one costs less than making Python strings of the rows.
_FEW = 8


class DistinctLabels(NamedTuple):
    """The distinct labels, and the number of the label of each row."""

    distinct: LabelArray
    inverse: IndexArray


def distinct_labels(name: str, y: ArrayLike, *, warn: bool = False) -> DistinctLabels:
    """Return the distinct labels of :func:`as_labels`; equal ones, such as 1 and 1.0, are one."""
    refuse_soft(y, name=name)
    # pandas tells its own types apart in milliseconds; to make Python strings of a million rows takes longer.
    if getattr(y, "ndim", 0) != 1 or not hasattr(y, "factorize") or isinstance(getattr(y, "dtype", None), np.dtype):
        return _tell_apart(as_labels(name, y, warn=warn))
    inverse, found = y.factorize()
    if n_missing := int(np.count_nonzero(inverse < 0)):
        raise _missing(name, _MISSING, n_missing)
    occurs = np.bincount(inverse, minlength=len(found)) > 0  # an Arrow dictionary may hold others
    return DistinctLabels(as_labels(name, np.asarray(found)[occurs]), (np.cumsum(occurs) - 1)[inverse])


def _tell_apart(values: LabelArray) -> DistinctLabels:
    if values.dtype.kind in "biuf":
        return DistinctLabels(*np.unique(values, return_inverse=True))
    inverse = np.full(len(values), -1, dtype=np.intp)
    found: list[object] = []
    while values.dtype.kind in "US" and len(found) < _FEW and inverse[row := int(inverse.argmin())] < 0:
        inverse[values == values[row]] = len(found)
        found.append(values[row])
    rest = np.flatnonzero(inverse < 0)
    labels = values[rest].tolist()
    number = {label: i for i, label in enumerate(dict.fromkeys(labels), len(found))}
    inverse[rest] = np.fromiter(map(number.__getitem__, labels), dtype=np.intp, count=len(labels))
    distinct = np.empty(len(found) + len(number), dtype=values.dtype)
    for i, label in enumerate([*found, *number]):
        distinct[i] = label
    return DistinctLabels(distinct, inverse)


def as_labels(name: str, y: ArrayLike, *, warn: bool = False) -> LabelArray:
    """Return labels as a one-dimensional array without missing values; ``warn`` of a column that is made flat."""
    if np.ma.is_masked(y):
        raise _missing(name, "missing labels (masked)", int(np.ma.getmaskarray(np.ma.asarray(y)).sum()))
    values = _one_a_row(name, y, warn=warn)
    if len(values) == 0:
        raise ValueError(f"{name} must hold labels; got none (0 samples)")
    if values.dtype.kind in "OT":
        labels = values.tolist()
        try:
            distinct = dict.fromkeys(labels)
        except TypeError as error:  # of a list, a dict, or a signalling NaN
            raise ValueError(f"{name} must hold labels that can be told apart; got one that cannot: {error}") from None
        if any(map(is_missing, distinct)):
            raise _missing(name, _MISSING, sum(map(is_missing, labels)))
        if all(issubclass(kind, numbers.Real) for kind in set(map(type, labels))):
            values = np.asarray(labels)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        keep = "numpy.isfinite(y)" if np.isinf(values).any() else "y.notna()"
        raise _missing(name, "NaN or infinity", int(np.count_nonzero(~np.isfinite(values))), keep)
    if values.dtype.kind == "f" and float(np.abs(values).max()) > _MOST_EXACT:
        raise ValueError(f"{name} holds numbers beyond 2**53, where floats do not tell integers apart")
    if values.dtype.kind not in "biufUSOT":
        raise ValueError(f"Unknown label type: {values.dtype}; {name} must hold numbers, strings or a categorical")
    return values


def _missing(name: str, what: str, n_rows: int, keep: str = "y.notna()") -> ValueError:
    """Return the error of labels that are none, which says how to leave their rows out."""
    hint = f". To leave these rows out, in pandas: keep = {keep}; X, y = X[keep], y[keep]" if name == "y" else ""
    return ValueError(f"{name} contains {what}, {n_rows} in all; every row needs a finite label{hint}")


def _one_a_row(name: str, y: ArrayLike, *, warn: bool) -> LabelArray:
    """Return an array with a label a row, (n_samples,), or raise ValueError."""
    try:
        given = as_array(_only_column(y) if hasattr(y, "combine_chunks") else y, name=name)
    except ValueError as error:  # lists of different lengths
        raise ValueError(f"{name} must be one-dimensional: {error}") from None
    if given.ndim == 0:
        is_read_in_turn = isinstance(y, Iterable) and not isinstance(y, (str, bytes, np.ndarray))
        is_order = is_read_in_turn or not name.startswith("y")
        hint = "; pass a list, in the order of the classes, lowest first" if is_order else ""
        raise ValueError(f"{name} must be one-dimensional; got {y!r}{hint}")
    if given.ndim > 1 and given.shape[1] != 1:
        hint = "; answers of several graders are OrdinalLabels.from_columns(y)" if name.startswith("y") else ""
        raise ValueError(f"{name} must be one-dimensional, one label a row; got the shape {given.shape}{hint}")
    refuse_mixed(y, given, name=name)
    if given.dtype.kind == "V":
        raise ValueError(f"{name} must hold labels; got an array of records of type {given.dtype}")
    if given.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} must hold labels with an order")
    values: LabelArray = column_or_1d(given.reshape(getattr(y, "shape", -1)) if given.ndim == 1 else given, warn=warn)
    return values


def refuse_mixed(values: object, array: LabelArray, *, name: str) -> None:
    """Raise ValueError if a list, read by :func:`as_array`, holds text, bytes or others beside each other."""
    if array.dtype.kind != "O" or hasattr(values, "__array__"):
        return
    first: Params = {}
    for entry in array.ravel().tolist():
        if not is_missing(entry):
            kind = "text" if isinstance(entry, str) else "bytes" if isinstance(entry, bytes) else "other"
            first.setdefault(kind, entry)
    if len(first) > 1:
        raise ValueError(
            f"Unknown label type: mixed. {name} must hold values of one type; got "
            f"{' beside '.join(map(repr, first.values()))}"
        )


def name_none(names: LabelArray) -> BoolArray:
    """Tell which entries of an array of names, (n,), are None, NaN or NA."""
    if names.dtype.kind in "OT":  # NumPy's own strings compare a missing one as they do any other
        return np.fromiter(map(is_missing, names.tolist()), bool, len(names))
    return np.asarray(names != names)


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN or NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True  # the truth of pandas.NA is undefined


def ordered_categories(y: object) -> LabelArray | None:
    """Return the categories of an ordered categorical, lowest first, without importing its library.

    Raises
    ------
    ValueError
        If the chunks of an Arrow dictionary have different categories.
    """
    column = _only_column(y)
    dtype: Any = getattr(column, "dtype", None)
    if hasattr(dtype, "pyarrow_dtype"):  # pandas over Arrow
        column = (column.array if hasattr(column, "array") else column).__arrow_array__()
    if getattr(getattr(column, "type", None), "ordered", False):  # an Arrow dictionary
        categories = [chunk.dictionary.to_pylist() for chunk in getattr(column, "chunks", [column])]
        differing = [other for other in categories if other != categories[0]]
        if differing:
            raise ValueError(
                f"labels in chunks must have the same categories; got {categories[0]} and {differing[0]}, which have "
                f"no common order. Pass the order of the classes"
            )
        return np.array(categories[0]) if categories else None
    is_ordered = getattr(dtype, "ordered", type(dtype).__name__ == "Enum")
    has_order = is_ordered and hasattr(dtype, "categories")
    return as_array(dtype.categories, name="categories").copy() if has_order else None


def _only_column(y: Any) -> Any:
    """Return the column of a pandas or polars frame or an Arrow table that has a single one, else `y` itself."""
    if isinstance(y, np.ndarray) or len(getattr(y, "shape", ())) != 2 or y.shape[1] != 1:
        return y
    if hasattr(y, "iloc"):
        return y.iloc[:, 0]
    return y.to_series() if hasattr(y, "to_series") else y.column(0) if hasattr(y, "column") else y
