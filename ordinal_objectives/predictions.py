"""From scores to probabilities, whether a row has one score or one for each threshold."""

from __future__ import annotations

import numpy as np

from ordinal_objectives.aliases import FloatArray
from ordinal_objectives.losses import OrdinalLoss

# Margins at a time: what is computed of them stays in the processor's own memory.
_BLOCK = 1 << 15


def add_scores(before: FloatArray, scores: FloatArray) -> FloatArray:
    """Return the sum of scores, of which either may be one for a row or one for each threshold."""
    if before.ndim < scores.ndim:
        before = before[:, np.newaxis]
    return before + scores


def score(scores: FloatArray) -> FloatArray:
    """Return the score f of each row, (n_samples,): the mean of f + v_k, whose shifts v sum to zero."""
    return scores if scores.ndim == 1 else scores.mean(axis=1)


def without_mean(scores: FloatArray) -> FloatArray:
    """Return the shifts v_k of scores f + v_k, (n_samples, n_classes - 1)."""
    return scores - scores.mean(axis=1, keepdims=True)


def proba(loss: OrdinalLoss, scores: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return P(y = k), (n_samples, n_classes)."""
    n_samples, step = len(scores), max(1, _BLOCK // len(thresholds))
    if n_samples > step:
        found = np.empty((n_samples, len(thresholds) + 1))
        for first in range(0, n_samples, step):
            found[first : first + step] = proba(loss, scores[first : first + step], thresholds)
        return found
    if scores.ndim == 1:
        return loss.predict_proba(scores, thresholds)
    return loss.margin_proba(thresholds - scores)


def cumulative_proba(loss: OrdinalLoss, scores: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return P(y <= k), (n_samples, n_classes - 1)."""
    if scores.ndim == 1:
        return loss.cumulative_proba(scores, thresholds)
    return loss.margin_cumulative_proba(thresholds - scores)
