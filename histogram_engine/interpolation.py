"""Many classes: the cross terms of a few thresholds stand for those of all.

The cross term of the logit, e_k(f) = sigma(theta_k - f) (1 - sigma(theta_k - f)), is a bump about four units wide.
Where thresholds lie closer together than that, their bumps are nearly linear combinations of those of a few of them,
at every score; so are all sums over rows. Histograms then hold the sums of these few alone, whatever the number of
classes, and splits are judged by the sums of all that follow from them. Leaves and thresholds still move by exact sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.special import expit

# Numbers of cross terms that fill the vectors of the histogram, beside gradient and Hessian.
WIDTHS = (14, 30, 46)
# Largest distance of a left-out column from the span of the others, relative to the typical column. The gain of a
# split, which the cross terms enter through their sums, is off by a tenth of it or less.
TOLERANCE = 1e-4
# Scores are judged by so many quantiles of so many rows. Larger matrices would wake the linear algebra library's
# threads (as its triangular solve does at any size), whose patience afterwards costs more than the work.
_QUANTILES, _SAMPLE = 128, 4096
_SINGULAR = 1e-10


@dataclass
class CrossInterpolation:
    """L = L[:, chosen] @ weights, for the score and the thresholds it was made at.

    Attributes
    ----------
    chosen : ndarray of int32, shape (n_chosen,)
        Thresholds whose cross terms are kept, increasing.
    weights : ndarray of float64, shape (n_chosen, n_thresholds)
    """

    chosen: NDArray[np.int32]
    weights: NDArray[np.float64]


def interpolate_cross_terms(
    raw_prediction: NDArray[np.float64], thresholds: NDArray[np.float64]
) -> CrossInterpolation | None:
    """Choose thresholds by an interpolative decomposition (pivoted QR) of the bumps at quantiles of the scores.

    Parameters
    ----------
    raw_prediction : ndarray of float64, shape (n_samples,)
    thresholds : ndarray of float64, shape (n_thresholds,)

    Returns
    -------
    CrossInterpolation or None
        None where keeping all thresholds is as narrow.
    """
    narrower = [width for width in WIDTHS if width < len(thresholds)]
    if not narrower:
        return None
    scores = np.sort(raw_prediction[:: max(1, len(raw_prediction) // _SAMPLE)])
    scores = scores[np.linspace(0, len(scores) - 1, min(_QUANTILES, len(scores))).astype(int)]
    sigma = expit(thresholds - scores[:, None])
    R, order = qr(sigma * (1.0 - sigma), mode="r", pivoting=True)
    # Entry k bounds every column's distance from the span of the k columns before it in the order.
    distance = np.abs(np.diag(R))
    allowed = TOLERANCE * np.sqrt((R**2).sum() / len(thresholds))
    for width in narrower:
        if width >= len(distance) or distance[width] <= allowed:
            break
    else:
        return None
    rank = int(np.count_nonzero(distance[:width] > _SINGULAR * distance[0]))
    weights = np.zeros((width, len(thresholds)))
    weights[np.arange(rank), order[:rank]] = 1.0
    weights[:rank, order[rank:]] = np.linalg.solve(R[:rank, :rank], R[:rank, rank:])
    rows = np.argsort(order[:width])
    return CrossInterpolation(order[:width][rows].astype(np.int32), np.ascontiguousarray(weights[rows]))
