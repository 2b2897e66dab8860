"""A GPU as the device that holds the rows of a training, with CuPy arrays.

The tests run this without a GPU, on a library that has what is used of CuPy here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.links import Link, Logit
from ordinal_objectives.rows.device import LeafMatch, Middle, on_cpu
from ordinal_objectives.rows.gpu_kernels import THREADS, Kernels, n_blocks_of
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
        self._kernels: dict[tuple[Any, ...], Kernels] = {}

    def kernels(self, link: Link, real: Any, score: Any) -> Kernels:
        """Return the kernels for a link, the type of its terms, and that of the scores."""
        key = type(link), np.dtype(real), np.dtype(score)
        if key not in self._kernels:
            self._kernels[key] = Kernels(self.arrays, link, real, score)
        return self._kernels[key]

    def here(self, array: Any) -> Any:
        """Return an array of floats on this device; one from elsewhere is kept, since a round asks for it again."""
        if not isinstance(array, np.ndarray):
            return array
        if self._sent[0] is not array:
            floats = array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
            self._sent = (array, self.arrays.asarray(floats))
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

    def middle(self, scores: Any) -> Middle:
        """Return how many scores are not 0, and the median of all."""
        xp = self.arrays
        here = self.here(scores)
        if not here.size:
            return Middle(0, 0.0)
        n_not_zero = int(xp.count_nonzero(here))
        return Middle(n_not_zero, float(xp.median(here)) if n_not_zero else 0.0)

    def match_leaves(self, before: Any, after: Any, values: NDArray[np.float64], order: NDArray[np.int32]) -> LeafMatch:
        """Return the leaf of every row."""
        xp, n_rows = self.arrays, len(before)
        after = self.here(after).astype(before.dtype, copy=False)
        leaves = xp.empty(n_rows, dtype=np.int32)
        if not n_rows:  # a worker's, that has no rows
            return LeafMatch(leaves, 0.0, 0.0)
        kernels, n_blocks = self.kernels(Logit(), np.float32, before.dtype), n_blocks_of(n_rows)
        parts = xp.empty(2 * n_blocks, dtype=np.float64)
        tree = xp.asarray(values), xp.asarray(order)
        kernels.start("match_leaves", n_blocks, np.int64(n_rows), len(values), before, after, *tree, leaves, parts)
        error, largest = on_cpu(kernels.combined(parts, n_blocks, 2, side_by_side=True, worst=True))
        return LeafMatch(leaves, float(error), float(largest))

    def renumbered(self, leaves: Any, numbers: NDArray[np.intp]) -> Any:
        """Return other numbers of leaves."""
        return self.arrays.take(self.arrays.asarray(numbers.astype(np.int32)), leaves)

    def add_leaf_values(self, score: Any, leaves: Any, values: NDArray[np.float64], out: Any = None) -> Any:
        """Return a score with a tree more."""
        total: Any = self._moved(score, leaves, values, out)
        return total

    def add_leaf_vectors(self, scores: Any, leaves: Any, vectors: NDArray[np.float32], out: Any = None) -> Any:
        """Return scores with a tree more."""
        columns = self.arrays.ascontiguousarray(scores.T)
        return self._moved(columns, leaves, vectors.T, None if out is None else out.T).T

    def _moved(self, columns: Any, leaves: Any, values: NDArray[Any], out: Any) -> Any:
        """Return columns, one after the other, with the value of each row's leaf in each, (n_columns, n_leaves)."""
        xp, n_rows = self.arrays, columns.shape[-1]
        total = xp.empty(columns.shape, dtype=columns.dtype) if out is None else out
        if not n_rows:
            return total
        of_leaves = xp.asarray(np.ascontiguousarray(values, dtype=columns.dtype))
        n_columns = columns.size // n_rows
        here = xp.asarray(leaves, dtype=np.int32)
        kernels = self.kernels(Logit(), np.float32, columns.dtype)
        kernels.start(
            "move_scores",
            n_blocks_of(n_rows, THREADS),
            np.int64(n_rows),
            n_columns,
            values.shape[-1],
            columns,
            here,
            of_leaves,
            total,
        )
        return total
