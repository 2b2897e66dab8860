"""How much splits by categories gain by chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Enough to tell the noise of a training.
_ROWS = 8192


def of_score(columns: NDArray[np.float32], n_gradients: int) -> float:
    """Return the mean squared gradient of the score over its mean Hessian.

    Where a category means nothing, the sum G of its rows' gradients has about this variance times H, and it adds to
    the gain G^2 / H in proportion.

    Parameters
    ----------
    columns : ndarray of float32, shape (n_samples, at least 2 n_gradients)
        Gradients, of the score or of groups of thresholds, and as many Hessians.
    n_gradients : int
    """
    some = columns[:: len(columns) // _ROWS + 1, : 2 * n_gradients].astype(np.float64)
    return _ratio((some[:, :n_gradients].sum(axis=1) ** 2).sum(), some[:, n_gradients:].sum())


def of_outputs(gradient: NDArray[np.floating], hessian: NDArray[np.floating]) -> float:
    """Return the same for the outputs on average.

    Parameters
    ----------
    gradient : ndarray, shape (n_samples, n_outputs)
    hessian : ndarray, shape (n_samples, 1 or n_outputs), or (n_samples, n_outputs, n_outputs)
    """
    d, step = gradient.shape[1], len(gradient) // _ROWS + 1
    g, h = gradient[::step].astype(np.float64), hessian[::step].astype(np.float64)
    total = np.einsum("njj->", h) if h.ndim == 3 else h.sum() * (d / h.shape[1])
    return _ratio((g**2).sum(), total)


def _ratio(squares: float, curvature: float) -> float:
    return float(squares / curvature) if curvature > 0.0 else 0.0
