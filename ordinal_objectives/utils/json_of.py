"""JSON of dataclasses, written from their values and read by their annotations: a file may be damaged, or made by hand.

An annotation says what a file may hold: ``str``, ``bool``, ``int``, ``float``, unions of them, ``None``, an array of
NumPy, a list, a tuple, a dict whose keys are text or integers, another dataclass, or ``Any``. ``Annotated[int,
Within(low, high)]`` bounds a number. Arrays hold finite numbers; a ``float`` may also be NaN or infinite, which is
null or text in JSON. Arrays of float32 are base64 of little-endian numbers beside their shape.
"""

from __future__ import annotations

import base64
import functools
import json
import math
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, TypeAliasType, Union, get_args, get_origin

import numpy as np

from ordinal_objectives.aliases import JSON, NDArray

# What JSON holds as it is, beside null.
type Plain = str | bool | int | float
# Metadata of a field that files do not hold.
NOT_IN_FILES = {"in_files": False}


@dataclass(frozen=True)
class Within:
    """Bounds of a number, both included."""

    low: float = -sys.float_info.max
    high: float = sys.float_info.max


def parsed(text: str | bytes) -> JSON:
    """Return the object of a JSON text; NaN and infinite numbers, which JSON does not have, are a ValueError."""

    def refuse(constant: str) -> None:
        raise ValueError(f"JSON has no {constant}")

    content = json.loads(text, parse_constant=refuse)
    _check(type(content) is dict, "", "an object", content)
    return content


def encoded(value: object) -> Any:
    """Return a value in JSON's types; numbers round-trip exactly."""
    if is_dataclass(value) and not isinstance(value, type):
        return {name: encoded(getattr(value, name)) for name in _annotations(type(value))}
    if isinstance(value, np.ndarray) and value.dtype == np.float32:
        content = base64.b64encode(value.astype("<f4").tobytes()).decode("ascii")
        return {"shape": list(value.shape), "float32": content}
    if isinstance(value, (np.ndarray, np.generic)):
        numbers = value.tolist()
        if np.issubdtype(value.dtype, np.number) and np.isfinite(value).all():
            return numbers  # without a look at each: a history of thresholds is long
        value = numbers
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): encoded(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [encoded(entry) for entry in value]
    return value


def decoded(kind: Any, value: Any, path: str = "", **known: Any) -> Any:
    """Return what :func:`encoded` was given, of the type that an annotation names.

    Parameters
    ----------
    kind : type
    value : object
        JSON.
    path : str
        Of the value, for messages.
    **known
        Fields of a dataclass that are not in the file.

    Raises
    ------
    ValueError, TypeError, OverflowError
        If the value is of another type; the message names its path.
    """
    if isinstance(kind, TypeAliasType):
        kind = kind.__value__
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin is Annotated:
        number, bounds = decoded(arguments[0], value, path), arguments[1]
        _check(bounds.low <= number <= bounds.high, path, f"between {bounds.low} and {bounds.high}", value)
        return number
    if origin in (Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        others = [one for one in arguments if one is not type(None)]
        return decoded(type(value) if type(value) in others else others[0], value, path)
    if is_dataclass(kind):
        return _decoded_object(kind, value, path, known)
    if origin in (np.ndarray, NDArray):  # an alias of its own in newer NumPy, whose argument is the type of the numbers
        dtype = arguments[0] if origin is NDArray else get_args(arguments[1])[0]
        return _decoded_array(np.dtype(dtype), value, path)
    if origin is list:
        _check(type(value) is list, path, "a list", value)
        return [decoded(arguments[0], entry, f"{path}[{i}]") for i, entry in enumerate(value)]
    if origin is tuple:
        _check(type(value) is list, path, "a list", value)
        each = [arguments[0]] * len(value) if arguments[-1] is Ellipsis else arguments
        _check(len(value) == len(each), path, f"{len(each)} values", value)
        return tuple(decoded(one, value[i], f"{path}[{i}]") for i, one in enumerate(each))
    if origin in (dict, Mapping):
        _check(type(value) is dict, path, "an object", value)
        return {_key(arguments[0], key, path): decoded(arguments[1], value[key], f"{path}.{key}") for key in value}
    if kind is float:
        if value is None or value in ("inf", "-inf"):
            return float("nan" if value is None else value)
        _check(type(value) in (int, float), path, "a number", value)
        return float(value)
    _check(type(value) is kind, path, f"of type {kind.__name__}", value)
    return value


def _check(is_right: bool, path: str, expected: str, value: object) -> None:
    if not is_right:
        raise ValueError(f"{path or 'the content'} must be {expected}; got {value!s:.100}")


@functools.cache
def _annotations(kind: Any) -> dict[str, str]:
    return {one.name: str(one.type) for one in fields(kind) if one.metadata.get("in_files", True)}


@functools.cache
def _type_of(kind: Any, name: str) -> Any:
    # One by one: a type that is imported for annotations only need not be there.
    return eval(_annotations(kind)[name], vars(sys.modules[kind.__module__]))


def _decoded_object(kind: Any, value: Any, path: str, known: JSON) -> Any:
    names = _annotations(kind).keys() - known
    _check(type(value) is dict, path, "an object", value)
    others = ", ".join(sorted(value.keys() ^ names))
    _check(not others, path, f"an object with the fields of {kind.__name__}", f"{others} unknown or missing")
    inner = f"{path}." if path else ""
    return kind(**{name: decoded(_type_of(kind, name), value[name], inner + name) for name in value}, **known)


def _decoded_array(dtype: np.dtype[Any], value: Any, path: str) -> NDArray[Any]:
    if dtype == np.float32:
        _check(type(value) is dict and set(value) == {"shape", "float32"}, path, "a shape and float32", value)
        numbers = np.frombuffer(base64.b64decode(value["float32"], validate=True), "<f4").astype(np.float32)
        shape = decoded(list[Annotated[int, Within(0)]], value["shape"], f"{path}.shape")
        _check(math.prod(shape) == numbers.size, path, f"of shape {shape}", numbers.size)
        numbers = numbers.reshape(shape)
    else:
        numbers = np.array(value)
        kinds = "iu" if dtype.kind == "i" else "iuf"
        _check(numbers.ndim > 0 and (not numbers.size or numbers.dtype.kind in kinds), path, "numbers", value)
        numbers = numbers.astype(dtype)
    _check(bool(np.isfinite(numbers).all()), path, "finite", value)
    return numbers


def _key(kind: Any, key: str, path: str) -> Any:
    if kind is str:
        return key
    _check(key.isascii() and key.isdigit() and str(int(key)) == key, path, "an object whose keys are integers", key)
    return int(key)
