"""Scores of ordinal predictions, and a table of what each one judges and whether higher is better.

All metrics average over rows with `sample_weight`. Those of `y_pred` judge decisions, those of `proba` judge
class probabilities, and `concordance` judges a score of any scale. `labels` gives the classes from lowest to
highest; without it an ordered categorical `y_true` brings its own order, and other labels must be class codes
0, 1, 2, ... The order of strings is not guessed.

`report` returns all metrics of a model with intervals, beside a guess that ignores the features; `interval` returns
the interval of one; `net_benefit` says what acting by probabilities is worth. `METRICS` is the table of all metrics.
:mod:`ordinal_objectives.scorers` makes scikit-learn scorers of its entries, which find the order in the estimator, and
`eval_metric` takes by name those of decisions and probabilities.
"""

from ordinal_objectives.metrics.decision_curve import NetBenefit, net_benefit
from ordinal_objectives.metrics.intervals import Interval, interval
from ordinal_objectives.metrics.model_report import Report, report
from ordinal_objectives.metrics.of_decisions import (
    concordance,
    kendall_tau_b,
    linear_weighted_kappa,
    macro_mean_absolute_error,
    maximum_mean_absolute_error,
    mean_absolute_error,
    quadratic_weighted_kappa,
    zero_one_error,
)
from ordinal_objectives.metrics.of_probabilities import (
    cumulative_calibration_error,
    ordinal_log_loss,
    ranked_probability_score,
)
from ordinal_objectives.metrics.table import METRICS as METRICS

__all__ = [
    "Interval",
    "NetBenefit",
    "Report",
    "concordance",
    "cumulative_calibration_error",
    "interval",
    "kendall_tau_b",
    "linear_weighted_kappa",
    "macro_mean_absolute_error",
    "maximum_mean_absolute_error",
    "mean_absolute_error",
    "net_benefit",
    "ordinal_log_loss",
    "quadratic_weighted_kappa",
    "ranked_probability_score",
    "report",
    "zero_one_error",
]
