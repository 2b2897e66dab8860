"""Ordinal losses of a score and its thresholds: the readable float64 reference of every quantity.

Every loss depends on theta_k - f_i alone, so a derivative in the score is minus the sum of the derivatives
in the thresholds.
"""

from __future__ import annotations

from ordinal_objectives.links import Link
from ordinal_objectives.losses.base import HESSIANS, OrdinalLoss
from ordinal_objectives.losses.cumulative_link import CumulativeLink
from ordinal_objectives.losses.higher import check_order, higher_derivatives
from ordinal_objectives.losses.quantities import LeafSums, MarginDerivatives, RoundStatistics, RoundSums, RowDerivatives
from ordinal_objectives.losses.threshold_sums import AllThreshold, ImmediateThreshold
from ordinal_objectives.validation import check_choice

__all__ = [
    "HESSIANS",
    "LOSSES",
    "AllThreshold",
    "CumulativeLink",
    "ImmediateThreshold",
    "LeafSums",
    "MarginDerivatives",
    "OrdinalLoss",
    "RoundStatistics",
    "RoundSums",
    "RowDerivatives",
    "check_order",
    "get_loss",
    "higher_derivatives",
]

LOSSES: dict[str, type[OrdinalLoss]] = {loss.name: loss for loss in (AllThreshold, CumulativeLink, ImmediateThreshold)}


def get_loss(loss: str | OrdinalLoss, link: str | Link = "logit") -> OrdinalLoss:
    """Return a loss by name; an instance passes through and keeps its own link.

    Parameters
    ----------
    loss : {"all_threshold", "cumulative_link", "immediate_threshold"} or OrdinalLoss
    link : {"logit", "probit", "cloglog", "loglog", "cauchit"} or Link, default="logit"

    Raises
    ------
    ValueError
        If a name is unknown.
    TypeError
        If `loss` is neither a string nor an OrdinalLoss.

    Examples
    --------
    >>> get_loss("cumulative_link", "probit")
    CumulativeLink(link='probit')
    """
    if isinstance(loss, OrdinalLoss):
        return loss
    if not isinstance(loss, str):
        raise TypeError(f"loss must be a string or an OrdinalLoss; got {loss!r}")
    check_choice(loss, LOSSES, name="loss")
    return LOSSES[loss](link)
