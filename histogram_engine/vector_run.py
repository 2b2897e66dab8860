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
from ordinal_objectives.histogram_engine.shift_parameters import SHIFT_L2
from ordinal_objectives.leaves import vector
from ordinal_objectives.losses import RoundStatistics
from ordinal_objectives.rows import MarginStatistics
from ordinal_objectives.threshold_solver import Diagnostics
from ordinal_objectives.trees import Tree

FloatArray = NDArray[np.float64]
# What the rows carry through the histograms, by the gain that judges splits.
_COLUMNS = {"vector": "thresholds", "joint": "cross", "scalar": "score"}


class VectorRun(EngineRun):
    """One training run with ``parameters.shifts``; see EngineRun.

    Attributes
    ----------
    raw_prediction : ndarray, shape (n_samples, n_classes - 1)
        The scores R of the newest iteration, threshold by threshold in memory.
    """

    def _judges_jointly(self) -> bool:
        return self._gain == "joint"

    @property
    def _gain(self) -> str:
        gain = self.parameters.split_gain
        if gain == "auto":
            return "vector" if self._n_classes <= _core.max_vector_classes else "scalar"
        if gain == "vector" and self._n_classes > _core.max_vector_classes:
            raise ValueError(
                f"split_gain='vector' takes at most {_core.max_vector_classes} classes; got {self._n_classes}. "
                "Use 'scalar', or merge classes"
            )
        return gain

    def _kernel(self, y: NDArray[np.int32], weight: FloatArray | None, score: NDArray[np.floating]) -> Any:
        loss, n_threads = self.parameters.loss, self._n_threads
        return MarginStatistics(loss, y, self._n_classes, weight, start=score, n_threads=n_threads)

    def _start_score(self, score: FloatArray) -> NDArray[Any]:
        spread: NDArray[Any] = self._rows.spread(score)
        return spread

    def _grow_judged(self, growth: Any, in_bag: NDArray[np.uint32] | None) -> dict[str, Any]:
        if self._gain != "vector":
            return super()._grow_judged(growth, in_bag)
        smooth = self.parameters.shift_penalty == "smooth"
        grown: dict[str, Any] = self._engine.grow_vector(growth, self._learner.active, self._shift_l2, smooth)
        return grown

    @property
    def _shift_l2(self) -> float:
        return SHIFT_L2 if self.parameters.shift_l2 is None else float(self.parameters.shift_l2)

    def _sums(self, n_nodes: int, rows: NDArray[np.uint32] | None) -> VectorQuadratic:
        if self._gain == "vector":
            n = self._n_classes - 1
            of_nodes = self._engine.leaf_sums(self._leaf_of_row, n_nodes, rows)
            G, H = of_nodes[:, :n], of_nodes[:, n : 2 * n]
        else:
            kernel = self._rows if rows is None else self._statistics_of(rows)[0]
            G, H = kernel.leaf_sums(self._leaf_of_row if rows is None else self._leaf_of_row[rows], n_nodes)
        return VectorQuadratic(G, H, self._shift_l2, self.parameters.shift_penalty)

    def _take(self, tree: Tree, leaves: NDArray[np.intp], weights: FloatArray, delta: FloatArray, scale: float) -> None:
        shift = self._mean_shift(tree, leaves, weights)
        tree.value = np.zeros((len(tree.left), self._n_classes - 1))
        score, now = self._next_score, self._now

        def loss_at(share: float, thresholds: FloatArray) -> float:
            nonlocal now
            tree.value[leaves] = share * scale * (weights - shift)
            self._rows.moved(self.raw_prediction, self._leaf_of_row, tree.value, out=score)
            now = self._rows(score, thresholds, self._learner.step_hessian, want_rows=False)
            return float(now.loss)

        highest = self._rows.highest_loss(self._now.loss)
        if self._learner.move(-scale * shift, loss_at, highest) == 0.0:
            loss_at(0.0, self.thresholds)
        self.raw_prediction, self._next_score = score, self.raw_prediction
        if self.parameters.threshold_update == "fixed":
            self._now = self._evaluate(self.raw_prediction, self.thresholds)
        else:
            self._newton_from(now)

    def _mean_shift(self, tree: Tree, leaves: NDArray[np.intp], steps: FloatArray) -> FloatArray:
        """Return the mean over all training rows of a tree's shifts, (n_classes - 1,)."""
        known = self._weight is None and self.parameters.subsample == 1.0
        of_nodes = tree.count if known else np.bincount(self._leaf_of_row, self._weight, len(tree.left))
        mass = of_nodes[leaves].astype(np.float64)
        mean: FloatArray = mass @ (steps - steps.mean(axis=1, keepdims=True)) / mass.sum()
        return mean

    def _evaluate(
        self, raw_prediction: NDArray[np.floating], thresholds: FloatArray, *, few: bool = True
    ) -> RoundStatistics:
        n = self._n_classes - 1
        n_columns = {"vector": 2 * n, "joint": 2 + n, "scalar": 2}[self._gain]
        now: RoundStatistics = self._rows(
            raw_prediction,
            thresholds,
            self.parameters.hessian,
            want_rows=self._gain != "vector" or self.parameters.rebin_every is not None,
            columns=self._engine.statistics(n_columns),
            columns_hold=_COLUMNS[self._gain],
        )
        self.diagnostics.add(n_clipped=now.n_clipped, n_floored=now.n_floored)
        return now


@dataclass
class VectorQuadratic:
    """The quadratic model of a set of rows: sums of each node of a tree and threshold. Thresholds have no part in it.

    Attributes
    ----------
    G, H : ndarray of float64, shape (n_nodes, n_thresholds)
    shift_l2, shift_penalty
        Of the steps.
    """

    G: FloatArray
    H: FloatArray
    shift_l2: float
    shift_penalty: str

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
        return vector.steps(G, H, reg_lambda, self.shift_l2, self.shift_penalty, active), np.zeros(0)

    def slope(self, leaves: NDArray[np.intp], weights: FloatArray, delta: FloatArray) -> float:
        """Return g'beta."""
        return float(np.sum(self.G[leaves] * weights))

    def curvature(self, leaves: NDArray[np.intp], weights: FloatArray, delta: FloatArray) -> float:
        """Return beta'H beta."""
        return float(np.sum(self.H[leaves] * weights**2))

    def change(self, leaves: NDArray[np.intp], weights: FloatArray, delta: FloatArray) -> float:
        """Return Q(beta)."""
        return self.slope(leaves, weights, delta) + 0.5 * self.curvature(leaves, weights, delta)
