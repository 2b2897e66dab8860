"""Few combinations of values in which each pair of values occurs, in place of all combinations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import combinations, product
from typing import Any

import pytest


def pairwise(*axes: Iterable[Any], allowed: Callable[..., bool] = lambda *values: True) -> list[tuple[Any, ...]]:
    """Return tuples with a value of each axis, such that every two values of two axes occur together.

    Two that occur together in no tuple that is ``allowed(*values)`` are left out.
    """
    listed = [list(values) for values in axes]
    every = product(*(range(len(values)) for values in listed))
    places = [place for place in every if allowed(*(values[i] for values, i in zip(listed, place, strict=True)))]
    pairs_of = {place: set(combinations(enumerate(place), 2)) for place in places}
    missing, chosen = set().union(*pairs_of.values()), []
    while missing:
        best = max(places, key=lambda place: len(pairs_of[place] & missing))
        missing -= pairs_of[best]
        chosen.append(best)
    return [tuple(axis[i] for axis, i in zip(listed, place, strict=True)) for place in chosen]


def each_pair(axes: Mapping[str, Collection[Any]]) -> pytest.MarkDecorator:
    """Return the parametrisation of a test by such tuples; the values of "loss, link" are tuples themselves."""
    rows = [
        tuple(part for name, value in zip(axes, row, strict=True) for part in (value if "," in name else [value]))
        for row in pairwise(*axes.values())
    ]
    return pytest.mark.parametrize(", ".join(axes), rows, indirect=[*{"instruction_set"} & set(axes)])
