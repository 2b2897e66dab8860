"""The rows and columns that each tree is grown on: drawn alike, or rows by their gradients."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Sample(NamedTuple):
    """Rows that a tree is grown on.

    Attributes
    ----------
    rows : ndarray of uint32, or None
        In order; None for all.
    light : ndarray of intp, or None
        Places among them of rows that stand for others as well.
    factor : float
        How much more these count.
    """

    rows: NDArray[np.uint32] | None
    light: NDArray[np.intp] | None = None
    factor: float = 1.0

    def factors(self) -> NDArray[np.float64] | None:
        """Return how much each row counts, (n_rows,); None where all count alike."""
        if self.rows is None or self.light is None:
            return None
        factors = np.ones(len(self.rows))
        factors[self.light] = self.factor
        return factors


def by_gradients(
    columns: NDArray[np.float32], n_gradients: int, top_rate: float, other_rate: float, rng: np.random.Generator
) -> Sample:
    """Keep the rows with the largest gradients, and draw some of the others, which count for all of these (GOSS) [1]_.

    Parameters
    ----------
    columns : ndarray of float32, shape (n_samples, at least 2 n_gradients)
        Gradients, then Hessians, weighted. Rows without either are left out.
    n_gradients : int
    top_rate, other_rate : float
        Shares of the rows.
    rng : Generator

    References
    ----------
    .. [1] G. Ke et al., "LightGBM: a highly efficient gradient boosting decision tree", NIPS 2017.
    """
    size = np.abs(columns[:, :n_gradients] * columns[:, n_gradients : 2 * n_gradients]).sum(axis=1)
    weighted = np.flatnonzero(columns[:, n_gradients : 2 * n_gradients].any(axis=1))
    n = len(weighted)
    n_top, n_other = max(1, round(top_rate * n)), max(1, round(other_rate * n))
    if n_top + n_other >= n:
        return Sample(None)
    order = np.argpartition(-size[weighted], n_top - 1)
    drawn = rng.choice(order[n_top:], n_other, replace=False, shuffle=False)
    kept = np.sort(np.concatenate([order[:n_top], drawn]))
    light = np.flatnonzero(np.isin(kept, drawn, assume_unique=True))
    return Sample(weighted[kept].astype(np.uint32), light, (n - n_top) / n_other)


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
        Whether at least one row stays outside of each tree.
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

    def by_gradients(
        self, iteration: int, columns: NDArray[np.float32], n_gradients: int, rates: tuple[float, float]
    ) -> Sample:
        """Return the rows of an iteration by their gradients; see :func:`by_gradients`."""
        return by_gradients(columns, n_gradients, *rates, np.random.default_rng([self.seed, iteration, 2]))

    def node_seed(self, iteration: int) -> int:
        """Return the seed by which an iteration draws features for each node."""
        return int(np.random.default_rng([self.seed, iteration, 1]).integers(2**63))

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
