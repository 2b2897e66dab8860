"""Joint against newton against fixed thresholds in the native engine: rounds and seconds to a given loss.

    python benchmarks/joint_vs_alternating.py FOLDER [--rounds 300] [--partitions 3]

FOLDER holds the data as .csv.gz with the target in the last column. A continuous target is cut into ten
classes of equal size. Each partition trains on 70% of the rows; the goal is the best validation loss of
"newton", missed by at most 0.1%.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import report
from ordinal_objectives.histogram_engine.boosting import Boosting
from ordinal_objectives.histogram_engine.parameters import THRESHOLD_UPDATES, BoostingParameters
from ordinal_objectives.histogram_engine.trees import TreeEnsemble
from ordinal_objectives.losses import AllThreshold
from ordinal_objectives.statistics import RowStatistics

FILES = {
    "abalone": "A09_abalone",
    "california": "A14_cal_housing",
    "house_16H": "A16_house_16H",
    "brfss_genhlth": "B_brfss_genhlth",
}
SLACK = 1.001
MOST_CLASSES = 10


def load(path: Path) -> tuple[np.ndarray, np.ndarray]:
    frame = pd.read_csv(path)
    target = frame.iloc[:, -1]
    X = frame.iloc[:, :-1].select_dtypes("number").to_numpy(float)
    if pd.api.types.is_numeric_dtype(target) and target.nunique() > MOST_CLASSES:
        edges = np.unique(np.quantile(target, np.arange(1, MOST_CLASSES) / MOST_CLASSES))
        target = pd.Series(np.searchsorted(edges, target))
    return X, pd.factorize(target, sort=True)[0].astype(np.int32)


def train(
    X: np.ndarray, y: np.ndarray, fit: np.ndarray, valid: np.ndarray, hessian: str, update: str, n_rounds: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return validation loss and training seconds after every round."""
    n_classes = int(y.max()) + 1
    parameters = BoostingParameters(AllThreshold(), hessian, update)
    judge = RowStatistics(AllThreshold(), y[valid], n_classes)
    score = np.zeros(len(valid))
    start = time.perf_counter()
    run = Boosting(parameters, X[fit], y[fit], n_classes, n_threads=1)
    spent, losses, seconds = time.perf_counter() - start, [], []
    for _ in range(n_rounds):
        start = time.perf_counter()
        tree = run.advance()
        spent += time.perf_counter() - start
        TreeEnsemble([tree], X.shape[1]).add_to(score, X[valid], 0, 1, 1)
        losses.append(judge(score, run.thresholds).loss / len(valid))
        seconds.append(spent)
    return np.array(losses), np.array(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--partitions", type=int, default=3)
    options = parser.parse_args()
    table: list[dict[str, Any]] = []
    curves: dict[tuple[str, str], dict[str, np.ndarray]] = {}
    for name, file in FILES.items():
        X, y = load(options.folder / f"{file}.csv.gz")
        for hessian in ("majorized", "exact"):
            results: dict[str, list[tuple[float, float, float]]] = {update: [] for update in THRESHOLD_UPDATES}
            for partition in range(options.partitions):
                rows = np.random.default_rng(partition).permutation(len(y))
                fit, valid = rows[: 7 * len(y) // 10], rows[7 * len(y) // 10 :]
                runs = {u: train(X, y, fit, valid, hessian, u, options.rounds) for u in THRESHOLD_UPDATES}
                goal = SLACK * runs["newton"][0].min()
                for update, (losses, seconds) in runs.items():
                    there = np.flatnonzero(losses <= goal)
                    reached = (there[0] + 1, seconds[there[0]]) if there.size else (np.inf, np.inf)
                    results[update].append((losses.min(), *reached))
                if partition == 0:
                    curves[name, hessian] = {update: losses for update, (losses, _) in runs.items()}
            for update, values in results.items():
                loss, rounds, seconds = np.array(values).T
                table.append(
                    {
                        "data": name,
                        "rows": len(y),
                        "K": int(y.max()) + 1,
                        "Hessian": hessian,
                        "thresholds": update,
                        "best validation loss": f"{loss.mean():.4f}",
                        "rounds to goal": " ".join("-" if np.isinf(r) else f"{r:.0f}" for r in rounds),
                        "seconds to goal": " ".join("-" if np.isinf(s) else f"{s:.2f}" for s in seconds),
                    }
                )
                print(table[-1], flush=True)
    report.write(
        "joint_vs_alternating",
        f"Rounds and seconds to newton's best validation loss + 0.1%, {options.rounds} rounds, 31 leaves, eta 0.1",
        table,
        "One number for each partition; - where the goal was not reached. Validation is not in the seconds.",
    )
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 2.4 * len(FILES)), layout="constrained")
    for ax, ((name, hessian), losses) in zip(figure.subplots(len(FILES), 2).ravel(), curves.items(), strict=True):
        for update, values in losses.items():
            ax.plot(np.arange(1, len(values) + 1), values, label=update)
        ax.set_title(f"{name}, {hessian}")
        ax.set_ylabel("validation loss")
        ax.legend()
    figure.savefig(report.RESULTS / "joint_vs_alternating.png", dpi=110)


if __name__ == "__main__":
    main()
