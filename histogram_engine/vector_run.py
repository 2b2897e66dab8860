r"""A training whose leaves shift single thresholds: a score f(x) + v_k(x) for every threshold.

Each tree moves the scores R_k = f + v_k of a row by its leaf's step u_k (:mod:`ordinal_objectives.leaves.vector`).
The mean over the training rows of a tree's shifts, u_k less the mean of u, belongs to the thresholds, and goes there:
so that v has mean zero over these rows, and the thresholds are what a model without shifts would call them. Then they
take one conditional Newton step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives import _core
from ordinal_objectives.histogram_engine.engine_run import EngineRun
from ordinal_objectives.histogram_engine.threshold_groups import MOST, neighbours
from ordinal_objectives.leaves import vector
from ordinal_objectives.leaves.shifts import Shifts
from ordinal_objectives.losses import RoundStatistics
from ordinal_objectives.rows.margins import MarginStatistics, is_far
from ordinal_objectives.threshold_solver import Diagnostics
from ordinal_objectives.trees import Tree

FloatArray = NDArray[np.float64]
# What the rows carry through the histograms, by the gain that judges splits.
_COLUMNS = {"vector": "thresholds", "joint": "cross", "scalar": "score"}
# Groups of thresholds that the core takes.
LIMITS = {"vector": _core.max_vector_classes - 1, "joint": _core.max_joint_classes - 1}


class VectorRun(EngineRun):
    """One training run with ``parameters.shifts``; see EngineRun.

    Attributes
    ----------
    raw_prediction : ndarray, shape (n_samples, n_classes - 1)
        The scores R of the newest iteration, threshold by threshold in memory.
    curvature : ndarray of float64, shape (n_classes - 1,)
        Of the thresholds, by the pass at the newest score, before they took their own step.
    """

    _groups: NDArray[np.int32]

    def _judges_jointly(self) -> bool:
        return False  # in the way of proportional trainings

    def _kernel(self, y: NDArray[np.int32], weight: FloatArray | None, score: NDArray[np.floating]) -> Any:
        loss, n_threads = self.parameters.loss, self._n_threads
        far = is_far(score)
        return MarginStatistics(loss, y, self._n_classes, weight, in_doubles=far, n_threads=n_threads)

    def _start_score(self, score: FloatArray) -> NDArray[Any]:
        spread: NDArray[Any] = self._rows.spread(score)
        return spread

    @property
    def _gain(self) -> str:
        if not self._learner.active.any():
            return "scalar"  # no threshold takes a shift
        return "vector" if self.parameters.split_gain == "auto" else self.parameters.split_gain

    @property
    def _shifts(self) -> Shifts:
        shifts = self.parameters.shifts
        assert shifts is not None
        return shifts

    def _grow_judged(self, growth: Any, in_bag: NDArray[np.uint32] | None) -> dict[str, Any]:
        grown: dict[str, Any]
        sizes = np.bincount(self._groups[self._groups >= 0]).astype(np.int32)
        if self._gain == "scalar":
            grown = self._engine.grow_scalar(growth)
        elif self._gain == "vector":
            active = np.zeros(len(sizes), np.bool_)
            active[self._groups[self._learner.active]] = True
            shifts = self._shifts
            penalty = (shifts.l2, shifts.penalty == "smooth", shifts.most if shifts.penalty == "sparse" else len(sizes))
            grown = self._engine.grow_vector(growth, sizes, active, *penalty)
        else:
            sums = self._now if in_bag is None else self._statistics_of(in_bag)[1]
            own, n = self._groups >= 0, len(sizes)
            u, V = np.zeros(n), np.zeros(n)
            np.add.at(u, self._groups[own], sums.threshold_gradient[own])
            np.add.at(V, self._groups[own], sums.threshold_hessian[own])
            grown = self._engine.grow_joint(growth, u, np.diag(V), np.arange(n, dtype=np.int32), 2, np.eye(n))
        return grown

    def _group(self, curvature: FloatArray) -> NDArray[np.int32]:
        """Return the group of each threshold whose sums judge splits; see :mod:`.threshold_groups`.

        Those that take no shift have one of their own, the last, or with "joint", whose thresholds stay, none: -1.
        """
        learner, gain = self._learner, self._gain
        most = MOST[gain] if self.parameters.cross_terms == "auto" else LIMITS[gain]
        active = learner.active
        units = np.full(len(active), -1, np.int32)
        if gain == "joint":
            _, units[active] = np.unique(np.cumsum(~learner.tied)[active], return_inverse=True)
            return neighbours(curvature, units, most)
        units[active] = np.arange(active.sum())
        groups = neighbours(curvature, units, most - (not active.all()))
        groups[~active] = groups.max() + 1
        return groups

    def _sums(self, n_nodes: int, rows: NDArray[np.uint32] | None) -> VectorQuadratic:
        n_groups = int(self._groups.max()) + 1
        if self._gain == "vector" and n_groups == len(self._groups):
            of_nodes = self._engine.leaf_sums(self._leaf_of_row, n_nodes, rows)
            G, H = of_nodes[:, self._groups], of_nodes[:, n_groups + self._groups]
        else:
            kernel = self._rows if rows is None else self._statistics_of(rows)[0]
            G, H = kernel.leaf_sums(self._leaf_of_row if rows is None else self._leaf_of_row[rows], n_nodes)
        return VectorQuadratic(G, H, self._shifts)

    def _take(self, tree: Tree, leaves: NDArray[np.intp], weights: FloatArray, delta: FloatArray, scale: float) -> None:
        shift = self._mean_shift(tree, leaves, weights)
        tree.value = np.zeros((len(tree.left), self._n_classes - 1))
        score, now = self._next_score, self._now

        def loss_at(share: float, thresholds: FloatArray) -> float:
            nonlocal now
            tree.value[leaves] = share * scale * (weights - shift)
            self._rows.moved(self.raw_prediction, self._leaf_of_row, tree.value, out=score)
            now = self._rows(score, thresholds, self._learner.step_hessian, want_rows=False)
            self.curvature = now.threshold_hessian
            return float(now.loss)

        highest = self._rows.highest_loss(self._now.loss)
        if self._learner.move(-scale * shift, loss_at, highest) == 0.0:
            loss_at(0.0, self.thresholds)
        self.raw_prediction, self._next_score = score, self.raw_prediction
        self._newton_from(now)

    def _mean_shift(self, tree: Tree, leaves: NDArray[np.intp], steps: FloatArray) -> FloatArray:
        """Return the mean over all training rows of a tree's shifts, (n_classes - 1,)."""
        known = self._weight is None and self.parameters.subsample == 1.0
        of_nodes = tree.count if known else np.bincount(self._leaf_of_row, self._weight, len(tree.left))
        return vector.mean_shift(steps, of_nodes[leaves].astype(np.float64))

    def _evaluate(
        self, raw_prediction: NDArray[np.floating], thresholds: FloatArray, *, few: bool = True
    ) -> RoundStatistics:
        if self.curvature is None:
            of_start = self._rows(raw_prediction, thresholds, self.parameters.hessian, want_loss=False, want_rows=False)
            self.curvature = of_start.threshold_hessian
        self._groups = self._group(self.curvature) if self._gain != "scalar" else np.full(1, -1, np.int32)
        n = int(self._groups.max()) + 1
        n_columns = {"vector": 2 * n, "joint": 2 + n, "scalar": 2}[self._gain]
        now: RoundStatistics = self._rows(
            raw_prediction,
            thresholds,
            self.parameters.hessian,
            want_rows=self._gain != "vector" or self.parameters.rebin_every is not None,
            columns=self._engine.statistics(n_columns),
            columns_hold=_COLUMNS[self._gain],
            groups=self._groups if self._gain != "scalar" else None,
        )
        self.diagnostics.add(n_clipped=now.n_clipped, n_floored=now.n_floored)
        return now


@dataclass
class VectorQuadratic:
    """The quadratic model of a set of rows: sums of each node of a tree and threshold. Thresholds have no part in it.

    Attributes
    ----------
    G, H : ndarray of float64, shape (n_nodes, n_thresholds)
    shifts : Shifts
        Penalty of the steps.
    """

    G: FloatArray
    H: FloatArray
    shifts: Shifts

    def of_all_nodes(self, left: NDArray[np.int32]) -> VectorQuadratic:
        """Return the sums with those of the leaves added up into their ancestors; children follow parents."""
        G, H = self.G.copy(), self.H.copy()
        for node in range(len(left) - 1, -1, -1):
            if left[node] >= 0:
                children = [left[node], left[node] + 1]
                G[node], H[node] = G[children].sum(axis=0), H[children].sum(axis=0)
        return replace(self, G=G, H=H)

    def solve(
        self,
        leaves: NDArray[np.intp],
        reg_lambda: float,
        active: NDArray[np.bool_],
        tied: NDArray[np.bool_],
        diagnostics: Diagnostics | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the steps of some nodes as leaves, (n_leaves, n_thresholds), and none of the thresholds."""
        G, H = self.G[leaves], self.H[leaves]
        if diagnostics is not None:
            flat = H.sum(axis=1) + reg_lambda <= 0.0
            diagnostics.add(n_flat_leaves=int(np.count_nonzero(flat & G.any(axis=1))))
        shifts = self.shifts
        return vector.steps(G, H, reg_lambda, shifts.l2, shifts.penalty, active, shifts.most), np.zeros(0)

    def slope(self, leaves: NDArray[np.intp], weights: FloatArray, delta: FloatArray) -> float:
        """Return g'beta."""
        return float(np.sum(self.G[leaves] * weights))

    def curvature(self, leaves: NDArray[np.intp], weights: FloatArray, delta: FloatArray) -> float:
        """Return beta'H beta."""
        return float(np.sum(self.H[leaves] * weights**2))

    def change(self, leaves: NDArray[np.intp], weights: FloatArray, delta: FloatArray) -> float:
        """Return Q(beta)."""
        return self.slope(leaves, weights, delta) + 0.5 * self.curvature(leaves, weights, delta)
