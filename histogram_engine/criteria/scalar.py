"""Splits and leaves by the score alone. The thresholds then take a Newton step of their own, or stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.histogram_engine.criteria.base import Criterion
from ordinal_objectives.histogram_engine.engine_state import EngineState
from ordinal_objectives.histogram_engine.leaf_step import LeafStep, Leaves
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.losses import RoundStatistics
from ordinal_objectives.rows import RowStatistics
from ordinal_objectives.threshold_solver import JointQuadratic
from ordinal_objectives.trees import Tree

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Higher:
    """Where a pass puts the rows' derivatives beyond the second.

    Attributes
    ----------
    n_behind : int
        Columns behind the count of a row, by which splits are judged too.
    alone : ndarray of float32, shape (n_samples, order - 2), or None
        An array of their own, where leaves alone take them.
    """

    n_behind: int = 0
    alone: NDArray[np.float32] | None = None


NONE_HIGHER = Higher()


def fill(
    state: EngineState[RowStatistics],
    score: NDArray[np.floating],
    thresholds: FloatArray,
    cross_of: NDArray[np.int32] | None,
    higher: Higher,
) -> RoundStatistics:
    """Fill gradient, Hessian, the cross terms of some thresholds, and behind the count higher derivatives."""
    n_columns = 2 if cross_of is None else 2 + len(cross_of)
    columns = state.new_columns(n_columns, higher.n_behind)
    now = state.row_pass(
        score,
        thresholds,
        state.parameters.spec.hessian,
        want_cross=cross_of is not None,
        side_by_side=columns,
        cross_of=cross_of,
        higher=columns[:, n_columns + 1 :][:, : higher.n_behind] if higher.n_behind else higher.alone,
    )
    return state.count(now)


class Scalar(Criterion):
    """The gain of the score's own Newton step, g^2 / h."""

    _state: EngineState[RowStatistics]

    def __init__(self, state: EngineState[RowStatistics], higher: Higher = NONE_HIGHER) -> None:
        super().__init__(state)
        self._higher = higher

    @classmethod
    def suits(cls, parameters: BoostingParameters) -> bool:
        """Tell whether splits do not depend on the thresholds."""
        return parameters.spec.threshold_update != "joint"

    def columns(self, score: NDArray[Any], thresholds: FloatArray) -> RoundStatistics:
        """Fill gradient and Hessian."""
        return fill(self._state, score, thresholds, None, self._higher)

    def grow(self, growth: Any, in_bag: NDArray[np.uint32] | None) -> dict[str, Any]:
        """Grow a tree by the score alone."""
        grown: dict[str, Any] = self._state.engine.grow_scalar(growth)
        return grown

    def sums(self, n_nodes: int, rows: NDArray[np.uint32] | None, of_nodes: FloatArray | None = None) -> JointQuadratic:
        """Add up gradient and Hessian; ``of_nodes`` are the sums of the columns, if they are known."""
        if of_nodes is None:
            of_nodes = self._state.engine.leaf_sums(self._state.leaf_of_row, n_nodes, rows)
        return _of_leaves(of_nodes[:, 0], of_nodes[:, 1])

    def exact_sums(
        self, row_pass: RowStatistics, now: RoundStatistics, leaves: NDArray[np.int32], n_nodes: int
    ) -> JointQuadratic:
        """Add up gradient and Hessian of other rows."""
        sums = row_pass.leaf_sums(leaves, n_nodes)
        return _of_leaves(sums.gradient, sums.hessian)

    def solve(self, sums: JointQuadratic, leaves: Leaves) -> LeafStep:
        """Return the Newton step of each leaf."""
        return quadratic_step(self._state, sums, leaves)

    def take(self, tree: Tree, step: LeafStep, size: float) -> None:
        """Move the score, and then the thresholds given the new score."""
        state = self._state
        state.set_newest(state.move(tree, step, size, self.columns))
        if state.parameters.spec.threshold_update == "newton":
            learner = state.learner
            hessian, may_rise = learner.step_hessian, learner.newton_may_rise
            state.newton(state.row_pass(state.score, state.thresholds, hessian, want_loss=may_rise), self.columns)


def quadratic_step(state: EngineState[Any], sums: JointQuadratic, leaves: Leaves) -> LeafStep:
    """Return the step that minimises a quadratic model with its penalty."""
    learner, penalty = state.learner, state.parameters.l2_regularization
    return LeafStep(*sums.solve(leaves, penalty, learner.active, learner.tied, diagnostics=state.diagnostics))


def _of_leaves(gradient: FloatArray, hessian: FloatArray) -> JointQuadratic:
    return JointQuadratic(gradient, hessian, np.zeros((len(gradient), 0)), np.zeros(0), np.zeros((0, 0)))
