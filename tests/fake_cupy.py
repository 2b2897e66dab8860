"""Stands in for CuPy where there is no GPU: arrays that NumPy may not read, mix with its own, or convert unasked.

It offers the functions that the package calls, and nothing else. CuPy takes NumPy's scalars, and no other array of it.
Kernels are the real source, compiled as C++. ``copied`` and ``sent`` note the size of every array that was copied to
the host and from it, and ``n_alive`` counts what a GPU's memory would hold.
"""

from __future__ import annotations

import operator
import weakref

import numpy as np

from cuda_on_cpu import RawModule

__all__ = ["Array", "RawModule", "copied", "n_alive", "sent"]

FUNCTIONS = ("exp", "take", "count_nonzero", "median")
CREATE = ("asarray", "array", "ascontiguousarray", "zeros", "ones", "empty", "full")
METHODS = ("astype", "sum", "min", "max", "copy")

copied: list[int] = []
sent: list[int] = []
_alive: dict[int, weakref.ref] = {}


def n_alive():
    """Return how many arrays of the device are in use."""
    return len(_alive)


def _inside(value):
    if isinstance(value, Array):
        return value.kept
    if isinstance(value, (list, tuple)):
        return type(value)(map(_inside, value))
    if isinstance(value, np.ndarray) and value.ndim:
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    return value


def _outside(value):
    return Array(value) if isinstance(value, (np.ndarray, np.generic)) else value


class Array:
    """An array of the device that is not there."""

    __array_ufunc__ = None

    def __init__(self, kept):
        self.kept = np.asarray(kept)
        key = id(self)
        _alive[key] = weakref.ref(self, lambda _: _alive.pop(key, None))

    def __array__(self, *args, **kwargs):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def get(self):
        copied.append(self.kept.size)
        return self.kept.copy()

    def __getattr__(self, name):
        if name in METHODS:
            return lambda *args, **kwargs: _outside(getattr(self.kept, name)(*map(_inside, args), **kwargs))
        if name in ("shape", "dtype", "size", "ndim", "flags"):
            return getattr(self.kept, name)
        if name == "T":
            return Array(self.kept.T)
        raise AttributeError(name)

    def __len__(self):
        return len(self.kept)

    def __float__(self):
        return float(self.kept)

    def __int__(self):
        return int(self.kept)

    def __getitem__(self, key):
        return Array(self.kept[_inside(key)])

    def __setitem__(self, key, value):
        self.kept[_inside(key)] = _inside(value)


def _binary(name, swapped):
    function = np.errstate(all="ignore")(getattr(operator, name))  # CuPy warns of nothing
    if swapped:
        return lambda self, other: Array(function(_inside(other), self.kept))
    return lambda self, other: Array(function(self.kept, _inside(other)))


def _unary(name):
    return lambda self: Array(getattr(operator, name)(self.kept))


for name in ("add", "sub", "mul", "truediv", "matmul", "and_", "or_", "lt", "le", "gt", "ge", "eq", "ne"):
    stem = name.rstrip("_")
    setattr(Array, f"__{stem}__", _binary(name, swapped=False))
    setattr(Array, f"__r{stem}__", _binary(name, swapped=True))
for name in ("neg", "abs", "invert"):
    setattr(Array, f"__{name}__", _unary(name))


def _in_place(name):
    def apply(self, other):
        getattr(operator, name)(self.kept, _inside(other))
        return self

    return apply


for name in ("iadd", "isub"):
    setattr(Array, f"__{name}__", _in_place(name))


def __getattr__(name):
    if name in FUNCTIONS:
        return lambda *args, **kwargs: _outside(getattr(np, name)(*map(_inside, args), **kwargs))
    if name in CREATE:
        return lambda value, *args, **kwargs: Array(getattr(np, name)(_sent(value), *args, **kwargs))
    raise AttributeError(f"the package is not known to call cupy.{name}")


def _sent(value):
    """Return what arrives on the device: a copy of an array of the host."""
    if not isinstance(value, np.ndarray):
        return _inside(value)
    sent.append(value.size)
    return np.array(value, order="K")
