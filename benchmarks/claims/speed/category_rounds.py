"""A round of the engine with columns of categories and of few values, beside LightGBM's binary one on the same.

    python benchmarks/claims/speed/category_rounds.py      both tables; K = 5 and 10; 1 and 2 threads
    python benchmarks/claims/speed/category_rounds.py --instruction-set avx2

All numbers of a line come from one process. Variants alternate, and each is the median over rounds.
"""

from __future__ import annotations

import argparse
from itertools import product
from statistics import median
from typing import Any

import lightgbm
import numpy as np

from claims.speed.engine_rounds import LEAVES, classes, in_turns, lightgbm_booster
from lib import report
from ordinal_objectives import _core
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import TrainingSet
from ordinal_objectives.losses import AllThreshold

NAME, BAG = "category_rounds", 0.8
MANY, MIXED = "many categories", "mixed"
LEVELS = {MANY: (5, 10, 20, 40, 60, 80, 100, 150, 200, 250), MIXED: (6,) * 8}
ROWS = {MANY: 200_000, MIXED: 400_000}
N_COUNTS = {MANY: 0, MIXED: 10}
VARIANTS: dict[str, dict[str, Any]] = {
    "joint": {"subsample": 1.0},
    "vector": {"proportional": False, "subsample": 1.0},
    "default": {"proportional": False, "subsample": BAG},
}
NOTE = (
    f"{MANY}: ten columns of {', '.join(map(str, LEVELS[MANY]))} categories, and as many of numbers. {MIXED}: ten "
    "columns of numbers, ten of whole numbers (Poisson, mean 4), eight of six categories. Medians of the rounds of one "
    "training each, taken in turns, in milliseconds; LightGBM with its own splits of categories at their defaults, for "
    f"two classes. vector: leaves that shift single thresholds; default: the same on {BAG} of the rows, beside "
    "LightGBM's round on as many."
)


def make_data(table: str) -> tuple[np.ndarray, np.ndarray, dict[int, int]]:
    rng = np.random.default_rng(0)
    n_rows, levels = ROWS[table], LEVELS[table]
    numbers = rng.standard_normal((n_rows, 10), np.float32)
    counts = rng.poisson(4.0, (n_rows, N_COUNTS[table]))
    codes = np.column_stack([rng.integers(0, n, n_rows) for n in levels])
    effects = sum(0.5 * rng.normal(size=n)[codes[:, i]] for i, n in enumerate(levels))
    score = numbers[:, 0] + np.sin(2 * numbers[:, 1]) + effects + 0.2 * counts[:, :2].sum(axis=1)
    X = np.column_stack([numbers, counts.astype(np.float32), codes.astype(np.float32)])
    places = range(X.shape[1] - len(levels), X.shape[1])
    return X, score + rng.logistic(size=n_rows), dict(zip(places, levels, strict=True))


def measure(table: str, K: int, threads: int, rounds: int) -> dict[str, Any]:
    X, score, categories = make_data(table)
    rows = TrainingSet(X, classes(score, K), K, categories=categories)
    calls: dict[str, Any] = {}
    for name, more in VARIANTS.items():
        parameters = BoostingParameters.of(AllThreshold(), max_leaf_nodes=LEAVES, **more)
        calls[name] = EngineRun(parameters, rows, n_threads=threads).advance
    y, asked = classes(score, 2), {"num_threads": threads, "verbose": -1}
    dataset = lightgbm.Dataset(X, y, categorical_feature=[*categories], params=asked).construct()
    bagging = {"bagging_fraction": BAG, "bagging_freq": 1}
    calls["LightGBM binary"] = lightgbm_booster(dataset, y, 2, threads).update
    calls["LightGBM bagged"] = lightgbm_booster(dataset, y, 2, threads, **bagging).update
    ms = {name: median(times) for name, times in in_turns(calls, rounds).items()}
    beside = {name: "LightGBM bagged" if name == "default" else "LightGBM binary" for name in VARIANTS}
    ratios = {f"{name} / {beside[name].split()[1]}": ms[name] / ms[beside[name]] for name in VARIANTS}
    line = {"table": table, "rows": len(X), "K": K, "threads": threads}
    return line | {f"{name} ms": ms[name] for name in ms} | ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", choices=[MANY, MIXED], default=[MANY, MIXED])
    parser.add_argument("--classes", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=36)
    parser.add_argument(
        "--instruction-set", choices=_core.instruction_sets()[1:], help="not the best one of this machine"
    )
    options = parser.parse_args()
    lesser = options.instruction_set
    if lesser:
        _core.select_instruction_set(lesser)
    cases = product(options.tables, options.classes, options.threads)
    rows = [measure(*case, options.rounds) for case in cases]
    report.write(
        f"{NAME}_{lesser}" if lesser else NAME, "A round with columns of categories and of few values", rows, NOTE
    )


if __name__ == "__main__":
    main()
