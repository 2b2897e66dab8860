"""Formulas of a user's own: read-only arguments, and checked answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

Answer = TypeVar("Answer")


def call_read_only(owner: str, formula: Callable[..., Answer], *arguments: object) -> Answer:
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
