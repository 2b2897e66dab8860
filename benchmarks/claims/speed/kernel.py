"""Cost of the ordinal gradient and of a whole round with learned thresholds, against the built-in binary round.

    python benchmarks/claims/speed/kernel.py [--rows 1000000] [--rounds 16] [--repeats 3]

All numbers come from one process; variants alternate, and each is the median over rounds and repeats.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import lightgbm
import numpy as np
import xgboost

from lib import report
from lib.timing import Clock, interleave, make_data
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb
from ordinal_objectives.losses import AllThreshold
from ordinal_objectives.rows import RowStatistics
from ordinal_objectives.threshold_solver import initial_thresholds, newton_step


class OnePass:
    """The lagged variant: gradient and threshold step from one pass, thresholds one round behind."""

    def __init__(self, y: np.ndarray, n_classes: int, n_threads: int) -> None:
        self.rows = RowStatistics(AllThreshold(), y, n_classes, n_threads=n_threads)
        self.thresholds = initial_thresholds(self.rows.class_weights).thresholds

    def __deepcopy__(self, memo: dict[int, Any]) -> OnePass:
        return self

    def __call__(self, predt: np.ndarray, matrix: Any) -> tuple[np.ndarray, np.ndarray]:
        now = self.rows(predt, self.thresholds, want_loss=False)
        self.thresholds = np.sort(self.thresholds + newton_step(now.threshold_gradient, now.threshold_hessian))
        return now.gradient, now.hessian


def xgboost_variants(
    dmatrix: xgboost.DMatrix, binary: xgboost.DMatrix, y: np.ndarray, n_classes: int, threads: int, n_rounds: int
) -> dict[str, Callable[[], list[float]]]:
    params = {"max_depth": 6, "tree_method": "hist", "nthread": threads, "disable_default_eval_metric": 1}

    def run(matrix: xgboost.DMatrix, extra: dict[str, Any], **kwargs: Any) -> list[float]:
        clock = Clock()
        callbacks = [*kwargs.pop("callbacks", []), clock]
        xgboost.train({**params, **extra}, matrix, n_rounds, callbacks=callbacks, **kwargs)
        return clock.rounds()

    def newton() -> list[float]:
        objective = oxgb.OrdinalObjective(n_classes, n_threads=threads)
        return run(dmatrix, {"base_score": 0.0}, obj=objective, callbacks=[objective.callback])

    return {
        "built-in": lambda: run(binary, {"objective": "binary:logistic"}),
        "newton": newton,
        "one pass": lambda: run(dmatrix, {"base_score": 0.0}, obj=OnePass(y, n_classes, threads)),
    }


def lightgbm_variants(
    X: np.ndarray, y: np.ndarray, n_classes: int, threads: int, n_rounds: int
) -> dict[str, Callable[[], list[float]]]:
    params = {"num_leaves": 31, "num_threads": threads, "verbosity": -1, "metric": "None", "force_col_wise": True}
    train = lightgbm.Dataset(X, y, params=params).construct()
    binary = lightgbm.Dataset(X, y > (n_classes - 1) / 2, params=params).construct()

    def run(data: lightgbm.Dataset, objective: Any, callbacks: list[Any]) -> list[float]:
        clock = Clock()
        lightgbm.train({**params, "objective": objective}, data, n_rounds, callbacks=[*callbacks, clock])
        return clock.rounds()

    def newton() -> list[float]:
        objective = olgbm.OrdinalObjective(n_classes, n_threads=threads)
        return run(train, objective, [objective.callback])

    return {
        "built-in": lambda: run(binary, "binary", []),
        "newton": newton,
        "one pass": lambda: run(train, OnePass(y, n_classes, threads), []),
    }


def kernel_ms(y: np.ndarray, n_classes: int, threads: int, hessian: str) -> float:
    """Median milliseconds of one fused pass without the loss."""
    rows = RowStatistics(AllThreshold(), y, n_classes, n_threads=threads)
    thresholds = initial_thresholds(rows.class_weights).thresholds
    score = np.random.default_rng(1).normal(size=len(y)).astype(np.float32)
    times = []
    for _ in range(25):
        start = time.perf_counter()
        rows(score, thresholds, hessian, want_loss=False)
        times.append(time.perf_counter() - start)
    return 1e3 * median(times[3:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=28)
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    table = []
    for n_classes in (5, 10):
        X, y = make_data(options.rows, options.features, n_classes)
        dmatrix = xgboost.DMatrix(X, y)
        binary = xgboost.DMatrix(X, y > (n_classes - 1) / 2)
        for threads in (1, 2):
            kernel = {kind: kernel_ms(y, n_classes, threads, kind) for kind in ("majorized", "exact")}
            xgb_ms = interleave(
                xgboost_variants(dmatrix, binary, y, n_classes, threads, options.rounds), options.repeats
            )
            lgb_ms = interleave(lightgbm_variants(X, y, n_classes, threads, options.rounds), options.repeats)
            table.append(
                {
                    "K": n_classes,
                    "threads": threads,
                    "kernel majorized ms": kernel["majorized"],
                    "kernel exact ms": kernel["exact"],
                    "XGBoost binary round ms": xgb_ms["built-in"],
                    "kernel / XGBoost round": kernel["majorized"] / xgb_ms["built-in"],
                    "XGBoost newton / binary": xgb_ms["newton"] / xgb_ms["built-in"],
                    "XGBoost one pass / binary": xgb_ms["one pass"] / xgb_ms["built-in"],
                    "LightGBM binary round ms": lgb_ms["built-in"],
                    "LightGBM newton / binary": lgb_ms["newton"] / lgb_ms["built-in"],
                    "LightGBM one pass / binary": lgb_ms["one pass"] / lgb_ms["built-in"],
                }
            )
    report.write(
        "kernel",
        f"Ordinal gradient kernel and whole rounds, n = {options.rows:,}, {options.features} features",
        table,
        "The kernel is one fused pass without the loss. `newton` is a whole round with fresh thresholds (two "
        "passes); `one pass` takes gradient and threshold step from the same pass, one round behind. XGBoost: "
        "hist, depth 6; LightGBM: 31 leaves.",
    )


if __name__ == "__main__":
    main()
