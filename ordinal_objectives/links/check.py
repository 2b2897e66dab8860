"""Check of a link by finite differences."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.optimize import approx_fprime

from ordinal_objectives.aliases import ArrayLike
from ordinal_objectives.links.base import Link

_P = np.linspace(0.004, 0.9957, 33)


def compare(owner: str, quantities: Mapping[str, tuple[ArrayLike, ArrayLike]]) -> None:
    """Raise ValueError for the first quantity of a loss or a link that is not what is expected of it, with the numbers.

    Forward differences are exact to about a millionth of the largest entry.
    """
    for name, (got, expected) in quantities.items():
        got, expected = np.asarray(got), np.asarray(expected)
        off = ~np.isclose(got, expected, rtol=1e-4, atol=1e-9 + 1e-5 * np.abs(expected).max())
        if off.any():
            raise ValueError(f"{name} of {owner} must be {expected[off][0]:.8g} at some point; got {got[off][0]:.8g}")


def step_of(link: Link) -> float:
    """Return a step for differences, small beside the distance over which a link changes its shape."""
    return 5e-7 * float(np.diff(link.link(np.array([0.25, 0.75])))[0])


def check_link(link: Link) -> None:
    """Raise ValueError if a formula of a link is not the derivative of another, by SciPy's finite differences.

    A loss that takes the link reads more of it: :func:`~ordinal_objectives.losses.check_loss` checks both together.

    Parameters
    ----------
    link : Link
        An object of a class of your own, or of this package.

    Raises
    ------
    ValueError
        If ``inverse``, ``density``, ``density_derivative`` or ``lower`` disagree between probabilities of 0.004 and
        0.996; the message names the one, with the numbers.

    Examples
    --------
    >>> from ordinal_objectives.links import Logit, check_link
    >>> check_link(Logit())
    """
    x, step = np.asarray(link.link(_P), dtype=np.float64), step_of(link)
    link.check_answers(x)
    value, first, second = link.lower(x)
    slopes = {
        "density": (link.density(x), link.inverse),
        "density_derivative": (link.density_derivative(x), link.density),
        "the first derivative of lower": (first, lambda t: link.lower(t)[0]),
        "the second derivative of lower": (second, lambda t: link.lower(t)[1]),
    }
    same = {"inverse": (link.inverse(x), _P), "the value of lower": (value, -np.log(link.inverse(x)))}
    derived = {name: (got, np.diagonal(approx_fprime(x, of, step))) for name, (got, of) in slopes.items()}
    compare(f"link {link.identity!r}", same | derived)
