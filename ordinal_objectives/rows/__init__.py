"""A pass over the rows: gradients, Hessians and the sums that the threshold step needs."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.rows.margins import MarginStatistics
from ordinal_objectives.rows.native import RowStatistics
from ordinal_objectives.rows.parted import Workers, agreed, parted
from ordinal_objectives.rows.protocol import RowPass

__all__ = ["MarginStatistics", "RowPass", "RowStatistics", "Workers", "agreed", "parted", "row_pass"]


def row_pass(
    loss: OrdinalLoss,
    y: ArrayLike,
    n_classes: int,
    sample_weight: ArrayLike | None = None,
    *,
    n_threads: int | None = None,
    part: bool = False,
) -> RowPass:
    """Return what answers for some rows: the one place that looks where they are.

    Parameters are those of :class:`RowStatistics`, which answers for rows in memory. The native engine asks it
    directly: it grows its trees on rows of statistics that this pass writes into its own memory.
    """
    return RowStatistics(loss, y, n_classes, sample_weight, n_threads=n_threads, part=part)
