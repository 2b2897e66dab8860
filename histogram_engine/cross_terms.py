"""Which cross terms the rows carry through the histograms, and how those of all thresholds follow from them.

With an exact Hessian, H = -sum_k L_k: one of the cross terms need not be carried where that saves a wider vector.

Of many classes few are. The cross term of the logit, e_k(f) = sigma(theta_k - f) (1 - sigma(theta_k - f)), is a bump
about four units wide. Where thresholds lie closer together than that, their bumps are nearly linear combinations of
those of a few of them, at every score; so are all sums over rows. Splits are then judged by sums that nearly are those
of all thresholds. Leaves and thresholds still move by exact sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from ordinal_objectives.links import Logit

# Numbers of cross terms that fill the vectors of the histogram, beside gradient, Hessian and count.
WIDTHS = (1, 5, 13, 29, 45)
# Largest distance of a cross term from what the carried ones say of it, relative to the typical cross term. The gain
# of a split, which the cross terms enter through their sums, is off by a hundredth of it or less.
TOLERANCE = 2e-2
# Scores are judged by so many quantiles of so many rows, and so many thresholds stand for judgement. Larger matrices
# would wake the linear algebra library's threads, whose patience afterwards costs more than the work.
_QUANTILES, _SAMPLE, _CANDIDATES = 128, 1024, 50
# Combinations of the carried columns whose share is below this are rounding, not information.
_ROUNDING = 1e-6


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
    exact : bool
        Whether L is that up to rounding, or only nearly.
    """

    chosen: NDArray[np.int32]
    weights: NDArray[np.float64]
    first: int = 1
    exact: bool = True

    def of_all(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return L of all thresholds, (n_leaves, n_thresholds), from leaves' sums of G, H, the chosen L and 1."""
        return sums[:, self.first : self.first + len(self.weights)] @ self.weights

    def threshold_hessian(self, V: NDArray[np.float64], n_rows: int) -> NDArray[np.float64]:
        """Return V of an exact Hessian, the diagonal of all rows' -L, as the sums say it by which splits are judged.

        Otherwise a step along a common shift of score and thresholds would not be free.
        """
        if self.exact:
            return V
        diagonal = np.diag(V)
        root = np.concatenate([[0.0, diagonal.sum()], -diagonal[self.chosen], [float(n_rows)]])
        return np.diag(-self.of_all(root[None])[0])


def no_cross_terms() -> CrossTerms:
    """Where thresholds have no part in the splits."""
    return CrossTerms(np.zeros(0, np.int32), np.zeros((0, 0)))


def all_cross_terms(class_weights: NDArray[np.float64], *, one_follows: bool) -> CrossTerms:
    """Carry the cross terms of all thresholds.

    Parameters
    ----------
    class_weights : ndarray of float64, shape (n_classes,)
    one_follows : bool
        Whether H = -sum_k L_k. The threshold that halves the classes, whose cross term is large, may be left out.
    """
    n_thresholds = len(class_weights) - 1
    chosen, weights = np.arange(n_thresholds, dtype=np.int32), np.eye(n_thresholds)
    if not one_follows or n_thresholds - 1 not in WIDTHS:
        return CrossTerms(chosen, weights, first=2)
    below = np.cumsum(class_weights)[:-1] / np.sum(class_weights)
    middle = int(np.argmin(np.abs(below - 0.5)))
    weights = np.vstack([np.zeros(n_thresholds), np.delete(weights, middle, axis=0)])
    weights[:, middle] = -1.0
    return CrossTerms(np.delete(chosen, middle), weights)


def few_cross_terms(
    raw_prediction: NDArray[np.float64], thresholds: NDArray[np.float64], hessian: str, *, weighted: bool
) -> CrossTerms | None:
    """Choose thresholds whose bumps, beside the Hessian, span those of all at quantiles of the scores.

    Parameters
    ----------
    raw_prediction : ndarray of float64, shape (n_samples,)
    thresholds : ndarray of float64, shape (n_thresholds,)
    hessian : {"exact", "majorized"}
    weighted : bool
        Whether rows have weights. Where they have none, the number of rows says one thing more of the cross terms.

    Returns
    -------
    CrossTerms or None
        None where only the cross terms of all thresholds will do.
    """
    n_thresholds = len(thresholds)
    widths = [width for width in WIDTHS[1:] if width < n_thresholds - 1]
    if not widths:
        return None
    scores = np.sort(raw_prediction[:: max(1, len(raw_prediction) // _SAMPLE)])
    scores = scores[np.linspace(0, len(scores) - 1, min(_QUANTILES, len(scores))).astype(int)]
    distances = thresholds - scores[:, None]
    bumps = Logit().density(distances)
    curvature = (bumps if hessian == "exact" else Logit().sharp_curvature(distances)).sum(axis=1)
    beside = [curvature] if weighted else [curvature, np.ones(len(scores))]
    candidates = np.linspace(0, n_thresholds - 1, min(_CANDIDATES, n_thresholds)).astype(np.int32)
    places = _choose(bumps[:, candidates], beside, widths)
    if places is None:
        return None
    chosen = candidates[places]
    carried = np.column_stack([curvature, bumps[:, chosen], *beside[1:]])
    weights = np.linalg.lstsq(carried, bumps, rcond=_ROUNDING)[0]
    if hessian == "exact":
        # The bumps of all thresholds add up to the Hessian, or the step along a common shift would not be free.
        weights -= weights.mean(axis=1, keepdims=True)
        weights[0] += 1.0 / n_thresholds
    signs = np.ones(len(weights))
    signs[0] = signs[1 + len(chosen) :] = -1.0  # L_k = -e_k
    return CrossTerms(chosen, signs[:, None] * weights, exact=False)


def _choose(
    columns: NDArray[np.float64], given: list[NDArray[np.float64]], widths: list[int]
) -> NDArray[np.intp] | None:
    """Choose columns by a pivoted QR decomposition, until those left out are near the span of all others.

    None where the largest width does not do.
    """
    rest = np.column_stack([*given, columns])
    for k, column in enumerate(given):
        direction, size = rest[:, k], np.linalg.norm(rest[:, k])
        if size > _ROUNDING * np.linalg.norm(column):
            direction = direction / size
            rest = rest - np.outer(direction, direction @ rest)
    R, order = qr(rest[:, len(given) :], mode="r", pivoting=True, check_finite=False)
    # Entry k is the largest distance of a column from the span of the given ones and the k before it in the order.
    distance = np.abs(np.diag(R))
    allowed = TOLERANCE * np.sqrt((columns**2).sum() / columns.shape[1])
    for width in widths:
        if width >= len(distance) or distance[width] <= allowed:
            chosen: NDArray[np.intp] = np.sort(order[:width])
            return chosen
    return None
