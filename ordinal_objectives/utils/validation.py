"""Checks of arguments, and of what a user's own formula does: each error names it, what came and what is allowed."""

from __future__ import annotations

import json
import numbers
import operator
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from itertools import product
from typing import Any, TypeGuard

import numpy as np
from scipy.sparse import issparse

from ordinal_objectives.aliases import (
    ArrayLike,
    Estimator,
    FloatArray,
    IntArray,
    LabelArray,
    RealArray,
    Seed,
)

# Probabilities that went through float32 still pass.
_PROBABILITY_TOLERANCE = 1e-4
# A class with a smaller share of all weight than this is treated as empty: its shares would round to 0 or 1.
NEGLIGIBLE_SHARE = 1e-12
# Range of the sum of the weights of a training: see check_total_weight.
_LEAST_TOTAL_WEIGHT, _MOST_TOTAL_WEIGHT = 1e-3, 1e15

# The largest integer of the core. No count of leaves, levels or trees reaches it.
_MOST_COUNT = 2**31 - 1
_HOLDS = {"above": operator.gt, "at_least": operator.ge, "at_most": operator.le, "below": operator.lt}
# A joint step solves for all thresholds at once, with a matrix of the square of their number.
MOST_CLASSES = 2**15
# What an array without dimensions holds, in its place.
_UNWRAPPED = np.frompyfunc(lambda entry: entry[()] if isinstance(entry, np.ndarray) else entry, 1, 1)


def refuse_soft(y: object, *, name: str) -> None:
    """Raise TypeError for :class:`.OrdinalLabels`, of which NumPy's functions read the class in the middle."""
    if isinstance(getattr(y, "patterns", None), np.ndarray):  # a frame may have a column of this name
        raise TypeError(f"{name} must hold one label a row here; got {y!r}")


def refuse_masked(values: object, *, name: str) -> None:
    """Raise if entries are masked, or labels have several answers a row: NumPy's functions read what is not meant."""
    refuse_soft(values, name=name)
    parts = values if isinstance(values, (list, tuple)) else [values]
    if any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts):
        raise ValueError(f"{name} is a masked array; fill the masked entries, with NaN where they are missing features")


def as_objects(values: object, *, name: str) -> LabelArray:
    """Return an array of Python's objects, also of those that arrays without dimensions hold in a list."""
    objects = np.asarray(readable(values, name=name), dtype=object)
    return objects if hasattr(values, "__array__") else np.asarray(_UNWRAPPED(objects), dtype=object)


def is_no_number(values: object) -> bool:
    """Tell whether an array holds text, dates, durations or records, which NumPy would convert to numbers."""
    return getattr(getattr(values, "dtype", None), "kind", None) in set("USTMmV")


def check_choice(value: object, allowed: Collection[str], *, name: str, hint: str = "") -> None:
    """Raise ValueError unless a value is one of the allowed words; ``hint`` follows what is allowed."""
    if not isinstance(value, str) or value not in allowed:  # comparing an array would raise an error of NumPy's
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}{hint}")


def readable(values: Any, *, name: str) -> Any:
    """Return what NumPy reads as it is meant: Arrow's in one chunk, a table as a batch; raise as :func:`refuse_masked`.

    Of a chunked dictionary NumPy takes what lacks for a level.
    """
    refuse_masked(values, name=name)
    if not hasattr(values, "combine_chunks"):
        return values
    if hasattr(values, "type"):
        return values.combine_chunks()
    import pyarrow as pa

    return pa.record_batch([column.combine_chunks() for column in values.columns], names=values.schema.names)


def as_floats(values: ArrayLike, *, name: str) -> FloatArray:
    """Return numbers as a float64 array.

    Raises
    ------
    ValueError
        If they are not numbers (text, dates, durations), do not form an array, or some are masked.
    """
    if type(values) is np.ndarray and values.dtype == np.float64:
        return values
    values = readable(values, name=name)
    try:
        array = np.asarray(values)  # frames and Arrow would make numbers of dates
        if is_no_number(array) or array.dtype.kind == "c":
            raise ValueError(f"got an array of type {array.dtype}")
        return np.asarray(array if isinstance(values, (list, tuple)) else values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be an array of numbers: {error}") from None


def check_n_classes(n_classes: object, most: int = MOST_CLASSES) -> int:
    """Return ``n_classes`` as an int between 2 and `most`.

    Raises
    ------
    TypeError
        If it is not an integer.
    ValueError
        If it is out of range.
    """
    return check_integer("n_classes", n_classes, 2, most)


def check_shape(name: str, array: Any, shape: tuple[int | str, ...]) -> None:
    """Raise ValueError unless an array has a shape; words in it stand for any number of entries."""
    wanted = tuple(got if isinstance(want, str) else want for want, got in zip(shape, array.shape, strict=False))
    if array.shape != wanted or len(shape) != len(wanted):
        allowed = f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"
        raise ValueError(f"{name} must have shape {allowed}; got {array.shape}")


def check_finite(numbers: RealArray, name: str, rule: str) -> None:
    """Raise ValueError, which says the rule, if a number is NaN or infinite."""
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} holds NaN or infinite values; {rule}")


def check_codes(y: ArrayLike, n_classes: int | None = None, *, name: str = "y", part: bool = False) -> IntArray:
    """Return labels as contiguous class codes 0..n_classes - 1.

    Parameters
    ----------
    y : array-like, shape (n_samples,)
        Integers, or floats with integer values.
    n_classes : int or None
        None allows any code from 0 on.
    name : str
        The argument's name in messages.
    part : bool
        Whether these are some of the rows only, and may be none.

    Returns
    -------
    ndarray of int32, shape (n_samples,)

    Raises
    ------
    ValueError
        If there are no labels, or one is NaN, infinite, fractional or outside 0..n_classes - 1.
    """
    labels = np.asarray(readable(y, name=name))
    if labels.ndim != 1 or (labels.shape[0] == 0 and not part):
        raise ValueError(f"{name} must be a non-empty one-dimensional array of class codes; got shape {labels.shape}")
    if labels.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold class codes 0, 1, 2, ...; got values of dtype {labels.dtype}")
    with np.errstate(invalid="ignore"):  # what int32 does not hold differs from it
        codes = labels.astype(np.int32)
    wrong = codes != labels
    if wrong.any():
        raise ValueError(f"{name} must hold integer class codes; got {_some(labels[wrong])}")
    allowed = f"0..{n_classes - 1}" if n_classes is not None else "0, 1, 2, ..."
    outside = codes < 0 if n_classes is None else (codes < 0) | (codes >= n_classes)
    if outside.any():
        from_one = codes.min() >= 1 and codes.max() == n_classes
        hint = f". Class codes start at 0: subtract 1 from labels 1..{n_classes}" if from_one else ""
        raise ValueError(
            f"{name} holds labels outside the declared classes {allowed}; got {_some(codes[outside])}{hint}"
        )
    return codes


def n_classes_of(y: ArrayLike) -> int:
    """Return the number of classes of training labels that are codes: the largest code plus one, at least 2."""
    return check_n_classes(max(2, int(check_codes(y, name="the training labels").max()) + 1))


def check_two_classes(class_weights: FloatArray, *, name: str = "y") -> None:
    """Raise ValueError unless at least two classes have more than a negligible share of the weight."""
    present = np.flatnonzero(class_weights > NEGLIGIBLE_SHARE * class_weights.sum())
    if present.size < 2:
        raise ValueError(
            f"{name} must hold at least two classes of positive weight to train on; "
            f"got only class {present[0] if present.size else 'none'} "
            f"(a class with less than {NEGLIGIBLE_SHARE:g} of all weight counts as empty)"
        )


def check_sample_weight(
    sample_weight: ArrayLike | None, n_samples: int, *, name: str = "sample_weight", part: bool = False
) -> FloatArray | None:
    """Return weights as contiguous float64, or None; those of a part of the rows may all be zero.

    Raises
    ------
    ValueError
        If the length differs, or a weight is negative, NaN or infinite, or all are zero.
    """
    if sample_weight is None:
        return None
    # The kernels read aligned memory without gaps; a column of a table may be neither.
    weight = np.require(as_floats(sample_weight, name=name), requirements=["C", "A"])
    check_shape(name, weight, (n_samples,))
    check_finite(weight, name, "weights must be finite and non-negative")
    if (weight < 0).any():
        raise ValueError(f"{name} must be non-negative; got {_some(weight[weight < 0])}")
    if not weight.any() and not part:
        raise ValueError(f"{name} is zero for every row; at least one weight must be positive")
    return weight


def row_weights(sample_weight: ArrayLike | None, n_samples: int) -> FloatArray:
    """Return checked weights of rows, ones where there are none, (n_samples,)."""
    weight = check_sample_weight(sample_weight, n_samples)
    return np.ones(n_samples) if weight is None else weight


def relative_weights(sample_weight: ArrayLike | None, n_samples: int) -> FloatArray:
    """Return checked weights whose largest is 1: no metric depends on their scale, and their squares stay in range."""
    weight = row_weights(sample_weight, n_samples)
    return weight / weight.max()


def check_total_weight(
    weight: FloatArray | None, *, name: str = "sample_weight", least: float = _LEAST_TOTAL_WEIGHT
) -> FloatArray | None:
    """Return weights whose sum lies between `least` and 1e15.

    Gradients are float32, and their squares overflow at 1e38; XGBoost drops gains below 1e-6 whatever the
    weights: beyond these sums trees would have few splits or none. Weights are not rescaled, since an L2
    penalty and the smallest weight of a leaf are absolute numbers. A single weight may be of any size: below
    1e-38, where float32 ends, it counts as 0, as it does in any sum with the others.

    Raises
    ------
    ValueError
        Naming the sum and the range.
    """
    if weight is None:
        return None
    with np.errstate(over="ignore"):
        total = float(np.sum(weight))
    if not least <= total <= _MOST_TOTAL_WEIGHT:
        raise ValueError(
            f"{name} must sum to between {least:.3g} and {_MOST_TOTAL_WEIGHT:g}, for float32 gradients to keep "
            f"their digits; got a sum of {total:g}. Multiply all weights by a constant"
        )
    vanishes = (weight > 0.0) & (weight < np.finfo(np.float32).tiny)
    return np.where(vanishes, 0.0, weight) if vanishes.any() else weight


def check_start_score(start_score: ArrayLike | None, n_samples: int, *, name: str) -> FloatArray | None:
    """Return scores that trees are added to as float64, or None.

    Raises
    ------
    ValueError
        If the shape is not (n_samples,) or (n_samples, 1), or a score is NaN or infinite.
    """
    if start_score is None:
        return None
    score = as_floats(start_score, name=name).copy()  # LightGBM warns of slices
    score = score.ravel() if score.shape == (n_samples, 1) else score
    check_shape(name, score, (n_samples,))
    check_finite(score, name, "scores must be finite")
    return score


def check_proba(proba: ArrayLike, n_samples: int | None = None) -> RealArray:
    """Return class probabilities as float32 (if they came so) or float64, shape (n_samples, n_classes).

    Raises
    ------
    ValueError
        If the shape is wrong, there are fewer than two columns, an entry is not finite or negative, or a row
        does not sum to 1.
    """
    P: RealArray = as_floats(proba, name="proba")
    P = P.astype(np.float32) if np.asarray(proba).dtype == np.float32 else P
    rows = "n_samples" if n_samples is None else n_samples
    if P.ndim != 2 or P.shape[1] < 2 or P.shape[0] == 0 or n_samples not in (None, P.shape[0]):
        raise ValueError(f"proba must have shape ({rows}, n_classes) with at least two classes; got {P.shape}")
    check_finite(P, "proba", "probabilities must be finite")
    off = np.abs(P.sum(axis=1, dtype=np.float64) - 1.0)
    if P.min() < -_PROBABILITY_TOLERANCE or off.max() > _PROBABILITY_TOLERANCE:
        worst = np.argmax(off)
        raise ValueError(f"proba must not be negative, and sum to 1; the least is {P.min()}, row {worst} {P[worst]}")
    return P


def names_along(table: Any, axis: str, otherwise: list[Any]) -> list[Any]:
    """Return the names of the rows ("index") or "columns" of a table, or others where it has none."""
    if axis == "columns" and hasattr(table, "itercolumns"):  # of Arrow
        return list(table.schema.names)
    return list(getattr(table, axis)) if hasattr(table, "columns") and hasattr(table, axis) else otherwise


def refuse_other_order_of_classes(
    known: list[Any], matrix: Any, name: str, *, axes: Iterable[str] = ("index", "columns"), what: str = "classes"
) -> None:
    """Raise ValueError if a table has the classes as rows or columns in another order, since places alone are read."""
    if not hasattr(matrix, "columns"):
        return
    along = {axis: names_along(matrix, axis, known) for axis in axes}
    orders = [known, *list(along.values())[:1]]  # rows and columns of any names have one order
    for (axis, names), order, read in product(along.items(), orders, (_as_text, _as_number)):
        labels, texts = list(map(read, names)), list(map(read, order))
        if labels != texts and set(labels) == set(texts):
            raise ValueError(f"{name} must have its {what} in the order {order}; got {axis} {list(map(str, names))}")


def _as_text(label: object) -> str:
    """Return a label as text; of a member of ``class Grade(str, Enum)`` its value."""
    return str.__str__(label) if isinstance(label, str) else str(label)


def _as_number(label: object) -> str:
    """Return a label as text, alike for 1, 1.0, "1" and True: files hold text, and labels are of any type."""
    text = _as_text(label)
    try:
        return str(float({"False": 0, "True": 1}.get(text, text)))
    except ValueError:
        return text


def check_thresholds(
    thresholds: ArrayLike, n_classes: int | None = None, *, ordered: bool = True, name: str = "thresholds"
) -> FloatArray:
    """Return thresholds as a contiguous float64 array.

    Parameters
    ----------
    thresholds : array-like of float, shape (n_classes - 1,)
    n_classes : int or None
        None accepts any length from 1 on.
    ordered : bool
        Whether they must not decrease.
    name : str
        What they are called in messages.

    Raises
    ------
    ValueError
        If the length is wrong, a value is not finite, or the order is broken.
    """
    theta = np.ascontiguousarray(as_floats(thresholds, name=name))
    check_shape(name, theta, ("n_classes - 1" if n_classes is None else n_classes - 1,))
    if not np.isfinite(theta).all() or (ordered and (np.diff(theta) < 0).any()) or not theta.size:
        raise ValueError(f"{name} must be finite{' and in increasing order' * ordered}; got {theta.tolist()}")
    return theta


def _some(values: LabelArray) -> str:
    """Return a few distinct values as text."""
    return first_few(np.unique(values).tolist())


def collected(X: Any, *, name: str = "X") -> Any:
    """Return X, a table as one of the kinds that are read by column: a frame of pandas or polars, or an Arrow table.

    A lazy frame of polars is collected, since rows are counted and read more than once; batches of Arrow, and
    frames of other libraries that speak Arrow's or the data frame protocol, become Arrow tables. Entries that a sparse
    matrix stores several times are added up, as SciPy means them. What libraries misread is copied: a field of records
    (CatBoost), and columns of pandas in the other byte order (XGBoost). What is no table is returned as it is.

    Raises
    ------
    TypeError
        If it is a table of another kind, whose columns would be read by position.
    """
    if _is_of(X, "polars") and hasattr(X, "collect"):
        return X.collect()
    if isinstance(X, np.ndarray):
        return np.require(X, requirements="A")
    if is_sparse(X) and not getattr(X, "has_canonical_format", True):
        X = X.copy()
        X.sum_duplicates()
        return X
    if hasattr(X, "isetitem"):  # pandas
        swapped = {i: t for i, t in enumerate(X.dtypes) if isinstance(t, np.dtype) and not t.isnative}
        X = X.copy(deep=False) if swapped else X
        for place, dtype in swapped.items():
            X.isetitem(place, X.iloc[:, place].astype(dtype.newbyteorder("=")))
    is_table = hasattr(X, "columns") or hasattr(X, "schema") or hasattr(X, "__dataframe__")
    if not is_table or _is_of(X, "pandas", "polars") or hasattr(X, "combine_chunks"):
        return X
    try:
        if hasattr(X, "read_next_batch"):
            raise TypeError("a reader can be read only once")
        import pyarrow as pa

        if hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__"):
            return pa.table(X)
        if hasattr(X, "__dataframe__"):
            from pyarrow.interchange import from_dataframe

            return from_dataframe(X)
    except Exception:  # whatever another library raises, or Arrow is not installed: refused below
        pass
    raise TypeError(
        f"{name} must be an array, a sparse matrix, a pandas or polars frame or an Arrow table; got "
        f"{type(X).__module__}.{type(X).__qualname__}, which must be made one of them"
    )


def is_sparse(X: object) -> TypeGuard[Any]:
    """Tell whether features are a sparse matrix or array of SciPy, by whose methods they are read then."""
    return bool(issparse(X))


def _is_of(X: object, *packages: str) -> bool:
    """Tell whether the class of an object, or one that it extends, is defined in a package."""
    return any(base.__module__.partition(".")[0] in packages for base in type(X).__mro__)


def first_few(values: Sequence[object], show: Callable[[object], str] = str) -> str:
    """Return the first five values for a message, and dots if there are more."""
    return ", ".join(map(show, values[:5])) + (", ..." if len(values) > 5 else "")


def check_integer(name: str, value: object, least: int, most: int | None = None, *, also: str = "") -> int:
    """Return a count as an int that the core can hold.

    Raises
    ------
    TypeError, ValueError
        If it is no integer, or out of range; ``also`` says in the message what else is allowed.
    """
    allowed = f"at least {least}" if most is None else f"between {least} and {most}"
    message = f"{name} must be an integer {allowed}{also}; got {value!r}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(message)
    if value < least or (most is not None and value > most):
        raise ValueError(message)
    return min(int(value), _MOST_COUNT)


def check_flag(name: str, value: object) -> bool:
    """Return a boolean; raise TypeError if it is none."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False; got {value!r}")
    return bool(value)


def check_number(name: str, value: object, **bounds: float) -> float:
    """Return a number as a float.

    Parameters
    ----------
    name : str
    value : object
    **bounds : float
        ``above``, ``at_least``, ``at_most``, ``below``.

    Raises
    ------
    TypeError, ValueError
        If it is no finite number, or out of bounds.
    """
    allowed = " and ".join(f"{kind.replace('_', ' ')} {bound:g}" for kind, bound in bounds.items())
    message = f"{name} must be a finite number {allowed}; got {value!r}"
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(message)
    try:
        x = float(value)
    except OverflowError:
        x = np.inf
    if not np.isfinite(x) or not all(_HOLDS[kind](x, bound) for kind, bound in bounds.items()):
        raise ValueError(message + (percent_hint(x) if 1.0 in (bounds.get("below"), bounds.get("at_most")) else ""))
    return x


def percent_hint(shares: ArrayLike) -> str:
    """Return the shares that numbers out of bounds mean if they are percent, in words."""
    percent = np.asarray(shares)
    are_percent = percent.min(initial=0.0) >= 0.0 and 5.0 <= percent.max(initial=0.0) <= 100.0
    return f"; did you mean {(percent / 100.0).tolist()}?" if are_percent else ""


def signs_of(given: Any, *, name: str) -> Any:
    """Return monotone constraints as a list of -1, 0 and 1, or as a dict where they are given by feature.

    Libraries read what is no such number as 0, or cut its digits. Text is a list, in parentheses or without.

    Raises
    ------
    ValueError
        If they are anything else.
    """
    features = list(given.keys()) if hasattr(given, "keys") else None
    values = given if features is None else [given[feature] for feature in features]
    if isinstance(given, str):
        with suppress(ValueError):
            values = json.loads(f"[{given.strip('() ,')}]")
    array = as_objects(values, name=name)
    signs = array.ravel().tolist()
    wrong = [
        one for one in signs if isinstance(one, bool) or not isinstance(one, numbers.Real) or one not in (-1, 0, 1)
    ]
    if array.ndim != 1 or wrong:
        raise ValueError(f"{name} must hold -1, 0 or 1 for each feature; got {wrong[0] if wrong else given!r}")
    signs = list(map(int, signs))
    return signs if features is None else dict(zip(features, signs, strict=True))


def random_numbers(random_state: Seed) -> np.random.RandomState:
    """Return the numbers of ``random_state``; raise ValueError unless scikit-learn takes it, or it is a Generator."""
    from sklearn.utils import check_random_state

    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.bit_generator)
    return check_random_state(random_state)


def drawn_seed(random_state: Seed) -> int:
    """Return a seed that ``random_state`` draws."""
    return int(random_numbers(random_state).randint(np.iinfo(np.int32).max))


# What scikit-learn calls a seed, and LightGBM beside it.
_SEEDS = ("random_state", "seed", "random_seed")


def seeds_of(estimator: Estimator, seed: int) -> dict[str, int]:
    """Return a value for each parameter of an estimator that is a seed, at any depth."""
    return {name: seed for name in estimator.get_params() if name.rpartition("__")[2] in _SEEDS}


def call_read_only[Answer](owner: str, formula: Callable[..., Answer], *arguments: object) -> Answer:
    """Call a formula with read-only views of its arguments, without copies, and return its result.

    Parameters
    ----------
    owner : str
        Whose formula it is: "loss 'mine'".
    formula : callable
    *arguments : ndarray, named tuple or dataclass of them, or anything else
        Anything else is handed on as it is.

    Raises
    ------
    ValueError
        If it writes into one of the arrays; the message names the formula and its owner.
    """
    try:
        return formula(*map(read_only, arguments))
    except ValueError as error:
        if "read-only" not in str(error):  # NumPy's message, for every kind of write
            raise
        name = getattr(formula, "__name__", None)
        who = owner if name is None else f"{name} of {owner}"
        raise ValueError(
            f"{who} must not change the arrays that it is given; let it compute with copies of them"
        ) from error


def read_only(argument: Any) -> Any:
    """Return a view of an array, or of those of a named tuple or dataclass, that cannot be written into."""
    if isinstance(argument, np.ndarray):
        view = argument.view()
        view.setflags(write=False)
        return view
    if hasattr(argument, "_fields"):
        return type(argument)(*map(read_only, argument))
    if is_dataclass(argument) and not isinstance(argument, type):
        return type(argument)(*(read_only(getattr(argument, field.name)) for field in fields(argument)))
    return argument


def check_answer(what: str, array: object, expected: tuple[int, ...]) -> None:
    """Raise ValueError unless an answer is a plain array of float64 and of a shape; one that is masked is none."""
    if type(array) is not np.ndarray or array.shape != expected or array.dtype != np.float64:
        got = f"{array.dtype} {array.shape}" if type(array) is np.ndarray else repr(type(array).__name__)
        raise ValueError(f"{what} must be float64 {expected}; got {got}")
