"""A round on a sample of the rows against one on every row: the native engine, LightGBM and XGBoost.

    python benchmarks/claims/speed/sampled_rounds.py       200,000 and 1,000,000 x 28; K = 5 and 10; 1 and 2 threads
    python benchmarks/claims/speed/sampled_rounds.py --rows 200000 --threads 1

All numbers of one number of rows, K and threads come from one process. Trainings alternate, and each is the median over
rounds. Cases that this machine has measured before are kept: run again to continue, delete the result's .json to start
anew.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import count
from statistics import median
from typing import Any

import lightgbm
import numpy as np
import xgboost

from claims.speed.engine_rounds import LEAVES, classes, in_turns, lightgbm_booster, make_data, xgboost_update
from lib import report
from lib.runner import Row, resume
from ordinal_objectives.histogram_engine.binning import find_cuts
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import RunStart, TrainingSet
from ordinal_objectives.losses import AllThreshold

NAME, FEATURES, BAG = "sampled_rounds", 28, 0.632
LEARNING_RATE = 0.1
WARM = round(1 / LEARNING_RATE)  # rounds that GOSS takes with all rows
EVERY, GOSS, FOREST = "every row", "goss", "forest"
# Share of the rows, or what else says which rows a tree is grown on. GOSS has as many rows as the share of 0.3.
DRAWN: tuple[float | str, ...] = (EVERY, 0.8, 0.5, 0.3, GOSS, FOREST)
NOTES = (
    f"Milliseconds, medians of the rounds of one training each, taken in turns after {WARM} rounds. Joint and shifts: "
    "the native engine's, LightGBM and XGBoost for two classes. goss: the fifth of the rows with the largest gradients "
    f"and a tenth of all. forest: trees side by side, each on {BAG} of the rows; none with shifts. XGBoost has no GOSS "
    "on the processor, and its forests are not comparable."
)


def asked_of_engine(drawn: float | str) -> dict[str, Any]:
    """Return the native engine's parameters."""
    if drawn == FOREST:
        return {"boosting_type": "rf", "subsample": BAG}
    return {"data_sample_strategy": "goss"} if drawn == GOSS else {} if drawn == EVERY else {"subsample": drawn}


def asked_of_lightgbm(drawn: float | str) -> dict[str, Any]:
    """Return LightGBM's parameters for the same."""
    if drawn == FOREST:
        return {"boosting": "rf", "bagging_fraction": BAG, "bagging_freq": 1}
    bagging: dict[str, Any] = {"bagging_fraction": drawn, "bagging_freq": 1}
    return {"data_sample_strategy": "goss"} if drawn == GOSS else {} if drawn == EVERY else bagging


def engine_round(rows: TrainingSet, cuts: list[np.ndarray], threads: int, **asked: Any) -> Callable[[], Any]:
    parameters = BoostingParameters.of(
        AllThreshold(), max_leaf_nodes=LEAVES, learning_rate=LEARNING_RATE, **{"subsample": 1.0} | asked
    )
    run = EngineRun(parameters, rows, n_threads=threads, start=RunStart(cuts=cuts))
    if not parameters.is_forest:
        return run.advance
    number = count()
    return lambda: run.separate_tree(next(number))


def measure(case: Row, rounds: int) -> list[Row]:
    threads, K = case["threads"], case["K"]
    X, score, cuts = data(case["rows"])
    labelled, y = TrainingSet(X, classes(score, K), K), classes(score, 2)
    dataset = lightgbm.Dataset(X, y, params={"num_threads": threads, "verbose": -1}).construct()
    matrix = xgboost.QuantileDMatrix(X, y, max_bin=256, nthread=threads)
    calls: dict[str, Callable[[], Any]] = {}
    for drawn in DRAWN:
        engine = partial(engine_round, labelled, cuts, threads, **asked_of_engine(drawn))
        calls[f"joint {drawn}"] = engine(proportional=True)
        if drawn != FOREST:
            calls[f"shifts {drawn}"] = engine(proportional=False)
        theirs = {**asked_of_lightgbm(drawn), "learning_rate": LEARNING_RATE}
        calls[f"LightGBM {drawn}"] = lightgbm_booster(dataset, y, 2, threads, **theirs).update
        if drawn not in (GOSS, FOREST):
            share = 1.0 if drawn == EVERY else float(drawn)
            calls[f"XGBoost {drawn}"] = xgboost_update(matrix, threads, eta=LEARNING_RATE, subsample=share)
    for call in calls.values():
        for _ in range(WARM):
            call()
    ms = {name: median(times) for name, times in in_turns(calls, rounds).items()}
    names = ("joint", "shifts", "LightGBM", "XGBoost")
    lines = []
    for drawn in DRAWN:
        of_drawn = {name: ms.get(f"{name} {drawn}", float("nan")) for name in names}
        ratios = {f"{name} / every row": of_drawn[name] / ms[f"{name} {EVERY}"] for name in names}
        lines.append({"drawn": str(drawn), **{f"{name} ms": of_drawn[name] for name in names}, **ratios})
    return lines


@lru_cache(maxsize=1)
def data(n_rows: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    X, score = make_data(n_rows, FEATURES)
    return X, score, find_cuts(X)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[200_000, 1_000_000])
    parser.add_argument("--classes", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=36)
    parser.add_argument("--name", default=NAME, help="of the result's files")
    options = parser.parse_args()
    cases = [
        {"rows": rows, "K": K, "threads": threads}
        for rows in options.rows
        for K in options.classes
        for threads in options.threads
    ]
    title = f"A round on a sample of the rows, {FEATURES} features, 255 bins, {LEAVES} leaves"
    store = report.Result(options.name, title, NOTES, order=("rows", "K", "threads"))
    resume(store, cases, partial(measure, rounds=options.rounds))


if __name__ == "__main__":
    main()
