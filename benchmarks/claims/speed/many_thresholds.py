"""A round with up to 100 classes, as distributions of numbers need, beside LightGBM's round for two classes.

    python benchmarks/claims/speed/many_thresholds.py [--rows 1000000] [--classes 5 20 50 100]

The native engine, and LightGBM and XGBoost with learned thresholds, on one thread: one score, thresholds that move
with x, and such as share a few shifts. Trainings of the native engine alternate with LightGBM's. The others are timed
by the rounds of a training, and beside each stands the library's own round for two classes, timed in the same way. Peak
memory, above the data, is that of a fit of three rounds in a process of its own. Cases that this machine has measured
before are kept: run again to continue, delete the result's .json to start anew.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Callable
from functools import lru_cache, partial
from statistics import median
from typing import Any

import lightgbm
import numpy as np
import xgboost

from claims.speed.engine_rounds import (
    LEAVES,
    classes,
    highest_memory,
    in_turns,
    lightgbm_booster,
    make_data,
)
from claims.speed.sampled_rounds import engine_round
from lib import report
from lib.runner import Row, resume
from lib.timing import Clock, interleave
from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from ordinal_objectives.histogram_engine.binning import find_cuts
from ordinal_objectives.histogram_engine.state import TrainingSet

FEATURES, WARM, ROUNDS, REPEATS = 28, 5, 8, 2
SHIFTS = 12
LGB = {"num_leaves": LEAVES, "num_threads": 1, "verbosity": -1}
XGB = {"max_leaves": LEAVES, "grow_policy": "lossguide", "max_depth": 0, "nthread": 1}


@lru_cache(maxsize=1)
def data(n_rows: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    X, score = make_data(n_rows, FEATURES)
    return X, score, find_cuts(X)


def engine(case: Row) -> Row:
    X, score, cuts = data(case["rows"])
    labelled = TrainingSet(X, classes(score, case["K"]), case["K"])
    dataset = lightgbm.Dataset(X, classes(score, 2), params=LGB).construct()
    calls: dict[str, Callable[[], Any]] = {
        "one score": engine_round(labelled, cuts, 1, proportional=True),
        "shifts": engine_round(labelled, cuts, 1, proportional=False),
        "shared shifts": engine_round(labelled, cuts, 1, proportional=False, max_shifts=SHIFTS),
        "binary": lightgbm_booster(dataset, classes(score, 2), 2, 1, learning_rate=0.1).update,
    }
    for call in calls.values():
        for _ in range(WARM):
            call()
    return {name: median(times) for name, times in in_turns(calls, 18).items()}


def plug_in(case: Row) -> Row:
    X, score, _ = data(case["rows"])
    y, K = classes(score, case["K"]), case["K"]

    def rounds(train: Callable[..., Any], matrix: Any, params: dict[str, Any], **options: Any) -> list[float]:
        clock = Clock()
        train(params, matrix, ROUNDS, callbacks=[clock], **options)
        return clock.rounds()

    if case["trainer"] == "LightGBM":
        sets = [lightgbm.Dataset(X, labels, params=LGB).construct() for labels in (y, classes(score, 2))]
        own = partial(rounds, lightgbm.train, sets[1], LGB | {"objective": "binary"})
        ours = partial(rounds, olgbm.train, sets[0], LGB, n_classes=K, threshold_update="newton")
    else:
        sets = [xgboost.QuantileDMatrix(X, labels, nthread=1) for labels in (y, classes(score, 2))]
        own = partial(rounds, xgboost.train, sets[1], XGB | {"objective": "binary:logistic"}, verbose_eval=False)
        ours = partial(rounds, oxgb.train, sets[0], XGB, n_classes=K, threshold_update="newton", verbose_eval=False)
    variants: dict[str, Callable[[], list[float]]] = {
        "one score": ours,
        "shifts": partial(ours, proportional=False),
        "shared shifts": partial(ours, proportional=False, max_shifts=SHIFTS),
        "binary": own,
    }
    return interleave(variants, REPEATS)


def _peak(n_rows: int, K: int, max_shifts: int | None, queue: Any) -> None:
    X, score = make_data(n_rows, FEATURES)
    y = classes(score, K)
    model = HistGradientBoostingOrdinalClassifier(max_iter=3, n_jobs=1, max_shifts=max_shifts)
    queue.put(highest_memory(lambda: model.fit(X, y))[0])


def memory(case: Row, max_shifts: int | None) -> float:
    """Return the peak of a fit with shifts of the native classifier, in MiB."""
    if case["trainer"] != "native":
        return float("nan")
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_peak, args=(case["rows"], case["K"], max_shifts, queue))
    process.start()
    found = queue.get()
    process.join()
    return float(found)


def measure(case: Row) -> list[Row]:
    ms = engine(case) if case["trainer"] == "native" else plug_in(case)
    row: Row = {f"{name} ms": value for name, value in ms.items()}
    row |= {f"{name} / binary": ms[name] / ms["binary"] for name in ("one score", "shifts", "shared shifts")}
    peaks = {"peak memory of a fit, MiB": memory(case, None), "of shared shifts": memory(case, SHIFTS)}
    return [row | peaks]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, nargs="+", default=[5, 20, 50, 100])
    options = parser.parse_args()
    cases = [
        {"trainer": trainer, "rows": options.rows, "K": K}
        for K in options.classes
        for trainer in ("native", "LightGBM", "XGBoost")
    ]
    notes = (
        f"{FEATURES} features, 255 bins, {LEAVES} leaves, one thread. shared shifts: max_shifts={SHIFTS}. "
        "binary: LightGBM's round for two classes beside the native engine and LightGBM, XGBoost's beside XGBoost."
    )
    store = report.Result("many_thresholds", "A round with many thresholds", notes, order=("trainer", "rows", "K"))
    resume(store, cases, measure)


if __name__ == "__main__":
    main()
