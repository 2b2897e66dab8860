"""Whole fits, predictions and files of the three classifiers, beside the binary classifiers of XGBoost and LightGBM.

    python benchmarks/claims/speed/whole_fits.py            rows, classes, columns and threads; about an hour
    python benchmarks/claims/speed/whole_fits.py search     what finding the number of trees costs beside them

All classifiers have the same number of trees, of the same size, each grown on 80% of the rows, but the plain call under
"search". Beside the native engine's and LightGBM's stands LightGBM's binary classifier, beside XGBoost's XGBoost's.
Each fit runs in a process of its own, in turns, and the median of three is kept. Cases that this machine has measured
before are kept: run again to continue, delete the result's .json to start anew.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import xgboost

from claims.speed.engine_rounds import LEAVES, classes, highest_memory, make_data, timed
from lib import report
from lib.runner import Row, resume
from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    XGBOrdinalClassifier,
)

FEATURES, TREES, REPEATS, SUBSAMPLE = 28, 40, 3, 0.8
SMALL_ROWS = 100_000  # of a prediction
TRAINERS = {
    "native": ("native", "LightGBM binary"),
    "LightGBM": ("ours in LightGBM", "LightGBM binary"),
    "XGBoost": ("ours in XGBoost", "XGBoost binary"),
}
LEVELS = 12
NOTES = (
    f"{TREES} trees of at most {LEAVES} leaves, each grown on {SUBSAMPLE:.0%} of the rows; {FEATURES} features, of "
    f"which in the columns 'mixed' three are categories of {LEVELS} levels, and a seventh of five others is missing. "
    "Medians of processes, taken in turns. Around: what a fit costs beside its rounds, from fits of all trees and of "
    "half of them; of the binary classifier the same. Memory: the highest of a fit, above the loaded data. Predictions "
    f"are probabilities of at most {SMALL_ROWS:,} rows."
)
COLUMNS = ("trainer", "rows", "K", "columns", "threads")


def classifier(who: str, trees: int | None, threads: int) -> Any:
    """Return a classifier of so many trees; None is the plain call."""
    ours: dict[str, Any] = {} if trees is None else {"subsample": SUBSAMPLE}
    count: dict[str, Any] = {} if trees is None else {"n_estimators": trees}
    if who == "native":
        kind = HistGradientBoostingOrdinalClassifier
        more: dict[str, Any] = (
            {} if trees is None else {"max_iter": trees, "early_stopping": False, "max_leaf_nodes": LEAVES}
        )
        return kind(n_jobs=threads, **ours, **more)
    if who == "ours in LightGBM":
        leaves: dict[str, Any] = {} if trees is None else {"num_leaves": LEAVES, "subsample_freq": 1}
        return LGBMOrdinalClassifier(n_jobs=threads, verbosity=-1, **ours, **count, **leaves)
    grown: dict[str, Any] = {"max_leaves": LEAVES, "grow_policy": "lossguide", "max_depth": 0}
    if who == "ours in XGBoost":
        return XGBOrdinalClassifier(n_jobs=threads, **ours, **count, **({} if trees is None else grown))
    if who == "LightGBM binary":
        sampled: dict[str, Any] = {"num_leaves": LEAVES, "subsample": SUBSAMPLE, "subsample_freq": 1, "verbosity": -1}
        return lightgbm.LGBMClassifier(n_jobs=threads, **count, **sampled)
    return xgboost.XGBClassifier(n_jobs=threads, subsample=SUBSAMPLE, enable_categorical=True, **count, **grown)


def make_table(rows: int, K: int, columns: str) -> tuple[Any, np.ndarray]:
    X, score = make_data(rows, FEATURES)
    y = classes(score, K)
    if columns == "numbers":
        return X, y
    rng = np.random.default_rng(1)
    table = pd.DataFrame(X, columns=[f"x{i}" for i in range(FEATURES)])
    for i in range(3):
        codes = rng.integers(0, LEVELS, rows)
        table[f"x{FEATURES - 1 - i}"] = pd.Categorical.from_codes(codes, [f"level {k}" for k in range(LEVELS)])
        del codes
    for i in range(4, 9):
        table.loc[rng.random(rows) < 1 / 7, f"x{i}"] = np.nan
    return table, y


def save(who: str, model: Any, path: str) -> None:
    if who == "LightGBM binary":
        model.booster_.save_model(path)
    else:
        model.save_model(path)


def load(who: str, model: Any, path: str) -> Any:
    if who == "LightGBM binary":
        return lightgbm.Booster(model_file=path)
    fresh = type(model)()
    fresh.load_model(path)
    return fresh


def measure_here(who: str, rows: int, K: int, columns: str, threads: int, trees: int | None) -> Row:
    """Time one classifier, after a fit of few rows that loads and warms what it needs."""
    X, y = make_table(rows, 2 if "binary" in who else K, columns)
    few = slice(0, 1000)
    classifier(who, 2, threads).fit(X[few], y[few]).predict_proba(X[few])
    if trees is None:
        began = time.perf_counter()
        model = classifier(who, None, threads).fit(X, y)
        seconds, search = time.perf_counter() - began, model.round_search_
        return {
            "fit": seconds,
            "trees": model.n_iter_,
            "tried": sum(one["n_tried"] for one in search.tried) if search else 0,
        }
    half, _ = timed(lambda: classifier(who, trees // 2, threads).fit(X, y))
    memory, (whole, model) = highest_memory(lambda: timed(lambda: classifier(who, trees, threads).fit(X, y)))
    some = X[: min(rows, SMALL_ROWS)]
    proba = min(timed(lambda: model.predict_proba(some))[0] for _ in range(2))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "model.json" if "XGBoost" in who else "model.txt"))
        saved, _ = timed(lambda: save(who, model, path))
        loaded, _ = timed(lambda: load(who, model, path))
    return {
        "fit": whole,
        "around": max(2 * half - whole, 0.0),
        "proba": proba,
        "save": saved,
        "load": loaded,
        "memory": memory,
    }


def measure_apart(*arguments: Any) -> Row:
    command = [sys.executable, __file__, "--one", json.dumps(arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: Row = json.loads(done.stdout.splitlines()[-1])
    return found


def in_turns(who: tuple[str, ...], *arguments: Any, trees: int | None) -> dict[str, Row]:
    """Return the medians of each classifier's processes."""
    found: dict[str, list[Row]] = {name: [] for name in who}
    for _ in range(REPEATS):
        for name in who:
            found[name].append(measure_apart(name, *arguments, trees))
    return {name: {key: median(row[key] for row in rows) for key in rows[0]} for name, rows in found.items()}


def measure(case: Row) -> list[Row]:
    ours, theirs = TRAINERS[case["trainer"]]
    found = in_turns((ours, theirs), *(case[name] for name in COLUMNS[1:]), trees=TREES)
    a, b = found[ours], found[theirs]
    row: Row = {"fit s": a["fit"], "binary fit s": b["fit"], "fit / binary": a["fit"] / b["fit"]}
    row |= {"around ms": 1e3 * a["around"], "binary around ms": 1e3 * b["around"]}
    row |= {f"{name} / binary": a[name] / b[name] for name in ("proba", "save", "load")}
    row |= {"memory MiB": a["memory"], "binary memory MiB": b["memory"]}
    return [row]


def measure_search(case: Row) -> list[Row]:
    ours, _ = TRAINERS[case["trainer"]]
    arguments = tuple(case[name] for name in COLUMNS[1:])
    plain = in_turns((ours,), *arguments, trees=None)[ours]
    fixed = in_turns((ours,), *arguments, trees=TREES)[ours]
    a_tree = (fixed["fit"] - fixed["around"]) / TREES
    row = {name: plain[name] for name in ("trees", "tried")}
    return [{"plain fit s": plain["fit"], **row, "ms a tree of a fit without search": 1e3 * a_tree}]


def cases(sizes: list[int]) -> list[Row]:
    """All sizes and classes with numbers on one thread; K = 5 with mixed columns, and K = 5 and 10 on two threads."""
    found = [(n, K, "numbers", 1) for n in sizes for K in (3, 5, 10, 30)]
    found += [(n, 5, "mixed", 1) for n in sizes] + [(n, K, "numbers", 2) for n in sizes for K in (5, 10)]
    return [dict(zip(COLUMNS, (trainer, *one), strict=True)) for one in found for trainer in TRAINERS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["fits", "search"], nargs="?", default="fits")
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 20_000, 200_000, 1_000_000])
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no case after so many")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure_here(*json.loads(options.one))))
        return
    if options.what == "search":
        store = report.Result("plain_fits", "Plain calls: what finding the number of trees costs", NOTES, order=COLUMNS)
        wanted = [c for c in cases(options.rows) if c["columns"] == "numbers" and c["K"] in (5, 10)]
        resume(store, wanted, measure_search, minutes=options.minutes)
        return
    store = report.Result("whole_fits", "Whole fits beside those of a binary classifier", NOTES, order=COLUMNS)
    resume(store, cases(options.rows), measure, minutes=options.minutes)


if __name__ == "__main__":
    main()
