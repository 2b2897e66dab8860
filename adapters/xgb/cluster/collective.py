"""Workers of a distributed XGBoost training, through the collective that grows its trees."""

from __future__ import annotations

import numpy as np
import xgboost
from numpy.typing import NDArray
from xgboost.collective import Op


class Collective:
    """The workers of the training that this thread takes part in; see :class:`ordinal_objectives.rows.Workers`."""

    @property
    def rank(self) -> int:
        """Number of this worker, from 0 on."""
        return int(xgboost.collective.get_rank())

    def sum(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums over all workers."""
        return self._reduce(values, Op.SUM)

    def max(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the largest of all workers, entry by entry."""
        return self._reduce(values, Op.MAX)

    def tell(self, text: str, rank: int) -> str:
        """Return the text of the worker with a rank."""
        return str(xgboost.collective.broadcast(text, rank))

    @staticmethod
    def _reduce(values: NDArray[np.float64], how: Op) -> NDArray[np.float64]:
        # Shapes are not kept by every version.
        total = xgboost.collective.allreduce(np.asarray(values, dtype=np.float64).ravel(), how)
        return np.asarray(total, dtype=np.float64).reshape(np.shape(values))
