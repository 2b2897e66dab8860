"""Inverse links of the cumulative model P(y <= k | x) = G(theta_k - f(x)), as stable NumPy float64.

Three quantities carry every loss: ``-log G`` (label at or below the threshold), ``-log(1 - G)`` (label
above it) and ``-log[G(b) - G(a)]`` (label between two thresholds), each with its derivatives. They are
written so that no digit is lost in the tails or between close thresholds.

References
----------
.. [1] P. McCullagh, "Regression models for ordinal data", JRSS B 42 (1980), 109-142.
"""

from __future__ import annotations

from ordinal_objectives.links.base import LINKS, FloatArray, IntervalTerms, Link
from ordinal_objectives.links.cauchit import Cauchit
from ordinal_objectives.links.gumbel import Cloglog, Loglog
from ordinal_objectives.links.logit import Logit
from ordinal_objectives.links.probit import Probit
from ordinal_objectives.validation import check_choice

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
    "get_link",
]

LINKS.update({link.name: link for link in (Logit(), Probit(), Cloglog(), Loglog(), Cauchit())})


def get_link(link: str | Link) -> Link:
    """Return a link by name; a Link passes through.

    Parameters
    ----------
    link : {"logit", "probit", "cloglog", "loglog", "cauchit"} or Link

    Raises
    ------
    ValueError
        If the name is unknown.
    TypeError
        If `link` is neither a string nor a Link.

    Examples
    --------
    >>> get_link("cloglog").mirror
    'loglog'
    """
    if isinstance(link, Link):
        return link
    if not isinstance(link, str):
        raise TypeError(f"link must be a string or a Link; got {link!r}")
    check_choice(link, LINKS, name="link")
    return LINKS[link]
