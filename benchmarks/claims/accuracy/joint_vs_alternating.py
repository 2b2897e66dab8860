"""Joint against newton against fixed thresholds in the native engine: rounds and seconds to a given loss.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/joint_vs_alternating.py [--minutes 30]

Regression targets are cut at their deciles by value (rule `quantile`). Random 70/30 partitions; 31 leaves,
eta 0.1, one thread, nothing is tuned. The goal is the best validation loss of "newton", missed by at most 0.1%.
Partitions measured before are kept: run again to continue.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lib import report
from lib.data import Dataset, load
from lib.runner import resume
from ordinal_objectives.histogram_engine.parameters import THRESHOLD_UPDATES, BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import TrainingSet
from ordinal_objectives.losses import AllThreshold
from ordinal_objectives.rows import RowStatistics
from ordinal_objectives.trees import TreeEnsemble

DATA = ("abalone", "california", "census16H", "brfss_genhlth")
HESSIANS, PARTITIONS, ROUNDS, SLACK = ("majorized", "exact"), 3, 300, 1.001
FILE = report.RESULTS / "joint_vs_alternating_runs.json"


def features(dataset: Dataset) -> NDArray[np.float64]:
    """Return the features as numbers: codes of categories, NaN where missing."""
    X = dataset.X.copy()
    for column in X.columns[X.dtypes == "category"]:
        X[column] = X[column].cat.codes.where(X[column].notna())
    return X.to_numpy(float)


def train(
    X: NDArray[np.float64], dataset: Dataset, seed: int, parameters: BoostingParameters, rounds: int = ROUNDS
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return validation loss and processor seconds of training after every round of a partition."""
    y, n_classes = dataset.y, dataset.n_classes
    fit, valid = np.split(np.random.default_rng(seed).permutation(len(y)), [7 * len(y) // 10])
    judge = RowStatistics(AllThreshold(), y[valid], n_classes, n_threads=1)
    score = np.zeros(len(valid))
    start = time.process_time()
    run = EngineRun(parameters, TrainingSet(X[fit], y[fit], n_classes), n_threads=1)
    spent, losses, seconds = time.process_time() - start, [], []
    for _ in range(rounds):
        start = time.process_time()
        tree = run.advance()
        spent += time.process_time() - start
        TreeEnsemble([tree], X.shape[1]).add_to(score, X[valid], 0, 1, 1)
        losses.append(judge(score, run.thresholds).loss / len(valid))
        seconds.append(spent)
    return np.array(losses), np.array(seconds)


def partition(dataset: Dataset, seed: int, hessian: str) -> list[dict[str, Any]]:
    """Return one row for each update; the goal is set by newton."""
    X = features(dataset)
    runs = {
        update: train(X, dataset, seed, BoostingParameters.of(AllThreshold(), hessian=hessian, threshold_update=update))
        for update in THRESHOLD_UPDATES
    }
    goal = SLACK * runs["newton"][0].min()
    rows = []
    for update, (losses, seconds) in runs.items():
        there = np.flatnonzero(losses <= goal)[:1]
        row: dict[str, Any] = {"update": update, "rows": len(dataset.y), "K": dataset.n_classes}
        row |= {"best": losses.min(), "ms a round": 1e3 * float(np.median(np.diff(seconds)))}
        row |= {"rounds": int(there[0]) + 1 if there.size else None}
        row |= {"seconds": float(seconds[there[0]]) if there.size else None}
        row["curve"] = [float(f"{loss:.6g}") for loss in losses] if seed == 0 else None
        rows.append(row)
    return rows


def summarise(runs: list[dict[str, Any]]) -> None:
    """Write the table, and a picture of the first partitions."""

    def each(values: list[float | None], form: str) -> str:
        return " ".join("-" if value is None else format(value, form) for value in values)

    table = []
    for name in DATA:
        for hessian in HESSIANS:
            for update in THRESHOLD_UPDATES:
                case = {"data": name, "hessian": hessian, "update": update}
                part = [run for run in runs if case.items() <= run.items()]
                if part:
                    row: dict[str, Any] = {"data": name, "rows": part[0]["rows"], "K": part[0]["K"]}
                    row |= {"Hessian": hessian, "thresholds": update}
                    row["best validation loss"] = f"{np.mean([run['best'] for run in part]):.4f}"
                    row["rounds to goal"] = each([run["rounds"] for run in part], "d")
                    row["seconds to goal"] = each([run["seconds"] for run in part], ".2f")
                    row["ms a round"] = float(np.median([run["ms a round"] for run in part]))
                    table.append(row)
    report.write(
        "joint_vs_alternating",
        f"Rounds and seconds to newton's best validation loss + 0.1%, {ROUNDS} rounds, 31 leaves, eta 0.1, 1 thread",
        table,
        "One number for each partition; - where the goal was not reached. Seconds are the processor's, validation left "
        "out.",
    )


def measure(case: dict[str, Any]) -> list[dict[str, Any]]:
    return partition(load(case["data"]), case["seed"], case["hessian"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1e9, help="start no partition after so many minutes")
    options = parser.parse_args()
    cases = [
        {"data": name, "seed": seed, "hessian": hessian}
        for seed in range(PARTITIONS)
        for name in DATA
        for hessian in HESSIANS
    ]
    runs = resume(FILE, cases, measure, minutes=options.minutes)
    if runs:
        summarise(runs)


if __name__ == "__main__":
    main()
