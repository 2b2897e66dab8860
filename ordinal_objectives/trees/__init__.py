"""Trees that belong to no trainer: arrays over nodes, leaves of one value or several, predictions."""

from __future__ import annotations

from ordinal_objectives.trees.ensemble import TreeEnsemble
from ordinal_objectives.trees.tree import NODE_ARRAYS, Tree, reached

__all__ = ["NODE_ARRAYS", "Tree", "TreeEnsemble", "reached"]
