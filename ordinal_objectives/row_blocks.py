"""Features that are read in blocks of rows, for tables that do not fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

Features = NDArray[np.floating]


class RowBlocks:
    """Features in blocks of rows that are read when they are needed, one after the other.

    The native engine takes it where it takes an array: ``fit`` reads the blocks twice, to find the bins and to fill
    them, and keeps two bytes a value; predictions read them once. XGBoost and LightGBM have such tables of their own.

    Parameters
    ----------
    blocks : iterable of array-like of float, shape (n_rows, n_features)
        Gone through anew, in the same order, whenever the rows are read: a list, for instance of ``numpy.memmap``, or
        an object whose ``__iter__`` reads files. NaN is missing. Blocks may differ in rows, not in features.

    Attributes
    ----------
    shape : tuple of int
        All rows, and features. The blocks are read once to count them.
    dtype : dtype
        float32 if all blocks are, else float64.

    Raises
    ------
    TypeError
        If `blocks` is no iterable, or can be gone through only once, as a generator, or a block does not hold numbers.
    ValueError
        If there is no block, or one is not two-dimensional or has other features than the first.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives import HistGradientBoostingOrdinalClassifier, RowBlocks
    >>> rng = np.random.default_rng(0)
    >>> files = [rng.normal(size=(100, 3)) for _ in range(3)]
    >>> X, y = RowBlocks(files), np.digitize(np.concatenate(files)[:, 0], [-1.0, 1.0])
    >>> model = HistGradientBoostingOrdinalClassifier(max_iter=10).fit(X, y)
    >>> model.predict_proba(X).shape
    (300, 3)
    """

    def __init__(self, blocks: Iterable[Any]) -> None:
        if isinstance(blocks, Iterator) or not isinstance(blocks, Iterable):
            raise TypeError(
                f"blocks must be an iterable that can be gone through more than once, such as a list; got "
                f"{type(blocks).__name__}"
            )
        self._blocks = blocks
        n_rows, n_features, narrow = 0, None, True
        for i, block in enumerate(self._read()):
            if block.ndim != 2 or n_features not in (None, block.shape[1]):
                wanted = "(n_rows, n_features)" if n_features is None else f"(n_rows, {n_features})"
                raise ValueError(f"block {i} must have the shape {wanted}; got {block.shape}")
            n_rows, n_features = n_rows + block.shape[0], block.shape[1]
            narrow = narrow and block.dtype == np.float32
        if n_features is None:
            raise ValueError("blocks must hold at least one block; got none")
        self.shape: tuple[int, int] = n_rows, n_features
        self.dtype = np.dtype(np.float32 if narrow else np.float64)

    def __repr__(self) -> str:
        return f"RowBlocks(shape={self.shape}, dtype={self.dtype})"

    def __array__(self, *args: Any, **options: Any) -> NoReturn:
        raise TypeError(
            "RowBlocks are not read into memory as a whole; fit and the predictions of "
            "HistGradientBoostingOrdinalClassifier take them, and nothing else does"
        )

    def __iter__(self) -> Iterator[tuple[int, Features]]:
        """Read the blocks; with each comes the number of its first row."""
        first = 0
        for block in self._read():
            if first + block.shape[0] > self.shape[0] or block.shape[1:] != self.shape[1:]:
                raise ValueError("the blocks are not those that were counted: they hold more rows, or other features")
            yield first, block
            first += block.shape[0]
        if first != self.shape[0]:
            raise ValueError(f"the blocks held {self.shape[0]} rows when they were counted; now {first}")

    def __getitem__(self, rows: NDArray[np.integer]) -> Features:
        """Return some rows, given in increasing order, as an array."""
        found = np.empty((len(rows), self.shape[1]), self.dtype)
        for first, block in self:
            start, stop = np.searchsorted(rows, [first, first + len(block)])
            found[start:stop] = block[rows[start:stop] - first]
        return found

    def _read(self) -> Iterator[Features]:
        for block in self._blocks:
            array = np.asarray(block)
            if array.dtype.kind not in "biuf":
                raise TypeError(f"a block must hold numbers; got one of type {array.dtype}")
            yield array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def blocks_of(X: Features | RowBlocks) -> Iterable[tuple[int, Features]]:
    """Return the blocks of some rows, each with the number of its first row; an array is one block."""
    return X if isinstance(X, RowBlocks) else [(0, X)]
