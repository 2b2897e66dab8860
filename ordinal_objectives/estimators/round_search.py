"""How many rounds a training needs, found on rows held out of it."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.estimators.held_out import Rows, hold_out

AUTO = "auto"
# Rounds where "auto" does not search.
UNSEARCHED = 100
_FRACTION = 0.2
# Fewer rows than this are not divided.
_LEAST_ROWS = 10
# The search ends after this much learning rate without a lower loss, or in all, within these numbers of rounds.
_PATIENCE, _PATIENCE_ROUNDS = 2.0, (10, 500)
_MOST, _MOST_ROUNDS = 100.0, (500, 10_000)


@dataclass(frozen=True)
class Trial:
    """A training on some of the rows.

    Attributes
    ----------
    losses : sequence of float
        Weighted mean loss of the rows held out after 0, 1, ... rounds.
    proba : callable
        ``proba(n)`` returns their class probabilities after n rounds, (n_held_out, n_classes), lowest class first.
    """

    losses: Sequence[float]
    proba: Callable[[int], NDArray[np.float64]]


# (rows to train on, rows held out, most rounds, rounds without a lower loss after which it ends, or None)
TrialOf = Callable[[Rows, Rows, int, int | None], Trial]


def is_auto(asked: Any) -> bool:
    """Tell whether a parameter is left to the data."""
    return isinstance(asked, str) and asked == AUTO


def rounds_unsearched(name: str, asked: Any) -> int:
    """Return the number of rounds where none is searched: "auto" is 100.

    Raises
    ------
    TypeError
        If it is neither an integer nor "auto".
    ValueError
        If it is below 1.
    """
    if is_auto(asked):
        return UNSEARCHED
    if isinstance(asked, bool) or not isinstance(asked, numbers.Integral):
        raise TypeError(f"{name} must be an integer of at least 1, or 'auto'; got {asked!r}")
    if asked < 1:
        raise ValueError(f"{name} must be at least 1; got {asked}")
    return int(asked)


def smallest_leaf(asked: Any, n_rows: int) -> Any:
    """Return the number of rows that a leaf needs: as asked for, or for "auto" one in 50, at most 20."""
    return int(np.clip(n_rows // 50, 1, 20)) if is_auto(asked) else asked


@dataclass(frozen=True)
class RoundSearch:
    """What a search for the number of rounds has found.

    Attributes
    ----------
    n_iter : int
        The number of rounds with the lowest loss, at least 1.
    losses : ndarray of float64, shape (n_tried + 1,)
        Weighted mean loss of the rows held out after 0, 1, ... rounds; NaN for 0 where scores to start from are given.
    n_held_out : int
        Number of these rows.
    """

    n_iter: int
    losses: NDArray[np.float64]
    n_held_out: int

    @property
    def lowest(self) -> float:
        """The lowest of the losses."""
        return float(np.nanmin(self.losses))

    def __str__(self) -> str:
        return f"{self.n_iter} rounds, found on {self.n_held_out} rows held out"


class Found(NamedTuple):
    """A search, its training, and the rows held out of it."""

    search: RoundSearch
    trial: Trial
    held: Rows


def find_rounds(trial_of: TrialOf, rows: Rows, learning_rate: float, seed: int) -> Found | None:
    """Return the number of rounds with the lowest loss on a fifth of the rows, held out of the training.

    The search tries at most 100 / ``learning_rate`` rounds, but 500 to 10,000, and ends after 2 / ``learning_rate``
    rounds, but 10 to 500, without a lower loss.

    Parameters
    ----------
    trial_of : callable
        Trains on some rows and tells of others; see ``TrialOf``.
    rows : Rows
        No group is divided.
    learning_rate : float
    seed : int
        Of the rows held out.

    Returns
    -------
    Found or None
        None where there are fewer than 10 rows with weight, or a single class is left without the rows held out.
    """
    n_rows = len(rows) if rows.weight is None else np.count_nonzero(rows.weight)
    if n_rows < _LEAST_ROWS:
        return None
    most = _within(_MOST / learning_rate, *_MOST_ROUNDS)
    patience = _within(_PATIENCE / learning_rate, *_PATIENCE_ROUNDS)
    fit, held = hold_out(rows, _FRACTION, seed)
    classes = fit.codes if fit.weight is None else fit.codes[fit.weight > 0]
    if len(np.unique(classes)) < 2:
        return None
    trial = trial_of(fit, held, most, patience)
    losses = np.asarray(trial.losses, dtype=np.float64)
    return Found(RoundSearch(max(1, int(np.nanargmin(losses))), losses, len(held)), trial, held)


def _within(rounds: float, least: int, most: int) -> int:
    return math.ceil(min(max(rounds, least), most))
