"""Which features the engine takes: numbers and booleans, by the types that a container declares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from ordinal_objectives.column_types import NUMBERS, columns_of
from ordinal_objectives.row_blocks import RowBlocks
from ordinal_objectives.validation import collected, first_few, refuse_masked


def check_features(estimator: Any, X: Any, *, reset: bool, blocks: bool = False) -> NDArray[np.floating] | RowBlocks:
    """Return features as float32 or float64, (n_samples, n_features); `reset` is for those of ``fit``.

    With ``blocks``, RowBlocks are returned as they are.
    """
    if blocks and isinstance(X, RowBlocks):
        if X.shape[0] < 1 + reset:
            raise ValueError(f"Found RowBlocks with {X.shape[0]} sample(s) while a minimum of {1 + reset} is required")
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X
    X = collected(X)
    check_columns(X)
    checked = validate_data(
        estimator,
        X,
        reset=reset,
        ensure_all_finite=False,
        dtype=[np.float64, np.float32],
        ensure_min_samples=2 if reset else 1,
    )
    features: NDArray[np.floating] = np.require(checked, requirements="A")
    return features  # any strides of whole entries: fields of records have others


def check_columns(X: Any) -> None:
    """Raise ValueError if a column holds anything but numbers, booleans and missing values, or is masked.

    NumPy would read the codes or the labels of a category, the digits of a string and the ticks of a date as
    numbers. Values are looked at in columns of Python objects alone.

    Parameters
    ----------
    X : array-like, pandas or polars frame, or Arrow table, shape (n_samples, n_features)

    Raises
    ------
    ValueError
        Naming the columns and their types.
    TypeError
        If an array of objects holds what is neither a string nor a number.
    """
    refuse_masked(X, name="X")
    X = np.asarray(X) if isinstance(X, (list, tuple)) else X
    strange = list(_strange_columns(X))
    if strange:
        raise ValueError(
            f"X must hold numbers, booleans and missing values; got {first_few(strange)}. The engine takes no "
            f"categories, strings or dates: encode them as numbers whose order means something, or use "
            f"XGBOrdinalClassifier or LGBMOrdinalClassifier with categories"
        )


def _strange_columns(X: Any) -> Iterator[str]:
    if hasattr(X, "columns"):
        yield from columns_of(X, "category", "text", "date", "other")
    elif isinstance(X, np.ndarray) and X.dtype.kind in "USTMmV":
        yield f"an array of type {X.dtype}"
    elif isinstance(X, np.ndarray) and X.dtype.kind == "O":
        strange = [value for value in X.ravel() if value is not None and not isinstance(value, NUMBERS)]
        if strange and not isinstance(strange[0], (str, bytes)):
            raise TypeError(
                f"X must hold numbers, booleans and missing values; got the value {strange[0]!r}, and an argument must "
                f"be a string or a number to be read as one"
            )
        if strange:
            yield f"the value {strange[0]!r}"
