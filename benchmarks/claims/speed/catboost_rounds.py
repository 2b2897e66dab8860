"""Cost of a whole round inside CatBoost with learned thresholds, against its Logloss and its MultiClass.

    python benchmarks/claims/speed/catboost_rounds.py [--rows 200000 1000000] [--classes 5 10] [--threads 1]

The variants alternate; each number is the median over rounds and repeats. A case that this machine has measured
before is not measured again.
"""

from __future__ import annotations

import argparse
import itertools
import time
from typing import Any

import numpy as np
from catboost import CatBoost, Pool

from lib import report
from lib.runner import Row, resume
from lib.timing import SKIPPED, interleave, make_data
from ordinal_objectives.adapters import cb as ocb

FEATURES = 28
NOTE = (
    f"All-threshold logit, exact Hessian, Newton steps; depth 6, rate .1, else CatBoost's defaults; {FEATURES} "
    "features, one evaluation set of n / 5, its loss in each round. Logloss: two classes, y above the middle. "
    "Milliseconds of a round, medians; trainings alternate."
)


class Clock:
    """Times rounds of CatBoost."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def after_iteration(self, info: Any) -> bool:
        self.times.append(time.perf_counter())
        return True


def measure(case: Row, n_rounds: int, repeats: int) -> list[Row]:
    """Return the milliseconds of the rounds, taken in turns, and ratios of them."""
    X, y = make_data(case["n"] * 6 // 5, FEATURES, case["K"])
    n_valid = len(y) // 6
    params = {"depth": 6, "learning_rate": 0.1, "thread_count": case["threads"], "iterations": n_rounds}
    own = params | {"verbose": False, "allow_writing_files": False}

    def pools(labels: np.ndarray) -> tuple[Pool, Pool]:
        return Pool(X[n_valid:], labels[n_valid:]), Pool(X[:n_valid], labels[:n_valid])

    ordinal, binary = pools(y), pools((y > (case["K"] - 1) / 2).astype(int))

    def built_in(loss: str, train: Pool, valid: Pool) -> list[float]:
        clock = Clock()
        CatBoost(own | {"loss_function": loss}).fit(train, eval_set=valid, callbacks=[clock])
        return np.diff(clock.times)[SKIPPED:].tolist()

    def ours() -> list[float]:
        clock = Clock()
        ocb.train(ordinal[0], params, eval_set=ordinal[1], callbacks=[clock], n_classes=case["K"])
        return np.diff(clock.times)[SKIPPED:].tolist()

    variants = {
        "Logloss ms": lambda: built_in("Logloss", *binary),
        "MultiClass ms": lambda: built_in("MultiClass", *ordinal),
        "ordinal ms": ours,
    }
    ms = interleave(variants, repeats)
    ratios = {f"ordinal / {one}": ms["ordinal ms"] / ms[f"{one} ms"] for one in ("Logloss", "MultiClass")}
    return [ms | ratios]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[200_000, 1_000_000])
    parser.add_argument("--classes", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    sizes = itertools.product(options.rows, options.classes, options.threads)
    cases = [{"n": n, "K": K, "threads": threads} for n, K, threads in sizes]
    result = report.Result("catboost_rounds", "A round inside CatBoost with learned thresholds", NOTE)
    resume(result, cases, lambda case: measure(case, options.rounds, options.repeats))


if __name__ == "__main__":
    main()
