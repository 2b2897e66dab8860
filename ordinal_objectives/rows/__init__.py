"""A pass over the rows: gradients, Hessians and the sums that the threshold step needs."""

from __future__ import annotations

from ordinal_objectives.rows.device import CPU, Device
from ordinal_objectives.rows.distributed_rows import Workers, distributed_pass, fail_together
from ordinal_objectives.rows.margins import MarginStatistics
from ordinal_objectives.rows.native import RowStatistics
from ordinal_objectives.rows.protocol import MarginPass, RowPass

__all__ = [
    "CPU",
    "Device",
    "MarginPass",
    "MarginStatistics",
    "RowPass",
    "RowStatistics",
    "Workers",
    "distributed_pass",
    "fail_together",
]
