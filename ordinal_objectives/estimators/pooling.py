"""Weights of a pool: which average of several models' probabilities predicts known labels best."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

CRITERIA = ("log_loss", "rps")
# The probability that a class counts with which all models rule out: its logarithm must be finite.
_LEAST = np.finfo(np.float64).tiny
# How far above the minimum, of which the gap of Frank and Wolfe is a bound, weights may be.
_GAP = 1e-5
Criterion = Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]


def best_weights(
    proba: NDArray[np.float64], codes: NDArray[np.int32], sample_weight: NDArray[np.float64] | None, criterion: str
) -> NDArray[np.float64]:
    """Return weights of models, non-negative and of sum 1, whose pooled probabilities score best.

    Both criteria are convex in the weights, so a local minimum is a global one. The solver is SciPy's SLSQP, which
    starts at equal weights.

    Parameters
    ----------
    proba : ndarray of float64, shape (n_models, n_samples, n_classes)
        Columns from the lowest class to the highest.
    codes : ndarray of int32, shape (n_samples,)
    sample_weight : ndarray of float64, shape (n_samples,), or None
    criterion : {"log_loss", "rps"}

    Returns
    -------
    ndarray of float64, shape (n_models,)

    Warns
    -----
    ConvergenceWarning
        If the solver stopped before the minimum.
    """
    share = np.ones(len(codes)) if sample_weight is None else sample_weight
    share = share / share.sum()
    value = (_log_loss if criterion == "log_loss" else _rps)(proba, codes, share)
    n_models = len(proba)
    found = minimize(
        value,
        np.full(n_models, 1 / n_models),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * n_models,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": np.ones_like},
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    weights: NDArray[np.float64] = np.clip(found.x, 0.0, None)
    weights /= weights.sum()
    gradient = value(weights)[1]
    if not weights @ gradient - gradient.min() <= _GAP:
        warnings.warn(
            f"the weights are not those of the lowest {criterion}: {found.message}", ConvergenceWarning, stacklevel=2
        )
    return weights


def _log_loss(proba: NDArray[np.float64], codes: NDArray[np.int32], share: NDArray[np.float64]) -> Criterion:
    of_label = proba[:, np.arange(len(codes)), codes]

    def value(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        pooled = np.maximum(w @ of_label, _LEAST)
        return -float(share @ np.log(pooled)), -(of_label @ (share / pooled))

    return value


def _rps(proba: NDArray[np.float64], codes: NDArray[np.int32], share: NDArray[np.float64]) -> Criterion:
    below = np.arange(proba.shape[2] - 1) >= codes[:, np.newaxis]
    away = (np.cumsum(proba[..., :-1], axis=2) - below) * np.sqrt(share)[:, np.newaxis]
    away = away.reshape(len(proba), -1)
    gram = away @ away.T

    def value(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        return float(w @ gram @ w), 2.0 * gram @ w

    return value
