"""One tree of vector leaves a round, against one tree an output: accuracy, trees, and seconds of a round.

    make bench-multi_output ARGS='--jobs 2'       ORDINAL_DATA names the data folder
    python benchmarks/claims/multi_output/multi_output.py --only rounds       a step of the five below

The protocol of Zhang and Jung (GBDT-MO), smaller where a line says so; all of it on one machine.

1. Settings: of depths 4, 6 and 8 and rates 0.1 and 0.25, those with the lowest loss on the validation rows of the
   first partition; of simulated rows, depths 4 and 6 and a rate of 0.1. The paper tries depths 4 to 10 and four
   rates, and does not say which rows chose.
2. Runs: every partition with the chosen settings, stopped after 25 rounds without a lower validation loss. Sparse
   searches and other Hessians take the settings of dense vector leaves. GBDT-sparse has settings of its own: steps
   without a Hessian are several times shorter, so its rates are higher.
3. Curves: losses of training and test rows, one setting for all methods.
4. Rounds: what a round costs, the mean of ten after the first three, taken in turns: the processor's
   seconds of one thread.
5. Memory: by how much ten rounds raise the most memory of a process that has the rows.

What was measured before is kept: run again to continue. Tables and figures: multi_output_report.py.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from claims.multi_output import multi_output_report, multi_output_tables
from claims.multi_output.multi_output_data import KINDS, Part, Problem, made_classes, problem
from claims.multi_output.multi_output_methods import (
    EACH,
    HESSIAN_RUNS,
    HUNDRED_ROUNDS,
    METHODS,
    RIVAL_ROUNDS,
    ROUNDS,
    VECTOR,
    Fitted,
    Setting,
    gbdt_sparse,
    loss,
    ours,
    top_1,
)
from lib import report
from lib.runner import CsvFile, Row, resume

GRID = tuple((rate, depth) for rate in (0.1, 0.25) for depth in (4, 6, 8))
# What has little noise or none is learned for thousands of rounds.
SIMULATED_GRID, SIMULATED_ROUNDS = ((0.1, 4), (0.1, 6)), 8_000
# A hundred trees a round take long: one setting.
UNTUNED = {"101 classes": (0.25, 4)}
SPARSE = {"digits": (2, 4, 8), "digits inpainting": (4, 8, 16), "101 classes": (8, 16, 32, 64)}
# GBDT-sparse, with k outputs a leaf.
RIVAL = {"digits": 4, "101 classes": 16}
RIVAL_GRID = {
    "digits": tuple((rate, depth) for rate in (0.25, 1.0, 4.0) for depth in (4, 6, 8)),
    "101 classes": tuple((rate, 4) for rate in (1.0, 4.0, 16.0, 64.0)),
}
HESSIANS = ("digits", "covertype93k", "poker25k", "connect4")
CURVES = ("friedman1", "random projection", "digits")
CURVE_SETTING, CURVE_ROUNDS = (0.1, 6), 600
# A round's price does not depend on the learning rate.
TIMED_SETTING, SKIPPED, COUNTED, REPEATS = (0.1, 6), 3, 10, 3
TIMED_ROWS, TIMED_FEATURES, TIMED_BINS = 20_000, 50, 255
WIDE = {f"{d} classes, 20,000 x 50": d for d in (10, 100)}
# XGBoost's multi_output_tree takes seconds for a round there, and is left out.
HUNDRED = ("101 classes", "100 classes, 20,000 x 50")
# Of many outputs, or of many rows and bins.
MEMORY = [
    {"data": name, "method": method}
    for name, methods in {
        "digits inpainting": (VECTOR, EACH, "LightGBM", "XGBoost", "XGBoost multi_output_tree"),
        "10 classes, 20,000 x 50": (VECTOR, "LightGBM", "XGBoost", "XGBoost multi_output_tree"),
        "100 classes, 20,000 x 50": (VECTOR, "LightGBM", "XGBoost"),
    }.items()
    for method in methods
]
# Partitions of LightGBM and XGBoost, which train for minutes there.
FEW = {"random projection": 2}
STEPS = {
    "settings": ("data", "method", "eta", "depth", "loss", "rounds"),
    "runs": (
        "data",
        "method",
        "seed",
        *("eta", "depth", "rounds", "trees", "seconds", "loss", "training_loss", "top_1"),
    ),
    "curves": ("data", "method", "rounds", "training_loss", "loss"),
    "rounds": ("data", "rows", "features", "outputs", "method", "ms"),
    "memory": ("data", "method", "mib"),
}


def variants(name: str) -> dict[str, dict[str, Any]]:
    """Return what else the engine is asked on a set."""
    found: dict[str, dict[str, Any]] = {}
    for k in SPARSE.get(name, ()):
        for search in ("restricted", "unrestricted"):
            found[f"{search}, k = {k}"] = {"max_outputs": k, "search": search}
    if name in HESSIANS:
        found |= {label: {"hessian": hessian} for hessian, label in HESSIAN_RUNS.items()}
    return found


def methods(name: str) -> list[str]:
    """Return who runs on a set: one engine a class would have no softmax."""
    lacking = {EACH} if _task(name) == "classes" else set()
    lacking |= {"XGBoost multi_output_tree"} if name in HUNDRED else set()
    return [label for label in METHODS if label not in lacking]


def rivals(name: str) -> list[str]:
    """Return GBDT-sparse's label where it runs; it is not among the timed methods."""
    return [f"GBDT-sparse, k = {RIVAL[name]}"] if name in RIVAL else []


def partitions(name: str, label: str) -> int:
    of_engine = label in (VECTOR, EACH) or label not in METHODS
    return KINDS[name].seeds if of_engine else FEW.get(name, KINDS[name].seeds)


def _task(name: str) -> str:
    return "classes" if name in WIDE else KINDS[name].task


def trainer(name: str, label: str) -> Callable[..., Fitted]:
    if label in rivals(name):
        return partial(gbdt_sparse, k=RIVAL[name])
    return METHODS[label] if label in METHODS else partial(ours, **variants(name)[label])


def grid(name: str, label: str) -> tuple[tuple[float, int], ...]:
    if label in rivals(name):
        return RIVAL_GRID[name]
    return SIMULATED_GRID if KINDS[name].simulated else GRID


def tune(case: Row) -> list[Row]:
    """Return the validation loss of every setting."""
    rows = problem(case["data"], 0)
    tried = []
    for rate, depth in grid(case["data"], case["method"]):
        setting = setting_of(case["data"], case["method"], rate, depth)
        fitted = trainer(case["data"], case["method"])(rows, setting)
        found = loss(rows.task, rows.valid.Y, fitted.predict(rows.valid.X, None))
        tried.append({"eta": rate, "depth": depth, "loss": found, "rounds": fitted.rounds})
    return tried


def setting_of(name: str, label: str, rate: float, depth: int) -> Setting:
    kind = KINDS[name]
    rounds = SIMULATED_ROUNDS if kind.simulated else HUNDRED_ROUNDS if name in HUNDRED else ROUNDS
    rounds = RIVAL_ROUNDS[name] if label in rivals(name) else rounds
    return Setting(rate, depth, kind.min_rows, rounds)


def choose(tried: list[Row], name: str, label: str) -> Setting:
    """Return a method's setting of a set; a variant takes that of vector leaves."""
    if name in UNTUNED and label not in rivals(name):
        return setting_of(name, label, *UNTUNED[name])
    method = tuned_method(name, label)
    return setting_of(name, label, *_best([row for row in tried if (row["data"], row["method"]) == (name, method)]))


def tuned_method(name: str, label: str) -> str:
    """Return the method whose setting a label takes."""
    return label if label in METHODS or label in rivals(name) else VECTOR


def _best(tried: list[Row]) -> tuple[float, int]:
    found = min(tried, key=lambda row: float(row["loss"]))
    return float(found["eta"]), int(found["depth"])


def run(case: Row, tried: list[Row]) -> list[Row]:
    """Return one model's scores on test rows, and its size."""
    rows = problem(case["data"], case["seed"])
    setting = choose(tried, case["data"], case["method"])
    start = time.process_time()
    fitted = trainer(case["data"], case["method"])(rows, setting)
    seconds = time.process_time() - start
    said = fitted.predict(rows.test.X, None)
    found: Row = {
        "eta": setting.learning_rate,
        "depth": setting.depth,
        "rounds": fitted.rounds,
        "trees": fitted.trees,
        "seconds": seconds,
        "loss": loss(rows.task, rows.test.Y, said),
        "training_loss": loss(rows.task, rows.fit.Y, fitted.predict(rows.fit.X, None)),
    }
    return [found | {"top_1": "" if rows.task == "regression" else top_1(rows.test.Y, said)}]


def curve(case: Row) -> list[Row]:
    """Return losses of training and test rows after some rounds, with a setting that all methods share."""
    rows = problem(case["data"], 0)
    rate, depth = CURVE_SETTING
    setting = Setting(rate, depth, KINDS[case["data"]].min_rows, CURVE_ROUNDS)
    fitted = METHODS[case["method"]](rows, setting, stop=False)
    points = []
    for after in sorted({*np.geomspace(1, CURVE_ROUNDS, 12).astype(int).tolist(), *multi_output_tables.AFTER}):
        training, test = (loss(rows.task, part.Y, fitted.predict(part.X, after)) for part in (rows.fit, rows.test))
        points.append({"rounds": after, "training_loss": training, "loss": test})
    return points


@lru_cache(maxsize=1)
def timed(name: str) -> tuple[Problem, Setting]:
    """Return training rows, and the setting of a timing."""
    setting = Setting(*TIMED_SETTING, min_rows=16, rounds=0)
    if name not in WIDE:
        return problem(name, 0), replace(setting, min_rows=KINDS[name].min_rows)
    rows = made_classes(0, TIMED_ROWS, WIDE[name], TIMED_FEATURES)
    none = Part(rows.X[:0], rows.Y[:0])
    return Problem("classes", WIDE[name], rows, none, none), replace(setting, bins=TIMED_BINS)


def clock(case: Row) -> list[Row]:
    """Return seconds of a round for every method and variant of a set."""
    rows, setting = timed(case["data"])
    labels = [*methods(case["data"]), *variants(case["data"])]
    seconds: dict[str, list[float]] = {label: [] for label in labels}
    for _ in range(REPEATS):
        for label in labels:
            train = trainer(case["data"], label)
            took = []
            for rounds in (SKIPPED, SKIPPED + COUNTED):
                start = time.process_time()
                train(rows, replace(setting, rounds=rounds), stop=False)
                took.append(time.process_time() - start)
            seconds[label].append((took[1] - took[0]) / COUNTED)
    shape = {"rows": len(rows.fit.X), "features": rows.fit.X.shape[1], "outputs": rows.n_outputs}
    return [shape | {"method": label, "ms": 1e3 * median(found)} for label, found in seconds.items()]


def memory(case: Row) -> list[Row]:
    """Return what ten rounds take, of a new process, since a process keeps what it once had."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return [{"mib": pool.submit(_peak, case["data"], case["method"]).result()}]


def _peak(name: str, label: str) -> float:
    rows, setting = timed(name)
    train = trainer(name, label)
    few = Part(rows.fit.X[:200], rows.fit.Y[:200])
    train(replace(rows, fit=few), replace(setting, rounds=1), stop=False)  # imports, threads
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    train(rows, replace(setting, rounds=COUNTED), stop=False)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--only", nargs="+", default=list(STEPS), choices=list(STEPS))
    parser.add_argument("--seeds", type=int, default=10, help="at most so many partitions")
    parser.add_argument("--jobs", type=int, default=1, help="processes; rounds are timed by one")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin nothing after so many minutes")
    parser.add_argument("--into", type=Path, default=report.RESULTS, help="a folder for a try; prints tables alone")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes

    def measured(step: str, cases: list[Row], measure: Callable[[Row], list[Row]], jobs: int) -> list[Row]:
        left = (end - time.monotonic()) / 60 if step in options.only else 0.0
        store = CsvFile(options.into / f"multi_output_{step}.csv", STEPS[step])
        return resume(store, cases, measure, minutes=left, jobs=jobs)

    cases = [{"data": name, "method": label} for name in options.data for label in methods(name)]
    own = [{"data": name, "method": label} for name in options.data for label in rivals(name)]
    tried = measured("settings", [case for case in cases if case["data"] not in UNTUNED] + own, tune, options.jobs)
    known = {(row["data"], row["method"]) for row in tried}
    runs = [
        {"data": name, "method": label, "seed": seed}
        for name in options.data
        for label in [*methods(name), *variants(name), *rivals(name)]
        for seed in range(min(partitions(name, label), options.seeds))
        if (label not in rivals(name) and name in UNTUNED) or (name, tuned_method(name, label)) in known
    ]
    timings = [{"data": name} for name in [*options.data, *WIDE]]
    results = {
        "settings": tried,
        "runs": measured("runs", runs, partial(run, tried=tried), options.jobs),
        "curves": measured("curves", [case for case in cases if case["data"] in CURVES], curve, options.jobs),
        "rounds": measured("rounds", timings, clock, 1),
        "memory": measured("memory", [case for case in MEMORY if case["data"] in (*options.data, *WIDE)], memory, 1),
    }
    multi_output_report.write(results, small=options.into != report.RESULTS)


if __name__ == "__main__":
    main()
