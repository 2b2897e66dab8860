"""Metrics and evaluation sets must have different names: the frameworks keep values of one name in one list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def joined(metrics: Sequence[Callable[..., Any]]) -> Callable[..., list[Any]]:
    """Return metrics of a framework, the ordinal loss first, as one that returns all of their results.

    It raises ValueError if two of them have one name.
    """

    def metric(scores: Any, matrix: Any) -> list[Any]:
        answers = [one(scores, matrix) for one in metrics]
        results = [result for answer in answers for result in (answer if isinstance(answer, list) else [answer])]
        names = [result[0] for result in results if isinstance(result, tuple)]
        if len(set(names)) < len(names):
            raise ValueError(
                f"each metric must have a name of its own; got {', '.join(map(repr, names))}, of which the first is "
                f"the ordinal loss. A function can return a name beside its value"
            )
        return results

    return metric


def check_set_names(names: list[str], argument: str) -> None:
    """Raise ValueError if two evaluation sets have one name."""
    if len(set(names)) < len(names):
        raise ValueError(f"{argument} must have a name of its own for each set; got {names}")
