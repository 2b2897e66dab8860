"""Checks of the arguments of the solver."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def as_array(name: str, value: ArrayLike, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
    """Return `value` as a finite float64 array of the given shape, where None leaves a length open."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim != len(shape) or any(want not in (None, got) for want, got in zip(shape, array.shape, strict=True)):
        allowed = tuple("n" if want is None else want for want in shape)
        raise ValueError(f"{name} must have shape {allowed}, got {array.shape}".replace("'", ""))
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got {array[~np.isfinite(array)][0]}")
    return array


def as_vector(name: str, value: ArrayLike, size: int | None = None) -> NDArray[np.float64]:
    """Return `value` as a finite float64 vector, of the given size if one is given."""
    return as_array(name, value, (size,))


def as_mask(name: str, value: ArrayLike | None, size: int, default: bool) -> NDArray[np.bool_]:
    """Return `value` as a boolean vector of the given size, filled with `default` where it is None."""
    if value is None:
        return np.full(size, default)
    mask = np.asarray(value)
    if mask.shape != (size,) or mask.dtype != np.bool_:
        raise ValueError(f"{name} must be a boolean array of shape ({size},), got {mask.dtype} {mask.shape}")
    return mask
