"""A pass over the rows: gradients, Hessians and the sums that the threshold step needs."""

from __future__ import annotations

from ordinal_objectives.rows.margins import MarginStatistics
from ordinal_objectives.rows.native import RowStatistics
from ordinal_objectives.rows.protocol import RowPass

__all__ = ["MarginStatistics", "RowPass", "RowStatistics"]
