"""Derivatives by differences, and the error messages of the checks of losses and links."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_RELATIVE, _ABSOLUTE = 1e-5, 1e-7


class Differences:
    """Central differences of fourth order.

    Parameters
    ----------
    unit : float
        Distance over which functions change their shape; the step is a thousandth of it.
    """

    def __init__(self, unit: float) -> None:
        self._step = 1e-3 * unit

    def derivative(self, function: Callable[[Any], FloatArray], x: Any) -> FloatArray:
        """Return the derivative of a function along a shift of all of x."""
        near, far = (function(x + k * self._step) - function(x - k * self._step) for k in (1, 2))
        return np.asarray((8 * near - far) / (12 * self._step))

    def partial_derivatives(self, function: Callable[[Any], FloatArray], x: FloatArray) -> FloatArray:
        """Return the derivatives along each entry of the last axis of x, stacked in a last axis of their own."""

        def along(entry: FloatArray) -> FloatArray:
            return self.derivative(lambda t: function(x + t * entry), 0.0)

        return np.stack([along(entry) for entry in np.eye(x.shape[-1])], axis=-1)


def compare(owner: str, quantity: str, got: Any, expected: Any, says: str, where: Callable[[int], str]) -> None:
    """Raise ValueError where a quantity is not what is expected of it.

    Parameters
    ----------
    owner, quantity : str
        Whose it is, and what: "loss 'mine'", "gradient".
    got, expected : array-like of float
        Of one shape; the first axis holds points.
    says : str
        What the expected numbers are.
    where : callable
        ``where(i)`` describes point i.
    """
    got, expected = np.asarray(got), np.asarray(expected, dtype=np.float64)
    if got.dtype != np.float64 or got.shape != expected.shape:
        raise ValueError(f"{quantity} of {owner} must be float64 {expected.shape}; got {got.dtype} {got.shape}")
    off = ~(np.abs(got - expected) <= _ABSOLUTE + _RELATIVE * np.abs(expected))
    if off.any():
        first = np.unravel_index(int(np.argmax(off)), off.shape)
        entry = f"[{', '.join(map(str, first[1:]))}]" if len(first) > 1 else ""
        raise ValueError(
            f"{quantity}{entry} of {owner} is wrong at {where(int(first[0]))}: got {got[first]:.8g}, where {says} "
            f"{expected[first]:.8g}"
        )


def require(owner: str, quantity: str, holds: Any, got: Any, rule: str, where: Callable[[int], str]) -> None:
    """Raise ValueError where a rule does not hold; arrays as in :func:`compare`."""
    holds, got = np.asarray(holds), np.asarray(got)
    if not holds.all():
        first = np.unravel_index(int(np.argmin(holds)), holds.shape)
        raise ValueError(f"{quantity} of {owner} must {rule}; got {got[first]:.8g} at {where(int(first[0]))}")
