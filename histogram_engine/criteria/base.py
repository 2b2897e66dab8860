"""The interface of a criterion.

The run has the loop: draw rows and columns, grow, solve, move. In each round it calls four methods of its criterion:

1. `columns`: what do the rows carry through the histograms?
2. `grow`: what is a split worth, and how is the tree grown?
3. `sums`: what is summed over the leaves?
4. `solve` and `take`: which steps of leaves and thresholds follow from these sums, and how are they taken?

A criterion belongs to one training. It reads the state of the training from its `EngineState`, and keeps what no one
else needs, such as which cross terms the rows carry at the moment. What it takes of the parameters it declares:
`proportional`, `threshold_updates` and `options`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ordinal_objectives import _core
from ordinal_objectives.aliases import FloatArray, IndexArray, IntArray, NDArray, RealArray
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.state import EngineState, LeafModel, LeafStep
from ordinal_objectives.losses import RoundStatistics
from ordinal_objectives.trees import Tree

# Parameters that criteria follow, and those of all others at their defaults.
_PLAIN = {"order": (2,), "cross_terms": ("auto",), "split_gain": ("auto",)}


class Criterion(ABC):
    """Gains of splits in one training, and the steps of the leaves and thresholds.

    Parameters
    ----------
    state : EngineState
        Where the training stands.

    Attributes
    ----------
    proportional : bool
        Whether rows have one score for all thresholds; otherwise one for each.
    threshold_updates : tuple of str
        Values of ``threshold_update``: the steps that it takes of the thresholds.
    options : mapping of str to tuple
        Values of ``order``, ``cross_terms`` and ``split_gain`` that it follows, where there are others than the
        defaults.
    curvature : ndarray of float64, shape (n_classes - 1,), or None
        What a training that continues this one needs, if anything.
    n_gradients : int
        How many gradients a row carries, in its first columns, before as many Hessians.
    """

    proportional: ClassVar[bool] = True
    threshold_updates: ClassVar[tuple[str, ...]] = ("newton", "fixed")
    options: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    curvature: FloatArray | None = None
    n_gradients: int = 1

    def __init__(self, state: EngineState[Any]) -> None:
        self._state = state

    @classmethod
    def takes(cls, parameters: BoostingParameters) -> bool:
        """Tell whether these parameters ask for it: for its score, its step of the thresholds and its order."""
        return not cls._refused(parameters).keys() & {"proportional", "threshold_update", "order"}

    @classmethod
    def check(cls, parameters: BoostingParameters) -> None:
        """Raise ValueError, naming both sides, unless it takes these parameters."""
        if refused := cls._refused(parameters):
            takes = [f"{name} {' or '.join(map(repr, values))}" for name, (values, _) in refused.items()]
            has = [repr(value) for _, value in refused.values()]
            raise ValueError(f"{cls.__name__} takes {_listed(takes)}; the parameters have {_listed(has)}")

    @classmethod
    def _refused(cls, parameters: BoostingParameters) -> dict[str, tuple[tuple[object, ...], object]]:
        """Return the parameters whose values it does not take, with the values that it takes and the one given."""
        asked = {
            "proportional": ((cls.proportional,), parameters.shifts is None),
            "threshold_update": (cls.threshold_updates, parameters.spec.threshold_update),
            **{name: (cls.options.get(name, plain), getattr(parameters, name)) for name, plain in _PLAIN.items()},
        }
        return {name: (values, value) for name, (values, value) in asked.items() if value not in values}

    @abstractmethod
    def columns(self, score: RealArray, thresholds: FloatArray) -> RoundStatistics:
        """Fill the columns that the rows carry at a score and thresholds; return the statistics of that pass."""

    @abstractmethod
    def grow(self, growth: _core.Growth, in_bag: NDArray[np.uint32] | None) -> dict[str, object]:
        """Grow a tree on some rows, None for all, whose columns were filled last, and return its nodes.

        Parameters
        ----------
        growth : _core.Growth
            Features, rows and limits of the tree.
        in_bag : ndarray of uint32 or None
        """

    @abstractmethod
    def sums(self, n_nodes: int, rows: NDArray[np.uint32] | None) -> Any:
        """Add up some rows, None for all, over the leaves of the newest tree; thresholds too if they move with them."""

    @abstractmethod
    def exact_sums(self, row_pass: Any, now: RoundStatistics, leaves: IntArray, n_nodes: int) -> LeafModel:
        """Return the same sums of rows that no tree is grown on, from their own pass.

        Parameters
        ----------
        row_pass : RowStatistics or MarginStatistics
        now : RoundStatistics
            What its latest call returned.
        leaves : ndarray of int32, shape (n_samples,)
        n_nodes : int
        """

    @abstractmethod
    def solve(self, sums: Any, leaves: IndexArray) -> LeafStep:
        """Return the step of some nodes as leaves, and of the thresholds if they move with them."""

    def with_leaves(self, sums: Any, leaves: IndexArray, step: LeafStep) -> LeafStep:
        """Return a step whose leaves are given, with the thresholds' part that follows from them."""
        return step

    @abstractmethod
    def take(self, tree: Tree, step: LeafStep, size: float) -> None:
        """Move score and thresholds by a share of the step, without raising the loss, and fill the columns anew."""


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
