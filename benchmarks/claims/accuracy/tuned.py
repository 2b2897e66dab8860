"""Ours beside its rivals when each is tuned: the same number of random settings, the same validation rows.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/tuned.py [--hours 2]
    python benchmarks/claims/accuracy/tuned.py --quick --results FILE

Every setting is trained on the first 80% of the training rows, stopped early by the method's own loss on the other 20%,
and kept in results/tuned_runs.csv. A setting that was the best of those before it is then trained once more on all
training rows with its rounds, and judged on the test rows: that gives the search's result after any number of
settings. Each metric is judged by its own decision where there are probabilities. Run again to continue.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import json
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from claims.accuracy.accuracy import judge
from lib import report
from lib.data import load, partition
from lib.methods import Fitted, split_for_validation
from lib.rivals import CATBOOST, SLOW, TUNED, draw
from lib.runner import Row, missing, resume
from ordinal_objectives.decision import decide

FILE = report.RESULTS / "tuned_runs.csv"
# Three of the sixteen with more than 3,000 rows to train on, three ordinal.
SETS = ("wine_red", "skillcraft", "abalone", "cpu_act", "california", "brfss_genhlth")
SETTINGS, SEEDS, ROUNDS = 15, 3, 1000
KEYS = ("step", "data", "seed", "method", "setting")
MEASURES = ("zero_one", "mae", "qwk", "rps", "log_loss")
COLUMNS = (*KEYS, "n_train", "n_classes", "drawn", "loss", "rounds", *MEASURES, "fit_seconds", "failure")
METHODS = TUNED | CATBOOST | SLOW
# Which methods search on which sets; those that take hours have the three smallest.
PLANS = ((TUNED, SETS), (CATBOOST, SETS), (SLOW, SETS[:3]))


def searches(quick: bool = False) -> list[Row]:
    """Return every setting to try, whole searches one after the other, the quick methods' first."""
    if quick:
        return [_case("search", "sklearn_diabetes", 0, method, i) for method in TUNED for i in range(2)]
    return [
        _case("search", data, seed, method, i)
        for methods, sets in PLANS
        for seed in range(SEEDS)
        for data in sets
        for method in methods
        for i in range(SETTINGS)
    ]


def _case(step: str, data: str, seed: int, method: str, setting: int) -> Row:
    return {"step": step, "data": data, "seed": seed, "method": method, "setting": setting}


def records(wanted: Iterable[Row], rows: Iterable[Row]) -> list[Row]:
    """Return the settings to train on all rows: those that were the best so far, of the searches that are done."""
    losses = {tuple(str(row[key]) for key in KEYS): row["loss"] for row in rows}
    of_search: dict[tuple[Any, ...], list[Row]] = {}
    for case in wanted:
        of_search.setdefault((case["data"], case["seed"], case["method"]), []).append(case)
    found = []
    for cases in of_search.values():
        known = [losses.get(tuple(str(case[key]) for key in KEYS)) for case in cases]
        if None in known:
            continue
        best = np.inf
        for case, loss in zip(cases, known, strict=True):
            if loss and float(loss) < best:
                best = float(loss)
                found.append({**case, "step": "final"})
    return found


class Measure:
    """What is measured of a case; a final one needs the rounds that the search found."""

    def __init__(self, rows: Iterable[Row]):
        self.rounds = {
            tuple(str(row[key]) for key in KEYS[1:]): row["rounds"] for row in rows if row["step"] == "search"
        }

    def __call__(self, case: Row) -> list[Row]:
        warnings.simplefilter("ignore")  # the rivals' own
        dataset = load(case["data"])
        train, test = partition(dataset, case["seed"])
        X, y = dataset.X.iloc[train], dataset.y[train]
        method, spelled = METHODS[case["method"]]
        drawn = spelled(draw(case["seed"], case["setting"] + 1)[-1])
        row: Row = {"n_train": len(train), "n_classes": dataset.n_classes, "drawn": json.dumps(drawn)}
        start = time.process_time()
        try:
            if case["step"] == "search":
                fitted = method(*split_for_validation((X, y)), ROUNDS, dataset.n_classes, **drawn)
                row |= {"loss": float(fitted.loss), "rounds": max(1, fitted.rounds)}
            else:
                rounds = int(self.rounds[tuple(str(case[key]) for key in KEYS[1:])])
                fitted = method((X, y), None, rounds, dataset.n_classes, **drawn)
                row["rounds"] = rounds
            row["fit_seconds"] = time.process_time() - start
            if case["step"] == "final":
                row |= by_own_decisions(fitted, dataset.X.iloc[test], dataset.y[test])
        except Exception as error:
            row["failure"] = f"{type(error).__name__}: {error}"[:120].replace("\n", " ")
        return [row]


def by_own_decisions(fitted: Fitted, X: pd.DataFrame, y: NDArray[Any]) -> Row:
    """Return every metric with the decision that fits it; of a method without probabilities with its answer."""
    predicted, proba = fitted.predict(X)
    answers = {"zero_one": predicted, "mae": predicted, "qwk": predicted}
    if proba is not None:
        answers = {
            metric: decide(proba, rule) for metric, rule in (("zero_one", "mode"), ("mae", "median"), ("qwk", "mean"))
        }
    scores = {metric: judge(y, answer, None)[metric] for metric, answer in answers.items()}
    of_proba = {} if proba is None else judge(y, predicted, proba)
    return scores | {metric: of_proba[metric] for metric in ("rps", "log_loss") if metric in of_proba}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two settings on one small set that scikit-learn brings")
    parser.add_argument("--results", type=Path, default=FILE)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--hours", type=float, default=2.0, help="start nothing after so many hours")
    options = parser.parse_args()
    if options.quick and options.results == FILE:
        parser.error("--quick needs --results FILE: it must not write into the full run's results")
    end = time.monotonic() + 3600 * options.hours
    store = report.RunsFile(options.results, COLUMNS)
    wanted = [case for case in searches(options.quick) if case["method"] in options.methods]
    print(f"{len(missing(wanted, store.rows))} of {len(wanted)} settings are not measured yet", flush=True)
    resume(store, wanted, Measure([]), minutes=60 * options.hours, jobs=options.jobs)
    finals = records(wanted, store.rows)
    # Of searches that are done, even where the time is over: a search without its result would show nothing.
    minutes = max(10.0, (end - time.monotonic()) / 60)
    resume(store, finals, Measure(store.rows), minutes=minutes, jobs=options.jobs)


if __name__ == "__main__":
    main()
