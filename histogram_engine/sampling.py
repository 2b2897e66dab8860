"""The rows and columns that each tree is grown on."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass
class Sampler:
    """Draws them without replacement; what is drawn depends on seed and iteration alone.

    Parameters
    ----------
    n_rows, n_features : int
    sample_weight : ndarray of float64, shape (n_rows,), or None
        Rows of weight 0 are not drawn.
    subsample, colsample_bytree : float
        Shares, above 0 and at most 1.
    seed : int
    leaves_rows_out : bool
        Whether at least one row stays outside, to judge the tree by.
    """

    n_rows: int
    n_features: int
    sample_weight: InitVar[NDArray[np.float64] | None]
    subsample: float
    colsample_bytree: float
    seed: int
    leaves_rows_out: bool = False
    _weighted: NDArray[np.intp] | None = field(init=False, default=None)

    def __post_init__(self, sample_weight: NDArray[np.float64] | None) -> None:
        if sample_weight is not None and not sample_weight.all():
            self._weighted = np.flatnonzero(sample_weight)

    def draw(self, iteration: int) -> tuple[NDArray[np.uint32] | None, list[int]]:
        """Return the rows of an iteration, None for all, and the columns; in order."""
        n, p = self.n_rows if self._weighted is None else len(self._weighted), self.n_features
        rng = np.random.default_rng([self.seed, iteration])
        rows, features = None, list(range(p))
        if self.subsample < 1.0:
            size = min(max(1, round(self.subsample * n)), n - self.leaves_rows_out)
            drawn = np.sort(rng.choice(n, size, replace=False, shuffle=False))
            rows = (drawn if self._weighted is None else self._weighted[drawn]).astype(np.uint32)
        if self.colsample_bytree < 1.0:
            size = max(1, round(self.colsample_bytree * p))
            features = sorted(rng.choice(p, size, replace=False).tolist())
        return rows, features
