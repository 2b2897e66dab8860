"""The trees of the native engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.export.scoring_model import Scorer, ScoringTree
from ordinal_objectives.histogram_engine.estimator import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.trees import Tree, has_set


def read(model: HistGradientBoostingOrdinalClassifier, n_iter: int, by_value: Sequence[int]) -> Scorer:
    """Return the scorer of a fitted classifier's first iterations; it knows itself which columns are ``by_value``."""
    if n_iter < model.n_iter_:
        model.check_stages()
    trees = scoring_trees(model.grown_trees().trees[:n_iter], model.category_levels())
    n_outputs = 1 if model.proportional_ else len(model.thresholds_)
    return Scorer(trees, n_outputs, np.zeros(n_outputs), levels=model.category_levels(), codes_everywhere=True)


def scoring_trees(trees: list[Tree], levels: dict[int, list[Any]]) -> list[ScoringTree]:
    """Return trees of the engine, whose categories have these levels."""
    sizes = {place: len(of) for place, of in levels.items()}
    return [_tree(tree, sizes) for tree in trees]


def _tree(tree: Tree, sizes: dict[int, int]) -> ScoringTree:
    inner = tree.feature >= 0
    by_category = np.flatnonzero(has_set(tree.categories, len(inner)))
    return ScoringTree(
        feature=tree.feature,
        threshold=tree.threshold,
        left=tree.left,
        right=np.where(inner, tree.left + 1, -1).astype(np.int32),
        missing_left=tree.missing_left.astype(bool),
        value=tree.value.reshape(len(inner), -1),
        count=tree.count.astype(np.float64),
        categories={node: _codes(tree, node, sizes[int(tree.feature[node])]) for node in by_category.tolist()},
    )


def _codes(tree: Tree, node: int, n_levels: int) -> NDArray[np.int64]:
    """Return the codes that go left at a node, among those that a column has."""
    assert tree.categories is not None
    bits = np.unpackbits(tree.categories[node].astype("<u8").view(np.uint8), bitorder="little")
    return np.flatnonzero(bits[:n_levels])
