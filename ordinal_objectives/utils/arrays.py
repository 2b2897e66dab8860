"""Arrays of what lists hold, which NumPy would change: text beside numbers, and objects that extend Python's types."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from ordinal_objectives.aliases import ArrayLike, LabelArray
from ordinal_objectives.utils.validation import as_objects, readable

# How to read the value of an object whose class extends one of these, and may write itself in another way.
_OWN: dict[type, Any] = {
    str: str.__str__,
    bytes: lambda entry: bytes(memoryview(entry)),
    int: int.__int__,
    float: float.__float__,
}


def as_array(values: ArrayLike, *, name: str) -> LabelArray:
    """Return an array of plain numbers and text; of objects where NumPy would write text that a list does not hold.

    In a list NumPy makes the text 'nan' of NaN beside text and '1' of 1, drops NUL at the end of text, and writes a
    member of ``class Grade(str, Enum)`` as "Grade.low", cut to the length of the longest value.
    """
    values = readable(values, name=name)
    if hasattr(values, "__array__"):
        array = np.asarray(values)
        return plain(array) if array.dtype.kind == "O" else array
    with suppress(ValueError):  # of a class that extends bytes; of lists of different lengths it comes once more below
        array = np.asarray(values)
        if array.dtype.kind not in "USO":
            return array
    objects = plain(as_objects(values, name=name))
    array = np.asarray(objects.tolist())
    return objects if array.dtype.kind in "US" and array.tolist() != objects.tolist() else array


def plain(objects: LabelArray) -> LabelArray:
    """Return an array of objects with values of Python's own types in the place of those that extend them.

    Members of an enum that extends ``str`` or ``int`` become their values.
    """
    kinds = set(map(type, objects.ravel().tolist()))
    extend = any(issubclass(kind, tuple(_OWN)) and kind not in (*_OWN, bool) for kind in kinds)
    return np.asarray(np.frompyfunc(_plain, 1, 1)(objects), dtype=object) if extend else objects


def _plain(entry: object) -> object:
    kinds = () if isinstance(entry, bool) else _OWN
    return next((_OWN[kind](entry) for kind in kinds if isinstance(entry, kind)), entry)
