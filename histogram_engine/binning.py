"""Cuts between the bins of each feature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives import _core
from ordinal_objectives.row_blocks import RowBlocks, blocks_of

# Rows that the cuts of a large table are computed from.
SUBSAMPLE = 200_000
# Where weights differ by more than this factor, a float32 sum loses the contribution of light rows beside heavy ones.
_UNEVEN = 100.0


def find_cuts(
    X: NDArray[np.floating] | RowBlocks,
    max_bins: int = 255,
    sample_weight: NDArray[np.float64] | None = None,
    seed: int = 0,
    categories: Mapping[int, int] | None = None,
) -> list[NDArray[np.float64]]:
    """Return the cuts of every feature: bin b holds the values in (cut_{b-1}, cut_b].

    A feature with at most ``max_bins`` distinct values gets a cut half-way between any two neighbours. Any
    other is cut into bins of equal weight, as far as its ties allow. Missing values (NaN) have a bin of
    their own, which is not counted; rows of weight 0 take no part.

    Parameters
    ----------
    X : ndarray of float32 or float64, or RowBlocks, shape (n_samples, n_features)
    max_bins : int, default=255
        At least 2, at most 255.
    sample_weight : ndarray of float64, shape (n_samples,), or None
        Where features are cut anew, times the row's Hessian.
    seed : int
        Picks the 200,000 rows that the cuts of a larger table are computed from.
    categories : mapping of int to int, or None
        Columns that hold the numbers 0, 1, ... of categories, and how many each has: every one has a bin.

    Returns
    -------
    list of ndarray of float64
        Increasing, at most ``max_bins - 1`` each.

    Raises
    ------
    ValueError
        If ``max_bins`` is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.histogram_engine.binning import find_cuts
    >>> find_cuts(np.array([[1.0], [3.0], [3.0], [np.nan]]))[0].tolist()
    [2.0]
    """
    if not 2 <= max_bins <= 255:
        raise ValueError(f"max_bins must be between 2 and 255; got {max_bins}")
    rows = None if sample_weight is None else np.flatnonzero(sample_weight > 0)
    n_rows = X.shape[0] if rows is None else len(rows)
    if n_rows > SUBSAMPLE:
        drawn = np.sort(np.random.default_rng(seed).choice(n_rows, SUBSAMPLE, replace=False, shuffle=False))
        rows = drawn if rows is None else rows[drawn]
    if rows is None and isinstance(X, RowBlocks):
        rows = np.arange(n_rows)
    sample: Any = X if rows is None else X[rows]
    if rows is not None and sample_weight is not None:
        sample_weight = sample_weight[rows]
    sizes = categories or {}
    return [
        _cuts_between(sizes[f]) if f in sizes else _cuts_of(sample[:, f], max_bins, sample_weight)
        for f in range(X.shape[1])
    ]


def bin_rows(
    X: NDArray[np.floating] | RowBlocks, cuts: list[NDArray[np.float64]], n_threads: int, **options: Any
) -> Any:
    """Return an engine that holds the rows as bins; options as :class:`_core.Engine` takes them."""
    engine = _core.Engine(X.shape[0], [c.tolist() for c in cuts], n_threads, **options)
    fill(engine, X)
    return engine


def fill(engine: Any, X: NDArray[np.floating] | RowBlocks) -> None:
    """Bin all rows of an engine by its cuts."""
    for first, block in blocks_of(X):
        engine.bin(first, block)


def uneven(sample_weight: NDArray[np.float64] | None) -> bool:
    """Tell whether histograms must be added up in float64."""
    if sample_weight is None:
        return False
    weight = sample_weight[sample_weight > 0.0]
    return bool(weight.max() > _UNEVEN * weight.min())


def _cuts_between(n_categories: int) -> NDArray[np.float64]:
    cuts: NDArray[np.float64] = np.arange(0.5, n_categories - 1)
    return cuts


def _cuts_of(
    column: NDArray[np.floating], max_bins: int, sample_weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    known = ~np.isnan(column)
    values = column[known]
    if sample_weight is None:
        values = np.sort(values)
        is_last = np.append(values[1:] != values[:-1], True) if len(values) else np.zeros(0, bool)
        below = np.flatnonzero(is_last) + 1.0
    else:
        order = np.argsort(values, kind="stable")
        values = values[order]
        is_last = np.append(values[1:] != values[:-1], True) if len(values) else np.zeros(0, bool)
        below = np.cumsum(sample_weight[known][order])[is_last]
    distinct = values[is_last].astype(np.float64)
    if len(distinct) <= max_bins:
        last = np.arange(len(distinct) - 1)
    else:
        # Sums of weights are rounded. Where whole counts meet the share exactly, rounding must not decide.
        wanted = below[-1] * np.arange(1, max_bins) / max_bins * (1.0 - 1e-10)
        last = np.unique(np.searchsorted(below, wanted))
        last = last[last < len(distinct) - 1]
    low, high = distinct[last], distinct[last + 1]
    with np.errstate(over="ignore", invalid="ignore"):
        middle = low + 0.5 * (high - low)
    # Between neighbouring floats, or beside an infinity, there is no middle: the lower value is a cut as well.
    cuts: NDArray[np.float64] = np.where((middle < high) & np.isfinite(middle), middle, low)
    return cuts
