"""What recalibrating P(y <= k) is worth, on the sets of prediction_sets.py: two methods, three classifiers.

    ORDINAL_DATA=folder python benchmarks/claims/decisions/recalibration.py [--partitions 2]

The native engine with 60 trees, a random forest and naive Bayes, each on all rows to train on and on 200 of them.
Losses are those of the rows to test on. Three minutes.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import gmean
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from claims.decisions.prediction_sets import DATA, model, rows_of
from lib import report
from ordinal_objectives import OrdinalCalibratedClassifier
from ordinal_objectives.decisions.calibrated import CURVES
from ordinal_objectives.metrics import METRICS

LOSSES = ("rps", "log_loss", "ece")
MOST_TRAIN, FEW = 4_000, 200
CLASSIFIERS: dict[str, Callable[[int, int], Any]] = {
    "native engine": model,
    "random forest": lambda n_classes, seed: RandomForestClassifier(60, random_state=seed),
    "naive Bayes": lambda n_classes, seed: make_pipeline(StandardScaler(), GaussianNB(var_smoothing=1e-3)),
}


def measure(data: str, seed: int) -> list[dict[str, Any]]:
    """Return the losses of each classifier on a partition, plain and recalibrated."""
    X, y, train, test, n_classes = rows_of(data, seed)
    X = np.nan_to_num(X)
    rows = []
    for name, make in CLASSIFIERS.items():
        for few in (False, True):
            chosen = train[: FEW if few else MOST_TRAIN]
            for method in CURVES:
                around = OrdinalCalibratedClassifier(
                    make(n_classes, seed), method=method, classes=range(n_classes), random_state=seed
                ).fit(X[chosen], y[chosen])
                inner = around.estimator_
                # Those of other libraries know the classes that have rows, by number.
                present = np.arange(n_classes) if len(inner.classes_) == n_classes else np.unique(y[chosen])
                plain = np.zeros((len(test), n_classes))
                plain[:, present[inner.classes_]] = inner.predict_proba(X[test])
                row = {"data": data, "seed": seed, "classifier": name, "few": few, "method": method}
                for loss in LOSSES:
                    of = METRICS[loss].function
                    found = (of(y[test], P, labels=range(n_classes)) for P in (around.predict_proba(X[test]), plain))
                    row |= dict(zip((loss, f"plain {loss}"), found, strict=True))
                rows.append(row)
    return rows


def summary(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the geometric means over the sets, and on how many the loss fell."""
    rows = []
    for (name, few, method), part in runs.groupby(["classifier", "few", "method"], sort=False):
        row = {"classifier": name, "rows to train on": str(FEW) if few else "all", "method": method}
        for loss in LOSSES:
            ratio = (part[loss] / part[f"plain {loss}"]).groupby(part["data"]).apply(gmean)
            row[loss] = f"{gmean(ratio):.3f} ({(ratio < 1).sum()} of {len(ratio)})"
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=2)
    options = parser.parse_args()
    runs = [row for data in DATA for seed in range(options.partitions) for row in measure(data, seed)]
    report.write(
        "recalibration",
        "Recalibrated cumulative probabilities beside plain ones",
        summary(pd.DataFrame(runs)),
        f"Loss recalibrated / loss plain, geometric mean over {len(DATA)} sets, {options.partitions} partitions each; "
        f"in brackets the sets on which it is below 1. All: at most {MOST_TRAIN} rows. Plain is the same classifier, "
        f"trained on all of them.",
    )


if __name__ == "__main__":
    main()
