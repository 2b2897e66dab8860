"""Cost of a whole round with learned thresholds, against the built-in binary round, with one evaluation set.

    python benchmarks/claims/speed/plugin_rounds.py [--rows 200000 1000000] [--classes 5 10] [--threads 1 2]
    python benchmarks/claims/speed/plugin_rounds.py --long 500

The variants alternate; each number is the median over rounds and repeats. A case that this machine has measured
before is not measured again. ``--long`` compares the last rounds of one long training with its 50th.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from statistics import median
from typing import Any

import lightgbm
import numpy as np
import xgboost

from lib import report
from lib.runner import resume
from lib.timing import Clock, interleave, make_data
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb

VARIANTS: dict[str, dict[str, Any]] = {
    **{update: {"threshold_update": update} for update in ("newton", "schur", "joint")},
    "shifts": {"proportional": False},
}


def xgboost_variants(X: np.ndarray, y: np.ndarray, n_classes: int, threads: int, n_rounds: int) -> dict[str, Any]:
    n_valid = len(y) // 6
    params = {"max_depth": 6, "tree_method": "hist", "nthread": threads}

    def matrices(labels: np.ndarray) -> tuple[xgboost.DMatrix, xgboost.DMatrix]:
        return xgboost.DMatrix(X[n_valid:], labels[n_valid:]), xgboost.DMatrix(X[:n_valid], labels[:n_valid])

    ordinal, binary = matrices(y), matrices(y > (n_classes - 1) / 2)

    def built_in() -> list[float]:
        clock = Clock()
        xgboost.train(
            {**params, "objective": "binary:logistic"},
            binary[0],
            n_rounds,
            evals=[(binary[1], "valid")],
            callbacks=[clock],
            verbose_eval=False,
        )
        return clock.rounds()

    def ours(options: dict[str, Any]) -> Callable[[], list[float]]:
        def run() -> list[float]:
            clock = Clock()
            oxgb.train(
                params,
                ordinal[0],
                n_rounds,
                n_classes=n_classes,
                **options,
                evals=[(ordinal[1], "valid")],
                callbacks=[clock],
                verbose_eval=False,
            )
            return clock.rounds()

        return run

    return {"built-in": built_in, **{name: ours(options) for name, options in VARIANTS.items()}}


def lightgbm_variants(X: np.ndarray, y: np.ndarray, n_classes: int, threads: int, n_rounds: int) -> dict[str, Any]:
    n_valid = len(y) // 6
    params = {"num_leaves": 31, "num_threads": threads, "verbosity": -1, "force_col_wise": True}

    def matrices(labels: np.ndarray) -> tuple[lightgbm.Dataset, lightgbm.Dataset]:
        train = lightgbm.Dataset(X[n_valid:], labels[n_valid:], params=params).construct()
        return train, lightgbm.Dataset(X[:n_valid], labels[:n_valid], reference=train).construct()

    ordinal, binary = matrices(y), matrices(y > (n_classes - 1) / 2)

    def built_in() -> list[float]:
        clock = Clock()
        lightgbm.train(
            {**params, "objective": "binary", "metric": "binary_logloss"},
            binary[0],
            n_rounds,
            valid_sets=[binary[1]],
            callbacks=[clock],
        )
        return clock.rounds()

    def ours(options: dict[str, Any]) -> Callable[[], list[float]]:
        def run() -> list[float]:
            clock = Clock()
            olgbm.train(
                params,
                ordinal[0],
                n_rounds,
                valid_sets=[ordinal[1]],
                n_classes=n_classes,
                **options,
                callbacks=[clock],
            )
            return clock.rounds()

        return run

    return {"built-in": built_in, **{name: ours(options) for name, options in VARIANTS.items()}}


FRAMEWORKS = {"XGBoost": xgboost_variants, "LightGBM": lightgbm_variants}


def round_times(options: argparse.Namespace) -> None:
    def measure(case: dict[str, Any]) -> list[dict[str, Any]]:
        X, y = make_data(case["n"] * 6 // 5, options.features, case["K"])
        variants = FRAMEWORKS[case["framework"]](X, y, case["K"], case["threads"], options.rounds)
        ms = interleave(variants, options.repeats)
        ratios = {f"{name} / binary": ms[name] / ms["built-in"] for name in VARIANTS}
        return [{"binary round ms": ms["built-in"], **ratios}]

    result = report.Result(
        "adapters",
        f"Whole rounds with learned thresholds, {options.features} features, one evaluation set of n / 5",
        "All-threshold logit, exact Hessian. XGBoost: hist, depth 6; LightGBM: 31 leaves; one evaluation with "
        "the ordinal loss each round, against binary log loss. Shifts: thresholds that move with x, which each tree's "
        "leaves shift.",
    )
    sizes = itertools.product(options.rows, options.classes, options.threads, FRAMEWORKS)
    cases = [{"framework": framework, "n": n, "K": K, "threads": threads} for n, K, threads, framework in sizes]
    resume(result, cases, measure)


def long_run(options: argparse.Namespace) -> None:
    table = []
    for framework, variants in FRAMEWORKS.items():
        X, y = make_data(60_000, options.features, 5)
        runs = variants(X, y, 5, 1, options.long)
        for name in ("built-in", "joint"):
            rounds = runs[name]()
            early, late = median(rounds[30:70]), median(rounds[-40:])
            table.append(
                {
                    "framework": framework,
                    "variant": name,
                    "round 50 ms": 1e3 * early,
                    f"round {options.long} ms": 1e3 * late,
                    "late / early": late / early,
                }
            )
    report.write("adapters_long", "A round does not grow slower as trees add up, n = 50,000, K = 5, one thread", table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[200_000, 1_000_000])
    parser.add_argument("--classes", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--features", type=int, default=28)
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--long", type=int, default=0)
    options = parser.parse_args()
    if options.long:
        long_run(options)
    else:
        round_times(options)


if __name__ == "__main__":
    main()
