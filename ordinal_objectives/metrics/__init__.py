"""Metrics of ordinal predictions, and the table that says of each what it judges and which way is better."""

from ordinal_objectives.metrics.functions import METRICS as METRICS
from ordinal_objectives.metrics.functions import (
    concordance,
    macro_mean_absolute_error,
    mean_absolute_error,
    ordinal_log_loss,
    quadratic_weighted_kappa,
    ranked_probability_score,
    zero_one_error,
)

__all__ = [
    "concordance",
    "macro_mean_absolute_error",
    "mean_absolute_error",
    "ordinal_log_loss",
    "quadratic_weighted_kappa",
    "ranked_probability_score",
    "zero_one_error",
]
