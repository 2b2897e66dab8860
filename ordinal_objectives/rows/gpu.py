"""A GPU as the device that holds the rows of a training, with CuPy arrays.

Any array library with NumPy's functions and operators can be used: so the tests run this without a GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.rows.device import LeafMatch, on_cpu
from ordinal_objectives.rows.gpu_pass import GPUMargins, GPURows


class GPU:
    """A device with the arrays of an array library.

    Parameters
    ----------
    arrays : module
        CuPy, or a library with the same functions.
    """

    def __init__(self, arrays: Any) -> None:
        self.arrays = arrays
        self._sent: tuple[Any, Any] = (None, None)

    def here(self, array: Any) -> Any:
        """Return an array on this device; one from elsewhere is kept, since a round asks for it several times."""
        if not isinstance(array, np.ndarray):
            return array
        if self._sent[0] is not array:
            self._sent = (array, self.arrays.asarray(array))
        return self._sent[1]

    def row_pass(self, *args: Any, **options: Any) -> GPURows:
        """Return the pass over rows with one score each."""
        return GPURows(self, *args, **options)

    def margin_pass(self, *args: Any, **options: Any) -> GPUMargins:
        """Return the pass over rows with a score for each threshold."""
        return GPUMargins(self, *args, **options)

    def copy(self, array: Any, dtype: Any = None, out: Any = None) -> Any:
        """Return a copy of an array here, whether it comes from NumPy or is here already."""
        if out is not None:
            out[...] = self.here(array)
            return out
        return self.arrays.array(self.here(array), dtype=dtype)

    def columns(self, n_samples: int, n_columns: int) -> Any:
        """Return columns one after the other in memory."""
        return self.arrays.empty((n_columns, n_samples), dtype=np.float32).T

    def times(self, rows: Any, matrix: NDArray[np.float32]) -> Any:
        """Return the product."""
        return rows @ self.arrays.asarray(matrix)

    def weighted_sum(self, weights: Any, rows: Any) -> NDArray[np.float64]:
        """Return the sums of the columns."""
        return on_cpu(weights @ self.here(rows)).astype(np.float64)

    def scores_of(self, outputs: Any, matrix: NDArray[np.float32], offset: NDArray[np.float32]) -> Any:
        """Return scores, one threshold after the other in memory."""
        columns = self.arrays.asarray(np.ascontiguousarray(matrix.T)) @ self.here(outputs).T
        return (columns - self.arrays.asarray(offset)[:, None]).T

    def match_leaves(self, before: Any, after: Any, values: NDArray[np.float64], order: NDArray[np.int32]) -> LeafMatch:
        """Return the leaf of every row."""
        xp = self.arrays
        after = self.here(after)
        step = after.astype(np.float64) - before.astype(np.float64)
        ends = np.append((values[1:] + values[:-1]) / 2, np.inf)
        found = xp.searchsorted(xp.asarray(ends), step)
        leaves = xp.take(xp.asarray(order), found)
        if not step.size:  # a worker's, that has no rows
            return LeafMatch(leaves, 0.0, 0.0)
        error, largest = abs(step - xp.take(xp.asarray(values), found)).max(), abs(after).max()
        return LeafMatch(leaves, float(error), float(largest))

    def renumbered(self, leaves: Any, numbers: NDArray[np.intp]) -> Any:
        """Return other numbers of leaves."""
        return self.arrays.take(self.arrays.asarray(numbers.astype(np.int32)), leaves)

    def add_leaf_values(self, score: Any, leaves: Any, values: NDArray[np.float64], out: Any = None) -> Any:
        """Return a score with a tree more."""
        return score + self.arrays.take(self.arrays.asarray(values), self.arrays.asarray(leaves))

    def add_leaf_vectors(self, scores: Any, leaves: Any, vectors: NDArray[np.float32], out: Any = None) -> Any:
        """Return scores with a tree more."""
        columns = self.arrays.asarray(np.ascontiguousarray(vectors.T))
        return scores + self.arrays.take(columns, self.arrays.asarray(leaves), axis=1).T
