"""Inverse links of the cumulative model P(y <= k | x) = G(theta_k - f(x)), as stable NumPy float64.

Every loss is made of three quantities: ``-log G`` (label at or below the threshold), ``-log(1 - G)`` (label
above it) and ``-log[G(b) - G(a)]`` (label between two thresholds), each with its derivatives. They are
written so that no digit is lost in the tails or between close thresholds.

References
----------
.. [1] P. McCullagh, "Regression models for ordinal data", JRSS B 42 (1980), 109-142.
"""

from __future__ import annotations

from ordinal_objectives.aliases import FloatArray
from ordinal_objectives.links.base import LINKS, IntervalTerms, Link
from ordinal_objectives.links.built_in import Cauchit, Cloglog, Logit, Loglog, Probit
from ordinal_objectives.links.check import check_link
from ordinal_objectives.registry import Registry
from ordinal_objectives.utils import public_names

__all__ = [
    "LINKS",
    "Cauchit",
    "Cloglog",
    "FloatArray",
    "IntervalTerms",
    "Link",
    "Logit",
    "Loglog",
    "Probit",
    "check_link",
    "get_link",
    "register_link",
]
__dir__ = public_names(__name__)

LINKS.update({link.name: link for link in (Logit(), Probit(), Cloglog(), Loglog(), Cauchit())})
_OWN: Registry[Link] = Registry("link", LINKS)


def get_link(link: str | Link) -> Link:
    """Return a link by name; a Link passes through.

    Parameters
    ----------
    link : str or Link
        A key of `LINKS`, the identity of a link that is registered or in use, or a link.

    Raises
    ------
    ValueError
        If the name is unknown, or a link has no mirror.
    TypeError
        If `link` is neither a string nor a Link.

    Examples
    --------
    >>> get_link("cloglog").mirror
    'loglog'
    """
    if isinstance(link, Link):
        known = _OWN.add(link)
        _ = known.mirror_link  # raises where there is none
        return known
    if not isinstance(link, str):
        raise TypeError(f"link must be a string or a Link; got {link!r}")
    return LINKS[link] if link in LINKS else _OWN.get(link)


def register_link(link: Link) -> None:
    """Register a link of your own, so that model files that name it can be read.

    Parameters
    ----------
    link : Link
        Found in files by its ``identity``.

    Examples
    --------
    >>> from ordinal_objectives.links import Logit, register_link
    >>> class Tempered(Logit):
    ...     name = mirror = "tempered"
    >>> register_link(Tempered())
    """
    get_link(link)
