"""What losses compute: for each row, summed over a boosting round, and the thresholds before the first tree."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Self

import numpy as np

from ordinal_objectives.aliases import BoolArray, FloatArray, IndexArray
from ordinal_objectives.links import Link
from ordinal_objectives.utils.validation import check_answer


@dataclass(frozen=True)
class RowDerivatives:
    """Loss of each row and its exact derivatives, unweighted; all float64.

    Attributes
    ----------
    value, gradient : ndarray of shape (n_samples,)
        l_i and dl_i/df_i.
    threshold_gradient, curvature : ndarray of shape (n_samples, n_classes - 1)
        dl_i/dtheta_k and d2l_i/dtheta_k2.
    curvature_next : ndarray of shape (n_samples, n_classes - 2)
        d2l_i/dtheta_k dtheta_{k+1}; zero unless the loss is the cumulative link.
    cross : ndarray of shape (n_samples, n_classes - 1)
        d2l_i/df_i dtheta_k. Summed over the rows of leaf j it is L_jk.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.losses import AllThreshold
    >>> f, y, thresholds = np.array([-1.0, 0.2, 2.0]), np.array([0, 1, 2]), np.array([-0.5, 1.0])
    >>> rows = AllThreshold("logit").row_derivatives(f, y, thresholds)
    >>> rows.value.shape, rows.cross.shape
    ((3,), (3, 2))
    >>> np.allclose(rows.cross.sum(axis=1), -rows.curvature.sum(axis=1))
    True
    """

    value: FloatArray
    gradient: FloatArray
    threshold_gradient: FloatArray
    curvature: FloatArray
    curvature_next: FloatArray
    cross: FloatArray

    @property
    def hessian(self) -> FloatArray:
        """d2l_i/df_i2, shape (n_samples,)."""
        return -self.cross.sum(axis=1)


@dataclass(frozen=True)
class Curvatures:
    """Second derivatives of each row that a step uses: exact, floored or majorised.

    Attributes
    ----------
    hessian : ndarray of shape (n_samples,)
        In the score.
    diagonal : ndarray of shape (n_samples, n_classes - 1)
        In each threshold.
    off_diagonal : ndarray of shape (n_samples, n_classes - 2)
        Between neighbouring thresholds.
    """

    hessian: FloatArray
    diagonal: FloatArray
    off_diagonal: FloatArray


def raised(rows: RowDerivatives, floor: float, counts: BoolArray) -> tuple[Curvatures, int]:
    """Return exact curvatures raised to a floor, those of the thresholds that count, and how many were."""
    low, low_diagonal = rows.hessian < floor, (rows.curvature < floor) & counts
    hessian, diagonal = np.where(low, floor, rows.hessian), np.where(low_diagonal, floor, rows.curvature)
    return Curvatures(hessian, diagonal, rows.curvature_next), int(low.sum() + low_diagonal.sum())


@dataclass(frozen=True)
class MarginDerivatives:
    """A loss of margins theta_k - f_i - v_k(x_i), and its derivatives in f_i + v_k(x_i); unweighted, float64.

    Attributes
    ----------
    value : ndarray of shape (n_samples,)
        l_i.
    gradient, hessian : ndarray of shape (n_samples, n_classes - 1)
        First and second derivative of each threshold's term; the second one exact and floored, or majorised.
    n_floored : int
        Second derivatives that were raised to the link's `curvature_floor`.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.losses import AllThreshold
    >>> f, y, thresholds = np.array([-1.0, 0.2, 2.0]), np.array([0, 1, 2]), np.array([-0.5, 1.0])
    >>> margins = thresholds - f[:, np.newaxis]
    >>> of_margins = AllThreshold("logit").margin_derivatives(margins, y)
    >>> of_margins.gradient.shape
    (3, 2)
    >>> rows = AllThreshold("logit").row_derivatives(f, y, thresholds)
    >>> np.allclose(of_margins.gradient.sum(axis=1), rows.gradient)
    True
    """

    value: FloatArray
    gradient: FloatArray
    hessian: FloatArray
    n_floored: int


@dataclass(frozen=True)
class _Sums:
    """Sums over rows, which those of other rows may be added to."""

    def __add__(self, other: Self) -> Self:
        return replace(self, **{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})


@dataclass(frozen=True)
class RoundSums(_Sums):
    """Sums over rows of one boosting round, multiplied by the sample weights. Those of parts of the rows can be added.

    Attributes
    ----------
    loss : float
        Sum of the row losses.
    threshold_gradient, threshold_hessian : ndarray of shape (n_classes - 1,)
        u and the diagonal of V.
    threshold_hessian_off : ndarray of shape (n_classes - 2,)
        Entries of V beside its diagonal.
    n_floored : int
        Curvatures that were raised to the link's `curvature_floor`.
    n_clipped : int
        Rows with ``|f_i - theta_k|`` beyond the link's `argument_limit` for some k. The float32 kernels clip the logit,
        cloglog and loglog at 80 instead.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.losses import AllThreshold
    >>> f, y, thresholds = np.array([-1.0, 0.2, 2.0]), np.array([0, 1, 2]), np.array([-0.5, 1.0])
    >>> found = AllThreshold("logit").round_statistics(f, y, thresholds)
    >>> found.sums.threshold_gradient.shape, found.sums.threshold_hessian.shape
    ((2,), (2,))
    """

    loss: float
    threshold_gradient: FloatArray
    threshold_hessian: FloatArray
    threshold_hessian_off: FloatArray
    n_floored: int
    n_clipped: int

    def __sub__(self, other: RoundSums) -> RoundSums:
        return RoundSums(*(getattr(self, field.name) - getattr(other, field.name) for field in fields(self)))


@dataclass(frozen=True)
class RoundStatistics:
    """Gradients, Hessians and sums of one boosting round, multiplied by the sample weights.

    Attributes
    ----------
    gradient, hessian : ndarray of shape (n_samples,)
        g_i and h_i.
    cross : ndarray of shape (n_samples, n_classes - 1)
        Row contributions to L, always with the exact curvature; fewer columns where fewer were asked for.
    sums : RoundSums
        Its entries are attributes of this object too.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.losses import AllThreshold
    >>> f, y, thresholds = np.array([-1.0, 0.2, 2.0]), np.array([0, 1, 2]), np.array([-0.5, 1.0])
    >>> found = AllThreshold("logit").round_statistics(f, y, thresholds)
    >>> found.gradient.shape, found.cross.shape
    ((3,), (3, 2))
    >>> found.loss == found.sums.loss
    True
    """

    gradient: FloatArray
    hessian: FloatArray
    cross: FloatArray
    sums: RoundSums

    @property
    def loss(self) -> float:
        """Sum of the row losses."""
        return self.sums.loss

    @property
    def threshold_gradient(self) -> FloatArray:
        """u, shape (n_classes - 1,)."""
        return self.sums.threshold_gradient

    @property
    def threshold_hessian(self) -> FloatArray:
        """Diagonal of V, shape (n_classes - 1,)."""
        return self.sums.threshold_hessian

    @property
    def threshold_hessian_off(self) -> FloatArray:
        """Entries of V beside its diagonal, shape (n_classes - 2,)."""
        return self.sums.threshold_hessian_off

    @property
    def n_floored(self) -> int:
        """Curvatures that were raised."""
        return self.sums.n_floored

    @property
    def n_clipped(self) -> int:
        """Rows whose distances were clipped."""
        return self.sums.n_clipped


@dataclass(frozen=True)
class LeafSums(_Sums):
    """Sums over the rows of each leaf, multiplied by the sample weights.

    Attributes
    ----------
    gradient, hessian : ndarray of float64, shape (n_leaves,)
        G_j and H_j.
    cross : ndarray of float64, shape (n_leaves, n_classes - 1)
        L_jk, always with the exact curvature.

    Examples
    --------
    >>> import numpy as np
    >>> from ordinal_objectives.losses import AllThreshold, LeafSums
    >>> f, y, thresholds = np.array([-1.0, 0.2, 2.0]), np.array([0, 1, 2]), np.array([-0.5, 1.0])
    >>> found = AllThreshold("logit").round_statistics(f, y, thresholds)
    >>> in_leaf = np.array([[1, 1, 0], [0, 0, 1]])  # two rows in the first leaf, one in the second
    >>> sums = LeafSums(in_leaf @ found.gradient, in_leaf @ found.hessian, in_leaf @ found.cross)
    >>> sums.cross.shape
    (2, 2)
    """

    gradient: FloatArray
    hessian: FloatArray
    cross: FloatArray


_WIDTHS = {"value": None, "gradient": None, "hessian": None, "curvature_next": -1, "off_diagonal": -1}


def check_arrays(found: Any, kind: type[RowDerivatives | Curvatures], owner: str, shape: Any) -> None:
    """Raise unless a formula returned a kind of quantities: finite float64 for (n_samples, n_thresholds)."""
    n_samples, n_thresholds = shape
    for field in fields(kind):
        array, width = getattr(found, field.name), _WIDTHS.get(field.name, 0)
        check_answer(f"{field.name} of {owner}", array, (n_samples, *([] if width is None else [n_thresholds + width])))
        not_negative = field.name in ("hessian", "diagonal")
        wrong = ~np.isfinite(array) | ((array < 0.0) & not_negative)
        if wrong.any():
            rule = "finite and not negative" if not_negative else "finite at finite scores"
            raise ValueError(f"{field.name} of {owner} must be {rule}; got {array[wrong][0]}")


class ClassWeights(NamedTuple):
    """Weights of the classes, from which the start thresholds are computed.

    Attributes
    ----------
    weights : ndarray of float64, shape (n_classes,)
        Sum of the weights of each class.
    observed : ndarray of int
        Classes that do not count as empty, in order; at least two.
    half_a_row : float
        Weight that is assumed where the data do not determine a threshold.
    """

    weights: FloatArray
    observed: IndexArray
    half_a_row: float


class InitialThresholds(NamedTuple):
    """Start values of the thresholds, and which of them may move how.

    Attributes
    ----------
    thresholds : ndarray of shape (n_classes - 1,), float64
        Cut points. Increasing for the all-threshold loss, with equal ones around an empty inner class;
        strictly increasing for the cumulative link; in any order for the immediate-threshold loss.
    active : ndarray of shape (n_classes - 1,), bool
        Whether a threshold has weight on both sides. Without it the loss has no minimum in that threshold, so no step
        is solved for it.
    tied : ndarray of shape (n_classes - 1,), bool
        Whether a threshold moves together with the one below it, because the class between them is empty.

    Examples
    --------
    >>> from ordinal_objectives.threshold_solver import initial_thresholds
    >>> start = initial_thresholds([30, 0, 70])  # the class between the thresholds is empty
    >>> start.thresholds.round(3), start.tied
    (array([-0.847, -0.847]), array([False,  True]))
    """

    thresholds: FloatArray
    active: BoolArray
    tied: BoolArray


def from_shares(link: Link, classes: ClassWeights, *, with_gaps: bool) -> InitialThresholds:
    """Return G^-1 of the share of all classes up to each threshold.

    Parameters
    ----------
    link : Link
    classes : ClassWeights
    with_gaps : bool
        Whether thresholds around an empty inner class must differ.
    """
    n, observed, half_a_row = classes
    total, first, last = n.sum(), observed[0], observed[-1]
    index = np.arange(n.size - 1)
    active = (index >= first) & (index < last)
    tied = np.zeros_like(active)
    below = np.cumsum(n)[:-1]
    below[:first] = half_a_row * np.arange(1, first + 1) / max(first, 1)
    n_above = n.size - 1 - last
    below[last:] = total - half_a_row * np.arange(n_above, 0, -1) / max(n_above, 1)
    for lower, upper in itertools.pairwise(observed):
        tied[lower + 1 : upper] = True
        if with_gaps and upper - lower > 1:
            below[lower:upper] += half_a_row * np.linspace(-0.5, 0.5, upper - lower)
    return InitialThresholds(link.link(below / total), active, tied)
