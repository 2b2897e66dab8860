"""Rows with their classes, and the start of a training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ordinal_objectives.row_blocks import RowBlocks

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class LabelledRows:
    """Features, class codes and weights, checked. Read, never changed.

    Attributes
    ----------
    X : ndarray of float32 or float64, or RowBlocks, shape (n_samples, n_features)
        NaN is missing.
    y : ndarray of int32, shape (n_samples,)
        Class codes.
    n_classes : int
    sample_weight : ndarray of float64, shape (n_samples,), or None
    start : ndarray of float64, shape (n_samples,), or None
        Scores that the trees' are added to.
    categories : mapping of int to int
        Columns that hold numbers of categories, and how many each has.
    """

    X: NDArray[np.floating] | RowBlocks
    y: NDArray[np.int32]
    n_classes: int
    sample_weight: FloatArray | None = None
    start: FloatArray | None = None
    categories: Mapping[int, int] = field(default_factory=dict)

    def started(self, score: FloatArray) -> FloatArray:
        """Return the trees' score, one for all thresholds or one for each, added to the start."""
        if self.start is None:
            return score
        return score + (self.start if score.ndim == 1 else self.start[:, np.newaxis])

    def labels(self, rows: NDArray[np.uint32]) -> tuple[NDArray[np.int32], FloatArray | None]:
        """Return class codes and weights of some rows."""
        return self.y[rows], self.weights(rows)

    def weights(self, rows: NDArray[np.uint32] | None) -> FloatArray | None:
        """Return the weights of some rows, or None where there are none; `rows` is None for all."""
        return self.sample_weight if self.sample_weight is None or rows is None else self.sample_weight[rows]


@dataclass(frozen=True)
class RunStart:
    """Start of a run: a score of 0, or the end of another training.

    Attributes
    ----------
    score : ndarray of float64, shape (n_samples,) or (n_samples, n_classes - 1), or None
        Of the rows, one for all thresholds or one for each; None for 0.
    thresholds : ndarray of float64, shape (n_classes - 1,), or None
        None for those that fit the score.
    iteration : int
        Trees that have been grown.
    cuts : list of ndarray or None
        Cuts of the features; None to find them.
    curvature : ndarray of float64, shape (n_classes - 1,), or None
        What thresholds are grouped by, where they are; None to compute it.
    """

    score: FloatArray | None = None
    thresholds: FloatArray | None = None
    iteration: int = 0
    cuts: list[FloatArray] | None = None
    curvature: FloatArray | None = None
