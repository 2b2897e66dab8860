"""Check of a link: every quantity is compared with finite differences and with the others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ordinal_objectives.links.base import FloatArray, IntervalTerms, Link
from ordinal_objectives.utils.finite_differences import Differences, compare, require

_P = np.linspace(0.004, 0.9957, 33)
_SAYS = "finite differences say"


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
    owner, x, same, rule = _at_points(link)
    p = link.inverse(x)
    for name, got, expected, says in (
        ("complement", link.complement(x), 1 - p, "1 - inverse is"),
        ("log_complement", link.log_complement(x), np.log1p(-p), "log(1 - inverse) is"),
        ("the mirror of mirror_link", link.mirror_link.complement(-x), p, "inverse is"),
    ):
        same(name, got, expected, says)
    _check_terms("upper", link.upper, x, -link.log_complement(x), same)
    e = link.lower(x)[2]
    if link.curvature_bound is not None:
        rule(
            "curvature_bound",
            e <= link.curvature_bound + 1e-9,
            e,
            f"be no less than the curvature of -log G, but is {link.curvature_bound}",
        )
        _check_majoriser(link, x, rule)
    rule(
        "curvature_floor",
        -e <= link.curvature_floor + 1e-9,
        e,
        f"be no less than minus the curvature of -log G, but is {link.curvature_floor}",
    )
    _check_interval(link, owner, x)


def check_formulas(link: Link) -> None:
    """Check what needs no mirror: G, its derivatives, and those of -log G; raise ValueError as `check_link`."""
    owner, x, same, rule = _at_points(link)
    link.check_answers(x)
    compare(owner, "link", link.inverse(x), _P, "inverse of it must give", lambda i: f"p={_P[i]:.4g}")
    derivative = _differences(x).derivative
    rule("density", link.density(x) > 0, link.density(x), "be positive, so that G increases")
    for name, got, expected, says in (
        ("density", link.density(x), derivative(link.inverse, x), _SAYS),
        ("density_derivative", link.density_derivative(x), derivative(link.density, x), _SAYS),
        ("log_inverse", link.log_inverse(x), np.log(link.inverse(x)), "log inverse is"),
    ):
        same(name, got, expected, says)
    _check_terms("lower", link.lower, x, -link.log_inverse(x), same)
    if link.highest_order == 4:
        third, fourth = link.higher(x)
        same("the third derivative of higher", third, derivative(lambda t: link.lower(t)[2], x), _SAYS)
        same("the fourth derivative of higher", fourth, derivative(lambda t: link.higher(t)[0], x), _SAYS)


def _at_points(link: Link) -> tuple[str, FloatArray, Callable[..., None], Callable[..., None]]:
    """Return what messages call a link, points to look at, and how numbers there are compared and required."""
    owner = f"link {link.identity!r}"
    x = np.asarray(link.link(_P), dtype=np.float64)

    def where(i: int) -> str:
        return f"x={x[i]:.4g}"

    return owner, x, partial(compare, owner, where=where), partial(require, owner, where=where)


def _differences(x: FloatArray) -> Differences:
    return Differences(float(np.subtract(*np.quantile(x, [0.75, 0.25]))) / 2.0)


def _check_terms(
    name: str,
    function: Callable[[FloatArray], tuple[FloatArray, ...]],
    x: FloatArray,
    value: FloatArray,
    same: Callable[..., None],
) -> None:
    """Check a negative log probability and its two derivatives."""
    got, first, second = function(x)
    derivative = _differences(x).derivative
    same(f"the value of {name}", got, value, "minus the logarithm is")
    same(f"the first derivative of {name}", first, derivative(lambda t: function(t)[0], x), _SAYS)
    same(f"the second derivative of {name}", second, derivative(lambda t: function(t)[1], x), _SAYS)


def _check_majoriser(link: Link, x: FloatArray, rule: Callable[..., None]) -> None:
    """Check that the parabola of `sharp_curvature` lies nowhere below -log G."""
    value, slope, _ = link.lower(x)
    d = x[None, :] - x[:, None]
    bound = value[:, None] + slope[:, None] * d + 0.5 * link.sharp_curvature(x)[:, None] * d**2
    gap = bound - value[None, :]
    rule("the parabola of sharp_curvature", gap >= -1e-9, gap, "lie nowhere below -log G")


def _check_interval(link: Link, owner: str, x: FloatArray) -> None:
    """Check -log[G(b) - G(a)] and its derivatives."""
    a, b = np.concatenate([x[:-3], x[:-9]]), np.concatenate([x[3:], x[9:]])

    def where(i: int) -> str:
        return f"lower={a[i]:.4g}, upper={b[i]:.4g}"

    def at(lower: FloatArray, upper: FloatArray) -> IntervalTerms:
        return link.interval(lower, upper)

    terms, derivative = at(a, b), _differences(x).derivative
    expected = {
        "value": -np.log(link.inverse(b) - link.inverse(a)),
        "d_lower": derivative(lambda t: at(a + t, b).value, 0.0),
        "d_upper": derivative(lambda t: at(a, b + t).value, 0.0),
        "d_shift": derivative(lambda t: at(a + t, b + t).value, 0.0),
        "d_lower_shift": derivative(lambda t: at(a + t, b + t).d_lower, 0.0),
        "d_upper_shift": derivative(lambda t: at(a + t, b + t).d_upper, 0.0),
    }
    for name, numbers in expected.items():
        says = "-log[G(upper) - G(lower)] is" if name == "value" else _SAYS
        compare(owner, f"{name} of interval", getattr(terms, name), numbers, says, where)
