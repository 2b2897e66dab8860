"""Test errors of ordinal boosting and its peers over many data sets and partitions.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/accuracy.py [--experiments sixteen ordinal ...] [--hours 2.5]
    python benchmarks/claims/accuracy/accuracy.py --quick --results FILE

Finished cells are appended to results/accuracy_runs.csv and skipped by the next run; each row has the number of the
machine and versions that measured it, which stand beside the file. Of every method that has probabilities, the
sixteen and the ordinal sets have rows of three decision rules besides its own. Each method tries its
settings on the same first 80% of the training rows, watches the other 20%, and is trained once more on all of
them with the setting and the rounds that were best there. Test rows are looked at once. The speed tables read
the experiment `seconds` alone, one partition of each set: processor seconds, on a machine without other work.

The experiment `confirmation` has a folder of its own and a file of its own, results/confirmation_runs.csv.
"""

from __future__ import annotations

import os

# One thread a process, the cells run side by side: set before any OpenMP runtime starts.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lib import report
from lib.baselines import BASELINES
from lib.data import (
    CONFIRMATION,
    FEW_ROWS,
    ORDINAL,
    OTHER,
    PUBLISHED_SETS,
    SIXTEEN,
    THESIS_RANK,
    THESIS_SMALL,
    THESIS_WIDTH,
    Source,
    default_rule,
    load,
    n_train,
    partition,
)
from lib.methods import (
    AS_PRINTED,
    DESIGN,
    DESIGN_FEW_ROWS,
    DESIGN_SHIFTS,
    LIKE_ENGINE,
    METHODS,
    MOST_ROUNDS,
    MULTICLASS,
    ONE_ROW,
    OURS,
    PROPORTIONAL,
    ROUNDED,
    VARIANTS,
    Family,
    Fitted,
    Rows,
    split_for_validation,
)
from lib.rivals import CONFIRMED
from lib.runner import Row, resume
from ordinal_objectives.decision import decide
from ordinal_objectives.metrics import METRICS

FILE = report.RESULTS / "accuracy_runs.csv"
# On training sets of more rows than this, methods that take minutes there see three partitions only.
MANY_ROWS, SLOW, FEW_SEEDS = 500, ("ogboost", "OrderedModel"), 3
# With the other two rules for making classes, and on more partitions of the sets with published errors.
FEW = (OURS, PROPORTIONAL, MULTICLASS, ROUNDED)
# With the thesis's own rules: its method too.
THESIS = ("native joint", *FEW)
# Rules that decide on the same probabilities. Here for all methods that have them; where the design was asked for two.
RULES = ("median", "mode", "mean")
DECIDED_EXPERIMENTS, DECIDED = ("sixteen", "ordinal", "quick"), (PROPORTIONAL, MULTICLASS)
DECISIONS = " decisions"
EXPERIMENTS = ("quick", "design", "design, few rows", "sixteen", "ordinal", "ablation", "seconds")
# Kept in a file of their own, results/shifts_runs.csv.
SHIFTS = ("design, shifts", "design, shifts, few rows")
# Likewise: results/multi_output_ordinal_runs.csv.
ONE_TREE = ("ordinal, one tree",)
# Likewise: results/confirmation_runs.csv.
CONFIRMATION_RUN = ("confirmation",)
# Likewise: results/one_row_runs.csv.
ONE_ROW_RUN = ("sixteen, one row to a leaf",)
# Likewise: results/as_printed_runs.csv.
AS_PRINTED_RUN = ("sixteen, the thesis's own method",)
APART = SHIFTS + ONE_TREE + CONFIRMATION_RUN + ONE_ROW_RUN + AS_PRINTED_RUN
ALL_METHODS = (
    METHODS | VARIANTS | DESIGN | DESIGN_FEW_ROWS | DESIGN_SHIFTS | BASELINES | CONFIRMED | ONE_ROW | AS_PRINTED
)
# One-hot columns of 900 lists of genres: hours for one partition.
TOO_SLOW = {("movielens100k", "ogboost")}
QUICK = "sklearn_diabetes"
# What each experiment measures: data sets, the rule of their classes (None: each its own), partitions, methods.
PLANS: dict[str, list[tuple[Mapping[str, Source], str | None, int, Collection[str]]]] = {
    "sixteen": [
        (SIXTEEN, "quantile", 20, METHODS),
        (SIXTEEN, "rank", 5, FEW),
        (SIXTEEN, "width", 5, FEW),
        (THESIS_RANK, "rank", 20, THESIS),
        (THESIS_WIDTH, "width", 20, THESIS),
    ],
    "ordinal": [
        (ORDINAL, "classes", 10, METHODS),
        ({name: ORDINAL[name] for name in PUBLISHED_SETS}, "classes", 30, FEW),
    ],
    "design": [(OTHER, None, 3, DESIGN)],
    "design, few rows": [(FEW_ROWS, None, 10, DESIGN_FEW_ROWS)],
    "design, shifts": [(OTHER, None, 3, DESIGN_SHIFTS)],
    "design, shifts, few rows": [(FEW_ROWS, None, 5, DESIGN_SHIFTS)],
    "ordinal, one tree": [(ORDINAL, "classes", 3, BASELINES)],
    "sixteen, one row to a leaf": [(THESIS_SMALL, "width", 20, ONE_ROW)],
    "sixteen, the thesis's own method": [
        (THESIS_RANK, "rank", 20, (*AS_PRINTED, *LIKE_ENGINE)),
        (THESIS_WIDTH, "width", 20, (*AS_PRINTED, *LIKE_ENGINE)),
    ],
    "confirmation": [(CONFIRMATION, None, 10, CONFIRMED)],
    "ablation": [(ORDINAL, "classes", 5, VARIANTS), (SIXTEEN, "quantile", 5, VARIANTS)],
    "seconds": [(SIXTEEN, "quantile", 1, METHODS), (ORDINAL, "classes", 1, METHODS)],
    "quick": [({QUICK: OTHER[QUICK]}, "quantile", 2, METHODS), ({QUICK: OTHER[QUICK]}, "width", 1, VARIANTS)],
}


class Cell(NamedTuple):
    """One method on one partition of one data set."""

    experiment: str
    data: str
    rule: str
    seed: int
    method: str


MEASURES = ("zero_one", "mae", "macro_mae", "qwk", "rps", "log_loss")
COLUMNS = (*Cell._fields, "n_train", "n_test", "n_classes", *MEASURES, "fit_seconds", "rounds", "setting", "failure")


def cells(experiments: Iterable[str]) -> list[Cell]:
    """Return what is to be measured, in an order that makes a run which is cut off a smaller one of its kind."""
    found = []
    for experiment in experiments:
        if experiment not in PLANS:
            raise ValueError(f"experiments must be among {', '.join(PLANS)}; got {experiment!r}")
        for sources, rule, n_seeds, methods in PLANS[experiment]:
            for name in sources:
                found += [
                    Cell(experiment, name, rule or default_rule(name), seed, method)
                    for seed in range(n_seeds)
                    for method in methods
                    if _is_measured(name, seed, method)
                ]

    def order(cell: Cell) -> tuple[bool, bool, int, int]:
        return cell.seed >= 10, cell.method in SLOW, (EXPERIMENTS + APART).index(cell.experiment), cell.seed

    return sorted(dict.fromkeys(found), key=order)


def _is_measured(name: str, seed: int, method: str) -> bool:
    """Tell whether a method runs on this partition: one that takes long only on the first of many rows."""
    few = seed < FEW_SEEDS or n_train(name) <= MANY_ROWS or method not in SLOW
    return few and (name, method) not in TOO_SLOW


def is_decided(cell: Cell) -> bool:
    """Tell whether a cell also has rows of each decision rule."""
    if "rounded" in cell.method:  # no probabilities
        return False
    if cell.experiment in (*DECIDED_EXPERIMENTS, *SHIFTS, *CONFIRMATION_RUN, *ONE_ROW_RUN, *AS_PRINTED_RUN):
        return True
    return cell.experiment.startswith("design") and cell.method in DECIDED


def left(wanted: Iterable[Cell], rows: list[Row]) -> list[Cell]:
    """Return the cells that have no row yet, and for those without rows of the decision rules a cell of these alone."""
    known = {tuple(row[key] for key in Cell._fields) for row in rows}

    def has_row(cell: Cell) -> bool:
        return tuple(map(str, cell)) in known

    found = []
    for cell in wanted:
        if not has_row(cell):
            found.append(cell)
        elif is_decided(cell) and not has_row(by_rule(cell, RULES[0])):
            found.append(cell._replace(experiment=cell.experiment + DECISIONS))
    return found


def by_rule(cell: Cell, rule: str) -> Cell:
    return cell._replace(experiment=cell.experiment + DECISIONS, method=f"{cell.method}, {rule}")


def measure(cell: Cell) -> list[dict[str, Any]]:
    """Return the cell's row and those of the decision rules; of a cell of decisions only the latter."""
    base = cell._replace(experiment=cell.experiment.removesuffix(DECISIONS))
    rows = _measure(base)
    return rows if base == cell else rows[1:]


def _measure(cell: Cell) -> list[dict[str, Any]]:
    warnings.simplefilter("ignore")  # the peers' own; what matters of them ends in the column `failure`
    dataset = load(cell.data, cell.rule)
    train, test = partition(dataset, cell.seed)
    X_test, y_test = dataset.X.iloc[test], dataset.y[test]
    row: dict[str, Any] = {
        **cell._asdict(),
        "n_train": len(train),
        "n_test": len(test),
        "n_classes": dataset.n_classes,
    }
    start = time.process_time()
    try:
        fitted, setting = tune(cell.method, (dataset.X.iloc[train], dataset.y[train]), dataset.n_classes)
        row |= {"fit_seconds": time.process_time() - start, "rounds": fitted.rounds, "setting": setting}
        predicted, proba = fitted.predict(X_test)
        scores = judge(y_test, predicted, proba)
    except Exception as error:
        failed = {**row, "failure": f"{type(error).__name__}: {error}"[:120].replace("\n", " ")}
        return [failed, *({**failed, **by_rule(cell, rule)._asdict()} for rule in RULES if is_decided(cell))]
    rows = [row | scores]
    if proba is not None and is_decided(cell):
        for rule in RULES:
            rows.append(row | judge(y_test, decide(proba, rule), proba) | by_rule(cell, rule)._asdict())
    return rows


def measure_case(case: dict[str, Any]) -> list[dict[str, Any]]:
    return measure(Cell(**case))


def tune(name: str, train: Rows, n_classes: int, methods: Family | None = None) -> tuple[Fitted, str]:
    """Return the model of the best setting, trained on all rows, and the setting in words."""
    method, settings = (ALL_METHODS if methods is None else methods)[name]
    if len(settings) == 1:  # nothing to choose
        return method(train, None, 0, n_classes, **settings[0]), ""
    inner, valid = split_for_validation(train)
    tried = [method(inner, valid, MOST_ROUNDS, n_classes, **setting) for setting in settings]
    best = int(np.nanargmin([one.loss for one in tried]))
    rounds = max(1, tried[best].rounds)  # the engine may find that no tree is best
    fitted = method(train, None, rounds, n_classes, **{**settings[best], **tried[best].chosen})
    fitted.rounds = rounds
    return fitted, " ".join(f"{key}={value}" for key, value in settings[best].items())


def judge(y: NDArray[Any], predicted: NDArray[Any], proba: NDArray[Any] | None) -> dict[str, float]:
    """Return every measure, those of probabilities only where there are any."""
    scores = {}
    for name in MEASURES:
        metric = METRICS[name]
        if metric.judges == "decisions":
            scores[name] = metric.function(y, predicted)
        elif proba is not None:
            scores[name] = metric.function(y, proba, labels=range(proba.shape[1]))
    return scores


def budget(todo: list[Row], known: list[Row], n_jobs: int) -> str:
    """Return what the run will take, by the seconds of the same method on the same data in the results."""
    seconds = defaultdict(list)
    for row in known:
        if row["fit_seconds"]:
            seconds[row["data"], row["method"]].append(float(row["fit_seconds"]))
    of_todo = [seconds.get((case["data"], case["method"])) for case in todo]
    expected = [median(times) for times in of_todo if times]
    minutes = sum(expected) / n_jobs / 60
    return (
        f"{len(todo)} cells to measure on {n_jobs} processes: about {minutes:.0f} minutes for {len(expected)} of them "
        f"by earlier times, unknown for {len(todo) - len(expected)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", nargs="+", choices=EXPERIMENTS + APART, default=EXPERIMENTS[1:])
    parser.add_argument("--methods", nargs="+", help="leave the others out")
    parser.add_argument("--quick", action="store_true", help="one small data set that scikit-learn brings")
    parser.add_argument("--results", type=Path, default=FILE)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--hours", type=float, default=2.5, help="start no cell after so many hours")
    options = parser.parse_args()
    if unknown := set(options.methods or ()) - set(ALL_METHODS):
        parser.error(f"--methods must be among {', '.join(ALL_METHODS)}; got {', '.join(sorted(unknown))}")
    if options.quick and options.results == FILE:
        parser.error("--quick needs --results FILE: it must not write into the full run's results")
    store = report.RunsFile(options.results, COLUMNS)
    wanted = [
        cell
        for cell in cells(["quick"] if options.quick else options.experiments)
        if options.methods is None or cell.method in options.methods
    ]
    todo = [cell._asdict() for cell in left(wanted, store.rows)]
    print(budget(todo, store.rows, options.jobs), flush=True)
    resume(store, todo, measure_case, minutes=60 * options.hours, jobs=options.jobs)


if __name__ == "__main__":
    main()
