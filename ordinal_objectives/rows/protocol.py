"""Interface of a pass over rows, on any device.

A pass returns two kinds of results. Arrays over rows stay on the device of the rows: a tree is grown on them there.
Sums of parts of the rows can be added (`RoundSums`, `LeafSums`, both with ``+``); a part is a block of a file, or the
rows of a device or a worker. Thresholds depend on the sums alone.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.losses import LeafSums, RoundStatistics


class _Rows(Protocol):
    """Labels and weights of some rows.

    Attributes
    ----------
    y : ndarray of int32, shape (n_samples,)
        Class codes of these rows.
    n_classes : int
    class_weights : ndarray of float64, shape (n_classes,)
        Sum of the weights of each class: a sum over all rows, where rows are distributed.
    total_weight : float
    loss_precision : float
        Relative rounding of the loss sum.
    """

    y: NDArray[np.int32]
    n_classes: int
    class_weights: NDArray[np.float64]
    total_weight: float
    loss_precision: float

    def highest_loss(self, loss: float) -> float:
        """Return the loss sum above which a step from `loss` is shortened."""
        ...

    def is_higher(self, loss: float, before: float) -> bool:
        """Tell whether a loss sum is higher than that before by more than the largest rounding error."""
        ...


class RowPass(_Rows, Protocol):
    """A pass over rows with one score each; :meth:`.device.Device.row_pass` returns one."""

    def __call__(
        self, raw_prediction: ArrayLike, thresholds: ArrayLike, hessian: str = "majorized", *, want_loss: bool = True
    ) -> RoundStatistics:
        """Return arrays over these rows, and the sums over all rows, at a score and a set of thresholds."""
        ...

    def leaf_sums(self, leaves: Any, n_leaves: int) -> LeafSums:
        """Return the sums of the latest call over the leaves of a tree."""
        ...


class MarginPass(_Rows, Protocol):
    """A pass over rows with a score for each threshold; :meth:`.device.Device.margin_pass` returns one.

    Attributes
    ----------
    scores_dtype : type
        float32 or float64: of the scores that it is given.
    """

    scores_dtype: type

    @property
    def sample_weight(self) -> NDArray[Any] | None:
        """Weights of these rows, (n_samples,), or None where all are 1."""
        ...

    def __call__(
        self,
        scores: Any,
        thresholds: ArrayLike,
        hessian: str = "majorized",
        *,
        want_loss: bool = True,
        want_rows: bool = True,
        columns: Any = None,
    ) -> RoundStatistics:
        """Return arrays over these rows, and the sums over all rows, at scores and thresholds.

        ``columns``, (n_samples, 2 (n_classes - 1) or more), is filled with the gradients of every threshold, then the
        Hessians.
        """
        ...

    def leaf_sums(self, leaves: Any, n_leaves: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return G and H of every leaf and threshold at the latest call."""
        ...

    def leaf_weights(self, leaves: Any, n_leaves: int) -> NDArray[np.float64]:
        """Return the sum of the weights of each leaf's rows."""
        ...

    def loss_of_prediction(self, scores: Any, thresholds: ArrayLike) -> float:
        """Return the loss of the margins as predictions use them: sorted in each row, if the loss has an order."""
        ...


# One of the two.
Pass = TypeVar("Pass", bound=RowPass | MarginPass)
