"""Trees in the order they were grown, and their predictions."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives import _core
from ordinal_objectives.row_blocks import RowBlocks, blocks_of
from ordinal_objectives.trees.tree import SET_WORDS, Tree


@dataclass
class TreeEnsemble:
    """Trees in the order they were grown.

    Parameters
    ----------
    trees : list of Tree
        All of them with leaves of one value, or all with the same number of outputs.
    n_features : int
    """

    trees: list[Tree] = field(default_factory=list)
    n_features: int = 0

    def __len__(self) -> int:
        return len(self.trees)

    def __getstate__(self) -> dict[str, Any]:
        return {"trees": self.trees, "n_features": self.n_features}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.trees, self.n_features = state["trees"], state["n_features"]
        self.check()

    def check(self) -> None:
        """Raise ValueError if a tree from a file or a pickle is damaged, or the score would overflow."""
        for t, tree in enumerate(self.trees):
            try:
                tree.check(self.n_features)
            except ValueError as error:
                raise ValueError(f"tree {t} is not a tree: {error}") from None
        largest = [float(np.abs(tree.value).max()) for tree in self.trees]
        if not np.isfinite(sum(largest)):
            raise ValueError("the values of its leaves overflow the score")

    @cached_property
    def _packed(self) -> tuple[Any, ...]:
        first_node = np.cumsum([0, *(len(tree.feature) for tree in self.trees)], dtype=np.int64)
        names = ("feature", "threshold", "left", "missing_left", "value")
        dtypes = (np.int32, np.float64, np.int32, np.uint8, np.float64)
        joined = tuple(
            np.concatenate([getattr(tree, name) for tree in self.trees] or [np.zeros(0)]).astype(dtype, copy=False)
            for name, dtype in zip(names, dtypes, strict=True)
        )
        return (first_node, *joined[:-1], self._sets(), joined[-1])

    def _sets(self) -> NDArray[np.uint64] | None:
        if all(tree.categories is None for tree in self.trees):
            return None
        none = [np.zeros((len(tree.left), SET_WORDS), np.uint64) for tree in self.trees]
        return np.concatenate(
            [n if t.categories is None else t.categories for n, t in zip(none, self.trees, strict=True)]
        )

    def zeros(self, n_samples: int) -> NDArray[np.float64]:
        """Return scores that the trees can be added to: (n_samples,), or (n_samples, n_outputs)."""
        return np.zeros((n_samples, *(self.trees[0].value.shape[1:] if self.trees else ())))

    def add_to(
        self, scores: NDArray[np.float64], X: NDArray[np.floating] | RowBlocks, first: int, last: int, n_threads: int
    ) -> None:
        """Add the trees first..last-1, in that order, to ``scores``: (n_samples,) or (n_samples, n_outputs)."""
        self._run(X, scores, None, first, last, n_threads)

    def apply(self, X: NDArray[np.floating] | RowBlocks, n_threads: int) -> NDArray[np.int32]:
        """Return the node that each row reaches in each tree, (n_samples, n_trees)."""
        leaves = np.zeros((X.shape[0], len(self)), np.int32)
        self._run(X, self.zeros(X.shape[0]), leaves, 0, len(self), n_threads)
        return leaves

    def _run(self, X: Any, scores: NDArray[np.float64], leaves: Any, first: int, last: int, n_threads: int) -> None:
        first_node, feature, threshold, left, missing_left, categories, value = self._packed
        for start, block in blocks_of(X):
            rows = slice(start, start + len(block))
            reached = None if leaves is None else leaves[rows]
            _core.predict(
                block,
                first_node[first : last + 1],
                feature,
                threshold,
                left,
                missing_left,
                categories,
                value,
                scores[rows],
                reached,
                n_threads,
            )

    def importances(self, kind: str) -> NDArray[np.float64]:
        """Return the sum of gains ("gain") or the number of splits ("split") of each feature."""
        total = np.zeros(self.n_features)
        for tree in self.trees:
            inner = tree.feature >= 0
            np.add.at(total, tree.feature[inner], tree.gain[inner] if kind == "gain" else 1.0)
        return total
