"""Losses and links that are not the package's own, and what they say in formulas written out by hand."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from scipy import special

from ordinal_objectives import AllThreshold
from ordinal_objectives.links import Link, Logit
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.losses.quantities import Curvatures, RowDerivatives


def logistic_terms(f, y, thresholds):
    """Value, slope and curvature in the score of log(1 + exp(-s (f - theta_k))), (n_samples, n_classes - 1) each."""
    side = np.where(y[:, None] > np.arange(len(thresholds)), 1.0, -1.0)
    d = side * (f[:, None] - thresholds)
    p = special.expit(-d)
    return np.logaddexp(0.0, -d), -side * p, p * (1.0 - p)


class Rising(OrdinalLoss):
    """A loss with a name and formulas of its own: threshold k counts k + 1 times. The link says probabilities alone."""

    name = "rising"
    ordered = True

    def _row_derivatives(self, f, y, thresholds):
        value, slope, curvature = (x * np.arange(1, len(thresholds) + 1) for x in logistic_terms(f, y, thresholds))
        return RowDerivatives(
            value=value.sum(axis=1),
            gradient=slope.sum(axis=1),
            threshold_gradient=-slope,
            curvature=curvature,
            curvature_next=np.zeros((len(f), len(thresholds) - 1)),
            cross=-curvature,
        )


class Scaled(AllThreshold):
    """A subclass, with the name of its base, whose formulas are those of the base times a number."""

    def __init__(self, link="logit", times=2.0):
        super().__init__(link)
        self.times = times

    def _of_margins(self, x, y):
        rows = super()._of_margins(x, y)
        return RowDerivatives(*(self.times * getattr(rows, field.name) for field in fields(rows)))

    def _majorized_of_margins(self, x, y):
        rows = super()._majorized_of_margins(x, y)
        return Curvatures(*(self.times * getattr(rows, field.name) for field in fields(rows)))


class Steep(Link):
    """G(x) = 1 / (1 + exp(-steepness x)), with what a link needs, and the sharp majoriser."""

    name = "steep"
    mirror = "steep"

    def __init__(self, steepness=2.0):
        self.steepness = steepness

    @property
    def curvature_bound(self):  # type: ignore[override]
        return self.steepness**2 / 4

    def sharp_curvature(self, d):
        return self.steepness**2 * Logit().sharp_curvature(self.steepness * d)

    def inverse(self, x):
        return special.expit(self.steepness * x)

    def log_inverse(self, x):
        return special.log_expit(self.steepness * x)

    def density(self, x):
        return self.steepness * self.inverse(x) * self.inverse(-x)

    def density_derivative(self, x):
        return self.steepness * self.density(x) * (1.0 - 2.0 * self.inverse(x))

    def lower(self, x):
        return -self.log_inverse(x), -self.steepness * self.inverse(-x), self.steepness * self.density(x)

    def _link(self, p):
        return special.logit(p) / self.steepness
