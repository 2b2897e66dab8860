"""Evaluation sets in the forms that ``fit`` takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

_GIVE_ROWS = "validation_fraction, or eval_set or X_val and y_val to fit"


class GivenSets(NamedTuple):
    """Evaluation sets, as the ``fit`` of a host's classifier was given them.

    Attributes
    ----------
    pairs : list of (X, y) or None
    weights, weights_name : list or None, str
    starts, starts_name : list or None, str
        Scores that the trees' are added to.
    X_val, y_val, sample_weight_val : array-like or None
        Another form of one set.
    """

    pairs: Any
    weights: Any
    weights_name: str
    starts: Any
    starts_name: str
    X_val: Any
    y_val: Any
    sample_weight_val: Any


def evaluation_pairs(eval_set: Any) -> list[tuple[Any, Any]]:
    """Return ``eval_set`` as a list of (X, y) pairs.

    Raises
    ------
    ValueError
        If it is none.
    """
    if eval_set is None:
        return []
    is_pair = isinstance(eval_set, tuple) and not all(isinstance(part, tuple) for part in eval_set)
    if not isinstance(eval_set, Iterable):
        raise ValueError(f"eval_set must be a list of (X, y) pairs; got {eval_set!r}")
    pairs = [eval_set] if is_pair else list(eval_set)
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(f"eval_set must be a list of (X, y) pairs; got an entry of type {type(pair).__name__}")
    return [(X, y) for X, y in pairs]


def one_for_each(values: Any, sets: list[Any], name: str) -> list[Any]:
    """Return ``values`` as a list as long as ``sets``, or raise ValueError."""
    each = [None] * len(sets) if values is None else list(values)
    if len(each) != len(sets):
        raise ValueError(f"{name} must have one entry for each of {len(sets)} sets; got {len(each)}")
    return each


def either_spelling(
    eval_set: Any, weights: Any, weights_name: str, X_val: Any, y_val: Any, sample_weight_val: Any
) -> tuple[Any, Any]:
    """Return evaluation sets and their weights, given as such or as one set, ``X_val``, ``y_val``.

    Raises
    ------
    ValueError
        If both are given, or a part is missing.
    """
    if X_val is None and y_val is None:
        if sample_weight_val is not None:
            raise ValueError("sample_weight_val belongs to X_val and y_val, which are None")
        return eval_set, weights
    if X_val is None or y_val is None:
        raise ValueError(f"X_val and y_val go together; {'X_val' if X_val is None else 'y_val'} is None")
    for name, other in (("eval_set", eval_set), (weights_name, weights)):
        if other is not None:
            raise ValueError(f"{name} and X_val, y_val, sample_weight_val say the same thing; give one of them")
    return [(X_val, y_val)], [sample_weight_val]


def either_library(eval_set: Any, eval_X: Any, eval_y: Any) -> Any:
    """Return the pairs of ``eval_set``, or those that LightGBM's ``eval_X`` and ``eval_y`` spell.

    Raises
    ------
    ValueError
        If both are given, or a part is missing.
    """
    if eval_X is None and eval_y is None:
        return eval_set
    if eval_set is not None:
        raise ValueError("eval_set and eval_X, eval_y say the same thing; give one of them")
    if eval_X is None or eval_y is None:
        missing = "eval_X" if eval_X is None else "eval_y"
        raise ValueError(f"eval_X and eval_y go together; {missing} is None")
    if not (isinstance(eval_X, tuple) or isinstance(eval_y, tuple)):
        return [(eval_X, eval_y)]
    if not (isinstance(eval_X, tuple) and isinstance(eval_y, tuple) and len(eval_X) == len(eval_y)):
        raise ValueError("eval_X and eval_y must be tuples of one length, or neither a tuple")
    return list(zip(eval_X, eval_y, strict=True))


def check_rounds(name: str, rounds: Any, n_sets: int, instead: str = _GIVE_ROWS) -> None:
    """Check the number of rounds without a better value after which a training stops; None and 0 never stop it.

    ``instead`` names the arguments to pass where there is no evaluation set.

    Raises
    ------
    TypeError, ValueError
        If it is not such a number, or there is no evaluation set.
    """
    if rounds is None:
        return
    if isinstance(rounds, bool) or not isinstance(rounds, (int, np.integer)):
        raise TypeError(f"{name} must be an integer of at least 0 or None; got {rounds!r}")
    if rounds < 0:
        raise ValueError(f"{name} must be an integer of at least 0 or None; got {rounds}")
    if rounds > 0 and n_sets == 0:
        raise ValueError(f"{name}={rounds} needs rows to look at: give {instead}; got none")
