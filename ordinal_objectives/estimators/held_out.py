"""Rows that no tree is grown on: which ones, and how they are taken out of any container."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import GroupShuffleSplit, train_test_split
from sklearn.utils import _safe_indexing

from ordinal_objectives.utils.seeds import drawn_seed

# Number of draws of whole groups; the one with class shares closest to those of all rows is taken.
_DRAWS = 20


def hold_out(
    rows: tuple[Any, ...], fraction: float, seed: int, groups: ArrayLike | None = None
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return rows to train on and rows held out.

    They are drawn by class where every class has two rows, and both parts have a row for each class. Rows of weight 0
    do not count in a loss: they are not held out.

    Parameters
    ----------
    rows : tuple
        Features, class codes, weights or None, and what else belongs to the rows, or None.
    fraction : float
        Share of the rows of positive weight that is held out, in (0, 1); with `groups` as near as whole groups allow.
    seed : int
    groups : array-like, shape (n_samples,), or None
        No group is divided. The classes have about the same shares in both parts, as far as groups allow.

    Returns
    -------
    tuple, tuple
        The same parts of the rows to train on, and of those held out.

    Raises
    ------
    ValueError
        If no row would be left to train on, or there are fewer than two groups.
    """
    _, y, sample_weight, *_ = rows
    weighted = np.arange(len(y)) if sample_weight is None else np.flatnonzero(sample_weight)
    n_held = math.ceil(fraction * len(weighted))
    if n_held == len(weighted):
        raise ValueError(
            f"validation_fraction={fraction} of {len(weighted)} rows with weight leaves none to train on; pass eval_set"
        )
    if groups is None:
        fit, held = _by_class(weighted, y[weighted], n_held, seed)
    else:
        names = check_groups(groups, len(y))
        held = weighted[_whole_groups(names[weighted], y[weighted], fraction, seed)]
        fit = weighted[~np.isin(names[weighted], names[held])]
    if sample_weight is not None:
        without = np.flatnonzero(sample_weight == 0.0)
        fit = np.concatenate([fit, without if groups is None else without[~np.isin(names[without], names[held])]])
    return tuple(take_rows(part, fit) for part in rows), tuple(take_rows(part, held) for part in rows)


def hold_out_unless_given(
    rows: tuple[Any, ...],
    given: list[tuple[Any, ...]],
    fraction: float | None,
    random_state: Any,
    groups: ArrayLike | None,
) -> tuple[tuple[Any, ...], list[tuple[Any, ...]]]:
    """Return rows to train on and sets to evaluate: those given, or else a share of the rows if one is asked for."""
    if fraction is None:
        return rows, given
    check_fraction(fraction)
    if given:
        return rows, given
    fit, held = hold_out(rows, fraction, split_seed(random_state), groups)
    return fit, [held]


def check_fraction(fraction: Any) -> float:
    """Return ``validation_fraction``, or raise TypeError or ValueError unless it is a number in (0, 1)."""
    message = f"validation_fraction must be a number above 0 and below 1; got {fraction!r}"
    if isinstance(fraction, bool) or not isinstance(fraction, numbers.Real):
        raise TypeError(message)
    if not 0.0 < float(fraction) < 1.0:
        raise ValueError(message)
    return float(fraction)


def split_seed(random_state: Any) -> int:
    """Return the seed of a split; None draws the same rows each time, as the hosts do."""
    if isinstance(random_state, numbers.Integral):
        return int(random_state) % 2**32  # the hosts take negative seeds
    return 0 if random_state is None else drawn_seed(random_state)


def _by_class(rows: NDArray[Any], y: NDArray[np.int32], n_held: int, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    counts = np.bincount(y)
    counts = counts[counts > 0]
    by_class = counts.min() >= 2 and min(n_held, len(rows) - n_held) >= len(counts)
    fit, held = train_test_split(rows, test_size=n_held, random_state=seed, stratify=y if by_class else None)
    return fit, held


def check_groups(groups: ArrayLike, n_samples: int) -> NDArray[np.intp]:
    """Return the groups as numbers, (n_samples,)."""
    names = np.asarray(groups)
    if names.shape != (n_samples,):
        raise ValueError(f"groups must have shape ({n_samples},), one group a row; got {names.shape}")
    codes: NDArray[np.intp] = np.unique(names, return_inverse=True)[1]
    return codes


def _whole_groups(groups: NDArray[Any], y: NDArray[np.int32], fraction: float, seed: int) -> NDArray[np.intp]:
    """Return the rows of groups that hold about ``fraction`` of each class."""
    n_groups = len(np.unique(groups))
    if n_groups < 2:
        raise ValueError(f"groups must name at least two groups where rows are held out; got {n_groups}")
    wanted = fraction * np.bincount(y)
    size = min(max(round(fraction * n_groups), 1), n_groups - 1)
    draws = GroupShuffleSplit(_DRAWS, test_size=size, random_state=seed).split(y, groups=groups)

    def distance(held: NDArray[np.intp]) -> float:
        return float(np.abs(np.bincount(y[held], minlength=len(wanted)) - wanted).sum())

    best: NDArray[np.intp] = min((held for _, held in draws), key=distance)
    return best


def take_rows(part: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of an array, a sparse matrix, a data frame or an Arrow table."""
    if part is None or isinstance(part, np.ndarray):
        return None if part is None else part[rows]
    if hasattr(part, "take") and hasattr(part, "schema") and not hasattr(part, "lazy"):  # an Arrow table
        return part.take(rows)
    return _safe_indexing(part, rows)
