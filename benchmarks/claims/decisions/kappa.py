"""Quadratic weighted kappa of decisions: the closed form beside tuned cut points, the median and the rounded mean.

    ORDINAL_DATA=folder python benchmarks/claims/decisions/kappa.py [--minutes 30] [--jobs 2] [--sets evaluation]
    python benchmarks/claims/decisions/kappa.py --tables

``XGBOrdinalClassifier()`` on the sets of the evidence, two partitions, with the number of rounds that one search has
found. The rules of ``OrdinalTunedClassifier`` take probabilities of five folds: "kappa" is the closed form, without
labels, "cuts" has free cut points of the mean class, and "stretch" one number, both tuned by the labels. The kappa
of these rows is compared with that of the rows to test on. Runs are kept in results/kappa_runs.csv.
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
from ordinal_objectives import OrdinalTunedClassifier, XGBOrdinalClassifier, decide
from ordinal_objectives.metrics import quadratic_weighted_kappa

SEEDS = 2
COLUMNS = ("data", "seed", "method", "qwk", "tuned", "seconds")
RULES = ("kappa", "cuts", "stretch")


def measure(case: Row) -> list[Row]:
    """Return the kappa of each decision on one partition of a set."""
    warnings.simplefilter("ignore")
    dataset = load(case["data"], default_rule(case["data"]))
    train, test = partition(dataset, case["seed"])
    X, y, X_test = dataset.X.iloc[train].reset_index(drop=True), dataset.y[train], dataset.X.iloc[test]
    make = partial(XGBOrdinalClassifier, classes=np.arange(dataset.n_classes), n_jobs=1, random_state=0)
    fixed = make(n_estimators=make().fit(X, y).n_iter_)
    predicted, tuned, seconds = {}, {}, {}
    for rule in RULES:
        start = time.process_time()
        model = OrdinalTunedClassifier(fixed, rule=rule, random_state=0).fit(X, y)
        seconds[rule], tuned[rule] = time.process_time() - start, model.tuned_score_
        predicted[rule] = model.predict(X_test)
    proba = fixed.fit(X, y).predict_proba_ordered(X_test)
    predicted |= {rule: decide(proba, rule) for rule in ("median", "mean")}
    labels = range(dataset.n_classes)
    return [
        {
            "method": name,
            "qwk": quadratic_weighted_kappa(dataset.y[test], codes, labels=labels),
            "tuned": tuned.get(name, ""),
            "seconds": seconds.get(name, ""),
        }
        for name, codes in predicted.items()
    ]


def write_tables() -> None:
    """Write the table of the sets of the evidence."""
    runs = pd.DataFrame(report.RunsFile(report.RESULTS / "kappa_runs.csv", COLUMNS).rows)
    runs[["qwk", "tuned", "seconds"]] = runs[["qwk", "tuned", "seconds"]].apply(pd.to_numeric)
    means = runs.groupby(["method", "data"])[["qwk", "tuned", "seconds"]].mean()
    kappa, found = means.loc["kappa"], []
    for method in (*RULES, "median", "mean"):
        of = means.loc[method]
        row: dict[str, Any] = {"decision": method, "mean QWK": f"{of['qwk'].mean():.4f}"}
        above = kappa["qwk"] - of["qwk"]
        row |= {"kappa is above it": f"{int((above > 0).sum())} of {len(above)}", "and below": int((above < 0).sum())}
        runs_of = runs[(runs["method"] == method) & runs["tuned"].notna()]
        gap = runs_of["tuned"] - runs_of["qwk"]
        row["tuned - achieved"] = f"{gap.mean():+.3f}" if len(gap) else ""
        row["absolute"] = f"{gap.abs().mean():.3f}" if len(gap) else ""
        found.append(row)
    report.write(
        "kappa",
        "Decisions for quadratic weighted kappa",
        found,
        f"{len(kappa)} sets, {SEEDS} partitions; means over sets, and over runs where the kappa of the tuned rows is "
        f"compared with that of the rows to test on. {__doc__.split(chr(10) * 2)[2].replace(chr(10), ' ')}",
    )


if __name__ == "__main__":
    store = report.RunsFile(report.RESULTS / "kappa_runs.csv", COLUMNS)
    run_sets(__doc__, store, SEEDS, measure, write_tables)
