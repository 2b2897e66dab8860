"""Checks of features: the engine takes columns of numbers, booleans and categories."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted, validate_data

from ordinal_objectives.estimators.tables import CategoryColumns, check_table, read_numbers
from ordinal_objectives.row_blocks import RowBlocks, header_of
from ordinal_objectives.utils.validation import collected, refuse_masked


class WithCategories:
    """Base of estimators that know which features are categories."""

    n_features_in_: int
    _categories: CategoryColumns = CategoryColumns()  # pickles of earlier versions have none

    @property
    def is_categorical_(self) -> NDArray[np.bool_]:
        """Which features are categories, (n_features,)."""
        check_is_fitted(self)
        return self._categories.mask(self.n_features_in_)

    def category_levels(self) -> dict[int, list[Any]]:
        """Return the levels of each feature of categories, in the order of their codes."""
        check_is_fitted(self)
        return {place: list(levels) for place, levels in self._categories.levels.items()}


def learn_categories(X: Any, asked: Any, max_bins: int) -> CategoryColumns:
    """Return the columns of categories that ``categorical_features`` asks for, with the levels that occur in X."""
    if isinstance(X, RowBlocks):
        found = CategoryColumns.learn([X.header], asked, max_bins)
        return CategoryColumns.learn(X.tables(), asked, max_bins) if found.levels else found
    X = _as_table(X)
    if len(X.shape) != 2 or issparse(X):  # refused where features are checked
        return CategoryColumns()
    return CategoryColumns.learn([X], asked, max_bins)


def check_features(
    estimator: Any, X: Any, categories: CategoryColumns, *, reset: bool, blocks: bool = False
) -> NDArray[np.floating] | RowBlocks:
    """Return features as float32 or float64, (n_samples, n_features); `reset` is for those of ``fit``.

    Categories are numbers then. With ``blocks``, RowBlocks are returned as such.
    """
    features: NDArray[np.floating] | RowBlocks
    if blocks and isinstance(X, RowBlocks):
        if X.shape[0] < 1 + reset:
            raise ValueError(f"Found RowBlocks with {X.shape[0]} sample(s) while a minimum of {1 + reset} is required")
        read_numbers(categories.encode(X.header), ensure_min_samples=0)
        features = X.encoded(categories)
    else:
        X = _as_table(X)
        if categories.levels and not reset:  # which columns hold categories is known of these features alone
            validate_data(estimator, X, reset=False, skip_check_array=True)
        features = read_numbers(categories.encode(X), estimator=estimator, ensure_min_samples=1 + reset)
    validate_data(estimator, header_of(X), reset=reset, skip_check_array=True)
    return features


def _as_table(X: Any) -> Any:
    X = collected(X)
    refuse_masked(X, name="X")
    X = X if hasattr(X, "shape") else np.asarray(X)
    check_table(X)
    return X
