"""Outputs that judge splits where XGBoost fits the shifts itself: accuracy and time of `split_outputs`.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/split_outputs.py    resumes; about a quarter of an hour

The twelve sets on which designs are chosen, at a learning rate of 0.1; rows, depth and early stopping are those of
`host_vector_leaves.py`.
"""

from __future__ import annotations

import argparse
import itertools
from typing import Any

import numpy as np
import pandas as pd
import xgboost

from claims.accuracy.host_vector_leaves import against, errors_of
from claims.report.shifts_table import log_ratios
from lib import report
from lib.data import OTHER, load
from lib.runner import resume

VALUES: dict[str, str | int] = {"score": "score", "1": 1, "2": 2, "3": 3, "all": "all"}


def measure(case: dict[str, Any]) -> list[dict[str, Any]]:
    options = {"shift_method": "host", "split_outputs": VALUES[case["method"]]}
    return [{"classes": load(case["data"]).n_classes} | errors_of(case, options)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=1e9)
    options = parser.parse_args()
    cases = [
        {"xgboost": xgboost.__version__, "data": name, "seed": seed, "learning_rate": 0.1, "method": method}
        for seed, name, method in itertools.product(range(options.seeds), OTHER, VALUES)
    ]
    runs = pd.DataFrame(resume(report.RESULTS / "split_outputs_runs.json", cases, measure, minutes=options.minutes))
    others = [method for method in VALUES if method != "score"]
    report.write(
        "split_outputs",
        "Outputs that judge splits, with `shift_method='host'`",
        [
            {"XGBoost": version, "split_outputs": method} | against(part, method, "score")
            for version, part in runs.groupby("xgboost")
            for method in others
            if method in set(part.method)
        ],
        "Geometric mean over the sets of a set's mean log ratio to `split_outputs='score'` over its partitions; in "
        "brackets the sets below 1. A number: so many contrasts beside the score; a set with fewer has all. Raised: "
        "share of the rounds after which the training loss was higher. Seconds: processor time of `fit` on one "
        "thread, beside other work, as a ratio; early stopping decides the rounds.",
    )
    report.write(
        "split_outputs_sets",
        "The same by set: ratio of the ranked probability score to that of `split_outputs='score'`",
        [
            {"XGBoost": version, "data": name, "classes": str(part.classes.iloc[0])} | ratios(part, others)
            for (version, name), part in runs.groupby(["xgboost", "data"])
        ],
    )


def ratios(runs: pd.DataFrame, methods: list[str]) -> dict[str, str]:
    """Return the ratios of a set's ranked probability scores to those of splits by the score alone."""
    by_method = {name: part.set_index(["data", "seed"]).rps for name, part in runs.groupby("method")}
    score = by_method["score"]
    return {
        name: f"{np.exp(log_ratios(by_method[name], score).mean()):.3f}" if name in by_method else ""
        for name in methods
    }


if __name__ == "__main__":
    main()
