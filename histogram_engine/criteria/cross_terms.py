"""Which cross terms the rows carry through the histograms, and how the others are computed from them.

With an exact Hessian, H = -sum_k L_k, so one cross term follows from the others. It is left out where the row then
needs one vector less.

With many classes the rows carry a few only. The cross term of the logit, e_k(f) = sigma(theta_k - f)
(1 - sigma(theta_k - f)), is a bump about four units wide. Where thresholds lie closer together than that, a few bumps
determine the others: at the scores of the rows, each is nearly a linear combination of the few. The same holds for
their sums over rows, so splits are judged by sums that are nearly exact. Leaves and thresholds still move by exact
sums.

One bound holds for the error in all splits. Let r_ik be the error of row i in e_k. The joint criterion sees the
errors summed over a leaf j, divided by sqrt(H_j) of the leaf and sqrt(V_k) of the threshold. By Cauchy and Schwarz

    sum_jk (sum_{i in j} w_i r_ik)^2 / (H_j V_k)  <=  sum_ik w_i r_ik^2 / (h_i V_k)

for any leaves. The fit makes the right side small, over all rows with their weights. `TOLERANCE` is its root. Rare,
distant and heavy rows count in it as much as they do in a split.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ordinal_objectives import _core
from ordinal_objectives.aliases import BoolArray, FloatArray, IndexArray, IntArray, NDArray
from ordinal_objectives.links import Logit

# Numbers of cross terms that fill the vectors of the histogram, beside gradient, Hessian and count.
WIDTHS = (1, 5, 13, 29, 45)
# With fewer classes those of all thresholds take no more room.
FEWEST_CLASSES = WIDTHS[1] + 3
# Rows times classes. With fewer, looking for few takes longer than carrying all.
FEWEST_ROWS_BY_CLASSES = 3200
# The largest error, as above. Relative errors of gains are about as large, and at most 0.5%. This holds for gains that
# float32 rows determine: not along a direction of thresholds and leaves with less than a millionth of the curvature,
# nor for gains below a thousandth of what the tree has gained already.
TOLERANCE = 1e-3
# Number of bins of the scores. Scores further than _REACH from every threshold have no curvature that counts;
# where thresholds lie so far apart that a bin is wider than _WIDEST, the reduced set is not used.
_BINS, _REACH, _WIDEST = 1024, 16.0, 0.1
# Most thresholds among which the few are chosen.
_CANDIDATES = 50
# Shares of a column and curvatures below these are rounding, not information.
_ROUNDING, _LEAST_CURVATURE = 1e-6, 1e-12
# Multiplications in one matrix product. Larger ones would start the threads of the linear algebra library, which go on
# spinning afterwards and cost more than the product.
_SMALL = 200_000


@dataclass
class CrossTerms:
    """The cross terms that rows carry.

    Attributes
    ----------
    chosen : ndarray of int32, shape (n_chosen,)
        Thresholds whose cross terms the rows carry, increasing.
    weights : ndarray of float64, shape (n_carried, n_thresholds)
        L of all thresholds is the product of the carried sums and these. Of a row's columns, which are gradient,
        Hessian, the chosen cross terms and 1, so many are carried,
    first : int
        from this one on.
    error : float
        Largest error of L, measured as for `TOLERANCE`; 0 where it is exact up to rounding.
    """

    chosen: IntArray
    weights: FloatArray
    first: int = 1
    error: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether they are those of all thresholds."""
        return self.error == 0.0

    def of_all(self, sums: FloatArray) -> FloatArray:
        """Return L of all thresholds, (n_leaves, n_thresholds), from leaves' sums of G, H, the chosen L and 1."""
        return sums[:, self.first : self.first + len(self.weights)] @ self.weights

    def threshold_hessian(self, V: FloatArray, n_rows: int) -> FloatArray:
        """Return V of an exact Hessian, computed from the same sums as the L by which splits are judged.

        V is the diagonal of -L over all rows. With an approximate L, the exact V would give a curvature to the common
        shift of score and thresholds, which changes no probability.
        """
        if self.exact:
            return V
        diagonal = np.diag(V)
        root = np.concatenate([[0.0, diagonal.sum()], -diagonal[self.chosen], [float(n_rows)]])
        return np.diag(-self.of_all(root[None])[0])

    def agree(self, V: FloatArray, n_rows: int, active: BoolArray) -> bool:
        """Tell whether the V computed from these cross terms equals the known V of an exact Hessian.

        It does where the weights were fitted to the rows that V is summed over: the errors of each threshold's cross
        term then add up to 0.
        """
        off = np.abs(np.diag(self.threshold_hessian(V, n_rows)) - np.diag(V))
        return bool((off <= TOLERANCE * np.diag(V))[active].all())


def all_cross_terms(class_weights: FloatArray, *, one_follows: bool, n_behind: int = 0) -> CrossTerms:
    """Carry the cross terms of all thresholds.

    Parameters
    ----------
    class_weights : ndarray of float64, shape (n_classes,)
    one_follows : bool
        Whether H = -sum_k L_k. Then the cross term of the threshold nearest to the middle of the classes, a large one,
        is left out where that saves a vector.
    n_behind : int
        Columns that a row has behind its count.
    """
    n_thresholds = len(class_weights) - 1
    chosen, weights = np.arange(n_thresholds, dtype=np.int32), np.eye(n_thresholds)
    if not one_follows or n_thresholds - 1 + n_behind not in WIDTHS:
        return CrossTerms(chosen, weights, first=2)
    below = np.cumsum(class_weights)[:-1] / np.sum(class_weights)
    middle = int(np.argmin(np.abs(below - 0.5)))
    weights = np.vstack([np.zeros(n_thresholds), np.delete(weights, middle, axis=0)])
    weights[:, middle] = -1.0
    return CrossTerms(np.delete(chosen, middle), weights)


class ScoreMass(NamedTuple):
    """Weights of the rows by score.

    Attributes
    ----------
    scores : ndarray of float64, shape (n_bins,)
        Mean scores of the rows in each bin that has any.
    mass : ndarray of float64, shape (n_bins,)
        Their weight.
    """

    scores: FloatArray
    mass: FloatArray


def score_mass(
    raw_prediction: FloatArray,
    sample_weight: FloatArray | None,
    thresholds: FloatArray,
    n_threads: int,
    rows: NDArray[np.uint32] | None = None,
    light: NDArray[np.uint8] | None = None,
    factor: float = 1.0,
) -> ScoreMass:
    """Add up the weights of some rows by score, None for all, in one pass over them; light ones count by a factor."""
    low, high = thresholds.min() - _REACH, thresholds.max() + _REACH
    sums = np.empty((2, _BINS))
    scale, some = _BINS / (high - low), (rows, light, factor)
    _core.score_histogram(raw_prediction, sample_weight, low, scale, sums, n_threads, *some)
    mass, moment = sums[:, sums[0] > 0.0]
    return ScoreMass(moment / mass, mass)


def few_cross_terms(
    rows: ScoreMass,
    thresholds: FloatArray,
    hessian: str,
    *,
    weighted: bool,
    active: BoolArray | None = None,
    chosen: IntArray | None = None,
    n_behind: int = 0,
) -> CrossTerms | None:
    """Choose thresholds whose bumps, beside the Hessian, nearly span those of all at the scores of the rows.

    Parameters
    ----------
    rows : ScoreMass
    thresholds : ndarray of float64, shape (n_thresholds,)
    hessian : {"exact", "majorized"}
    weighted : bool
        Whether rows have weights. Without weights, the number of rows is one more regressor of the cross terms.
    active : ndarray of bool, shape (n_thresholds,), or None
        Thresholds that move; errors of the others do not count.
    chosen : ndarray of int32 or None
        Take these.
    n_behind : int
        Columns that a row has behind its count.

    Returns
    -------
    CrossTerms or None
        None if the error of every small set is too large.
    """
    n_thresholds = len(thresholds)
    if n_thresholds + 1 < FEWEST_CLASSES or np.ptp(thresholds) + 2 * _REACH > _BINS * _WIDEST:
        return None
    distances = thresholds - rows.scores[:, None]
    bumps = Logit().density(distances)
    curvature = (bumps if hessian == "exact" else Logit().sharp_curvature(distances)).sum(axis=1)
    curvature = np.maximum(curvature, _LEAST_CURVATURE)
    V = rows.mass @ bumps
    counts = (V > 0.0) & (True if active is None else active)
    beside = [curvature] if weighted else [curvature, np.ones(len(curvature))]
    columns = np.column_stack([*beside, bumps]) * np.sqrt(rows.mass / curvature)[:, None]
    n_beside = len(beside)
    size = np.concatenate([np.linalg.norm(columns[:, :n_beside], axis=0), np.sqrt(V)])
    size[size == 0.0] = 1.0
    columns /= size
    candidates = np.arange(n_thresholds, dtype=np.int32)
    if n_thresholds > _CANDIDATES:
        candidates = np.linspace(0, n_thresholds - 1, _CANDIDATES).astype(np.int32)
    places = np.append(np.arange(n_beside), n_beside + candidates)
    products = _products(columns[:, places], columns)

    def fitted(carried: IndexArray) -> CrossTerms | None:
        """Fit all cross terms to those of places[carried] by least squares; None where the error is above TOLERANCE."""
        right = products[carried, n_beside:]
        square = products[np.ix_(carried, places[carried])]
        weights = np.linalg.lstsq(square, right, rcond=_ROUNDING**2)[0]
        squares = (columns[:, n_beside:] ** 2).sum(axis=0) - ((2.0 * right - square @ weights) * weights).sum(axis=0)
        error = np.sqrt(max(squares[counts].sum(), _ROUNDING**2))
        if error > TOLERANCE:
            return None
        weights *= size[n_beside:] / size[places[carried], None]
        if hessian == "exact":
            # The bumps of all thresholds add up to the Hessian, so that the common shift has no curvature.
            weights -= weights.mean(axis=1, keepdims=True)
            weights[0] += 1.0 / n_thresholds
        # Rows carry H, the chosen L_k = -e_k and 1.
        order = np.concatenate([[0], np.arange(n_beside, len(carried)), np.arange(1, n_beside)])
        weights[:n_beside] *= -1.0
        return CrossTerms(candidates[carried[n_beside:] - n_beside], weights[order], error=float(error))

    if chosen is not None:
        return fitted(np.append(np.arange(n_beside), n_beside + np.searchsorted(candidates, chosen)))
    widths = [width - n_behind for width in WIDTHS[1:] if width - n_behind < n_thresholds - 1]
    for carried in _choices(products[:, places], n_beside, counts[candidates], widths):
        few = fitted(carried)
        if few is not None:
            return few
    return None


def _products(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a'b, in blocks of rows."""
    block = max(1, _SMALL // (a.shape[1] * b.shape[1]))
    total = np.zeros((a.shape[1], b.shape[1]))
    for first in range(0, len(a), block):
        total += a[first : first + block].T @ b[first : first + block]
    return total


def _choices(square: FloatArray, n_given: int, counts: BoolArray, widths: list[int]) -> Iterator[IndexArray]:
    """Choose columns by a pivoted Cholesky decomposition of their products; yield the sets of the sizes to be tried.

    The given columns come first. Then comes at each step the column that the earlier ones explain least.
    """
    rest = square.copy()
    free = np.append(np.zeros(n_given, bool), np.ones(len(counts), bool))
    counts = np.append(np.zeros(n_given, bool), counts)
    for n_chosen in range(-n_given, widths[-1]):
        left = rest.diagonal()
        pivot = n_chosen + n_given if n_chosen < 0 else int(np.argmax(np.where(free, left * counts, -1.0)))
        free[pivot] = False
        if left[pivot] > _ROUNDING**2 * square[pivot, pivot]:
            column = rest[pivot] / np.sqrt(left[pivot])
            rest -= column[:, None] * column
        if n_chosen + 1 in widths and rest.diagonal()[counts & free].sum() <= TOLERANCE**2:
            yield np.append(np.arange(n_given), np.flatnonzero(~free)[n_given:])
