"""Whole distributions of a number, from an ordinal model of the classes that it is cut into."""

from ordinal_objectives.distributions.judging import (
    DistributionScorer,
    interval_coverage,
    interval_width,
    quantile_loss,
)
from ordinal_objectives.distributions.regressor import OrdinalDistributionRegressor

__all__ = [
    "DistributionScorer",
    "OrdinalDistributionRegressor",
    "interval_coverage",
    "interval_width",
    "quantile_loss",
]
