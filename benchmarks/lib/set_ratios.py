"""Errors of methods on many sets, as ratios to one method: what the tables of plain calls and of ensembles hold."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lib import report
from lib.data import (
    CONFIRMATION,
    FEW_ROWS,
    MORE_ROWS,
    ORDINAL,
    OTHER,
    SIXTEEN,
    SOME_ROWS,
    default_rule,
    load,
    n_test,
    partition,
    rows_from,
)
from lib.runner import Row, resume
from lib.statistics import Comparison, ratio_interval
from ordinal_objectives.decision import decide
from ordinal_objectives.metrics import METRICS

ERRORS = ("mae", "zero_one", "rps", "log_loss")
NUMBERS = (*ERRORS, "seconds")
COLUMNS = ("data", "seed", "method", *NUMBERS, "rounds", "failure")
# A fit whose log loss is so many times the median of the same method's on the same set has diverged.
DIVERGED = 10.0
SHARES = "class shares"
NOTE = (
    "Ratios to the first method, or to the one named: geometric mean over sets [its interval]; median; sets lower / "
    "equal / higher, and p that it is lower. Absolute error of the median class, zero-one error of the most probable "
    "one. `above class shares`: sets with a higher RPS or log loss than the shares of the training classes. Seconds of "
    "the processor, one thread, all searches included: mean (sets lower), of fits on one machine."
)

# Sets on which designs are chosen, with their samples of few rows; those of the evidence; those kept aside.
GROUPS: dict[str, tuple[str, ...]] = {
    "design": (*FEW_ROWS, *OTHER),
    "sizes": (*FEW_ROWS, *MORE_ROWS, *OTHER),
    "few": (*FEW_ROWS, *SOME_ROWS),
    "rates": (*FEW_ROWS, *(name for name in SOME_ROWS if name.endswith(" 300")), *MORE_ROWS, *OTHER),
    "evaluation": (*SIXTEEN, *ORDINAL),
    "confirmation": tuple(CONFIRMATION),
}

# (training rows, features of the test rows, number of classes) -> probabilities, rounds, and the method's own answers
# where its errors are asked for too
Predict = Callable[[tuple[Any, Any], Any, int], tuple[Any, ...]]


def errors_of(case: Row, predict: Predict) -> Row:
    """Return the errors of a method on one partition of a set, or its failure."""
    warnings.simplefilter("ignore")
    dataset = load(case["data"], default_rule(case["data"]))
    train, test = partition(dataset, case["seed"])
    rows, n_classes = (dataset.X.iloc[train].reset_index(drop=True), dataset.y[train]), dataset.n_classes
    start = time.process_time()
    try:
        proba, rounds, *own = predict(rows, dataset.X.iloc[test], n_classes)
    except Exception as error:
        return {"failure": f"{type(error).__name__}: {error}"[:120].replace("\n", " ")}
    row: Row = {"seconds": time.process_time() - start, "rounds": rounds, "failure": ""}
    y = dataset.y[test]
    row |= {name: METRICS[name].function(y, proba, labels=range(n_classes)) for name in ("rps", "log_loss")}
    row["mae"] = METRICS["mae"].function(y, decide(proba, "median"))
    row["zero_one"] = METRICS["zero_one"].function(y, decide(proba, "mode"))
    for answers in own:
        row["own_mae"] = METRICS["mae"].function(y, answers)
    return row


def runs_of(name: str, group: str = "design") -> Path:
    """Return the file that holds the runs of an experiment on a group of sets."""
    return report.RESULTS / (
        f"{name}_runs.csv" if group in ("design", "sizes", "rates") else f"{name}_{group}_runs.csv"
    )


def rows_of(name: str, group: str = "design") -> list[Row]:
    """Return these runs."""
    return report.RunsFile(runs_of(name, group), COLUMNS).rows


def command(
    doc: str | None,
    name: str,
    methods: Sequence[str],
    shipped: Sequence[str],
    seeds: dict[str, int],
    predicted: Callable[..., tuple[Any, int]],
    write_tables: Callable[[], None],
    default: str = "design",
    partitions: Mapping[str, Mapping[str, int]] = MappingProxyType({}),
) -> None:
    """Run what the command line asks for: cases that are missing, or the tables.

    Parameters
    ----------
    doc : str
    name : str
        Of the experiment.
    methods, shipped
        Those that are run on the sets of the design, and those on other sets.
    seeds : dict of str to int
        Partitions of each set, by group.
    predicted : callable
        ``predicted(method, training rows, features of the test rows, number of classes)``; see ``Predict``.
    write_tables : callable
    default : str
        The group of sets that the design is chosen on.
    partitions : dict of str to dict of str to int
        By group, of methods and of sets that are run with fewer partitions.
    """
    parser = _parser(doc, default)
    every = list(dict.fromkeys([*methods, *shipped]))
    parser.add_argument("--methods", nargs="+", choices=every, default=every)
    options = parser.parse_args()
    if options.tables:
        write_tables()
        return
    fewer = partitions.get(options.sets, {})
    asked = [method for method in options.methods if method in (methods if options.sets == default else shipped)]
    cases = [
        {"data": data, "seed": seed, "method": method}
        for seed in range(seeds[options.sets])
        for data in GROUPS[options.sets]
        for method in asked
        if seed < min(fewer.get(name, seeds[options.sets]) for name in (method, data))
    ]
    store = report.RunsFile(runs_of(name, options.sets), COLUMNS)
    resume(store, cases, partial(measured, predicted), minutes=options.minutes, jobs=options.jobs)


def run_sets(
    doc: str | None,
    store: report.RunsFile,
    seeds: int,
    measure: Callable[[Row], list[Row]],
    write_tables: Callable[[], None],
    default: str = "evaluation",
) -> None:
    """Run an experiment that measures whole sets, as its command line says.

    Parameters
    ----------
    doc : str or None
        Of the experiment.
    store : RunsFile
    seeds : int
        Partitions of each set.
    measure : callable
        From a set and a partition to rows of the store.
    write_tables : callable
    default : str
        The group of sets.
    """
    options = _parser(doc, default).parse_args()
    if options.tables:
        write_tables()
        return
    cases = [{"data": data, "seed": seed} for seed in range(seeds) for data in GROUPS[options.sets]]
    resume(store, cases, measure, minutes=options.minutes, jobs=options.jobs)


def _parser(doc: str | None, default: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--sets", choices=list(GROUPS), default=default)
    parser.add_argument("--tables", action="store_true")
    return parser


def measured(predicted: Callable[..., tuple[Any, int]], case: Row) -> list[Row]:
    """Return the errors of a case's method; ``predicted`` as in `command`."""
    return [errors_of(case, partial(predicted, case["method"]))]


def of_shares(rows: tuple[Any, Any], X_test: Any, n_classes: int) -> tuple[NDArray[np.float64], int]:
    """Predict the shares of the classes."""
    shares = np.bincount(rows[1], minlength=n_classes) / len(rows[1])
    return np.tile(shares, (len(X_test), 1)), 0


def set_means(rows: Iterable[Row], sets: Collection[str]) -> tuple[pd.DataFrame, dict[str, list[tuple[str, str]]]]:
    """Return the mean errors of each method on each set, and the fits of each method that diverged: set, partition."""
    table = pd.DataFrame([row for row in rows if row["data"] in set(sets) and not row["failure"]])
    table[list(NUMBERS)] = table[list(NUMBERS)].astype(float)
    usual = table.groupby(["method", "data"])["log_loss"].transform("median")
    diverged: dict[str, list[tuple[str, str]]] = {}
    for row in table[table["log_loss"] > DIVERGED * usual].itertuples():
        diverged.setdefault(str(row.method), []).append((str(row.data), str(row.seed)))
    return table.groupby(["method", "data"])[list(NUMBERS)].mean(), diverged


def log_ratios(means: pd.DataFrame, method: str, beside: str) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Return the logarithms of a method's ratios to another, and the errors that leave out a set, by set.

    An error leaves out the sets that one of both solves: its mean there is below what one test row weighs. Sets that
    share rows are one, with the mean of their logarithms.
    """
    ours, theirs = means.loc[method], means.loc[beside]
    both = ours.index[ours.index.isin(theirs.index)]
    ours, theirs = ours.loc[both], theirs.loc[both]
    of_a_row = pd.Series({data: 1.0 / n_test(str(data)) for data in both})
    solved = ours[list(ERRORS)].lt(of_a_row, axis=0) | theirs[list(ERRORS)].lt(of_a_row, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(ours) - np.log(theirs)
    logs[list(ERRORS)] = logs[list(ERRORS)].mask(solved)
    logs = logs.groupby(logs.index.map(rows_from), sort=False).mean()
    return logs, {str(data): list(solved.columns[solved.loc[data]]) for data in both if solved.loc[data].any()}


def ratios(rows: list[Row], beside: str, methods: Iterable[str], sets: Collection[str]) -> list[Row]:
    """Return how the errors of each method compare with another's over the sets; see ``NOTE``.

    A partition on which the other method's fit diverged is left out for both, and the last column names it with the
    sets that an error leaves out.
    """
    _, diverged = set_means(rows, sets)
    lost = diverged.get(beside, [])
    rows = [row for row in rows if (row["data"], str(row["seed"])) not in lost]
    means, _ = set_means(rows, sets)
    shares, found = means.loc[SHARES], []
    for method in [beside, *(name for name in methods if name in means.index)]:
        logs, solved = log_ratios(means, method, beside)
        above = ((means.loc[method] > shares.loc[means.loc[method].index])[["rps", "log_loss"]]).any(axis=1)
        cells = dict.fromkeys(NUMBERS, "1") if method == beside else {name: _compared(logs[name]) for name in ERRORS}
        if method != beside:
            cells["seconds"] = _faster(rows, method, beside, sets)
        left_out = [f"{data} by {', '.join(errors)}" for data, errors in solved.items() if method != beside]
        if method != beside:
            left_out += [f"partition {seed} of {data}, where {beside} diverged" for data, seed in lost]
        found.append(
            {"method": method, **cells, "above class shares": int(above.sum()), "sets": len(logs)}
            | {"left out": "; ".join(left_out) or "-"}
        )
    return found


def of_both(rows: list[Row], method: str, other: str, keys: Sequence[str]) -> list[Row]:
    """Return the rows whose values of some columns are those of a fit of each of two methods."""
    runs = [{tuple(row[key] for key in keys) for row in rows if row["method"] == one} for one in (method, other)]
    both = runs[0] & runs[1]
    return [row for row in rows if tuple(row[key] for key in keys) in both]


def _faster(rows: list[Row], method: str, beside: str, sets: Collection[str]) -> str:
    """Return the mean ratio of the seconds of two methods, of the partitions that one machine has fitted for both."""
    some = of_both(rows, method, beside, ("data", "seed", "machine"))
    if not some:
        return "-"
    logs = log_ratios(set_means(some, sets)[0], method, beside)[0]["seconds"]
    return f"{np.exp(logs.mean()):.3f} ({int((logs < 0).sum())})"


def _compared(logs: pd.Series) -> str:
    logs = logs.dropna()
    if not len(logs):
        return "-"
    counts = Comparison(logs, np.zeros(len(logs)))
    low, high = ratio_interval(np.exp(logs))
    between = f"{np.exp(logs.mean()):.3f} [{low:.3f}, {high:.3f}]; {np.exp(logs.median()):.3f}"
    return f"{between}; {counts.counts}, p {counts.p:.2g}"
