"""Check of a link: every quantity is compared with finite differences and with the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from ordinal_objectives.aliases import FloatArray
from ordinal_objectives.links.base import IntervalTerms, Link

Point = TypeVar("Point", FloatArray, float)
_DIFFERENCES_SAY = "finite differences say"
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
        ``where(i)`` describes point i, as does what it is replaced by.
    """

    def __init__(self, owner: str, unit: float, where: Callable[[int], str]) -> None:
        self._owner, self._step, self.where = owner, 1e-3 * unit, where

    def describe_points(self, where: Callable[[int], str]) -> None:
        """Describe the points of the checks that follow by another function."""
        self.where = where

    def derivative(self, function: Callable[[Point], FloatArray], x: Point) -> FloatArray:
        """Return the derivative of a function along a shift of all of x."""
        near, far = (function(x + k * self._step) - function(x - k * self._step) for k in (1, 2))
        return np.asarray((8 * near - far) / (12 * self._step))

    def partial_derivatives(self, function: Callable[[FloatArray], FloatArray], x: FloatArray) -> FloatArray:
        """Return the derivatives along each entry of the last axis of x, stacked in a last axis of their own."""

        def along(entry: FloatArray) -> FloatArray:
            return self.derivative(lambda t: function(x + t * entry), 0.0)

        return np.stack([along(entry) for entry in np.eye(x.shape[-1])], axis=-1)

    def same(self, quantity: str, got: object, expected: object, says: str = _DIFFERENCES_SAY) -> None:
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


_P = np.linspace(0.004, 0.9957, 33)


def check_link(link: Link) -> None:
    """Raise ValueError if the formulas of a link disagree, naming the first quantity that is wrong, with the numbers.

    Parameters
    ----------
    link : Link
        An object of a class of your own, or of this package.

    Raises
    ------
    TypeError
        If `link` is no Link.
    ValueError
        If a derivative is not that of finite differences, G does not increase from 0 to 1, or a constant does not hold.

    Notes
    -----
    Probabilities between 0.004 and 0.996 are checked. Digits in the tails are not.

    Examples
    --------
    >>> from ordinal_objectives.links import Logit, check_link
    >>> check_link(Logit())
    """
    if not isinstance(link, Link):
        raise TypeError(f"check_link takes a Link, an object of the class; got {link!r}")
    check_formulas(link)
    x, check = _at_points(link)
    p = link.inverse(x)
    check.same("complement", link.complement(x), 1 - p, "1 - inverse is")
    check.same("log_complement", link.log_complement(x), np.log1p(-p), "log(1 - inverse) is")
    check.same("the mirror of mirror_link", link.mirror_link.complement(-x), p, "inverse is")
    _check_terms(check, "upper", link.upper, x, -link.log_complement(x))
    value, slope, e = link.lower(x)
    if link.curvature_bound is not None:
        rule = f"be no less than the curvature of -log G, but is {link.curvature_bound}"
        check.rule("curvature_bound", e <= link.curvature_bound + 1e-9, e, rule)
        d = x[None, :] - x[:, None]
        gap = value[:, None] + slope[:, None] * d + 0.5 * link.sharp_curvature(x)[:, None] * d**2 - value[None, :]
        check.rule("the parabola of sharp_curvature", gap >= -1e-9, gap, "lie nowhere below -log G")
    rule = f"be no less than minus the curvature of -log G, but is {link.curvature_floor}"
    check.rule("curvature_floor", -e <= link.curvature_floor + 1e-9, e, rule)
    _check_interval(link, check, x)


def check_formulas(link: Link) -> None:
    """Check what needs no mirror: G, its derivatives, and those of -log G; raise ValueError as `check_link`."""
    x, check = _at_points(link)
    link.check_answers(x)
    FormulaCheck(f"link {link.identity!r}", 1.0, lambda i: f"p={_P[i]:.4g}").same(
        "link", link.inverse(x), _P, "inverse of it must give"
    )
    check.rule("density", link.density(x) > 0, link.density(x), "be positive, so that G increases")
    check.same("density", link.density(x), check.derivative(link.inverse, x))
    check.same("density_derivative", link.density_derivative(x), check.derivative(link.density, x))
    check.same("log_inverse", link.log_inverse(x), np.log(link.inverse(x)), "log inverse is")
    _check_terms(check, "lower", link.lower, x, -link.log_inverse(x))
    if link.highest_order == 4:
        third, fourth = link.higher(x)
        check.same("the third derivative of higher", third, check.derivative(lambda t: link.lower(t)[2], x))
        check.same("the fourth derivative of higher", fourth, check.derivative(lambda t: link.higher(t)[0], x))


def _at_points(link: Link) -> tuple[FloatArray, FormulaCheck]:
    """Return points between the tails, and the check of numbers there."""
    x = np.asarray(link.link(_P), dtype=np.float64)
    unit = float(np.subtract(*np.quantile(x, [0.75, 0.25]))) / 2.0
    return x, FormulaCheck(f"link {link.identity!r}", unit, lambda i: f"x={x[i]:.4g}")


def _check_terms(
    check: FormulaCheck,
    name: str,
    function: Callable[[FloatArray], tuple[FloatArray, ...]],
    x: FloatArray,
    value: FloatArray,
) -> None:
    """Check a negative log probability and its two derivatives."""
    got, first, second = function(x)
    check.same(f"the value of {name}", got, value, "minus the logarithm is")
    check.same(f"the first derivative of {name}", first, check.derivative(lambda t: function(t)[0], x))
    check.same(f"the second derivative of {name}", second, check.derivative(lambda t: function(t)[1], x))


def _check_interval(link: Link, check: FormulaCheck, x: FloatArray) -> None:
    """Check -log[G(b) - G(a)] and its derivatives."""
    a, b = np.concatenate([x[:-3], x[:-9]]), np.concatenate([x[3:], x[9:]])
    check.describe_points(lambda i: f"lower={a[i]:.4g}, upper={b[i]:.4g}")

    def along(name: str, lower: float, upper: float) -> FloatArray:
        def function(t: float) -> FloatArray:
            terms: IntervalTerms = link.interval(a + lower * t, b + upper * t)
            return np.asarray(getattr(terms, name))

        return check.derivative(function, 0.0)

    expected = {
        "value": -np.log(link.inverse(b) - link.inverse(a)),
        "d_lower": along("value", 1.0, 0.0),
        "d_upper": along("value", 0.0, 1.0),
        "d_shift": along("value", 1.0, 1.0),
        "d_lower_shift": along("d_lower", 1.0, 1.0),
        "d_upper_shift": along("d_upper", 1.0, 1.0),
    }
    terms = link.interval(a, b)
    for name, numbers in expected.items():
        says = "-log[G(upper) - G(lower)] is" if name == "value" else _DIFFERENCES_SAY
        check.same(f"{name} of interval", getattr(terms, name), numbers, says)
