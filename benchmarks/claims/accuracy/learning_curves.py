"""Errors against the rows to train on, 100 to a quarter of a million: ours, multiclass and rounded regression.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/learning_curves.py [--hours 2]
    python benchmarks/claims/accuracy/learning_curves.py --quick --results FILE

Four large sets; the same 10,000 rows of a partition judge every size, and a smaller training set is part of a larger
one. Depths and rounds are chosen as in accuracy.py, by the last fifth of the rows of that size. Two of the sets are
among those on which the design was chosen. Cells are kept in results/learning_curves_runs.csv; run again to continue.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from claims.accuracy.accuracy import tune
from claims.accuracy.tuned import MEASURES, by_own_decisions
from claims.report import accuracy_tables
from claims.report.accuracy_tables import METRICS, noted
from lib import method_names, pictures, report, statistics
from lib.data import load
from lib.generated import Table
from lib.methods import MULTICLASS, OURS, PROPORTIONAL, ROUNDED
from lib.runner import Row, resume

FILE = report.RESULTS / "learning_curves_runs.csv"
SETS = {"brfss_genhlth": 253_680, "diabetes012": 253_680, "bng_breast_tumor": 116_640, "bng_pwlinear": 177_147}
SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 240_000)
N_TEST = 10_000
METHODS = (OURS, PROPORTIONAL, MULTICLASS, ROUNDED)
KEYS = ("data", "rows", "seed", "method")
COLUMNS = (*KEYS, "n_classes", *MEASURES, "rounds", "fit_seconds", "setting", "failure")
PICTURED = {"mae": "absolute error\n(lower is better)", "rps": "RPS (lower is better)"}
COLORS = {OURS: "#c1272d", PROPORTIONAL: "#e69138", MULTICLASS: "#1f5fa8", ROUNDED: "#2e7d32"}
SET_TITLES = {
    "brfss_genhlth": "general health, 5 classes (brfss_genhlth)",
    "diabetes012": "diabetes, 3 classes (diabetes012)",
    "bng_breast_tumor": "tumour size, 10 classes (bng_breast_tumor)",
    "bng_pwlinear": "piecewise linear, 10 classes (bng_pwlinear)",
}


def n_seeds(rows: int) -> int:
    """Return on how many partitions a size is measured: small training sets differ more."""
    return 20 if rows <= 1_000 else 10 if rows <= 10_000 else 3


def cases(quick: bool = False) -> list[Row]:
    """Return what is to be measured, small sizes first."""
    if quick:
        return [_case("sklearn_diabetes", rows, 0, method) for rows in (100, 200) for method in METHODS]
    return [
        _case(data, rows, seed, method)
        for rows in SIZES
        for seed in range(n_seeds(rows))
        for data, n in SETS.items()
        if rows + N_TEST <= n
        for method in METHODS
    ]


def _case(data: str, rows: int, seed: int, method: str) -> Row:
    return {"data": data, "rows": rows, "seed": seed, "method": method}


def measure(case: Row) -> list[Row]:
    warnings.simplefilter("ignore")  # classes that are rare
    dataset = load(case["data"])
    order = np.random.default_rng(case["seed"]).permutation(len(dataset.y))
    n_test = min(N_TEST, len(order) // 3)
    test, train = order[:n_test], order[n_test : n_test + case["rows"]]
    row: Row = {"n_classes": dataset.n_classes}
    start = time.process_time()
    try:
        fitted, setting = tune(case["method"], (dataset.X.iloc[train], dataset.y[train]), dataset.n_classes)
        row |= {"fit_seconds": time.process_time() - start, "rounds": fitted.rounds, "setting": setting}
        return [row | by_own_decisions(fitted, dataset.X.iloc[test], dataset.y[test])]
    except Exception as error:
        return [{**row, "failure": f"{type(error).__name__}: {error}"[:120].replace("\n", " ")}]


def read(path: Path) -> pd.DataFrame:
    return accuracy_tables.read_rows(path).sort_values(["data", "rows", "seed"], kind="stable", ignore_index=True)


def tables(path: Path = FILE) -> dict[str, Table]:
    """Return a table for each metric, and where rounded regression was ahead, by name."""
    names = [f"learning curves {METRICS[metric]}" for metric in MEASURES]
    if not path.exists():
        return {name: Table([]) for name in [*names, "few rows"]}
    runs = read(path)
    found = {name: noted(curve(runs, metric), runs) for name, metric in zip(names, MEASURES, strict=True)}
    return found | {"few rows": noted(few_rows(runs), runs)}


def curve(runs: pd.DataFrame, metric: str) -> Table:
    """Return mean losses of each set and size."""
    rows = []
    for (data, size), part in runs.groupby(["data", "rows"], sort=False):
        methods = [method for method in METHODS if part.loc[part["method"] == method, metric].notna().any()]
        paired = statistics.pair(part, metric, methods)
        if len(paired.means):
            values = paired.means.iloc[0].reindex(METHODS)
            row = {"data": data, "rows": f"{size:,}", "partitions": str(len(paired.values))}
            further = paired.values.sub(paired.values[OURS], axis=0).drop(columns=OURS)
            between = {name: accuracy_tables.interval(statistics.mean_interval(further[name]), 4) for name in further}
            best = values.round(4).min()
            rows.append(row | {name: _shown(value, best) + between.get(name, "") for name, value in values.items()})
    note = (
        f"Each metric by its own decision; the best in bold. In brackets the 95% interval of the distance to `{OURS}` "
        "over the partitions, which share rows: it is too narrow rather than too wide."
    )
    return Table(rows, note if rows else "")


def few_rows(runs: pd.DataFrame) -> Table:
    """Return, for each size, on how many sets ours had the lower MAE than rounded regression, and by how much."""
    rows = []
    for size, part in runs.groupby("rows", sort=True):
        row = {"rows": f"{size:,}"}
        for metric, other in (("mae", ROUNDED), ("mae", MULTICLASS), ("rps", MULTICLASS), ("rps", PROPORTIONAL)):
            both = statistics.pair(part, metric, (OURS, other)).means.dropna()
            row.setdefault("sets", str(len(both)))
            if len(both):
                found = statistics.relative(both, OURS).loc[other]
                wins = " / ".join(reversed(found["counts"].split(" / ")))
                row[f"{METRICS[metric]} of {other}"] = accuracy_tables.ratio(found, wins)
        rows.append(row)
    note = f"Loss / loss of `{OURS}`: {accuracy_tables.RATIO}, won by ours."
    return Table(rows, note if rows else "")


def _shown(value: float, best: float) -> str:
    text = f"{value:.4f}" if np.isfinite(value) else "-"
    return f"**{text}**" if np.round(value, 4) <= best else text


def draw(path: Path = FILE) -> Figure | None:
    """Draw MAE and RPS of each set against the rows; nothing without runs."""
    if not path.exists():
        return None
    runs = read(path)
    sets = list(dict.fromkeys(runs["data"]))
    drawn, axes = pictures.panels(len(sets), len(PICTURED), (9, 2.5 * len(sets) + 0.6))
    for line, data in zip(axes, sets, strict=True):
        for axis, metric in zip(line, PICTURED, strict=True):
            usual = runs[runs["data"] == data].pivot_table(metric, "rows", "method")
            for method in (name for name in METHODS if name in usual):
                axis.plot(
                    usual.index,
                    usual[method],
                    marker="o",
                    markersize=3,
                    color=COLORS[method],
                    label=method_names.IN_PICTURES[method],
                )
            axis.set(xscale="log", ylabel=PICTURED[metric])
            axis.set_title(SET_TITLES.get(data, data), fontsize=9)
            ticks = [size for size in SIZES if size in usual.index]
            axis.set_xticks(ticks, [f"{size:,}" for size in ticks], fontsize=8, rotation=30)
            axis.minorticks_off()
    for axis in axes[-1]:
        axis.set_xlabel("rows to train on")
    drawn.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=2, fontsize=9)
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two sizes of one small set that scikit-learn brings")
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
