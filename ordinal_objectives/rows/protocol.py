"""What a pass over rows must answer, wherever the rows are.

Two kinds of answers are kept apart. Arrays over rows stay where the rows are: a tree is grown on them there. Sums add
up: those of all rows are the sums of the parts' (`RoundSums`, `LeafSums`, both with ``+``), whether a part is a block
of a file, a device's or a worker's rows. Thresholds are functions of the sums alone.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.losses import LeafSums, RoundStatistics


class RowPass(Protocol):
    """Labels and weights of some rows; a :class:`.device.Device` returns one.

    Attributes
    ----------
    y : ndarray of int32, shape (n_samples,)
        Class codes of these rows.
    class_weights : ndarray of float64, shape (n_classes,)
        Sum of the weights of each class: a sum over all rows, where rows are parted.
    total_weight : float
    """

    y: NDArray[np.int32]
    class_weights: NDArray[np.float64]
    total_weight: float

    def __call__(
        self, raw_prediction: ArrayLike, thresholds: ArrayLike, hessian: str = "majorized", *, want_loss: bool = True
    ) -> RoundStatistics:
        """Return arrays over these rows, and the sums over all rows, at a score and a set of thresholds."""
        ...

    def leaf_sums(self, leaves: Any, n_leaves: int) -> LeafSums:
        """Return the sums of the latest call over the leaves of a tree."""
        ...

    def highest_loss(self, loss: float) -> float:
        """Return the loss sum above which a step from `loss` is shortened."""
        ...

    def is_higher(self, loss: float, before: float) -> bool:
        """Tell whether a loss sum is higher than that before by more than rounding ever made of one."""
        ...
