"""What a random intercept adds to a round: 2,000 groups, a million rows, all trainers.

    python benchmarks/claims/speed/group_rounds.py [--trainers native XGBoost LightGBM] [--threads 1 2]

Fits with and without the column of groups alternate. Effects move in each of the first ten rounds and then in each
sixth: the later rounds are averaged over whole sixes. A case that this machine has measured before is not measured
again.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from functools import partial
from statistics import mean, median
from typing import Any

import numpy as np

from lib import report
from lib.runner import resume
from lib.timing import Clock
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier

N_GROUPS, K, EARLY, SIXES = 2_000, 5, 10, 4
ROUNDS = EARLY + 6 * SIXES
COMMON: dict[str, Any] = {"loss": "cumulative_link", "learning_rate": 0.1, "random_state": 0}
Fit = Callable[[Any, np.ndarray, Clock], Any]


def native(X: np.ndarray, y: np.ndarray, clock: Clock, **options: Any) -> None:
    model = HistGradientBoostingOrdinalClassifier(max_iter=ROUNDS, early_stopping=False, **COMMON, **options)
    model.fit(X, y, callback=lambda *_: clock.after_iteration(None, 0, None))


def xgboost(X: np.ndarray, y: np.ndarray, clock: Clock, **options: Any) -> None:
    XGBOrdinalClassifier(n_estimators=ROUNDS, max_depth=6, callbacks=[clock], **COMMON, **options).fit(X, y)


def lightgbm(X: np.ndarray, y: np.ndarray, clock: Clock, **options: Any) -> None:
    model = LGBMOrdinalClassifier(n_estimators=ROUNDS, num_leaves=31, verbosity=-1, **COMMON, **options)
    model.fit(X, y, callbacks=[clock])


TRAINERS = {"native": native, "XGBoost": xgboost, "LightGBM": lightgbm}


def measure(rows: int, features: int, repeats: int, case: dict[str, Any]) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(rows, features)).astype(np.float32), rng.integers(N_GROUPS, size=rows)
    score = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + rng.normal(size=N_GROUPS)[group]
    y = np.digitize(score + rng.logistic(size=rows), [-2.0, -0.5, 0.5, 2.0])
    fit, tables = TRAINERS[case["trainer"]], {"none": X, "effects": np.column_stack([X, group.astype(np.float32)])}
    options = {"none": {}, "effects": {"random_intercept": features}}
    parts: dict[str, list[tuple[float, float, float]]] = {name: [] for name in tables}
    for _ in range(repeats):
        for name, table in tables.items():
            clock = Clock()
            fit(table, y, clock, n_jobs=case["threads"], **options[name])
            ended, rounds = time.perf_counter() - clock.times[-1], np.diff(clock.times)
            parts[name].append((mean(rounds[2 : EARLY - 1]), mean(rounds[EARLY - 1 :]), ended))
    early, later, end = ({name: median(of[i] for of in parts[name]) for name in parts} for i in range(3))
    return [
        {
            "round ms": 1e3 * later["none"],
            "more, first ten": early["effects"] / early["none"] - 1,
            "more, later": later["effects"] / later["none"] - 1,
            "last integration, rounds": (end["effects"] - end["none"]) / later["none"],
        }
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trainers", nargs="+", default=list(TRAINERS))
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--features", type=int, default=28)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    result = report.Result(
        "group_rounds",
        f"What a random intercept adds to a round, {N_GROUPS:,} groups",
        f"Time of a round with a random intercept over that without, less 1: K = {K}, {options.features} features, "
        f"cumulative-link logit, effects with a standard deviation of 1, 31 leaves or depth 6. Effects move in each of "
        f"the first ten rounds, and then in each sixth. The last integration is once in a fit.",
    )
    sizes = itertools.product(options.trainers, options.threads)
    cases = [{"trainer": trainer, "n": options.rows, "threads": threads} for trainer, threads in sizes]
    resume(result, cases, partial(measure, options.rows, options.features, options.repeats))


if __name__ == "__main__":
    main()
