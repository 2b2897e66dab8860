"""Leaf steps of order three and four in a training: the sums that they need beside the joint quadratic model.

Thresholds take the joint step, whose model is of order two. Given it, each leaf's weight is raised to the order: its
Newton step already holds the gradient after the thresholds have moved (:mod:`ordinal_objectives.leaves.high_order`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.leaves import high_order
from ordinal_objectives.threshold_solver import Diagnostics, JointQuadratic


@dataclass
class HighOrderModel(JointQuadratic):
    """The joint quadratic model with derivatives of the leaves beyond the second.

    Attributes
    ----------
    higher : ndarray of shape (n_nodes, order - 2)
        Sums of third derivatives, and of fourth ones where the order is 4.
    """

    higher: NDArray[np.float64]

    @classmethod
    def summed(
        cls, model: JointQuadratic, higher: NDArray[np.float32], leaf_of_row: NDArray[np.int32]
    ) -> HighOrderModel:
        """Return a quadratic model with the rows' higher derivatives, (n_samples, order - 2), added up by leaf."""
        sums = [np.bincount(leaf_of_row, weights=column, minlength=len(model.G)) for column in higher.T]
        return cls(**vars(model), higher=np.column_stack(sums))

    def solve(
        self,
        leaves: NDArray[np.intp],
        reg_lambda: float,
        active: NDArray[np.bool_],
        tied: NDArray[np.bool_],
        diagnostics: Diagnostics | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return leaf weights of the order, and the threshold step of the quadratic model."""
        newton, delta = super().solve(leaves, reg_lambda, active, tied, diagnostics)
        of_leaves = self.higher[leaves]
        order = 2 + of_leaves.shape[1]
        step = high_order.step(newton, self.H[leaves] + reg_lambda, of_leaves[:, 0], of_leaves[:, -1], order=order)
        if diagnostics is not None:
            diagnostics.add(n_low_order=int(step.fell_back.sum()))
        return step.weights, delta
