"""Rows in bins of a stated probability, for each threshold."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Bins(NamedTuple):
    """Sums over the rows of each bin, (n_classes - 1, n_bins): of P(y <= k), y <= k, weights, and their squares."""

    stated: Array
    happened: Array
    weight: Array
    squared_weight: Array


def in_bins(true: NDArray[Any], proba: NDArray[Any], weight: Array, n_bins: int) -> Bins:
    """Return the sums over rows whose P(y <= k) lies in the same of ``n_bins`` even parts of [0, 1]."""
    stated = np.cumsum(proba, axis=1, dtype=np.float64)[:, :-1]
    thresholds = np.arange(stated.shape[1])
    happened = true[:, np.newaxis] <= thresholds
    # Sums such as 0.1 + 0.2 belong to the bin that 0.3 begins.
    inside = np.clip(np.round(stated * n_bins, 6), 0, n_bins - 1).astype(np.intp)
    places = (thresholds * n_bins + inside).ravel()
    every = np.broadcast_to(weight[:, np.newaxis], stated.shape)

    def sums(values: Array) -> Array:
        found: NDArray[Any] = np.bincount(places, weights=values.ravel(), minlength=thresholds.size * n_bins)
        return found.reshape(-1, n_bins)

    return Bins(sums(every * stated), sums(every * happened), sums(every), sums(every**2))
