"""Checks of the formulas of losses and links: against finite differences, and against each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ordinal_objectives.aliases import FloatArray

DIFFERENCES_SAY = "finite differences say"
_RELATIVE, _ABSOLUTE = 1e-5, 1e-7


class FormulaCheck:
    """Compares quantities of a loss or a link at some points; derivatives are central differences of fourth order.

    Parameters
    ----------
    owner : str
        Whose quantities they are: "loss 'mine'".
    unit : float
        Distance over which functions change their shape; the step of differences is a thousandth of it.
    where : callable
        ``where(i)`` describes point i.
    """

    def __init__(self, owner: str, unit: float, where: Callable[[int], str]) -> None:
        self._owner, self._step, self.where = owner, 1e-3 * unit, where

    def describe_points(self, where: Callable[[int], str]) -> None:
        """Describe the points of the checks that follow by another function."""
        self.where = where

    def derivative(self, function: Callable[[Any], FloatArray], x: Any) -> FloatArray:
        """Return the derivative of a function along a shift of all of x."""
        near, far = (function(x + k * self._step) - function(x - k * self._step) for k in (1, 2))
        return np.asarray((8 * near - far) / (12 * self._step))

    def partial_derivatives(self, function: Callable[[Any], FloatArray], x: FloatArray) -> FloatArray:
        """Return the derivatives along each entry of the last axis of x, stacked in a last axis of their own."""

        def along(entry: FloatArray) -> FloatArray:
            return self.derivative(lambda t: function(x + t * entry), 0.0)

        return np.stack([along(entry) for entry in np.eye(x.shape[-1])], axis=-1)

    def same(self, quantity: str, got: object, expected: object, says: str = DIFFERENCES_SAY) -> None:
        """Raise ValueError where a quantity is not what is expected of it, arrays whose first axis holds points."""
        got, expected = np.asarray(got), np.asarray(expected, dtype=np.float64)
        owner = self._owner
        if got.dtype != np.float64 or got.shape != expected.shape:
            raise ValueError(f"{quantity} of {owner} must be float64 {expected.shape}; got {got.dtype} {got.shape}")
        off = ~(np.abs(got - expected) <= _ABSOLUTE + _RELATIVE * np.abs(expected))
        if off.any():
            first = np.unravel_index(int(np.argmax(off)), off.shape)
            entry = f"[{', '.join(map(str, first[1:]))}]" if len(first) > 1 else ""
            raise ValueError(
                f"{quantity}{entry} of {owner} is wrong at {self.where(int(first[0]))}: got {got[first]:.8g}, where "
                f"{says} {expected[first]:.8g}"
            )

    def rule(self, quantity: str, holds: object, got: object, rule: str) -> None:
        """Raise ValueError where a rule does not hold; arrays as in :meth:`same`."""
        holds, got = np.asarray(holds), np.asarray(got)
        if not holds.all():
            first = np.unravel_index(int(np.argmin(holds)), holds.shape)
            where = self.where(int(first[0]))
            raise ValueError(f"{quantity} of {self._owner} must {rule}; got {got[first]:.8g} at {where}")
