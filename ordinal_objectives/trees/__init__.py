"""Trees that belong to no trainer: arrays over nodes, leaves of one value or several, predictions."""

from __future__ import annotations

from ordinal_objectives.trees.ensemble import TreeEnsemble
from ordinal_objectives.trees.tree import NODE_ARRAYS, SET_WORDS, Tree, has_set, reached
from ordinal_objectives.utils.public_names import public_names

__all__ = ["NODE_ARRAYS", "SET_WORDS", "Tree", "TreeEnsemble", "has_set", "reached"]
__dir__ = public_names(__name__)
