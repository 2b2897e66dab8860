"""RealArray that are read in blocks of rows, for tables that do not fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

import numpy as np

from ordinal_objectives import tables
from ordinal_objectives.aliases import NDArray, RealArray, Table
from ordinal_objectives.columns import Columns
from ordinal_objectives.utils.validation import collected

__all__ = ["RowBlocks"]


class RowBlocks:
    """RealArray in blocks of rows that are read when they are needed, one after the other.

    The native engine takes it where it takes an array: ``fit`` reads the blocks twice, to find the bins and to fill
    them, and keeps two bytes a value; predictions read them once. XGBoost and LightGBM have such tables of their own.

    Parameters
    ----------
    blocks : iterable of array-like of float, shape (n_rows, n_features)
        Iterated again, in the same order, whenever the rows are read: a list, for instance of ``numpy.memmap``, or
        an object whose ``__iter__`` reads files. NaN is missing. Each is what the engine takes as a table: arrays, or
        frames and Arrow tables of numbers, booleans and categories. Blocks may differ in rows and in the categories
        that occur, not in features and their names.

    Attributes
    ----------
    shape : tuple of int
        All rows, and features. The blocks are read once to count them.
    dtype : dtype
        float32 if all blocks are, else float64.
    header : table, shape (0, n_features)
        The first block without its rows: names and number of the features.

    Raises
    ------
    TypeError
        If `blocks` is no iterable, or can be iterated only once, like a generator.
    ValueError
        If there is no block, one is not what the engine takes as a table, or it has other features than the first.

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

    header: Any = None  # until the first block is read
    _columns: Columns | None = None  # until they are known

    def __init__(self, blocks: Iterable[object]) -> None:
        if isinstance(blocks, Iterator) or not isinstance(blocks, Iterable):
            raise TypeError(
                f"blocks must be an iterable that can be iterated more than once, such as a list; got "
                f"{type(blocks).__name__}"
            )
        self._blocks = blocks
        n_rows, narrow = 0, True
        for block in self._read():
            n_rows, narrow = n_rows + block.shape[0], narrow and block.dtype == np.float32
        if self.header is None:
            raise ValueError("blocks must hold at least one block; got none")
        self.shape: tuple[int, int] = n_rows, self.header.shape[1]
        self.dtype = np.dtype(np.float32 if narrow else np.float64)

    def __repr__(self) -> str:
        return f"RowBlocks(shape={self.shape}, dtype={self.dtype})"

    def __array__(self, *args: object, **options: object) -> NoReturn:
        raise TypeError(
            "RowBlocks are not read into memory as a whole; fit and the predictions of "
            "HistGradientBoostingOrdinalClassifier take them, and nothing else does"
        )

    def __iter__(self) -> Iterator[tuple[int, RealArray]]:
        """Read the blocks; with each comes the number of its first row."""
        first = 0
        for block in self._read():
            if first + block.shape[0] > self.shape[0]:
                raise ValueError(f"the blocks held {self.shape[0]} rows when they were counted; now more")
            yield first, block
            first += block.shape[0]
        if first != self.shape[0]:
            raise ValueError(f"the blocks held {self.shape[0]} rows when they were counted; now {first}")

    def __getitem__(self, rows: NDArray[np.integer]) -> RealArray:
        """Return some rows, given in increasing order, as an array."""
        found = np.empty((len(rows), self.shape[1]), self.dtype)
        for first, block in self:
            start, stop = np.searchsorted(rows, [first, first + len(block)])
            found[start:stop] = block[rows[start:stop] - first]
        return found

    def tables(self) -> Iterator[Table]:
        """Read the blocks as tables with their own categories, one at a time."""
        yield from map(tables.as_table, self._blocks)

    def encoded(self, columns: Columns) -> RowBlocks:
        """Return the same blocks, whose categories are numbers."""
        return _EncodedBlocks(self, columns)

    def _numbers(self, table: object) -> RealArray:
        """Return a block as an array; before its categories are known it does not matter what stands for them."""
        columns = self._columns
        if columns is None:
            table = tables.as_table(table)
            places = tables.places_of(table, tables.FROM_DTYPE)
            columns = Columns(table.shape[1], {place: [] for place in places})
        numbers: RealArray = columns.encode(table, ensure_min_samples=0, accept_sparse=False)
        return numbers

    def _read(self) -> Iterator[RealArray]:
        for i, given in enumerate(self._blocks):
            try:
                table = collected(given)
                block = self._numbers(table)
            except (TypeError, ValueError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(f"block {i} of RowBlocks: {error}") from None
            if self.header is None:
                self.header = tables.without_rows(table if hasattr(table, "columns") else block)
            if block.shape[1] != self.header.shape[1]:
                raise ValueError(f"block {i} must have the shape (n_rows, {self.header.shape[1]}); got {block.shape}")
            names, first = tables.column_names(table), tables.column_names(self.header)
            if names is None or first is None:
                if names is not first:
                    named, other = (i, 0) if first is None else (0, i)
                    raise ValueError(
                        f"all blocks must name their columns, or none; block {named} does, block {other} does not"
                    )
            elif names != first:
                j = next(j for j, name in enumerate(names) if name != first[j])
                raise ValueError(
                    f"block {i} must have the columns of block 0, in their order; its column {j} is {names[j]!r}, that "
                    f"of block 0 is {first[j]!r}"
                )
            tables.refuse_other_order(tables.names_as_text(self.header), table, name=f"block {i}")
            yield block


class _EncodedBlocks(RowBlocks):
    """Blocks that have been counted, and whose categories are known."""

    def __init__(self, counted: RowBlocks, columns: Columns) -> None:
        self.__dict__.update(vars(counted))
        self._columns = columns


def blocks_of(X: RealArray | RowBlocks) -> Iterable[tuple[int, RealArray]]:
    """Return the blocks of some rows, each with the number of its first row; an array is one block."""
    return X if isinstance(X, RowBlocks) else [(0, X)]


def header_of(X: object) -> object:
    """Return what scikit-learn reads names and number of features from: the header of RowBlocks, or the table."""
    return X.header if isinstance(X, RowBlocks) else X
