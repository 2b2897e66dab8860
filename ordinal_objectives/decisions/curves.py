"""Curves that turn stated cumulative probabilities into those that were seen, and keep their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

Array = NDArray[np.float64]
# Stated probabilities of 0 and 1 have a logit of some 14.
LEAST = 1e-6


def cumulative(proba: Array) -> Array:
    """Return P(y <= k) of all classes but the highest."""
    return np.minimum(np.cumsum(proba, axis=1)[:, :-1], 1.0)


class Curve(Protocol):
    """What cumulative probabilities become, (n_samples, n_classes - 1) to the same shape."""

    def __call__(self, stated: Array) -> Array:
        """Return what was stated, as it was seen."""
        ...


@dataclass(frozen=True)
class Sigmoids:
    """A curve for each threshold: a shift and a stretch of the logit."""

    shifts: Array
    stretches: Array

    @classmethod
    def fit(cls, stated: Array, happened: NDArray[np.bool_], weight: Array) -> Sigmoids:
        """Return the likeliest curves, with the targets of Platt, which leave no curve infinite."""
        found = np.array([_sigmoid(one, seen, weight) for one, seen in zip(_logit(stated).T, happened.T, strict=True)])
        return cls(*found.T)

    def __call__(self, stated: Array) -> Array:
        """Return what was stated, as it was seen."""
        changed: Array = expit(self.shifts + self.stretches * _logit(stated))
        return changed


def _logit(stated: Array) -> Array:
    found: Array = logit(np.clip(stated, LEAST, 1.0 - LEAST))
    return found


def _sigmoid(stated: Array, happened: NDArray[np.bool_], weight: Array) -> Array:
    """Return shift and stretch, which is not negative: a higher probability stays the higher one."""
    total, n_happened = weight.sum(), weight[happened].sum()
    target = np.where(happened, (n_happened + 1.0) / (n_happened + 2.0), 1.0 / (total - n_happened + 2.0))

    def loss(parameters: Array) -> tuple[float, Array]:
        margin = parameters[0] + parameters[1] * stated
        slope = weight * (expit(margin) - target) / total
        value = weight @ (np.logaddexp(0.0, margin) - target * margin) / total
        return float(value), np.array([slope.sum(), slope @ stated])

    options = {"ftol": 1e-14, "gtol": 1e-10, "maxiter": 500}
    bounds = ((None, None), (0.0, None))
    best: Array = minimize(loss, [0.0, 1.0], jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    return best


@dataclass(frozen=True)
class Isotonic:
    """One rising curve for all thresholds, so that cumulative probabilities keep their order."""

    regression: Any

    @classmethod
    def fit(cls, stated: Array, happened: NDArray[np.bool_], weight: Array) -> Isotonic:
        """Return the rising steps with the least squared error over all rows and thresholds."""
        regression = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        weights = np.repeat(weight, stated.shape[1])
        return cls(regression.fit(stated.ravel(), happened.ravel().astype(np.float64), sample_weight=weights))

    def __call__(self, stated: Array) -> Array:
        """Return what was stated, as it was seen."""
        changed: Array = self.regression.predict(stated.ravel()).reshape(stated.shape)
        return changed


CURVES: dict[str, Any] = {"sigmoid": Sigmoids, "isotonic": Isotonic}


@dataclass(frozen=True)
class Recalibration:
    """A fitted curve, and the weight of the rows that it was fitted to."""

    curve: Curve
    total: float

    @classmethod
    def fit(cls, method: str, proba: Array, codes: NDArray[np.int32], weight: Array | None) -> Recalibration:
        """Fit the curve of a method to probabilities, lowest class first, of rows of known classes."""
        happened = codes[:, np.newaxis] <= np.arange(proba.shape[1] - 1)
        weight = np.ones(len(codes)) if weight is None else weight
        return cls(CURVES[method].fit(cumulative(proba), happened, weight), float(weight.sum()))

    def __call__(self, proba: Array) -> Array:
        """Return recalibrated class probabilities, never negative.

        Curves that cross in a row are sorted, which never raises its ranked probability score. What was stated counts
        as one row more: a class that had a probability keeps one.
        """
        stated = cumulative(proba)
        changed = (self.total * np.sort(self.curve(stated), axis=1) + stated) / (self.total + 1.0)
        found: Array = np.diff(changed, axis=1, prepend=0.0, append=1.0)
        return found
