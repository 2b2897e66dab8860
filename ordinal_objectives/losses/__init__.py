"""Ordinal losses of a score and its thresholds: the readable float64 reference of every quantity.

Every loss depends on theta_k - f_i only, so a derivative in the score is minus the sum of the derivatives
in the thresholds.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from ordinal_objectives.links import LINKS, Link, get_link
from ordinal_objectives.losses.base import HESSIANS, LOSSES, OrdinalLoss
from ordinal_objectives.losses.built_in import (
    ABSOLUTE,
    AllThreshold,
    CostWeighted,
    CumulativeLink,
    ImmediateThreshold,
    check_order,
    higher_derivatives,
)
from ordinal_objectives.losses.check import check_loss
from ordinal_objectives.losses.quantities import LeafSums, MarginDerivatives, RoundStatistics, RoundSums, RowDerivatives
from ordinal_objectives.registry import Registry
from ordinal_objectives.utils import documented, public_names

__all__ = [
    "HESSIANS",
    "LOSSES",
    "AllThreshold",
    "CostWeighted",
    "CumulativeLink",
    "ImmediateThreshold",
    "LeafSums",
    "MarginDerivatives",
    "OrdinalLoss",
    "RoundStatistics",
    "RoundSums",
    "RowDerivatives",
    "check_loss",
    "check_order",
    "get_loss",
    "higher_derivatives",
    "register_loss",
]
__dir__ = public_names(__name__)

LOSSES.update({loss.name: loss for loss in (AllThreshold, CumulativeLink, ImmediateThreshold, CostWeighted)})
_OWN: Registry[OrdinalLoss] = Registry("loss", LOSSES)


@documented
def get_loss(
    loss: str | OrdinalLoss, link: str | Link = "logit", training_cost: str | ArrayLike = ABSOLUTE
) -> OrdinalLoss:
    """Return a loss by name; an instance passes through and keeps its own link.

    Parameters
    ----------
    loss : str or OrdinalLoss
        A key of `LOSSES`, the identity of a loss that is registered or in use, or a loss.
    <<link, training_cost>>

    Raises
    ------
    ValueError
        If a name is unknown, the link is neither the instance's own nor the default, or costs are given beside a loss
        that has none, or others.
    TypeError
        If `loss` is neither a string nor an OrdinalLoss.

    Examples
    --------
    >>> get_loss("cumulative_link", "probit")
    CumulativeLink(link='probit')
    """
    if not isinstance(training_cost, str) or training_cost != ABSOLUTE:
        given = get_loss(loss, link)
        weighted = CostWeighted(given.link, training_cost)
        if type(given) is not AllThreshold and given != weighted:
            raise ValueError(
                f"training_cost belongs to loss 'all_threshold', whose thresholds count by what errors cost; got "
                f"loss={given!r}"
            )
        return weighted
    if isinstance(loss, OrdinalLoss):
        own = _OWN.add(loss)
        other = get_link(link)
        if other not in (own.link, LINKS["logit"]):  # the default
            raise ValueError(
                f"link={other.identity!r} contradicts loss={own!r}, which brings its own link: leave link "
                f"out, or make the loss with it"
            )
        return own
    if not isinstance(loss, str):
        raise TypeError(f"loss must be a string or an OrdinalLoss; got {loss!r}")
    if loss.startswith(f"{CostWeighted.name}("):
        return CostWeighted.of_identity(loss, link)
    return LOSSES[loss](link) if loss in LOSSES else _OWN.get(loss, get_link(link).identity)


def register_loss(loss: OrdinalLoss) -> None:
    """Register a loss of your own and its link, so that model files that name it can be read.

    Parameters
    ----------
    loss : OrdinalLoss
        Found in files by its ``identity``.

    Examples
    --------
    >>> from ordinal_objectives import AllThreshold
    >>> class Doubled(AllThreshold):
    ...     def _of_margins(self, x, y): ...
    >>> register_loss(Doubled("probit"))
    """
    get_link(loss.link)
    get_loss(loss)
