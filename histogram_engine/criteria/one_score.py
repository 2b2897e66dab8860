"""Criteria of one score a row, which the same thresholds cut everywhere: scalar, joint, and of a higher order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ordinal_objectives import _core
from ordinal_objectives.aliases import FloatArray, IndexArray, IntArray, NDArray, RealArray
from ordinal_objectives.histogram_engine.criteria import base, cross_terms
from ordinal_objectives.histogram_engine.criteria.cross_terms import CrossTerms
from ordinal_objectives.histogram_engine.state import EngineState, LeafStep
from ordinal_objectives.leaves import scalar
from ordinal_objectives.links import Logit
from ordinal_objectives.losses import AllThreshold, RoundStatistics
from ordinal_objectives.rows import RowStatistics
from ordinal_objectives.threshold_solver import JointQuadratic
from ordinal_objectives.threshold_solver.quadratic import newton_step, tridiagonal
from ordinal_objectives.trees import Tree

_NO_THRESHOLDS = (np.zeros(0), np.zeros((0, 0)), np.zeros(0, np.int32), 2, np.zeros((0, 0)))


class Scalar(base.Criterion):
    """The gain of the score's own Newton step, g^2 / h. Thresholds then take a Newton step of their own, or stay.

    Parameters
    ----------
    state : EngineState
    n_behind : int, default=0
        Derivatives beyond the second, in columns behind the count of a row, by which splits are judged too.
    """

    _state: EngineState[RowStatistics]

    def __init__(self, state: EngineState[RowStatistics], n_behind: int = 0) -> None:
        super().__init__(state)
        self._n_behind = n_behind

    def columns(self, score: RealArray, thresholds: FloatArray) -> RoundStatistics:
        """Fill gradient and Hessian."""
        return self._fill(score, thresholds, None)

    def _fill(self, score: RealArray, thresholds: FloatArray, cross_of: IntArray | None) -> RoundStatistics:
        """Fill gradient, Hessian, the cross terms of some thresholds, and behind the count higher derivatives."""
        state, n_columns = self._state, 2 if cross_of is None else 2 + len(cross_of)
        columns = state.new_columns(n_columns, self._n_behind)
        now = state.row_pass(
            score,
            thresholds,
            state.parameters.spec.hessian,
            want_cross=cross_of is not None,
            side_by_side=columns,
            cross_of=cross_of,
            higher=columns[:, n_columns + 1 :][:, : self._n_behind] if self._n_behind else None,
        )
        return state.count(now)

    def grow(self, growth: _core.Growth, in_bag: NDArray[np.uint32] | None) -> dict[str, Any]:
        """Grow a tree by the score only."""
        return self._state.engine.grow_scalar(growth)

    def sums(self, n_nodes: int, rows: NDArray[np.uint32] | None, of_nodes: FloatArray | None = None) -> JointQuadratic:
        """Add up gradient and Hessian; ``of_nodes`` are the sums of the columns, if they are known."""
        if of_nodes is None:
            of_nodes = self._state.engine.leaf_sums(self._state.leaf_of_row, n_nodes, rows)
        return _without_thresholds(of_nodes[:, 0], of_nodes[:, 1])

    def exact_sums(
        self, row_pass: RowStatistics, now: RoundStatistics, leaves: IntArray, n_nodes: int
    ) -> JointQuadratic:
        """Add up gradient and Hessian of other rows."""
        sums = row_pass.leaf_sums(leaves, n_nodes)
        return _without_thresholds(sums.gradient, sums.hessian)

    def solve(self, sums: JointQuadratic, leaves: IndexArray) -> LeafStep:
        """Return the step that minimises the quadratic model with its penalty."""
        state, learner = self._state, self._state.learner
        penalty = state.parameters.l2_regularization
        return LeafStep(*sums.solve(leaves, penalty, learner.active, learner.tied, diagnostics=state.diagnostics))

    def take(self, tree: Tree, step: LeafStep, size: float) -> None:
        """Move the score, and then the thresholds given the new score."""
        state, learner = self._state, self._state.learner
        state.set_newest(state.move(tree, step, size, self.columns))
        if state.parameters.spec.learns:
            hessian, may_rise = learner.step_hessian, learner.newton_may_rise
            state.newton(state.row_pass(state.score, state.thresholds, hessian, want_loss=may_rise), self.columns)


def _without_thresholds(gradient: FloatArray, hessian: FloatArray) -> JointQuadratic:
    return JointQuadratic(gradient, hessian, np.zeros((len(gradient), 0)), np.zeros(0), np.zeros((0, 0)))


class Joint(Scalar):
    """The decrease of the quadratic model of all leaves and thresholds, which take its step together.

    Attributes
    ----------
    cross_terms : CrossTerms
        Those that the rows carry since their columns were filled last.
    """

    threshold_updates = ("joint",)
    options: ClassVar = {"cross_terms": ("auto", "all")}

    def __init__(self, state: EngineState[RowStatistics], n_behind: int = 0) -> None:
        super().__init__(state, n_behind)
        parameters, n_classes = state.parameters, state.rows.n_classes
        if n_classes > _core.max_joint_classes:
            raise ValueError(
                f"threshold_update='joint' takes at most {_core.max_joint_classes} classes; got {n_classes}. "
                "Use 'newton', or merge classes"
            )
        loss = parameters.spec.loss
        follows = parameters.spec.hessian == "exact" and loss.link.curvature_floor == 0.0
        weights = state.row_pass.class_weights
        self._all = self.cross_terms = cross_terms.all_cross_terms(weights, one_follows=follows, n_behind=n_behind)
        # Their cross terms do not depend on the label.
        known = type(loss) is AllThreshold and type(loss.link) is Logit and parameters.cross_terms == "auto"
        rows_by_classes = n_classes * len(state.rows.y)
        many = n_classes >= cross_terms.FEWEST_CLASSES and rows_by_classes >= cross_terms.FEWEST_ROWS_BY_CLASSES
        self._few_may_do = known and many
        self._looks_for_few = self._few_may_do
        # A row's count is no regressor of its cross terms where rows count differently in these.
        self._weighted = state.rows.sample_weight is not None or parameters.data_sample_strategy == "goss"

    def columns(self, score: RealArray, thresholds: FloatArray) -> RoundStatistics:
        """Fill gradient, Hessian and the cross terms: a few where the others follow from them."""
        few = None
        if self._looks_for_few:
            few = self._few(score, thresholds)
            # Scores spread from tree to tree: where few no longer do, they hardly ever will again.
            self._looks_for_few = few is not None
        return self._carry(few or self._all, score, thresholds)

    def _carry(self, carried: CrossTerms, score: RealArray, thresholds: FloatArray) -> RoundStatistics:
        self.cross_terms = carried
        return self._fill(score, thresholds, carried.chosen)

    def _few(
        self,
        score: NDArray[Any],
        thresholds: FloatArray,
        rows: NDArray[np.uint32] | None = None,
        chosen: IntArray | None = None,
    ) -> CrossTerms | None:
        """Return a few cross terms that determine the others at some rows, None for all; or None."""
        state, sample = self._state, self._state.sample
        light, factor = (None, 1.0) if rows is None else (sample.light, sample.factor)
        weight, n_threads = state.rows.sample_weight, state.n_threads
        return cross_terms.few_cross_terms(
            cross_terms.score_mass(score, weight, thresholds, n_threads, rows, light, factor),
            thresholds,
            state.parameters.spec.hessian,
            weighted=self._weighted,
            active=state.learner.active,
            chosen=chosen,
            n_behind=self._n_behind,
        )

    def grow(self, growth: _core.Growth, in_bag: NDArray[np.uint32] | None) -> dict[str, Any]:
        """Grow a tree by the joint step."""
        return self._state.engine.grow_joint(growth, *self.threshold_terms(in_bag))

    def threshold_terms(self, in_bag: NDArray[np.uint32] | None) -> tuple[Any, ...]:
        """Return the arguments of the native criterion about the thresholds, for a tree on some rows, None for all."""
        state, learner = self._state, self._state.learner
        now = state.sums_of(in_bag)
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
                few = self._few(state.score, state.thresholds, in_bag, self.cross_terms.chosen)
            exact_hessian = state.parameters.spec.hessian == "exact"
            if few is None or (exact_hessian and not few.agree(V, n_rows, state.learner.active)):
                state.set_newest(self._carry(self._all, state.score, state.thresholds))
                state.weigh_sample()
            else:
                self.cross_terms = few
        state.diagnostics.add(n_all_cross_terms=int(self._few_may_do and self.cross_terms.exact))

    def sums(self, n_nodes: int, rows: NDArray[np.uint32] | None, of_nodes: FloatArray | None = None) -> JointQuadratic:
        """Add up gradient, Hessian and cross terms of all thresholds, and over the thresholds.

        Where the rows carry few cross terms, one more pass adds up all of them. ``of_nodes`` are the sums of the
        columns, if they are known.
        """
        state = self._state
        now = state.sums_of(rows)
        if not self.cross_terms.exact:
            return self.exact_sums(state.row_pass, now, state.leaf_of_row, n_nodes, rows)
        if of_nodes is None:
            of_nodes = state.engine.leaf_sums(state.leaf_of_row, n_nodes, rows)
        L = self.cross_terms.of_all(of_nodes)
        return JointQuadratic(of_nodes[:, 0], of_nodes[:, 1], L, now.threshold_gradient, full_hessian(now))

    def exact_sums(
        self,
        row_pass: RowStatistics,
        now: RoundStatistics,
        leaves: IntArray,
        n_nodes: int,
        rows: NDArray[np.uint32] | None = None,
    ) -> JointQuadratic:
        """Add up other rows, or some of them."""
        sums = row_pass.leaf_sums(leaves, n_nodes, rows)
        return JointQuadratic(sums.gradient, sums.hessian, sums.cross, now.threshold_gradient, full_hessian(now))

    def with_leaves(self, sums: JointQuadratic, leaves: IndexArray, step: LeafStep) -> LeafStep:
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


class HighOrder(base.Criterion):
    """The quadratic criterion, joint or scalar, with leaves of order three or four, which judge splits too.

    Thresholds take the step of the quadratic criterion. Given it, each leaf takes a step of the higher order
    (:func:`.leaves.scalar.high_order_step`): its Newton step already holds the gradient after the thresholds have
    moved.
    """

    threshold_updates = ("joint", "newton", "fixed")
    options: ClassVar = {"order": (3, 4), "cross_terms": ("auto", "all")}
    _state: EngineState[RowStatistics]

    def __init__(self, state: EngineState[RowStatistics]) -> None:
        super().__init__(state)
        self._n_higher = state.parameters.order - 2
        kind = Joint if state.parameters.spec.threshold_update == "joint" else Scalar
        self.quadratic: Joint | Scalar = kind(state, self._n_higher)

    def columns(self, score: RealArray, thresholds: FloatArray) -> RoundStatistics:
        """Fill the columns of the quadratic criterion, and the higher derivatives."""
        return self.quadratic.columns(score, thresholds)

    def grow(self, growth: _core.Growth, in_bag: NDArray[np.uint32] | None) -> dict[str, Any]:
        """Grow a tree by the steps of its leaves."""
        terms = self.quadratic.threshold_terms(in_bag) if isinstance(self.quadratic, Joint) else _NO_THRESHOLDS
        engine, order = self._state.engine, self._state.parameters.order
        return engine.grow_high_order(growth, order, self._first_behind, *terms)

    @property
    def _first_behind(self) -> int:
        """The rows' first column behind gradient, Hessian, cross terms and count."""
        return 3 + (len(self.quadratic.cross_terms.chosen) if isinstance(self.quadratic, Joint) else 0)

    def sums(self, n_nodes: int, rows: NDArray[np.uint32] | None) -> HighOrderSums:
        """Add up what the quadratic criterion does, and the higher derivatives."""
        of_nodes = self._state.engine.leaf_sums(self._state.leaf_of_row, n_nodes, rows)
        behind = of_nodes[:, self._first_behind :][:, : self._n_higher]
        return HighOrderSums(self.quadratic.sums(n_nodes, rows, of_nodes), behind)

    def exact_sums(
        self, row_pass: RowStatistics, now: RoundStatistics, leaves: IntArray, n_nodes: int
    ) -> JointQuadratic:
        """Add up other rows to the quadratic model, which is what judges steps."""
        return self.quadratic.exact_sums(row_pass, now, leaves, n_nodes)

    def solve(self, sums: HighOrderSums, leaves: IndexArray) -> LeafStep:
        """Return leaf weights of the order, and the threshold step of the quadratic model."""
        newton, delta = self.quadratic.solve(sums.quadratic, leaves)
        of_leaves, penalty = sums.higher[leaves], self._state.parameters.l2_regularization
        order = 2 + of_leaves.shape[1]
        curvature = sums.quadratic.H[leaves] + penalty
        step = scalar.high_order_step(newton, curvature, of_leaves[:, 0], of_leaves[:, -1], order=order)
        self._state.diagnostics.add(n_low_order=int(step.fell_back.sum()))
        return LeafStep(step.weights, delta)

    def with_leaves(self, sums: HighOrderSums, leaves: IndexArray, step: LeafStep) -> LeafStep:
        """Return the step with the thresholds' part of the quadratic model."""
        return self.quadratic.with_leaves(sums.quadratic, leaves, step)

    def take(self, tree: Tree, step: LeafStep, size: float) -> None:
        """Move score and thresholds as the quadratic criterion does."""
        self.quadratic.take(tree, step, size)
