"""Checks of a framework's own arguments, whose errors there name neither the argument nor what came."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ordinal_objectives.utils.validation import check_integer, first_few


def listed_callbacks(callbacks: Any, suits: Callable[[Any], bool], what: str) -> list[Any]:
    """Return callbacks as a list; raise TypeError unless they are None or a list of those that suit."""
    if callbacks is None:
        return []
    is_list = isinstance(callbacks, Iterable) and not isinstance(callbacks, str)
    found = list(callbacks) if is_list else [callbacks]
    wrong = [one for one in found if not (is_list and suits(one))]
    if wrong:
        raise TypeError(f"callbacks must be a list of {what}, or None; got {first_few(wrong, repr)}")
    return found


def check_same_columns(
    model: str, trained: int, here: int | None, trained_names: Sequence[str] | None, names: Sequence[str] | None
) -> None:
    """Raise ValueError if rows have other columns than the model that is continued on them.

    Parameters
    ----------
    model : str
        The argument that holds the model.
    trained, here : int or None
        How many columns the model has, and how many the rows; None where nobody knows.
    trained_names, names : sequence of str or None
        Their names; None where any will do.
    """
    if here is not None and here != trained:
        raise ValueError(f"{model} was trained on {trained} columns; here X has {here}")
    if trained_names is None or names is None:
        return
    differing = [f"{new!r} for {old!r}" for old, new in zip(trained_names, names, strict=False) if old != new]
    if differing or not names:
        raise ValueError(
            f"{model} was trained on the columns {first_few(trained_names, repr)}; here X has "
            f"{first_few(differing) or 'no names'}"
        )


def check_asked(params: Any, num_boost_round: Any, least: int) -> None:
    """Raise TypeError or ValueError unless these are parameters by name, and a number of rounds."""
    if not isinstance(params, Mapping):
        raise TypeError(f"params must be a dict of names and values; got {type(params).__name__}")
    check_integer("num_boost_round", num_boost_round, least)


def check_sets(name: str, sets: Any, is_one: Callable[[Any], bool], what: str) -> None:
    """Raise TypeError unless sets to evaluate are None or a list of what a framework takes."""
    entries = sets if isinstance(sets, (list, tuple)) else [sets]
    wrong = [type(one).__name__ for one in entries if not is_one(one)]
    if sets is not None and (wrong or entries is not sets):
        raise TypeError(f"{name} must be a list of {what}, or None; got {first_few(wrong) or type(sets).__name__}")
