"""Few combinations of values in which each pair of values occurs, in place of all combinations."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, product
from typing import Any


def pairwise(*axes: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return tuples with a value of each axis, such that every two values of two axes occur together."""
    places = list(product(*(range(len(values)) for values in map(list, axes))))
    pairs_of = {place: set(combinations(enumerate(place), 2)) for place in places}
    missing, chosen = set().union(*pairs_of.values()), []
    while missing:
        best = max(places, key=lambda place: len(pairs_of[place] & missing))
        missing -= pairs_of[best]
        chosen.append(best)
    return [tuple(list(axis)[i] for axis, i in zip(axes, place, strict=True)) for place in chosen]
