"""Checks of features: the engine takes columns of numbers and booleans."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from ordinal_objectives.estimators.column_types import read_numbers
from ordinal_objectives.row_blocks import RowBlocks, header_of
from ordinal_objectives.utils.validation import collected


def check_features(estimator: Any, X: Any, *, reset: bool, blocks: bool = False) -> NDArray[np.floating] | RowBlocks:
    """Return features as float32 or float64, (n_samples, n_features); `reset` is for those of ``fit``.

    With ``blocks``, RowBlocks are returned as they are.
    """
    features: NDArray[np.floating] | RowBlocks
    if blocks and isinstance(X, RowBlocks):
        if X.shape[0] < 1 + reset:
            raise ValueError(f"Found RowBlocks with {X.shape[0]} sample(s) while a minimum of {1 + reset} is required")
        features = X
    else:
        X = collected(X)
        features = read_numbers(X, estimator=estimator, ensure_min_samples=1 + reset)
    validate_data(estimator, header_of(X), reset=reset, skip_check_array=True)
    return features
