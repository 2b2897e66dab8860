"""Passes over the rows: gradients, Hessians and the sums that the threshold step needs."""

from ordinal_objectives.rows.device import (
    CPU,
    Array,
    MarginPass,
    RowPass,
    Workers,
    distributed_pass,
    fail_together,
)
from ordinal_objectives.rows.gpu import GPU
from ordinal_objectives.rows.native import MarginStatistics, RowStatistics
from ordinal_objectives.utils import public_names

__all__ = [
    "CPU",
    "Array",
    "Device",
    "MarginPass",
    "MarginStatistics",
    "RowPass",
    "RowStatistics",
    "Workers",
    "distributed_pass",
    "fail_together",
]
__dir__ = public_names(__name__)

# Where the rows of a training are.
type Device = CPU | GPU
