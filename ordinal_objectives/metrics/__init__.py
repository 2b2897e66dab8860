"""Metrics of ordinal predictions, and a table of what each one judges and whether higher is better."""

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
