r"""Leaves that shift single thresholds: a score f(x) + v_k(x) for every threshold.

Each tree moves the scores R_k = f + v_k of a row by its leaf's step u_k (:mod:`ordinal_objectives.leaves.vector`).
The mean over the training rows of a tree's shifts, u_k less the mean of u, is added to the thresholds: so v has mean
zero over these rows, and the thresholds mean the same as in a model without shifts. Then they take one conditional
Newton step.

Splits are judged by what such leaves gain, or by a cheaper gain: what leaves of the score and thresholds gain together,
or what the score alone does.

A row carries a gradient and a Hessian for each group of neighbouring thresholds, their sums, and splits are judged as
if these thresholds were shifted by the same amount: the value of a leaf is at most the true one, and little less
where the best shifts of neighbours are similar. Leaves are then fitted to all thresholds, by exact sums.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ordinal_objectives import _core
from ordinal_objectives.aliases import FloatArray, IndexArray, IntArray, NDArray, RealArray
from ordinal_objectives.histogram_engine.criteria.base import Criterion
from ordinal_objectives.histogram_engine.state import EngineState, LeafStep
from ordinal_objectives.leaves import vector
from ordinal_objectives.losses import RoundStatistics
from ordinal_objectives.rows.native import MarginStatistics
from ordinal_objectives.threshold_solver.quadratic import VectorQuadratic
from ordinal_objectives.trees import Tree

# What the rows carry through the histograms, by the gain that judges splits.
_COLUMNS = {"vector": "thresholds", "joint": "cross", "scalar": "score"}
# Groups of thresholds that the core takes.
LIMITS = {"vector": _core.max_vector_classes - 1, "joint": _core.max_joint_classes - 1}
# Groups that fill the eight columns of a row: two each and the count, or one each beside gradient, Hessian and count.
MOST = {"vector": 3, "joint": 5}


def neighbours(curvature: FloatArray, units: IntArray, most: int) -> IntArray:
    """Merge neighbouring units of thresholds, always the two with the least curvature together, until few are left.

    Parameters
    ----------
    curvature : ndarray of float64, shape (n_thresholds,)
        V, the sum over the rows of each threshold's second derivative: the possible gain of its shift grows with it.
    units : ndarray of int32, shape (n_thresholds,)
        Increasing from 0 in steps of at most 1; -1 for thresholds that are not to be grouped.
    most : int

    Returns
    -------
    ndarray of int32, shape (n_thresholds,)
        The group of each threshold, in the form of ``units``.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.histogram_engine.criteria.vector import neighbours
    >>> neighbours(np.array([1.0, 1.0, 9.0, 2.0]), np.arange(4, dtype=np.int32), 3).tolist()
    [0, 0, 1, 2]
    """
    grouped = units >= 0
    mass = np.bincount(units[grouped], curvature[grouped]).tolist() if grouped.any() else []
    group = np.arange(len(mass))
    while len(mass) > max(most, 1):
        i = int(np.argmin(np.add(mass[:-1], mass[1:])))
        mass[i : i + 2] = [mass[i] + mass[i + 1]]
        group[group > i] -= 1
    found = np.full(len(units), -1, np.int32)
    found[grouped] = group[units[grouped]]
    return found


class Vector(Criterion):
    """The gain of leaves that shift thresholds, or a cheaper one.

    Attributes
    ----------
    gain : {"vector", "joint", "scalar"}
        What judges splits. "scalar" where no threshold takes a shift.
    groups : ndarray of int32, shape (n_classes - 1,)
        The group of each threshold whose sums judge splits, -1 for those that have none.
    curvature : ndarray of float64, shape (n_classes - 1,)
        That of the thresholds by the pass at the newest score, before they took their own step.
    """

    proportional = False
    threshold_updates = ("newton", "joint")  # which mean the same here
    options: ClassVar = {"cross_terms": ("auto", "all"), "split_gain": ("auto", "vector", "joint", "scalar")}
    _state: EngineState[MarginStatistics]
    groups: IntArray

    def __init__(self, state: EngineState[MarginStatistics]) -> None:
        super().__init__(state)
        assert state.parameters.shifts is not None
        self._shifts: vector.Shifts = state.parameters.shifts
        asked = state.parameters.split_gain
        self.gain = "scalar" if not state.learner.active.any() else "vector" if asked == "auto" else asked
        self.curvature = state.start.curvature

    def columns(self, score: RealArray, thresholds: FloatArray) -> RoundStatistics:
        """Fill gradients and Hessians of groups of thresholds, or what the cheaper gains need."""
        state, hessian = self._state, self._state.parameters.spec.hessian
        if self.curvature is None:
            of_start = state.row_pass(score, thresholds, hessian, want_loss=False, want_rows=False)
            self.curvature = of_start.threshold_hessian
        self.groups = self._group(self.curvature) if self.gain != "scalar" else np.full(1, -1, np.int32)
        n = int(self.groups.max()) + 1
        self.n_gradients = n if self.gain == "vector" else 1
        n_columns = {"vector": 2 * n, "joint": 2 + n, "scalar": 2}[self.gain]
        now = state.row_pass(
            score,
            thresholds,
            hessian,
            want_rows=self.gain != "vector" or state.parameters.rebin_every is not None,
            columns=state.new_columns(n_columns),
            columns_hold=_COLUMNS[self.gain],
            groups=self.groups if self.gain != "scalar" else None,
        )
        return state.count(now)

    def _group(self, curvature: FloatArray) -> IntArray:
        """Return the group of each threshold whose sums judge splits; see :mod:`.threshold_groups`.

        Those that take no shift have one of their own, the last, or with "joint", whose thresholds stay, none: -1.
        """
        learner, gain, row_pass = self._state.learner, self.gain, self._state.row_pass
        most = MOST[gain] if self._state.parameters.cross_terms == "auto" else LIMITS[gain]
        own = np.arange(len(learner.active)) if row_pass.score_of is None else row_pass.score_of
        active = np.isin(own, own[learner.active])
        units = np.full(len(active), -1, np.int32)
        if gain == "joint":
            starts = ~learner.tied & (np.diff(own, prepend=-1) > 0)
            _, units[active] = np.unique(np.cumsum(starts)[active], return_inverse=True)
            return neighbours(curvature, units, most)
        _, units[active] = np.unique(own[active], return_inverse=True)
        groups = neighbours(curvature, units, most - (not active.all()))
        groups[~active] = groups.max() + 1
        return groups

    def grow(self, growth: _core.Growth, in_bag: NDArray[np.uint32] | None) -> dict[str, Any]:
        """Grow a tree by the gain that judges splits."""
        engine = self._state.engine
        if self.gain == "scalar":
            return engine.grow_scalar(growth)
        if self.gain == "vector":
            return engine.grow_vector(growth, *self._vector_terms())
        return engine.grow_joint(growth, *self._joint_terms(in_bag))

    def _vector_terms(self) -> tuple[Any, ...]:
        """Return the arguments of the native vector criterion about the groups."""
        sizes, shifts = np.bincount(self.groups).astype(np.int32), self._shifts
        active = np.zeros(len(sizes), np.bool_)
        active[self.groups[self._state.learner.active]] = True
        most = shifts.most or 1 if shifts.penalty == "sparse" else len(sizes)
        return sizes, active, shifts.l2, shifts.penalty == "smooth", most

    def _joint_terms(self, in_bag: NDArray[np.uint32] | None) -> tuple[Any, ...]:
        """Return the arguments of the native joint criterion, for which each group is a threshold."""
        now = self._state.sums_of(in_bag)
        own, n = self.groups >= 0, int(self.groups.max()) + 1
        u, V = np.zeros(n), np.zeros(n)
        np.add.at(u, self.groups[own], now.threshold_gradient[own])
        np.add.at(V, self.groups[own], now.threshold_hessian[own])
        return u, np.diag(V), np.arange(n, dtype=np.int32), 2, np.eye(n)

    def sums(self, n_nodes: int, rows: NDArray[np.uint32] | None) -> VectorQuadratic:
        """Add up gradients and Hessians of all thresholds: of the columns, if these hold them one by one."""
        state, n_groups = self._state, int(self.groups.max()) + 1
        if self.gain == "vector" and n_groups == len(self.groups):
            of_nodes = state.engine.leaf_sums(state.leaf_of_row, n_nodes, rows)
            return VectorQuadratic(of_nodes[:, self.groups], of_nodes[:, n_groups + self.groups])
        row_pass, now = state.pass_over(rows)
        return self.exact_sums(row_pass, now, state.leaves_of(rows), n_nodes)

    def exact_sums(
        self, row_pass: MarginStatistics, now: RoundStatistics, leaves: IntArray, n_nodes: int
    ) -> VectorQuadratic:
        """Add up other rows."""
        return VectorQuadratic(*row_pass.leaf_sums(leaves, n_nodes))

    def solve(self, sums: VectorQuadratic, leaves: IndexArray) -> LeafStep:
        """Return the steps of the leaves, (..., n_leaves, n_classes - 1), and none of the thresholds."""
        state, shifts, penalty = self._state, self._shifts, self._state.parameters.l2_regularization
        G, H = sums.G[leaves.ravel()], sums.H[leaves.ravel()]
        flat = H.sum(axis=1) + penalty <= 0.0
        state.diagnostics.add(n_flat_leaves=int(np.count_nonzero(flat & G.any(axis=1))))
        steps = vector.steps(G, H, penalty, shifts.l2, shifts.penalty, state.learner.active, shifts.most)
        return LeafStep(steps.reshape(*leaves.shape, -1), np.zeros(0))

    def take(self, tree: Tree, step: LeafStep, size: float) -> None:
        """Move the scores, less the mean shift, which the thresholds take; then the thresholds given the scores."""
        state = self._state
        shift = vector.mean_shift(step.weights, state.weight_of_nodes(tree)[tree.leaves])
        now = state.move(tree, LeafStep(step.weights - shift, -shift), size, self._at)
        state.newton(now, self.columns)

    def _at(self, score: RealArray, thresholds: FloatArray) -> RoundStatistics:
        """Return the sums that the thresholds' own step takes, and keep their curvature."""
        state = self._state
        now = state.row_pass(score, thresholds, state.learner.step_hessian, want_rows=False)
        self.curvature = now.threshold_hessian
        return now
