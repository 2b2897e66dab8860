"""Leaves of order three and four, and splits by them or by the quadratic model.

Thresholds take the joint step, whose model is of order two. Given it, each leaf takes a step of the higher order: its
Newton step already holds the gradient after the thresholds have moved (:mod:`ordinal_objectives.leaves.high_order`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.histogram_engine.criteria.base import Criterion
from ordinal_objectives.histogram_engine.criteria.joint import Joint
from ordinal_objectives.histogram_engine.criteria.scalar import Higher, Scalar
from ordinal_objectives.histogram_engine.engine_state import EngineState
from ordinal_objectives.histogram_engine.leaf_step import LeafStep, Leaves
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.leaves import high_order
from ordinal_objectives.losses import RoundStatistics
from ordinal_objectives.rows import RowStatistics
from ordinal_objectives.threshold_solver import JointQuadratic
from ordinal_objectives.trees import Tree

FloatArray = NDArray[np.float64]
_NO_THRESHOLDS = (np.zeros(0), np.zeros((0, 0)), np.zeros(0, np.int32), 2, np.zeros((0, 0)))


@dataclass(frozen=True)
class HighOrderSums:
    """The quadratic model of the rows, and derivatives of the leaves beyond the second.

    Attributes
    ----------
    quadratic : JointQuadratic
    higher : ndarray of float64, shape (n_nodes, order - 2)
        Sums of third derivatives, and of fourth ones where the order is 4.
    """

    quadratic: JointQuadratic
    higher: FloatArray


class HighOrder(Criterion):
    """The quadratic criterion, joint or scalar, with steps of a higher order."""

    _state: EngineState[RowStatistics]

    def __init__(self, state: EngineState[RowStatistics]) -> None:
        super().__init__(state)
        n_higher = state.parameters.order - 2
        if state.parameters.split_gain == "quadratic":
            self._higher = Higher(alone=np.empty((len(state.rows.y), n_higher), np.float32))
        else:
            self._higher = Higher(n_behind=n_higher)
        kind = Joint if Joint.suits(state.parameters) else Scalar
        self.quadratic: Joint | Scalar = kind(state, self._higher)

    @classmethod
    def suits(cls, parameters: BoostingParameters) -> bool:
        """Tell whether leaves are of such an order."""
        return parameters.order > 2

    def columns(self, score: NDArray[Any], thresholds: FloatArray) -> RoundStatistics:
        """Fill the columns of the quadratic criterion, and the higher derivatives."""
        return self.quadratic.columns(score, thresholds)

    def grow(self, growth: Any, in_bag: NDArray[np.uint32] | None) -> dict[str, Any]:
        """Grow a tree by the steps of its leaves, or by the quadratic criterion."""
        if self._higher.alone is not None:
            return self.quadratic.grow(growth, in_bag)
        terms = self.quadratic.threshold_terms(in_bag) if isinstance(self.quadratic, Joint) else _NO_THRESHOLDS
        engine, order = self._state.engine, self._state.parameters.order
        grown: dict[str, Any] = engine.grow_high_order(growth, order, self._first_behind, *terms)
        return grown

    @property
    def _first_behind(self) -> int:
        """The rows' first column behind gradient, Hessian, cross terms and count."""
        return 3 + (len(self.quadratic.cross_terms.chosen) if isinstance(self.quadratic, Joint) else 0)

    def sums(self, n_nodes: int, rows: NDArray[np.uint32] | None) -> HighOrderSums:
        """Add up what the quadratic criterion does, and the higher derivatives."""
        state, alone = self._state, self._higher.alone
        if alone is not None:
            leaves = state.leaves_of(rows)
            each = (alone if rows is None else alone[rows]).T
            higher = [np.bincount(leaves, weights=column, minlength=n_nodes) for column in each]
            return HighOrderSums(self.quadratic.sums(n_nodes, rows), np.column_stack(higher))
        of_nodes = state.engine.leaf_sums(state.leaf_of_row, n_nodes, rows)
        behind = of_nodes[:, self._first_behind :][:, : self._higher.n_behind]
        return HighOrderSums(self.quadratic.sums(n_nodes, rows, of_nodes), behind)

    def exact_sums(
        self, row_pass: RowStatistics, now: RoundStatistics, leaves: NDArray[np.int32], n_nodes: int
    ) -> JointQuadratic:
        """Add up other rows to the quadratic model, which is what judges steps."""
        return self.quadratic.exact_sums(row_pass, now, leaves, n_nodes)

    def solve(self, sums: HighOrderSums, leaves: Leaves) -> LeafStep:
        """Return leaf weights of the order, and the threshold step of the quadratic model."""
        newton, delta = self.quadratic.solve(sums.quadratic, leaves)
        of_leaves, penalty = sums.higher[leaves], self._state.parameters.l2_regularization
        order = 2 + of_leaves.shape[1]
        curvature = sums.quadratic.H[leaves] + penalty
        step = high_order.step(newton, curvature, of_leaves[:, 0], of_leaves[:, -1], order=order)
        self._state.diagnostics.add(n_low_order=int(step.fell_back.sum()))
        return LeafStep(step.weights, delta)

    def with_leaves(self, sums: HighOrderSums, leaves: Leaves, step: LeafStep) -> LeafStep:
        """Return the step with the thresholds' part of the quadratic model."""
        return self.quadratic.with_leaves(sums.quadratic, leaves, step)

    def take(self, tree: Tree, step: LeafStep, size: float) -> None:
        """Move score and thresholds as the quadratic criterion does."""
        self.quadratic.take(tree, step, size)
