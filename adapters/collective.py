"""The workers of a training as XGBoost's collective connects them, also beside LightGBM's own network."""

from __future__ import annotations

import sys
from contextlib import suppress

import numpy as np
import xgboost
from xgboost.collective import Op

from ordinal_objectives.aliases import FloatArray


class Collective:
    """The workers of the training that this thread takes part in; see :class:`ordinal_objectives.rows.Workers`."""

    @property
    def rank(self) -> int:
        """Number of this worker, from 0 on."""
        return int(xgboost.collective.get_rank())

    def sum(self, values: FloatArray) -> FloatArray:
        """Return the sums over all workers."""
        return self._reduce(values, Op.SUM)

    def max(self, values: FloatArray) -> FloatArray:
        """Return the largest of all workers, entry by entry."""
        return self._reduce(values, Op.MAX)

    def broadcast(self, text: str, rank: int) -> str:
        """Return the text of the worker with a rank."""
        return str(xgboost.collective.broadcast(text, rank))

    def check_wanted(self) -> None:
        """Raise RuntimeError if a task of Dask trains here, and nobody waits for its result any more."""
        if "distributed" not in sys.modules:
            return
        from distributed import get_worker

        with suppress(ValueError, KeyError):  # no task of Dask
            worker = get_worker()
            task = worker.state.tasks.get(worker.get_current_task())
            if task is None or task.state == "cancelled":
                raise RuntimeError("the training was cancelled")

    @staticmethod
    def _reduce(values: FloatArray, how: Op) -> FloatArray:
        # Shapes are not kept by every version.
        total = xgboost.collective.allreduce(np.asarray(values, dtype=np.float64).ravel(), how)
        return np.asarray(total, dtype=np.float64).reshape(np.shape(values))


def is_connected() -> bool:
    """Tell whether the collective connects this thread with others."""
    return bool(xgboost.collective.is_distributed())
