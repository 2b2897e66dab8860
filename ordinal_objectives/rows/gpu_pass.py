"""The pass over rows on a GPU: arrays over rows stay there, and only sums are copied back.

Everything is a sum over thresholds of functions of one margin, theta_k - f(x_i) - v_k(x_i), which are computed
threshold by threshold in float32 and added up in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ordinal_objectives.links import Logit
from ordinal_objectives.losses import (
    AllThreshold,
    ImmediateThreshold,
    LeafSums,
    OrdinalLoss,
    RoundStatistics,
    RoundSums,
)
from ordinal_objectives.rows.checked_rows import IN_FLOAT32, CheckedRows
from ordinal_objectives.rows.device import on_cpu
from ordinal_objectives.utils.validation import check_thresholds

# Numbers that a block of rows takes where they are added up leaf by leaf.
_BLOCK = 1 << 25
# float32 margins are exact enough up to this spread of the thresholds, and this distance from 0.
_WIDEST, _FARTHEST = 40.0, 1e4
# tanh(x / 2) / (2 x) is 1/4 to float32's last digit below.
_NEAR = 1e-3


def why_no_pass(loss: OrdinalLoss) -> str | None:
    """Return why there is no pass for a loss on a GPU, as a message, or None if there is one."""
    if type(loss) not in (AllThreshold, ImmediateThreshold):
        return f"loss={loss.identity!r} has no pass on a GPU"
    return None if type(loss.link) is Logit else f"link={loss.link.identity!r} has no pass on a GPU"


class _GPUPass(CheckedRows):
    """Base of both passes: sums over thresholds of functions of one margin, for the logit link.

    Parameters
    ----------
    device : GPU
    loss : OrdinalLoss
        All-threshold or immediate-threshold, with the logit link.
    y, n_classes, sample_weight, part
        See :class:`.checked_rows.CheckedRows`.

    Raises
    ------
    ValueError
        If the device has no pass for the loss, or an argument is out of range.
    """

    def __init__(
        self,
        device: Any,
        loss: OrdinalLoss,
        y: ArrayLike,
        n_classes: int,
        sample_weight: ArrayLike | None = None,
        *,
        part: bool = False,
    ) -> None:
        refused = why_no_pass(loss)
        if refused is not None:
            raise ValueError(f"{refused}; train on the CPU")
        super().__init__(loss, y, n_classes, sample_weight, part=part)
        self.loss_precision = IN_FLOAT32
        self._device, self._xp = device, device.arrays
        self._codes = self._xp.asarray(self.y)
        self._weights = None if self._weight is None else self._xp.asarray(self._weight.astype(np.float32))

    def leaf_weights(self, leaves: Any, n_leaves: int) -> NDArray[np.float64]:
        """Return the sum of the weights of each leaf's rows, float64 (n_leaves,)."""
        weights = self._xp.ones(len(self.y), np.float32) if self._weights is None else self._weights
        return self._by_leaf(leaves, n_leaves, 1, lambda rows: [weights[rows]])[:, 0]

    def _margin(self, scores: Any, theta: NDArray[np.float64], k: int, rows: slice) -> Any:
        """Return theta_k - f(x_i) - v_k(x_i) of some rows."""
        score = self._scores_of(scores, k)[rows]
        if self._in_float64(theta):
            return float(theta[k]) - score.astype(np.float64)
        return (float(theta[k]) - score).astype(np.float32)

    def _in_float64(self, theta: NDArray[np.float64]) -> bool:
        """Tell whether margins are computed in float64, and then not clipped, as in the native kernels."""
        raise NotImplementedError

    def _reach(self, x: Any) -> float:
        """Return the absolute value at which derivatives clip margins."""
        return self._limit if x.dtype == np.float32 else np.inf

    def _scores_of(self, scores: Any, k: int) -> Any:
        """Return the scores of all rows for a threshold."""
        raise NotImplementedError

    def _weighted(self, values: Any, k: int, rows: slice) -> Any:
        """Return a function of the margins of threshold k, with the rows' weights, and 0 where it does not count."""
        if type(self.loss) is ImmediateThreshold:
            codes = self._codes[rows]
            values = self._xp.where((codes == k) | (codes == k + 1), values, 0.0)
        return values if self._weights is None else values * self._weights[rows]

    def _derivatives(self, x: Any, k: int, rows: slice, majorized: bool) -> tuple[Any, Any]:
        """Return the weighted first and second derivatives of the loss in the margin of threshold k."""
        xp = self._xp
        x = xp.clip(x, -self._reach(x), self._reach(x))
        small = xp.exp(-abs(x))
        large = 1.0 / (1.0 + small)  # G(|x|)
        small = small * large  # 1 - G(|x|)
        positive = x >= 0.0
        below = xp.where(positive, large, small)
        slope = xp.where(self._codes[rows] > k, below, below - 1.0)
        slope = xp.where((self._codes[rows] <= k) & positive, -small, slope)  # 1 - G without cancelling
        if majorized:
            near = abs(x) < _NEAR
            safe = xp.where(near, 1.0, x)
            curvature = xp.where(near, 0.25, xp.tanh(0.5 * safe) / (2.0 * safe))
        else:
            curvature = large * small
        return self._weighted(slope, k, rows), self._weighted(curvature, k, rows)

    def _loss(self, x: Any, k: int, rows: slice) -> Any:
        """Return the sum of the weighted losses of threshold k, a device's float64."""
        wrong = self._xp.where(self._codes[rows] > k, x, -x)  # how far the label lies on the other side
        value = self._xp.log1p(self._xp.exp(-abs(x))) + self._xp.where(wrong > 0.0, wrong, 0.0)
        return self._weighted(value, k, rows).sum(dtype=np.float64)

    def _pass(
        self,
        scores: Any,
        theta: NDArray[np.float64],
        majorized: bool,
        *,
        want_loss: bool,
        columns: Any = None,
    ) -> RoundStatistics:
        """Return the statistics of a round; see the native passes."""
        xp, n_thresholds, every = self._xp, len(theta), slice(None)
        gradient, hessian = xp.zeros(len(self.y), np.float32), xp.zeros(len(self.y), np.float32)
        first, second, finite, losses = [], [], [], []
        beyond = xp.zeros(len(self.y), np.bool_)
        for k in range(n_thresholds):
            x = self._margin(scores, theta, k, every)
            finite.append((x * 0.0).sum(dtype=np.float64))  # an infinite score does not show in the derivatives
            beyond = beyond | (abs(x) > self._reach(x))
            slope, curvature = self._derivatives(x, k, every, majorized)
            gradient -= slope
            hessian += curvature
            if columns is not None:
                columns[:, k], columns[:, n_thresholds + k] = -slope, curvature
            first.append(slope.sum(dtype=np.float64))
            second.append(curvature.sum(dtype=np.float64))
            if want_loss:
                losses.append(self._loss(x, k, every))
        n_clipped = beyond.sum(dtype=np.float64)
        sums = on_cpu(xp.stack([*first, *second, *losses, *finite, n_clipped]))  # the one copy back
        if not np.isfinite(sums).all():
            raise ValueError("raw_prediction holds NaN or infinite scores; they must be numbers")
        return RoundStatistics(
            gradient=gradient,
            hessian=hessian,
            cross=np.empty((0, n_thresholds)),
            sums=RoundSums(
                loss=float(sums[2 * n_thresholds : 2 * n_thresholds + len(losses)].sum()),
                threshold_gradient=sums[:n_thresholds],
                threshold_hessian=sums[n_thresholds : 2 * n_thresholds],
                threshold_hessian_off=np.zeros(n_thresholds - 1),
                n_floored=0,
                n_clipped=int(sums[-1]),
            ),
        )

    def _by_leaf(
        self, leaves: Any, n_leaves: int, n_columns: int, columns_of: Callable[[slice], list[Any]]
    ) -> NDArray[np.float64]:
        """Return sums of columns over the rows of each leaf, float64 (n_leaves, n_columns).

        A product of matrices for each block of rows: additions of single rows to so few sums would wait for each
        other, and end in another order each time.
        """
        xp = self._xp
        leaves = xp.asarray(leaves)
        self._refuse_leaves(leaves, n_leaves)
        numbers, total = xp.arange(n_leaves, dtype=np.int32), xp.zeros((n_leaves, n_columns))
        step = max(1, _BLOCK // (n_leaves + n_columns))
        for start in range(0, len(self.y), step):
            rows = slice(start, start + step)
            is_in = (leaves[rows][:, None] == numbers).astype(np.float64)
            total += is_in.T @ xp.stack([column.astype(np.float64) for column in columns_of(rows)], axis=1)
        return on_cpu(total)


class GPURows(_GPUPass):
    """One pass over rows with one score each: :class:`.native.RowStatistics` on a GPU.

    Gradient and Hessian of a result are the device's arrays. Cross terms of single rows are not offered.

    Parameters
    ----------
    device, loss, y, n_classes, sample_weight, part
        See :class:`_GPUPass`.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._latest: tuple[Any, NDArray[np.float64], RoundStatistics] | None = None

    def __call__(
        self, raw_prediction: Any, thresholds: ArrayLike, hessian: str = "majorized", *, want_loss: bool = True
    ) -> RoundStatistics:
        """Return the statistics of the rows at a score, of either device, and a set of thresholds."""
        self.loss.check_hessian(hessian)
        theta = check_thresholds(thresholds, self.n_classes, ordered=self.loss.ordered)
        score = self._device.here(raw_prediction)
        if score.shape != self.y.shape:
            raise ValueError(f"raw_prediction must have shape {self.y.shape}, one score a row; got {score.shape}")
        statistics = self._pass(score, theta, hessian == "majorized", want_loss=want_loss)
        self._latest = (score, theta, statistics)
        return statistics

    def leaf_sums(self, leaves: Any, n_leaves: int) -> LeafSums:
        """Return the sums of the latest call over the leaves of a tree, added up in float64."""
        if self._latest is None:
            raise ValueError("leaf_sums belongs to a score and thresholds: call the object with these first")
        score, theta, now = self._latest

        def columns(rows: slice) -> list[Any]:
            margins = (self._margin(score, theta, k, rows) for k in range(len(theta)))
            exact = [self._derivatives(x, k, rows, False)[1] for k, x in enumerate(margins)]
            return [now.gradient[rows], now.hessian[rows], *exact]

        sums = self._by_leaf(leaves, n_leaves, len(theta) + 2, columns)
        return LeafSums(sums[:, 0], sums[:, 1], -sums[:, 2:])

    def _in_float64(self, theta: NDArray[np.float64]) -> bool:
        return bool(np.ptp(theta) > _WIDEST or np.abs(theta).max() > _FARTHEST)

    def _scores_of(self, scores: Any, k: int) -> Any:
        return scores


class GPUMargins(_GPUPass):
    """One pass over rows with a score for each threshold: :class:`.margins.MarginStatistics` on a GPU.

    Scores are arrays (n_samples, n_classes - 1) that hold one threshold after the other in memory.

    Parameters
    ----------
    device, loss, y, n_classes, sample_weight, part
        See :class:`_GPUPass`.
    in_doubles : bool, default=False
        Whether scores are kept in float64.

    Attributes
    ----------
    scores_dtype : type
        float32 or float64.
    """

    def __init__(self, *args: Any, in_doubles: bool = False, **options: Any) -> None:
        super().__init__(*args, **options)
        self.loss.check_shifts()
        self.scores_dtype: type = np.float64 if in_doubles else np.float32
        self._latest: tuple[Any, NDArray[np.float64], bool] | None = None

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
        """Return the statistics of the rows at scores and thresholds; rows' derivatives come with them anyway.

        ``columns``, (n_samples, 2 (n_classes - 1)), is filled with the gradients of every threshold, then the Hessians.
        """
        self.loss.check_hessian(hessian)
        theta = check_thresholds(thresholds, self.n_classes, ordered=False)
        here = self._checked(scores)
        majorized = hessian == "majorized"
        self._latest = (here, theta, majorized)
        return self._pass(here, theta, majorized, want_loss=want_loss, columns=columns)

    def leaf_sums(self, leaves: Any, n_leaves: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return G and H of every leaf and threshold at the latest call, float64 (n_leaves, n_classes - 1) each."""
        if self._latest is None:
            raise ValueError("leaf_sums belongs to scores and thresholds: call the object with these first")
        scores, theta, majorized = self._latest
        n_thresholds = len(theta)

        def columns(rows: slice) -> list[Any]:
            margins = (self._margin(scores, theta, k, rows) for k in range(n_thresholds))
            pairs = [self._derivatives(x, k, rows, majorized) for k, x in enumerate(margins)]
            return [slope for slope, _ in pairs] + [curvature for _, curvature in pairs]

        sums = self._by_leaf(leaves, n_leaves, 2 * n_thresholds, columns)
        return -sums[:, :n_thresholds], sums[:, n_thresholds:]

    def loss_of_prediction(self, scores: Any, thresholds: ArrayLike) -> float:
        """Return the loss of the margins as predictions use them: sorted in each row, if the loss has an order."""
        theta = check_thresholds(thresholds, self.n_classes, ordered=False)
        here, every = self._checked(scores), slice(None)
        margins = self._xp.stack([self._margin(here, theta, k, every) for k in range(len(theta))])
        if self.loss.ordered:
            margins = self._xp.sort(margins, axis=0)
        losses = [self._loss(margins[k], k, every) for k in range(len(theta))]
        return float(on_cpu(self._xp.stack(losses)).sum())

    def _checked(self, scores: Any) -> Any:
        here = self._device.here(scores)
        expected = (len(self.y), self.n_classes - 1)
        if here.shape != expected:
            raise ValueError(f"scores must have shape {expected}, one for every row and threshold; got {here.shape}")
        return here

    def _in_float64(self, theta: NDArray[np.float64]) -> bool:
        return self.scores_dtype is np.float64

    def _scores_of(self, scores: Any, k: int) -> Any:
        return scores[:, k]
