"""A pass over the rows: gradients, Hessians and the sums that the threshold step needs."""

from __future__ import annotations

import warnings
from typing import Any

from ordinal_objectives.rows.device import CPU, Device
from ordinal_objectives.rows.distributed_rows import Workers, distributed_pass, fail_together
from ordinal_objectives.rows.margins import MarginStatistics
from ordinal_objectives.rows.native import RowStatistics
from ordinal_objectives.rows.protocol import MarginPass, RowPass
from ordinal_objectives.utils.public_names import public_names

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
__dir__ = public_names(__name__)

_RENAMED = {"parted": "distributed_pass", "agreed": "fail_together"}


def __getattr__(name: str) -> Any:
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    new = _RENAMED[name]
    warnings.warn(f"{name} is called {new} now; the old name goes with version 0.6", DeprecationWarning, stacklevel=2)
    return globals()[new]
