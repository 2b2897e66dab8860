"""A round of the native engine against the binary and multiclass rounds of LightGBM and XGBoost.

    python benchmarks/claims/speed/engine_rounds.py rounds [--multiclass]   1,000,000 x 28; K = 3 to 30; 1 and 2 threads
    python benchmarks/claims/speed/engine_rounds.py wide [--multiclass]     the same with 100,000 x 100
    python benchmarks/claims/speed/engine_rounds.py curve                   1,000,000 x 28; K from 2 to 50; 1 thread
    python benchmarks/claims/speed/engine_rounds.py setup                   binning, prediction and memory

All numbers of a line come from one process. Variants alternate, and each is the median over rounds. Lines that
this machine has measured before are kept: run again to continue, delete the result's .json to start anew.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from statistics import median
from typing import Any

import lightgbm
import numpy as np
import xgboost

from lib import report
from lib.methods import HOST_DEFAULTS
from lib.runner import resume
from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.histogram_engine.binning import bin_rows, find_cuts
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import RunStart, TrainingSet
from ordinal_objectives.losses import AllThreshold

BLOCK, SKIPPED = 6, 2
NOTES = (
    "Medians of the rounds of one training each, taken in turns; LightGBM's multiclass rounds are the third to sixth, "
    "beside ours of the same numbers. Later trees are less balanced and cost less. With eight classes and more, "
    "a round carries few cross terms where these say all of them, and more as scores spread (cross_terms.md); beside "
    "it, the same with cross_terms='all'."
)
LEAVES = 31
ALL = "joint, all cross terms: ms"
CURVE = [2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 25, 30, 35, 40, 45, 50]


def make_data(n_rows: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features), np.float32)
    return X, X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + rng.logistic(size=n_rows)


def classes(score: np.ndarray, n_classes: int) -> np.ndarray:
    edges = np.quantile(score[:200_000], np.arange(1, n_classes) / n_classes)
    return np.searchsorted(edges, score).astype(np.int32)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def lightgbm_booster(
    dataset: lightgbm.Dataset, y: np.ndarray, n_classes: int, threads: int, **asked: Any
) -> lightgbm.Booster:
    params = {"num_leaves": LEAVES, "num_threads": threads, "verbose": -1, "objective": "binary", **asked}
    if n_classes > 2:
        params |= {"objective": "multiclass", "num_class": n_classes}
    dataset.set_label(y)
    return lightgbm.Booster(params, dataset)


def xgboost_update(matrix: xgboost.DMatrix, threads: int, **asked: Any) -> Callable[[], None]:
    params = {
        "objective": "binary:logistic",
        "max_leaves": LEAVES,
        "grow_policy": "lossguide",
        "max_depth": 0,
        "nthread": threads,
        **asked,
    }
    booster = xgboost.Booster(params, [matrix])
    return lambda: booster.update(matrix, booster.num_boosted_rounds())


def in_turns(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Return the milliseconds of the rounds of each training, taken in turns.

    BLOCK rounds of one follow each other, and the first SKIPPED do not count: the threads of the one before may still
    be spinning then, and the caches hold its data.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(0, rounds, BLOCK):
        for name, call in calls.items():
            times[name] += [1e3 * timed(call)[0] for _ in range(BLOCK)][SKIPPED:]
    return times


def rounds_table(name: str, title: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    X, score = make_data(options.rows, options.features)
    y = classes(score, 2)

    @lru_cache(maxsize=1)
    def binned(threads: int) -> tuple[lightgbm.Dataset, xgboost.DMatrix]:
        dataset = lightgbm.Dataset(X, y, params={"num_threads": threads, "verbose": -1}).construct()
        return dataset, xgboost.QuantileDMatrix(X, y, max_bin=256, nthread=threads)

    @lru_cache(maxsize=1)
    def cuts() -> list[np.ndarray]:
        return find_cuts(X)

    def measure(case: dict[str, Any]) -> list[dict[str, Any]]:
        threads, K = case["threads"], case["K"]
        dataset, matrix = binned(threads)
        parameters = BoostingParameters.of(AllThreshold(), max_leaf_nodes=LEAVES)
        run = EngineRun(
            parameters, TrainingSet(X, classes(score, K), K), n_threads=threads, start=RunStart(cuts=cuts())
        )
        every = replace(parameters, cross_terms="all")
        multiclass = float("nan")
        if options.multiclass and K > 2:
            booster = lightgbm_booster(dataset, classes(score, K), K, threads)
            multiclass = median(in_turns({"it": booster.update}, BLOCK)["it"])
        calls = {
            "joint": run.advance,
            "all": EngineRun(
                every, TrainingSet(X, classes(score, K), K), n_threads=threads, start=RunStart(cuts=cuts())
            ).advance,
            "binary": lightgbm_booster(dataset, y, 2, threads).update,
            "xgboost": xgboost_update(matrix, threads),
        }
        times = in_turns(calls, options.rounds)
        ms = {name: median(values) for name, values in times.items()}
        return [
            {
                "joint ms": ms["joint"],
                ALL: ms["all"],
                "LightGBM binary ms": ms["binary"],
                "XGBoost binary ms": ms["xgboost"],
                "LightGBM multiclass ms": multiclass,
                "joint / binary": ms["joint"] / ms["binary"],
                "joint / multiclass x K": median(times["joint"][: BLOCK - SKIPPED]) / multiclass * K,
            }
        ]

    cases = [{"threads": threads, "K": K} for threads in options.threads for K in options.classes]
    return resume(report.Result(name, title, NOTES, order=("threads", "K")), cases, measure)


def setup_table(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Binning and prediction."""
    X, score = make_data(options.rows, options.features)
    y = classes(score, 5)
    X_test = X[:200_000]
    rows = []
    for threads in options.threads:

        def bin_ours(threads: int = threads) -> Any:
            return bin_rows(X, find_cuts(X), threads)

        def bin_lightgbm(threads: int = threads) -> Any:
            return lightgbm.Dataset(X, y, params={"num_threads": threads, "verbose": -1}).construct()

        ours_bin = min(timed(bin_ours)[0] for _ in range(2))
        theirs_bin = timed(bin_lightgbm)[0]
        small = slice(0, 20_000)
        model = HistGradientBoostingOrdinalClassifier(
            max_iter=300, proportional=True, early_stopping=False, n_jobs=threads, **HOST_DEFAULTS["native"]
        )
        model.fit(X[small], y[small])
        booster = lightgbm.train(
            {"objective": "binary", "num_leaves": LEAVES, "num_threads": threads, "verbose": -1},
            lightgbm.Dataset(X[small], y[small] > 2),
            300,
        )
        ours = min(timed(partial(model.predict_raw, X_test))[0] for _ in range(3))
        theirs = min(timed(partial(booster.predict, X_test, num_threads=threads))[0] for _ in range(3))
        rows.append(
            {
                "threads": threads,
                "binning s": ours_bin,
                "LightGBM Dataset s": theirs_bin,
                "binning ratio": ours_bin / theirs_bin,
                "300 trees, 200,000 rows: s": ours,
                "LightGBM s": theirs,
                "prediction ratio": ours / theirs,
            }
        )
    return rows


def _resident() -> float:
    """Return this process's memory in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def highest_memory(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the highest memory of a call above that before in MiB, and its result."""
    before, highest, done = _resident(), 0.0, threading.Event()

    def watch() -> None:
        nonlocal highest
        while not done.wait(0.002):
            highest = max(highest, _resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    result = call()
    done.set()
    watcher.join()
    return highest - before, result


def _peak(kind: str, n_rows: int, n_features: int, queue: Any) -> None:
    X, score = make_data(n_rows, n_features)
    y = classes(score, 5)
    del score

    def train() -> None:
        if kind == "engine":
            parameters = BoostingParameters.of(AllThreshold(), max_leaf_nodes=LEAVES)
            run = EngineRun(parameters, TrainingSet(X, y, 5), n_threads=1)
            for _ in range(3):
                run.advance()
        else:
            params = {"objective": "binary", "num_leaves": LEAVES, "num_threads": 1, "verbose": -1}
            lightgbm.train(params, lightgbm.Dataset(X, y > 2), 3)

    queue.put(highest_memory(train)[0])


def memory_table(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Peak memory above the loaded data, each library in a process of its own."""
    context = multiprocessing.get_context("spawn")
    peaks = {}
    for kind in ("engine", "lightgbm"):
        queue = context.Queue()
        process = context.Process(target=_peak, args=(kind, options.rows, options.features, queue))
        process.start()
        peaks[kind] = queue.get()
        process.join()
    ratio = peaks["engine"] / peaks["lightgbm"]
    return [{"engine MiB (K = 5)": peaks["engine"], "LightGBM binary MiB": peaks["lightgbm"], "ratio": ratio}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["rounds", "wide", "curve", "setup"])
    parser.add_argument("--rows", type=int)
    parser.add_argument("--features", type=int)
    parser.add_argument("--classes", type=int, nargs="+")
    parser.add_argument("--threads", type=int, nargs="+")
    parser.add_argument("--rounds", type=int, default=36)
    parser.add_argument("--multiclass", action="store_true", help="also time LightGBM's multiclass round")
    options = parser.parse_args()
    n, p = (100_000, 100) if options.what == "wide" else (1_000_000, 28)
    options.rows, options.features = options.rows or n, options.features or p
    options.threads = options.threads or ([1] if options.what == "curve" else [1, 2])
    options.classes = options.classes or (CURVE if options.what == "curve" else [3, 5, 10, 15, 30])
    shape = f"{options.rows:,} x {options.features}, 255 bins, {LEAVES} leaves"
    if options.what == "setup":
        report.write("engine_memory", f"Peak memory above the loaded data, {shape}", memory_table(options))
        report.write("engine_setup", f"Binning and prediction, {shape}", setup_table(options))
        return
    kind = "engine_curve" if options.what == "curve" else "engine"
    name = f"{kind}_{options.rows}x{options.features}"
    rounds_table(name, f"A joint round of the native engine, {shape}, exact Hessian", options)


if __name__ == "__main__":
    main()
