"""Features as the engine reads them: tables become numbers, numbers become bins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ordinal_objectives import _core, tables
from ordinal_objectives.aliases import FloatArray, RealArray
from ordinal_objectives.columns import Columns
from ordinal_objectives.estimators import arguments
from ordinal_objectives.row_blocks import RowBlocks, blocks_of, header_of

# Rows that the cuts of a large table are computed from.
SUBSAMPLE = 200_000
# Where weights differ by more than this factor, a float32 sum loses the contribution of light rows beside heavy ones.
_UNEVEN = 100.0


# Levels of a column: with the missing values each has a bin, and a bin is a byte.
MOST_LEVELS = 254


def learn_columns(X: Any, asked: Any, max_bins: int) -> Columns:
    """Return the columns of a table, with the levels of those that ``categorical_features`` asks for."""
    if isinstance(X, RowBlocks):
        columns = Columns.learn(X.header, asked, blocks=X.tables())
    elif issparse(X):  # refused where features are checked
        return Columns(X.shape[1])
    else:
        columns = Columns.learn(X, asked)
    most = min(MOST_LEVELS, max_bins)
    for place, levels in columns.levels.items():
        if len(levels) > most:
            because = "" if max_bins >= MOST_LEVELS else f", as max_bins={max_bins} says"
            raise ValueError(
                f"{tables.describe_column(header_of(X), place)} has {len(levels)} categories, and the engine takes "
                f"at most {most}{because}: join rare ones, or encode them as numbers, for instance by scikit-learn's "
                f"TargetEncoder, and leave the column out of categorical_features"
            )
    return columns


def check_features(
    estimator: object, X: object, columns: Columns, *, reset: bool, blocks: bool
) -> RealArray | RowBlocks:
    """Return a table as float32 or float64, (n_samples, n_features); `reset` is for those of ``fit``.

    Categories are numbers then. With `blocks`, RowBlocks are returned as such.
    """
    features: RealArray | RowBlocks
    if not reset:  # which columns hold categories is known of these features only
        arguments.validate_columns(estimator, header_of(X), reset=False, skip_check_array=True)
    if blocks and isinstance(X, RowBlocks):
        if X.shape[0] < 1 + reset:
            raise ValueError(f"Found RowBlocks with {X.shape[0]} sample(s) while a minimum of {1 + reset} is required")
        columns.encode(X.header, ensure_min_samples=0)
        features = X.encoded(columns)
    else:
        features = columns.encode(X, estimator=estimator, ensure_min_samples=1 + reset, accept_sparse=False)
    if reset:
        arguments.validate_columns(estimator, header_of(X), reset=True, skip_check_array=True)
    return features


def check_same_categories(X: object, asked: object, columns: Columns) -> None:
    """Raise ValueError unless the columns that ``categorical_features`` asks for are those of the model."""
    header = X.header if isinstance(X, RowBlocks) else tables.as_table(X)
    now, before = tables.places_of(header, asked), sorted(columns.levels)
    if now != before:
        raise ValueError(f"warm_start continues a model of categories in the columns {before}; got {now}")


def find_cuts(
    X: RealArray | RowBlocks,
    max_bins: int = 255,
    sample_weight: FloatArray | None = None,
    seed: int = 0,
    categories: Mapping[int, int] | None = None,
) -> list[FloatArray]:
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

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.histogram_engine.binning import find_cuts
    >>> find_cuts(np.array([[1.0], [3.0], [3.0], [np.nan]]))[0].tolist()
    [2.0]
    """
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
        np.arange(0.5, sizes[f] - 1) if f in sizes else _cuts_of(sample[:, f], max_bins, sample_weight)
        for f in range(X.shape[1])
    ]


def bin_rows(X: RealArray | RowBlocks, cuts: list[FloatArray], n_threads: int, **options: Any) -> _core.Engine:
    """Return an engine that holds the rows as bins; options as :class:`_core.Engine` takes them."""
    engine = _core.Engine(X.shape[0], [c.tolist() for c in cuts], n_threads, **options)
    fill(engine, X)
    return engine


def fill(engine: _core.Engine, X: RealArray | RowBlocks) -> None:
    """Bin all rows of an engine by its cuts."""
    for first, block in blocks_of(X):
        engine.bin(first, block)


def uneven(sample_weight: FloatArray | None) -> bool:
    """Tell whether histograms must be added up in float64."""
    if sample_weight is None:
        return False
    weight = sample_weight[sample_weight > 0.0]
    return bool(weight.max() > _UNEVEN * weight.min())


def _cuts_of(column: RealArray, max_bins: int, sample_weight: FloatArray | None) -> FloatArray:
    known = ~np.isnan(column)
    values = column[known]
    order = None if sample_weight is None else np.argsort(values, kind="stable")
    values = np.sort(values) if order is None else values[order]
    is_last = np.append(values[1:] != values[:-1], True) if len(values) else np.zeros(0, bool)
    below = np.flatnonzero(is_last) + 1.0
    if sample_weight is not None:
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
    return np.where((middle < high) & np.isfinite(middle), middle, low)
