"""Labels and weights of some rows, checked once for all passes over them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ordinal_objectives import _core
from ordinal_objectives.aliases import ArrayLike, FloatArray, IntArray, RealArray
from ordinal_objectives.links import Cloglog
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.threads import effective_n_threads
from ordinal_objectives.utils import validation

# Distances |theta_k - f| at which derivatives that grow like exp are clipped: 80 for float32 outputs, and less
# where a row's sum of them, with its weight, would be larger than this.
_LIMIT, LARGEST = 80.0, 1e38
# Relative rounding of a sum of losses, by the type that a row's loss is computed in.
IN_FLOAT32, IN_FLOAT64 = 1e-7, 1e-12
_ROUNDING_OF_ONE = 1e-15
# Changes of a float32 loss were off by at most 1e-6 of it, with one row that outweighs the others, and by 6e-7 without
# weights: ten times what is usual.
MOST_ROUNDING = 10.0


class LossBounds:
    """Bounds of the rounding error of a sum of the rows' losses, which are not negative.

    The rounding error of a row's loss in float32, and of the sum of some hundred rows, is proportional to it: a heavy
    row does not hide the error of light ones. Losses are logarithms of numbers next to 1, which float64 rounds.

    Attributes
    ----------
    loss_precision : float
        Relative rounding of the loss sum.
    total_weight : float
    """

    loss_precision: float
    total_weight: float

    def highest_loss(self, loss: float, rounding: float = 1.0) -> float:
        """Return the largest loss sum that may still be `loss`, at a multiple of the usual rounding."""
        precision = rounding * self.loss_precision
        return loss + precision * max(abs(loss), _ROUNDING_OF_ONE / precision * self.total_weight)


class CheckedPass(LossBounds):
    """Rows of a pass: labels and weights, checked.

    Parameters
    ----------
    loss : OrdinalLoss
        Loss and link.
    y : array-like of int, shape (n_samples,)
        Class codes 0..n_classes - 1.
    n_classes : int
        Number of classes K.
    sample_weight : array-like of float, shape (n_samples,), or None
        Non-negative; ones if None.
    precision : {"float32", "float64"}
        "float32": vector lanes for the logit link, sums in float64. "float64": scalar double precision
        throughout, slower, for reference. Links other than logit are computed in double precision either
        way.
    n_threads : int or None
        See :func:`ordinal_objectives.threads.effective_n_threads`.
    lanes : bool, default=True
        Whether float32 lanes may be used where the link has them.
    part : bool, default=False
        Whether these are one worker's rows, which may be none, or of no weight.

    Attributes
    ----------
    class_weights : ndarray of float64, shape (n_classes,)
        Sum of the weights of each class.
    total_weight : float
    loss_precision : float
        Relative rounding of the loss sum.

    Raises
    ------
    ValueError
        If an argument is out of range; the message names it.
    """

    _latest: Any = None  # what the latest call left for the sums of leaves

    def __init__(
        self,
        loss: OrdinalLoss,
        y: ArrayLike,
        n_classes: int,
        sample_weight: ArrayLike | None = None,
        *,
        precision: str = "float32",
        n_threads: int | None = None,
        lanes: bool = True,
        part: bool = False,
    ) -> None:
        validation.check_choice(precision, ("float32", "float64"), name="precision")
        self.loss = loss
        self.n_classes = validation.check_n_classes(n_classes)
        self.y = validation.check_codes(y, self.n_classes, part=part)
        self.n_threads = effective_n_threads(n_threads)
        fits = loss.link.code == _core.link_codes[_core.lane_link] and n_classes <= _core.max_lane_classes
        self._lanes = lanes and fits and precision == "float32"
        self.loss_precision = IN_FLOAT32 if self._lanes else IN_FLOAT64
        self._dtype: type = np.float32 if precision == "float32" else np.float64
        # The rows of one worker may have little weight, but not less than float32 can represent.
        weight = validation.check_sample_weight(sample_weight, self.y.shape[0], part=part)
        weight = validation.check_total_weight(weight, least=0.0 if part else float(np.finfo(np.float32).tiny))
        self.class_weights: FloatArray = np.bincount(self.y, weights=weight, minlength=n_classes).astype(np.float64)
        self.total_weight = float(self.class_weights.sum())
        self._computed: type = np.float32 if self._lanes else np.float64
        self._weight: RealArray | None = weight if weight is None else weight.astype(self._computed)
        costs = loss.threshold_costs(self.n_classes)
        self._costs = costs if costs is None else costs.astype(self._computed)
        self._limit: float = Cloglog.argument_limit
        if precision == "float32":
            heaviest = 1.0 if weight is None else float(weight.max(initial=1.0))
            heaviest *= 1.0 if costs is None else max(1.0, float(costs.max()))
            self._limit = min(_LIMIT, float(np.log(LARGEST / (heaviest * n_classes))))

    def reweigh(self, weight: FloatArray) -> None:
        """Let rows that were given weights count by others, none of them larger."""
        assert self._weight is not None
        self._weight[:] = weight
        vars(self).pop("_in_double", None)

    @property
    def sample_weight(self) -> RealArray | None:
        """Weights of the rows, (n_samples,), or None where all are 1."""
        return self._weight

    def _latest_of(self, given: str) -> Any:
        """Return what the latest call left for the sums of leaves; it was given this and thresholds."""
        if self._latest is None:
            raise ValueError(f"leaf_sums belongs to {given} and thresholds: call the object with these first")
        return self._latest

    def check_leaves(self, leaves: Any, n_leaves: int) -> None:
        """Raise ValueError unless an array of any device holds one of so many leaves for each row."""
        validation.check_shape("leaves", leaves, self.y.shape)
        if not leaves.size:
            return
        lowest, highest = int(leaves.min()), int(leaves.max())
        if lowest < 0 or highest >= n_leaves:
            raise ValueError(f"leaves must be in 0..{n_leaves - 1}; got {lowest}..{highest}")

    def leaf_weights(self, leaves: IntArray, n_leaves: int) -> FloatArray:
        """Return the sum of the weights of each leaf's rows, float64 (n_leaves,)."""
        if self._weight is None and leaves.size:
            counts = np.zeros(n_leaves)
            leaves = np.ascontiguousarray(leaves, dtype=np.int32)
            self.check_leaves(leaves, n_leaves)
            _core.leaf_counts(leaves, counts, self.n_threads)
            return counts
        return np.bincount(leaves, self._weight, minlength=n_leaves).astype(np.float64)

    def _check_derivatives(self, gradient: RealArray, hessian: RealArray) -> None:
        """Raise ValueError if derivatives overflow the output's type, which is narrower."""
        if gradient.size and max(-gradient.min(), gradient.max(), hessian.max()) > LARGEST:
            raise ValueError(
                "raw_prediction is too far from the thresholds for float32 derivatives of link "
                f"{self.loss.link.identity!r} and these weights; the largest gradient is {np.abs(gradient).max():g}"
            )
