"""What else the thesis proposes, each with and without: pruning, the adaptive step, the joint step, majorisation.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/thesis_options.py [--hours 2]
    python benchmarks/claims/accuracy/thesis_options.py --quick --results FILE

The native engine on the sixteen sets by decile; depths and rounds are chosen by the same validation rows as in
accuracy.py. A second group asks the cross terms of a few thresholds against those of all, on classes of equal width,
which are of very unequal size, with and without balanced weights. Cells are kept in results/thesis_options_runs.csv;
run again to continue.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from claims.accuracy.accuracy import MEASURES, judge, tune
from claims.report import accuracy_tables
from claims.report.accuracy_tables import METRICS, noted
from lib import report, statistics
from lib.data import OTHER, SIXTEEN, load, partition
from lib.generated import Table
from lib.methods import TREES, Family, ordinal
from lib.runner import Row, resume

FILE = report.RESULTS / "thesis_options_runs.csv"
KEYS = ("data", "rule", "seed", "method")
COLUMNS = (*KEYS, "n_train", "n_test", "n_classes", *MEASURES, "leaves", "rounds", "fit_seconds", "setting", "failure")
SEEDS = {"quantile": 10, "width": 5}
# A tree's share of the rows where the others judge it.
SAMPLE = {"subsample": 0.7, "random_state": 0}

engine = partial(ordinal, host="native")
SHIFTS = {"proportional": "auto"}
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "quantile": {
        "joint": {},
        "newton": {"threshold_update": "newton"},
        "fixed": {"threshold_update": "fixed"},
        "joint, majorised": {"hessian": "majorized"},
        "joint, sample": SAMPLE,
        "joint, sample, pruning": SAMPLE | {"pruning": True},
        "joint, sample, adaptive step": SAMPLE | {"adaptive_step": True},
        "joint, sample, both": SAMPLE | {"pruning": True, "adaptive_step": True},
        "shifts": SHIFTS,
        "shifts, sample": SHIFTS | SAMPLE,
        "shifts, sample, pruning": SHIFTS | SAMPLE | {"pruning": True},
        "shifts, sample, adaptive step": SHIFTS | SAMPLE | {"adaptive_step": True},
    },
    "width": {
        "few cross terms": {},
        "all cross terms": {"cross_terms": "all"},
        "few cross terms, balanced": {"class_weight": "balanced"},
        "all cross terms, balanced": {"class_weight": "balanced", "cross_terms": "all"},
    },
}
METHODS: Family = {
    name: (partial(engine, **options), TREES) for group in OPTIONS.values() for name, options in group.items()
}
# Each variant, and what it is compared with.
PAIRS = {
    "quantile": (
        ("newton", "joint"),
        ("fixed", "joint"),
        ("joint, majorised", "joint"),
        ("joint, sample", "joint"),
        ("joint, sample, pruning", "joint, sample"),
        ("joint, sample, adaptive step", "joint, sample"),
        ("joint, sample, both", "joint, sample"),
        ("shifts", "joint"),
        ("shifts, sample", "shifts"),
        ("shifts, sample, pruning", "shifts, sample"),
        ("shifts, sample, adaptive step", "shifts, sample"),
    ),
    "width": (
        ("few cross terms", "all cross terms"),
        ("few cross terms, balanced", "all cross terms, balanced"),
    ),
}


def cases(quick: bool = False) -> list[Row]:
    """Return what is to be measured, one partition of every set after the other."""
    sets, seeds = (["sklearn_diabetes"], dict.fromkeys(SEEDS, 1)) if quick else (list(SIXTEEN), SEEDS)
    assert set(sets) <= set(SIXTEEN | OTHER)
    return [
        {"data": data, "rule": rule, "seed": seed, "method": method}
        for seed in range(max(seeds.values()))
        for rule, options in OPTIONS.items()
        if seed < seeds[rule]
        for data in sets
        for method in options
    ]


def measure(case: Row) -> list[Row]:
    warnings.simplefilter("ignore")  # classes that are rare
    dataset = load(case["data"], case["rule"])
    train, test = partition(dataset, case["seed"])
    row: Row = {"n_train": len(train), "n_test": len(test), "n_classes": dataset.n_classes}
    start = time.process_time()
    try:
        fitted, setting = tune(case["method"], (dataset.X.iloc[train], dataset.y[train]), dataset.n_classes, METHODS)
        row |= {"fit_seconds": time.process_time() - start, "rounds": fitted.rounds, "setting": setting}
        row["leaves"] = fitted.leaves
        return [row | judge(dataset.y[test], *fitted.predict(dataset.X.iloc[test]))]
    except Exception as error:
        return [{**row, "failure": f"{type(error).__name__}: {error}"[:120].replace("\n", " ")}]


def tables(path: Path = FILE) -> dict[str, Table]:
    """Return a table of ratios for each group, by name."""
    names = {"quantile": "thesis options", "width": "cross terms, unequal classes"}
    if not path.exists():
        return {name: Table([]) for name in names.values()}
    runs = accuracy_tables.read_rows(path).sort_values(["n_train", "data", "seed"], kind="stable", ignore_index=True)
    return {name: ratios(runs[runs["rule"] == rule], rule) for rule, name in names.items()}


def ratios(runs: pd.DataFrame, rule: str) -> Table:
    """Return each variant's errors, leaves and rounds relative to what it is compared with."""
    rows, lines = [], []
    for variant, base in PAIRS[rule]:
        row: dict[str, Any] = {"variant": variant, "against": base}
        for metric in (*METRICS, "leaves", "rounds", "fit_seconds"):
            title = {"fit_seconds": "seconds"}.get(metric, METRICS.get(metric, metric))
            both = statistics.pair(runs, metric, (base, variant)).means.dropna()
            row.setdefault("sets", str(len(both)))
            if len(both):
                found = statistics.relative(both, base, are_errors=metric in METRICS).loc[variant]
                lines.append((title, found))
                row[title] = accuracy_tables.ratio(found)
        if row["sets"] != "0":
            rows.append(row)
    note = (
        f"Loss / loss of the method it is compared with: {accuracy_tables.RATIO}.{accuracy_tables.solved(lines)} "
        "Leaves are those of all trees of the model, rounds those that the "
        "validation rows chose, seconds the processor's of search and training."
    )
    return noted(Table(rows, note if rows else ""), runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one partition of one small set that scikit-learn brings")
    parser.add_argument("--results", type=Path, default=FILE)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--hours", type=float, default=2.0, help="start no cell after so many hours")
    options = parser.parse_args()
    if options.quick and options.results == FILE:
        parser.error("--quick needs --results FILE: it must not write into the full run's results")
    store = report.RunsFile(options.results, COLUMNS)
    resume(store, cases(options.quick), measure, minutes=60 * options.hours, jobs=options.jobs)


if __name__ == "__main__":
    main()
