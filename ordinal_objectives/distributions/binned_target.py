"""A number cut into ordered classes, and distributions of it from probabilities of the classes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ordinal_objectives.aliases import FloatArray, IndexArray, IntArray
from ordinal_objectives.ordinal_labels import OrdinalLabels
from ordinal_objectives.utils.validation import first_few

# Ranks that differ by less are one: sums of weights and of probabilities are rounded.
SAME_RANK = 1e-12
# Steps towards the shares that make intervals most likely; changes, as a part of all weight, that end them; and of the
# mean of all shares, what is none.
_STEPS, _LEAST_CHANGE, _LEAST_SHARE = 500, 1e-9, 1e-6
# Weights of rows below this make sums slow, and count nothing.
_NEXT_TO_NOTHING = 1e-30


def most_likely(lower: FloatArray, upper: FloatArray, weight: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return the finite ends of intervals, and the weight that each has if these are as likely as can be.

    That is the self-consistent estimate (Turnbull, The empirical distribution function with arbitrarily grouped,
    censored and truncated data, JRSS B 1976); of numbers that are known or at least so much, Kaplan and Meier's. Its
    EM steps are lengthened by how they change (Varadhan and Roland, Simple and globally convergent methods for
    accelerating the convergence of any EM algorithm, Scandinavian Journal of Statistics 2008).
    """
    of_rows = np.ones(len(lower)) if weight is None else weight
    lower, upper, of_rows = (of[of_rows > 0.0] for of in (lower, upper, of_rows))
    values = np.unique(np.append(lower, upper))
    values = values[np.isfinite(values)]
    first, end, n = np.searchsorted(values, lower), np.searchsorted(values, upper, "right"), len(values) + 1
    # Only a lower end that is followed by an upper one, or is one, and that upper one can have weight.
    is_lower, is_upper = np.isin(values, lower), np.isin(values, upper)
    begins = is_lower & (is_upper | ~np.append(is_lower[1:], False))
    ends = is_upper & (is_lower | ~np.append(False, is_upper[:-1]))
    mass = (begins | ends).astype(np.float64)

    def stepped(mass: FloatArray) -> FloatArray:
        below = np.append(0.0, np.cumsum(mass))
        share = of_rows / np.maximum(below[end] - below[first], 1e-300)
        expected = np.cumsum(np.bincount(first, share, n) - np.bincount(end, share, n))[:-1]
        return mass * np.maximum(expected, 0.0)

    for _ in range(_STEPS):
        once = stepped(mass)
        twice = stepped(once)
        change, bend = once - mass, twice - 2.0 * once + mass
        if np.abs(change).sum() <= _LEAST_CHANGE * of_rows.sum():
            break
        factor = max(1.0, float(np.sqrt((change**2).sum() / max((bend**2).sum(), 1e-300))))
        far = mass + 2.0 * factor * change + factor**2 * bend
        mass = stepped(np.where(far > _NEXT_TO_NOTHING, far, twice))
        mass[mass < _NEXT_TO_NOTHING] = 0.0
    return values, np.where(mass > _LEAST_SHARE * of_rows.sum() / n, mass, 0.0)


@dataclass(frozen=True)
class BinnedTarget:
    """Training values of a number, cut into ordered classes.

    Class k holds the values above cut k - 1, up to and with cut k. Inside a class a predicted distribution is that of
    the training values there. With F the distribution of all training values, and W_k = F(cut k), it is

        F(t | x) = A_x(F(t)),

    where A_x is piecewise linear through (0, 0), the (W_k, P(y <= cut k | x)) and (1, 1). So it gives probability to
    training values only.

    Attributes
    ----------
    values : ndarray of float64, shape (n_values,)
        Distinct training values, rising.
    share : ndarray of float64, shape (n_values,)
        F at each of them: the weighted share of rows with at most that value.
    last : ndarray of intp, shape (n_classes,)
        Place in ``values`` of the highest value of each class.
    """

    values: FloatArray
    share: FloatArray
    last: IndexArray

    @classmethod
    def fit(cls, y: FloatArray, weight: FloatArray | None, cuts: int | FloatArray, tails: float = 1.0) -> BinnedTarget:
        """Return training values with cuts at them: given ones, or at so many quantiles.

        A value that so large a share of the rows has that a quantile falls on it, a heap, is a class of its own. The
        outer classes are halved as long as they keep a share of ``tails``.

        Raises
        ------
        ValueError
            If all rows have one value, or there is none on a side of a given cut.
        """
        values, place = np.unique(y, return_inverse=True)
        mass = np.bincount(place, weight)
        values, mass = values[mass > 0.0], mass[mass > 0.0]
        if len(values) < 2:
            raise ValueError(
                f"y must hold at least two distinct values in rows with weight; got only {values.tolist()}"
            )
        share = np.cumsum(mass) / mass.sum()
        share[-1] = 1.0
        if isinstance(cuts, int):
            n_halved = max(0, math.floor(math.log2(1.0 / ((cuts + 1) * tails))))
            outer = 0.5 ** np.arange(1, 1 + n_halved) / (cuts + 1)
            wanted = np.concatenate([outer, np.arange(1, cuts + 1) / (cuts + 1), 1.0 - outer])
            inner = np.searchsorted(share, wanted - SAME_RANK)
            heaps = inner[np.diff(share, prepend=0.0)[inner] * (cuts + 1) >= 1.0 - SAME_RANK]
            inner = np.union1d(inner, heaps - 1)
            inner = inner[(inner >= 0) & (inner < len(values) - 1)]
        else:
            inner = np.searchsorted(values, cuts, side="right") - 1
            empty = [
                cut for cut, high, low in zip(cuts, inner, [-1, *inner], strict=False) if high in (low, len(values) - 1)
            ]
            if empty:
                raise ValueError(
                    f"cuts must have training values of y between them, and on both sides; got {first_few(empty)}"
                )
        return cls(values, share, np.append(inner, len(values) - 1))

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.last)

    @property
    def cuts(self) -> FloatArray:
        """The highest value of each class but the last, (n_classes - 1,)."""
        return self.values[self.last[:-1]]

    @cached_property
    def knots(self) -> FloatArray:
        """0 and the share of rows up to each cut, and up to the highest value, (n_classes + 1,)."""
        return np.append(0.0, self.share[self.last])

    @cached_property
    def first(self) -> IndexArray:
        """Place in ``values`` of the lowest value of each class."""
        return np.append(0, self.last[:-1] + 1)

    def encode(self, y: FloatArray) -> IntArray:
        """Return the class of each number, int32; numbers beyond the training values belong to the outer classes."""
        return np.searchsorted(self.cuts, y).astype(np.int32)

    def encode_intervals(self, lower: FloatArray, upper: FloatArray) -> OrdinalLabels:
        """Return labels of the classes that each interval covers, and of how much of each: ends may lie inside of one.

        With d_k the share of class k's training values that lies in the interval, the interval has the probability
        sum_k d_k P(class k | x). Only ratios of the d_k matter, and the largest is 1. An interval without a training
        value belongs to the class of its lower end.
        """
        places = np.searchsorted(self.values, lower), np.searchsorted(self.values, upper, side="right")
        (start, end), codes = np.unique(np.stack(places), axis=1, return_inverse=True)
        below, low, high = np.append(0.0, self.share), self.knots[:-1], self.knots[1:]
        inside = np.clip(below[end, np.newaxis], low, high) - np.clip(below[start, np.newaxis], low, high)
        parts = inside / (high - low)
        empty = np.flatnonzero(start == end)
        parts[empty, np.searchsorted(self.last[:-1], start[empty])] = 1.0
        parts /= parts.max(axis=1, keepdims=True)
        return OrdinalLabels(parts, codes.ravel(), np.arange(self.n_classes), between=True)

    def cumulative(self, proba: FloatArray) -> FloatArray:
        """Return A_x at the knots, (n_samples, n_classes + 1), from probabilities of the classes."""
        at_knots = np.zeros((len(proba), self.n_classes + 1))
        np.cumsum(proba, axis=1, out=at_knots[:, 1:])
        at_knots /= at_knots[:, -1:]
        return at_knots

    @cached_property
    def means(self) -> FloatArray:
        """Mean of the training values of each class."""
        mass = np.diff(self.share, prepend=0.0)
        return np.add.reduceat(mass * self.values, self.first) / np.add.reduceat(mass, self.first)

    def mean(self, proba: FloatArray) -> FloatArray:
        """Return the mean of each row's distribution, (n_samples,)."""
        return proba @ self.means

    def cdf(self, proba: FloatArray, t: FloatArray) -> FloatArray:
        """Return P(y <= t | x), (n_samples, n_points).

        Parameters
        ----------
        proba : ndarray of shape (n_samples, n_classes)
        t : ndarray of shape (1 or n_samples, n_points)
        """
        at_knots, place = self.cumulative(proba), np.searchsorted(self.values, t, side="right")
        rank = np.append(0.0, self.share)[place]
        k = np.searchsorted(self.last, place - 1)
        inside = (rank - self.knots[k]) / (self.knots[k + 1] - self.knots[k])
        k = np.broadcast_to(k, (len(proba), t.shape[1]))
        below = np.take_along_axis(at_knots, k, axis=1)
        return below + inside * (np.take_along_axis(at_knots, k + 1, axis=1) - below)

    def quantiles(self, proba: FloatArray, q: FloatArray) -> FloatArray:
        """Return the lowest training values t with P(y <= t | x) >= q, (n_samples, n_levels).

        Parameters
        ----------
        proba : ndarray of shape (n_samples, n_classes)
        q : ndarray of shape (1 or n_samples, n_levels)
        """
        at_knots, first = self.cumulative(proba), self.first
        found, rows = np.empty((len(proba), q.shape[1])), np.arange(len(proba))
        for j, level in enumerate(q.T):
            k = (at_knots[:, 1:-1] < level[:, np.newaxis] - SAME_RANK).sum(axis=1)
            below, width = at_knots[rows, k], at_knots[rows, k + 1] - at_knots[rows, k]
            inside = np.clip((level - below) / np.where(width > 0.0, width, 1.0), 0.0, 1.0)
            rank = self.knots[k] + inside * (self.knots[k + 1] - self.knots[k])
            place = np.searchsorted(self.share, rank - SAME_RANK)
            found[:, j] = self.values[np.clip(place, first[k], self.last[k])]
        return found

    def crps(self, proba: FloatArray, y: FloatArray) -> FloatArray:
        """Return the continuous ranked probability score of each row, the integral of (F(t | x) - [y <= t])^2 over t.

        F(t | x) is constant between neighbouring training values: the integral is exact, from sums over the values of
        each class that do not depend on x.
        """
        at_knots = self.cumulative(proba)
        below, width = at_knots[:, :-1], np.diff(at_knots, axis=1)
        first = self.first
        k_of = np.repeat(np.arange(self.n_classes), np.diff(self.last, prepend=-1))
        inside = (self.share - self.knots[k_of]) / np.diff(self.knots)[k_of]
        length = np.append(np.diff(self.values), 0.0)
        lengths, first_order, second_order = (np.add.reduceat(length * inside**power, first) for power in (0, 1, 2))
        squared = (below**2) @ lengths + 2.0 * (below * width) @ first_order + (width**2) @ second_order
        # What lies above y: of the later classes, of the later values of its own class, and up to the next value.
        of_class = below * lengths + width * first_order
        later = of_class.sum(axis=1, keepdims=True) - np.cumsum(of_class, axis=1)
        within = np.clip(y, self.values[0], self.values[-1])
        place = np.searchsorted(self.values, within, side="right") - 1
        k, rows = k_of[place], np.arange(len(y))
        sums = [np.cumsum(length * inside**power) for power in (0, 1)]
        rest = [total[self.last[k]] - total[place] for total in sums]
        gap = np.append(self.values[1:], self.values[-1])[place] - within
        b, w = below[rows, k], width[rows, k]
        above = later[rows, k] + b * rest[0] + w * rest[1] + (b + w * inside[place]) * gap
        return squared + (self.values[-1] - within) - 2.0 * above + np.abs(y - within)
