"""Quadratic weighted kappa of decisions: the closed form beside tuned cut points, the median and the rounded mean.

    ORDINAL_DATA=folder python benchmarks/claims/decisions/kappa.py [--minutes 30] [--jobs 2] [--sets evaluation]
    python benchmarks/claims/decisions/kappa.py --tables

``XGBOrdinalClassifier()`` on the sets of the evidence, two partitions. "kappa" takes the rows that found its rounds;
"kappa, folds" the same model with the number of rounds given, by five folds; "rounder" has free cut points of the mean
class, tuned by the labels of five folds ("stretch": one number). Expected and achieved kappa are compared with rounds
found, with early stopping on a fifth of the rows, and by folds. Runs are kept in results/kappa_runs.csv.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import time
import warnings
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from lib import report
from lib.data import default_rule, load, partition
from lib.runner import Row
from lib.set_ratios import run_sets
from ordinal_objectives import OrdinalTunedClassifier, XGBOrdinalClassifier
from ordinal_objectives.metrics import quadratic_weighted_kappa

SEEDS = 2
COLUMNS = ("data", "seed", "method", "qwk", "expected", "seconds")
OTHERS = ("median", "mean", "rounder", "stretch", "kappa, folds", "kappa, early stopping")


def measure(case: Row) -> list[Row]:
    """Return the kappa of each decision on one partition of a set."""
    warnings.simplefilter("ignore")
    dataset = load(case["data"], default_rule(case["data"]))
    train, test = partition(dataset, case["seed"])
    X, y, X_test = dataset.X.iloc[train].reset_index(drop=True), dataset.y[train], dataset.X.iloc[test]
    make = partial(XGBOrdinalClassifier, classes=np.arange(dataset.n_classes), n_jobs=1, random_state=0)
    start = time.process_time()
    plain = make(decision_rule="kappa").fit(X, y)
    seconds = {"kappa": time.process_time() - start}
    fixed: dict[str, Any] = {"n_estimators": plain.n_iter_}
    models: dict[str, Any] = {"kappa": plain}
    for name, one in {
        "kappa, folds": make(decision_rule="kappa", **fixed),
        "kappa, early stopping": make(
            decision_rule="kappa", n_estimators=500, early_stopping_rounds=10, validation_fraction=0.2
        ),
        "rounder": OrdinalTunedClassifier(make(**fixed)),
        "stretch": OrdinalTunedClassifier(make(**fixed), rule="stretch"),
    }.items():
        start = time.process_time()
        models[name] = one.fit(X, y)
        seconds[name] = time.process_time() - start
    predicted = {name: model.predict(X_test) for name, model in models.items()}
    for rule in ("median", "mean"):
        predicted[rule] = make(**fixed, decision_rule=rule).fit(X, y).predict(X_test)
    labels = range(dataset.n_classes)
    return [
        {
            "method": name,
            "qwk": quadratic_weighted_kappa(dataset.y[test], codes, labels=labels),
            "expected": getattr(models.get(name), "expected_kappa_", ""),
            "seconds": seconds.get(name, ""),
        }
        for name, codes in predicted.items()
    ]


def write_tables() -> None:
    """Write the table of the sets of the evidence."""
    runs = pd.DataFrame(report.RunsFile(report.RESULTS / "kappa_runs.csv", COLUMNS).rows)
    runs[["qwk", "expected", "seconds"]] = runs[["qwk", "expected", "seconds"]].apply(pd.to_numeric)
    means = runs.groupby(["method", "data"])[["qwk", "expected", "seconds"]].mean()
    kappa, found = means.loc["kappa"], []
    for method in ("kappa", *OTHERS):
        of = means.loc[method]
        row: dict[str, Any] = {"decision": method, "mean QWK": f"{of['qwk'].mean():.4f}"}
        above = kappa["qwk"] - of["qwk"]
        row |= {"kappa is above it": f"{int((above > 0).sum())} of {len(above)}", "and below": int((above < 0).sum())}
        runs_of = runs[(runs["method"] == method) & runs["expected"].notna()]
        gap = runs_of["expected"] - runs_of["qwk"]
        row["expected - achieved"] = f"{gap.mean():+.3f}" if len(gap) else ""
        row["absolute"] = f"{gap.abs().mean():.3f}" if len(gap) else ""
        found.append(row)
    report.write(
        "kappa",
        "Decisions for quadratic weighted kappa",
        found,
        f"{len(kappa)} sets, {SEEDS} partitions; means over sets, and over runs where expected and achieved kappa are "
        f"compared, on the rows to test on. {__doc__.split(chr(10) * 2)[2].replace(chr(10), ' ')}",
    )


if __name__ == "__main__":
    store = report.RunsFile(report.RESULTS / "kappa_runs.csv", COLUMNS)
    run_sets(__doc__, store, SEEDS, measure, write_tables)
