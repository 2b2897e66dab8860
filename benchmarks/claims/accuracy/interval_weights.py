"""Intervals: classes weighed by the model's probabilities, beside exp(-l), by which EM never raises the observed loss.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/interval_weights.py

The labels, partitions and models are those of label_patterns.py, with half and with four fifths of the rows known by
intervals. With the cumulative link both weights are the same; the loss is all-threshold. Three minutes.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
import pandas as pd

from claims.accuracy.label_patterns import ALL_THRESHOLD, KINDS, OURS, Array, between, measure
from lib import report
from lib.runner import Row, resume
from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.rows import soft_rows

NAME = "interval_weights"
SETS, SEEDS, SHARES = ("abalone", "california", "wine_red"), range(5), (50, 80)
MODEL, BY_LOSS = WEIGHTS = ("the model's probabilities", "exp(-l)")
COLUMNS = ("data", "seed", "kind", "share", "weights", "log_loss", "rps")


def by_loss(loss: OrdinalLoss, scores: Array, thresholds: Array) -> Array:
    """Return exp(-l) of every class, (n_rows, n_classes), of the all-threshold loss."""
    margins = thresholds - (scores if scores.ndim == 2 else scores[:, np.newaxis])
    below, above = loss.link.log_inverse(margins), loss.link.log_complement(margins)
    start = np.zeros((len(margins), 1))
    reached = np.hstack([start, np.cumsum(above, axis=1)])
    not_reached = np.hstack([np.cumsum(below[:, ::-1], axis=1)[:, ::-1], start])
    total: Array = reached + not_reached
    found: Array = np.exp(total - total.max(axis=1, keepdims=True))
    return found


def measured(case: Row) -> list[Row]:
    given = {"model": ALL_THRESHOLD, "method": OURS} | {name: case[name] for name in ("data", "seed", "kind", "share")}
    with patch.object(soft_rows, "chances", by_loss if case["weights"] == BY_LOSS else soft_rows.chances):
        (found,) = measure(given)
    return [{name: found[name] for name in ("log_loss", "rps")}]


def cases() -> Iterator[Row]:
    return (
        {"data": data, "seed": seed, "kind": kind, "share": share, "weights": weights}
        for seed in SEEDS
        for data in SETS
        for kind in KINDS
        for share in SHARES
        for weights in WEIGHTS
    )


def main() -> None:
    store = report.RunsFile(report.RESULTS / f"{NAME}_runs.csv", COLUMNS)
    resume(store, list(cases()), measured)
    table = pd.DataFrame(store.rows)
    wide = table.pivot_table(["log_loss", "rps"], ["kind", "share", "data", "seed"], "weights", aggfunc="first")
    rows = []
    for (kind, share), part in wide.astype(float).groupby(level=["kind", "share"], sort=False):
        row = {"intervals": kind, "% of rows": share}
        for error, title in (("log_loss", "log loss"), ("rps", "RPS")):
            ratio = part[error][BY_LOSS] / part[error][MODEL]
            row[f"{title}, exp(-l) divided by the model's"] = between(ratio, ratio=True)
            row[f"{title}, lower with exp(-l), sets"] = str(int((ratio.groupby(level="data").mean() < 1).sum()))
        rows.append(row)
    report.write(
        NAME,
        "Intervals for labels: weights by exp(-l) beside the model's probabilities",
        rows,
        f"{len(SETS)} sets ({', '.join(SETS)}), {len(SEEDS)} partitions each, all-threshold loss. Geometric means over "
        f"sets and partitions with 95% intervals; above 1: the model's probabilities are ahead.",
        report.RESULTS / f"{NAME}_runs.csv",
    )


if __name__ == "__main__":
    main()
