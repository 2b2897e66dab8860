"""A round of the engine with columns of categories, against LightGBM's binary one on the same columns.

    python benchmarks/claims/speed/category_rounds.py      200,000 rows; K = 5; 1 and 2 threads
    python benchmarks/claims/speed/category_rounds.py --rows 50000 --threads 1

All numbers of a line come from one process. Variants alternate, and each is the median over rounds.
"""

from __future__ import annotations

import argparse
from statistics import median
from typing import Any

import lightgbm
import numpy as np

from claims.speed.engine_rounds import LEAVES, classes, in_turns, lightgbm_booster
from lib import report
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import TrainingSet
from ordinal_objectives.losses import AllThreshold

NAME, K = "category_rounds", 5
LEVELS = (5, 10, 20, 40, 60, 80, 100, 150, 200, 250)
VARIANTS: dict[str, dict[str, Any]] = {"joint": {}, "vector": {"proportional": False}}
NOTE = (
    f"Ten columns of {', '.join(map(str, LEVELS))} categories, and as many of numbers. Medians of the rounds of one "
    "training each, taken in turns, in milliseconds; LightGBM with its own splits of categories at their defaults, for "
    "two classes."
)


def make_data(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((n_rows, len(LEVELS)), np.float32)
    codes = np.column_stack([rng.integers(0, n, n_rows) for n in LEVELS])
    effects = sum(0.5 * rng.normal(size=n)[codes[:, i]] for i, n in enumerate(LEVELS))
    score = numbers[:, 0] + np.sin(2 * numbers[:, 1]) + effects + rng.logistic(size=n_rows)
    return np.column_stack([numbers, codes.astype(np.float32)]), score


def measure(options: argparse.Namespace, threads: int) -> dict[str, Any]:
    X, score = make_data(options.rows)
    places = list(range(len(LEVELS), 2 * len(LEVELS)))
    rows = TrainingSet(X, classes(score, K), K, categories=dict(zip(places, LEVELS, strict=True)))
    calls: dict[str, Any] = {}
    for name, more in VARIANTS.items():
        parameters = BoostingParameters.of(AllThreshold(), max_leaf_nodes=LEAVES, **more)
        calls[name] = EngineRun(parameters, rows, n_threads=threads).advance
    y = classes(score, 2)
    dataset = lightgbm.Dataset(X, y, categorical_feature=places, params={"num_threads": threads, "verbose": -1})
    calls["LightGBM binary"] = lightgbm_booster(dataset.construct(), y, 2, threads).update
    ms = {name: median(times) for name, times in in_turns(calls, options.rounds).items()}
    ratios = {f"{name} / binary": ms[name] / ms["LightGBM binary"] for name in VARIANTS}
    return {"rows": options.rows, "K": K, "threads": threads} | {f"{name} ms": ms[name] for name in ms} | ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=36)
    options = parser.parse_args()
    rows = [measure(options, threads) for threads in options.threads]
    report.write(NAME, "A round with columns of categories", rows, NOTE)


if __name__ == "__main__":
    main()
