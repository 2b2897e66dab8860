"""Costs of errors in training: what the decisions cost, beside those of the same model without costs.

    ORDINAL_DATA=folder python benchmarks/claims/decisions/training_costs.py [--minutes 30] [--jobs 2]
    python benchmarks/claims/decisions/training_costs.py --tables

The three classifiers, without other arguments, on the design sets, two partitions. "quadratic" is the squared distance
of the classes; with "low is dear" a class too low costs its distance five times, as where severity must not be missed.
"plain" is the model without costs, which decides by the median, and "plain, its costs" the same with ``cost_matrix=``,
so that it decides by the costs that the other was trained with. The native engine reads categories as numbers. Runs are
kept in results/training_costs_runs.csv.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import warnings
from typing import Any

import numpy as np
import pandas as pd

from lib import report
from lib.data import default_rule, load, partition
from lib.runner import Row
from lib.set_ratios import run_sets
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier

SEEDS = 2
COLUMNS = ("data", "seed", "library", "costs", "method", "cost")
LIBRARIES = {
    "XGBoost": XGBOrdinalClassifier,
    "LightGBM": LGBMOrdinalClassifier,
    "native": HistGradientBoostingOrdinalClassifier,
}
METHODS = ("trained", "plain", "plain, its costs")
DEAR = 5.0


def costs_of(n_classes: int) -> dict[str, np.ndarray]:
    """Return the matrices of costs, true class by predicted class."""
    too_high = np.subtract.outer(np.arange(n_classes), np.arange(n_classes)) * -1.0
    return {"quadratic": too_high**2, "low is dear": np.where(too_high < 0, -DEAR * too_high, too_high)}


def as_numbers(column: pd.Series) -> pd.Series:
    """Return a column of categories as their numbers, missing ones as missing; others as they are."""
    return column.cat.codes.astype(float).where(column.notna()) if column.dtype == "category" else column


def measure(case: Row) -> list[Row]:
    """Return the mean cost of each decision on one partition of a set."""
    warnings.simplefilter("ignore")
    dataset = load(case["data"], default_rule(case["data"]))
    train, test = partition(dataset, case["seed"])
    y = dataset.y[train]
    found: list[Row] = []
    for library, make in LIBRARIES.items():
        features = dataset.X if library != "native" else dataset.X.apply(as_numbers)
        X, X_test = features.iloc[train].reset_index(drop=True), features.iloc[test]
        shared: dict[str, Any] = {"classes": np.arange(dataset.n_classes), "n_jobs": 1, "random_state": 0}
        plain = make(**shared).fit(X, y)
        for name, costs in costs_of(dataset.n_classes).items():
            trained = make(training_cost=costs, **shared).fit(X, y)
            predicted = {
                "trained": trained.predict(X_test),
                "plain": plain.set_params(cost_matrix=None).predict(X_test),
                "plain, its costs": plain.set_params(cost_matrix=costs).predict(X_test),
            }
            found += [
                {
                    "library": library,
                    "costs": name,
                    "method": method,
                    "cost": float(costs[dataset.y[test], codes].mean()),
                }
                for method, codes in predicted.items()
            ]
    return found


def write_tables() -> None:
    """Write the table of the design sets."""
    runs = pd.DataFrame(report.RunsFile(report.RESULTS / "training_costs_runs.csv", COLUMNS).rows)
    runs["cost"] = pd.to_numeric(runs["cost"])
    means = runs.groupby(["costs", "library", "method", "data"])["cost"].mean()
    found = []
    for costs, library in means.index.droplevel([2, 3]).unique():
        of = {method: means.loc[costs, library, method] for method in METHODS}
        row: dict[str, Any] = {"costs": costs, "library": library}
        for other in METHODS[1:]:
            ratio = of["trained"] / of[other]
            row[f"to {other}"] = f"{np.exp(np.log(ratio).mean()):.3f}"
            row[f"lower than {other}"] = f"{int((ratio < 1).sum())} of {len(ratio)}"
        found.append(row)
    n_sets = means.index.get_level_values("data").nunique()
    report.write(
        "training_costs",
        "Costs of errors in training",
        found,
        f"{n_sets} sets, {SEEDS} partitions; the cost of a model trained with costs divided by that of another on "
        f"the same sets, geometric means, on the rows to test on. {' '.join(__doc__.split(chr(10) * 2)[2].split())}",
    )


if __name__ == "__main__":
    store = report.RunsFile(report.RESULTS / "training_costs_runs.csv", COLUMNS)
    run_sets(__doc__, store, SEEDS, measure, write_tables, default="design")
