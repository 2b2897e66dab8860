"""Splits judged by the joint step, which leaves and thresholds take."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives import _core
from ordinal_objectives.histogram_engine.criteria.base import Criterion
from ordinal_objectives.histogram_engine.criteria.cross_terms import (
    FEWEST_CLASSES,
    FEWEST_ROWS_BY_CLASSES,
    CrossTerms,
    all_cross_terms,
    few_cross_terms,
    score_mass,
)
from ordinal_objectives.histogram_engine.criteria.scalar import NONE_HIGHER, Higher, fill, quadratic_step
from ordinal_objectives.histogram_engine.engine_state import EngineState
from ordinal_objectives.histogram_engine.leaf_step import LeafStep, Leaves
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.links import Logit
from ordinal_objectives.losses import AllThreshold, RoundStatistics
from ordinal_objectives.rows import RowStatistics
from ordinal_objectives.threshold_solver import JointQuadratic
from ordinal_objectives.threshold_solver.newton import newton_step
from ordinal_objectives.threshold_solver.quadratic import tridiagonal
from ordinal_objectives.trees import Tree

FloatArray = NDArray[np.float64]


class Joint(Criterion):
    """The decrease of the quadratic model of all leaves and thresholds.

    Attributes
    ----------
    cross_terms : CrossTerms
        Those that the rows carry since their columns were filled last.
    """

    _state: EngineState[RowStatistics]

    def __init__(self, state: EngineState[RowStatistics], higher: Higher = NONE_HIGHER) -> None:
        super().__init__(state)
        self._higher = higher
        parameters, n_classes = state.parameters, state.rows.n_classes
        if n_classes > _core.max_joint_classes:
            raise ValueError(
                f"threshold_update='joint' takes at most {_core.max_joint_classes} classes; got {n_classes}. "
                "Use 'newton', or merge classes"
            )
        loss = parameters.spec.loss
        follows = parameters.spec.hessian == "exact" and loss.link.curvature_floor == 0.0
        weights = state.row_pass.class_weights
        self._all = self.cross_terms = all_cross_terms(weights, one_follows=follows, n_behind=higher.n_behind)
        # The cross terms do not depend on the label. Rows that stand for others would need them at their own sums.
        self._few_may_do = (
            parameters.cross_terms == "auto"
            and parameters.data_sample_strategy == "bagging"
            and n_classes >= FEWEST_CLASSES
            and n_classes * len(state.rows.y) >= FEWEST_ROWS_BY_CLASSES
            and type(loss) is AllThreshold
            and type(loss.link) is Logit
        )
        self._looks_for_few = self._few_may_do

    @classmethod
    def suits(cls, parameters: BoostingParameters) -> bool:
        """Tell whether leaves and thresholds move together."""
        return parameters.spec.threshold_update == "joint"

    def columns(self, score: NDArray[Any], thresholds: FloatArray) -> RoundStatistics:
        """Fill gradient, Hessian and the cross terms: a few where the others follow from them."""
        few = None
        if self._looks_for_few:
            few = self._few(score, self._state.rows.sample_weight, thresholds)
            # Scores spread from tree to tree: where few no longer do, they hardly ever will again.
            self._looks_for_few = few is not None
        return self._fill(few or self._all, score, thresholds)

    def _fill(self, carried: CrossTerms, score: NDArray[Any], thresholds: FloatArray) -> RoundStatistics:
        self.cross_terms = carried
        return fill(self._state, score, thresholds, carried.chosen, self._higher)

    def _few(
        self,
        score: FloatArray,
        sample_weight: FloatArray | None,
        thresholds: FloatArray,
        chosen: NDArray[np.int32] | None = None,
    ) -> CrossTerms | None:
        """Return a few cross terms that determine the others at these rows, or None."""
        state = self._state
        return few_cross_terms(
            score_mass(score, sample_weight, thresholds, state.n_threads),
            thresholds,
            state.parameters.spec.hessian,
            weighted=sample_weight is not None,
            active=state.learner.active,
            chosen=chosen,
            n_behind=self._higher.n_behind,
        )

    def grow(self, growth: Any, in_bag: NDArray[np.uint32] | None) -> dict[str, Any]:
        """Grow a tree by the joint step."""
        grown: dict[str, Any] = self._state.engine.grow_joint(growth, *self.threshold_terms(in_bag))
        return grown

    def threshold_terms(self, in_bag: NDArray[np.uint32] | None) -> tuple[Any, ...]:
        """Return the arguments of the native criterion about the thresholds, for a tree on some rows, None for all."""
        state, learner = self._state, self._state.learner
        _, now = state.pass_over(in_bag)
        V, n_rows = full_hessian(now), len(state.rows.y) if in_bag is None else len(in_bag)
        self._judge_cross_terms(in_bag, V, n_rows)
        cross = self.cross_terms
        if state.parameters.spec.hessian == "exact":
            V = cross.threshold_hessian(V, n_rows)
        group = np.where(learner.active, np.cumsum(~learner.tied) - 1, -1)
        _, group = np.unique(np.append(group, -1), return_inverse=True)
        return now.threshold_gradient, V, (group[:-1] - 1).astype(np.int32), cross.first, cross.weights

    def _judge_cross_terms(self, in_bag: NDArray[np.uint32] | None, V: FloatArray, n_rows: int) -> None:
        """Check the few cross terms at the rows of the sample, and carry all where their error is too large."""
        state = self._state
        if not self.cross_terms.exact:
            few: CrossTerms | None = self.cross_terms
            if in_bag is not None:
                weight = state.weights_of(in_bag)
                few = self._few(state.score[in_bag], weight, state.thresholds, self.cross_terms.chosen)
            exact_hessian = state.parameters.spec.hessian == "exact"
            if few is None or (exact_hessian and not few.agree(V, n_rows, state.learner.active)):
                state.set_newest(self._fill(self._all, state.score, state.thresholds))
            else:
                self.cross_terms = few
        state.diagnostics.add(n_all_cross_terms=int(self._few_may_do and self.cross_terms.exact))

    def sums(self, n_nodes: int, rows: NDArray[np.uint32] | None, of_nodes: FloatArray | None = None) -> JointQuadratic:
        """Add up gradient, Hessian and cross terms of all thresholds, and over the thresholds.

        Where the rows carry few cross terms, one more pass adds up all of them. ``of_nodes`` are the sums of the
        columns, if they are known.
        """
        state = self._state
        row_pass, now = state.pass_over(rows)
        if not self.cross_terms.exact:
            return self.exact_sums(row_pass, now, state.leaves_of(rows), n_nodes)
        if of_nodes is None:
            of_nodes = state.engine.leaf_sums(state.leaf_of_row, n_nodes, rows)
        L = self.cross_terms.of_all(of_nodes)
        return JointQuadratic(of_nodes[:, 0], of_nodes[:, 1], L, now.threshold_gradient, full_hessian(now))

    def exact_sums(
        self, row_pass: RowStatistics, now: RoundStatistics, leaves: NDArray[np.int32], n_nodes: int
    ) -> JointQuadratic:
        """Add up other rows."""
        sums = row_pass.leaf_sums(leaves, n_nodes)
        return JointQuadratic(sums.gradient, sums.hessian, sums.cross, now.threshold_gradient, full_hessian(now))

    def solve(self, sums: JointQuadratic, leaves: Leaves) -> LeafStep:
        """Return the joint step."""
        return quadratic_step(self._state, sums, leaves)

    def with_leaves(self, sums: JointQuadratic, leaves: Leaves, step: LeafStep) -> LeafStep:
        """Return the step with the thresholds' Newton step given its leaves."""
        learner = self._state.learner
        u = sums.u + step.weights @ sums.L[leaves]
        of_thresholds = np.diag(sums.V), np.diag(sums.V, 1) if len(u) > 1 else None
        counts = self._state.diagnostics
        delta = newton_step(u, *of_thresholds, learner.active, learner.tied, diagnostics=counts, check_input=False)
        return LeafStep(step.weights, delta)

    def take(self, tree: Tree, step: LeafStep, size: float) -> None:
        """Move score and thresholds together."""
        self._state.set_newest(self._state.move(tree, step, size, self.columns))


def full_hessian(now: RoundStatistics) -> FloatArray:
    """Return V as a full matrix, (n_classes - 1, n_classes - 1)."""
    return tridiagonal(now.threshold_hessian, now.threshold_hessian_off)
