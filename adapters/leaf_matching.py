"""The newest tree as a framework grew it, and how the rows of a matrix find their leaves in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.rows import Device


class GrownTree(NamedTuple):
    """What a joint step needs of a tree.

    Attributes
    ----------
    leaf_values : ndarray of float64, shape (n_leaves,)
        As the framework added them to its scores.
    learning_rate, reg_lambda : float
        Those the tree was grown with.
    value_type : type
        float32 or float64: how the framework stores a leaf value.
    route : callable
        ``route(matrix)`` returns the leaf of every row, int32 (n_samples,), by passing the rows through the
        tree: slow, always right. None where the framework has let go of the rows.
    renew : callable
        ``renew(leaf_values)`` writes new values into the tree, or leaves that to the end of the training.
    """

    leaf_values: NDArray[np.float64]
    learning_rate: float
    reg_lambda: float
    value_type: type
    route: Callable[[Any], NDArray[np.int32] | None]
    renew: Callable[[NDArray[np.float64]], None]


class FollowedScore:
    """Score of one matrix, followed tree by tree.

    Attributes
    ----------
    iteration : int
        Number of trees in it.
    framework_score : ndarray of float32 or float64, shape (n_samples,)
        As the framework keeps it, with the leaves that it set.
    raw_prediction : ndarray of float64, shape (n_samples,)
        The model's own score, with renewed leaves.
    """

    def __init__(self, score: NDArray[Any], iteration: int, device: Device) -> None:
        self.iteration = iteration
        self._device = device
        self.framework_score: NDArray[Any] = device.copy(score)
        self.raw_prediction: NDArray[Any] = device.copy(self.framework_score, np.float64)

    def find_leaves(
        self, score: NDArray[Any], tree: GrownTree, matrix: Any
    ) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
        """Return the leaf of every row in the newest tree, and which leaves had to be taken as one.

        The step of the framework's score is the leaf value. Where two values are too close to be told apart,
        the rows are routed through the tree; without the rows, such leaves are taken as one.

        Parameters
        ----------
        score : ndarray, shape (n_samples,)
            The framework's score with the newest tree.
        tree : GrownTree
        matrix : object
            What ``tree.route`` takes.

        Returns
        -------
        leaves : ndarray of int32, shape (n_samples,)
        merged : ndarray of int, shape (n_leaves,)
            Entry j is the leaf that stands for leaf j: j itself, or one with the same value.
        """
        values = tree.leaf_values
        order = np.argsort(values, kind="stable").astype(np.int32)
        ascending = values[order]
        leaves, error, largest = self._device.match_leaves(self.framework_score, score, ascending, order)
        # The framework rounds each sum once; twice that leaves room for its own order of adding.
        noise = float(np.finfo(self.framework_score.dtype).eps) * max(largest, float(np.abs(values).max()))
        close = np.diff(ascending) <= 2 * noise
        identity = np.arange(values.shape[0])
        if error <= noise and not close.any():
            return leaves, identity
        routed = tree.route(matrix)
        if routed is not None:
            return routed, identity
        if error > noise:
            raise RuntimeError(
                f"the framework's score changed by {error:.3g} beside the newest tree; only training with plain "
                f"boosted trees can be followed"
            )
        first_of_run = np.maximum.accumulate(np.where(np.append(True, ~close), identity, 0))
        merged = np.empty_like(identity)
        merged[order] = order[first_of_run]
        return self._device.renumbered(leaves, merged), merged

    def move(self, score: NDArray[Any], raw_prediction: NDArray[np.float64]) -> None:
        """Take over both scores with the newest tree."""
        self.iteration += 1
        self.framework_score = self._device.copy(score, self.framework_score.dtype)
        self.raw_prediction = raw_prediction

    def plus(self, leaves: NDArray[np.int32], leaf_values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the model's score with a tree more, float64 (n_samples,)."""
        total: NDArray[np.float64] = self._device.add_leaf_values(self.raw_prediction, leaves, leaf_values)
        return total
