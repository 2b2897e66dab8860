"""Cost of a whole round of XGBoost on a GPU with learned thresholds, against the built-in binary round there.

    python benchmarks/claims/speed/gpu.py [--rows 1000000 10000000] [--classes 5 10] [--rounds 16]

XGBoost's margins come to Python in the host's memory twice a round, for the callback and for the objective, and CuPy
takes one back to the GPU. "Copies" is a round that does so and nothing else; the ratios "without copies" are those of
rounds without this share. The variants alternate; each number is the median over rounds and repeats.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import xgboost

from lib import report
from lib.runner import resume
from lib.timing import Clock, interleave, make_data
from ordinal_objectives.adapters import xgb as oxgb
from ordinal_objectives.adapters.xgb.gpu import cupy_of

VARIANTS: dict[str, dict[str, Any]] = {
    "newton": {"threshold_update": "newton"},
    "joint": {"threshold_update": "joint"},
    "shifts": {"proportional": False},
    "host's shifts": {"proportional": False, "shift_method": "host"},
}
TARGETS = {"newton": 1.15, "joint": 1.5}


class Predicts(xgboost.callback.TrainingCallback):
    """Asks for the margin after each round, as the thresholds' callback does."""

    def __init__(self, data: xgboost.DMatrix) -> None:
        self.data = data

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        model.predict(self.data, output_margin=True)
        return False


def variants(
    X: np.ndarray, y: np.ndarray, n_classes: int, n_rounds: int, device: str, arrays: Any
) -> dict[str, Callable[[], list[float]]]:
    """Return functions that train, and return the seconds of each round.

    Parameters
    ----------
    X, y : ndarray
    n_classes, n_rounds : int
    device : str
        XGBoost's.
    arrays : module
        CuPy, or NumPy on the CPU.
    """
    params = {"max_depth": 6, "tree_method": "hist", "device": device}
    ordinal, binary = xgboost.QuantileDMatrix(X, y), xgboost.QuantileDMatrix(X, y > (n_classes - 1) / 2)
    gradient = arrays.asarray(0.5 - binary.get_label())
    hessian = arrays.full(len(y), 0.25, dtype=np.float32)

    def clocked(train: Callable[[Clock], Any]) -> Callable[[], list[float]]:
        def run() -> list[float]:
            clock = Clock()
            train(clock)
            return clock.rounds()

        return run

    def built_in(clock: Clock) -> None:
        xgboost.train({**params, "objective": "binary:logistic"}, binary, n_rounds, callbacks=[clock])

    def copies(clock: Clock) -> None:
        def objective(margin: Any, dtrain: Any) -> tuple[Any, Any]:
            arrays.asarray(margin)
            return gradient, hessian

        callbacks = [Predicts(binary), clock]
        xgboost.train({**params, "base_score": 0.0}, binary, n_rounds, obj=objective, callbacks=callbacks)

    def ours(options: dict[str, Any]) -> Callable[[], list[float]]:
        return clocked(
            lambda clock: oxgb.train(params, ordinal, n_rounds, n_classes=n_classes, callbacks=[clock], **options)
        )

    own = {name: ours(options) for name, options in VARIANTS.items()}
    return {"built-in": clocked(built_in), "copies": clocked(copies), **own}


def ratios(ms: dict[str, float]) -> dict[str, float]:
    """Return the rounds of each variant in built-in rounds, with and without the copies of the margin."""
    base, copied = ms["built-in"], max(ms["copies"] - ms["built-in"], 0.0)
    row = {"binary round ms": base, "copies ms": copied}
    for name in VARIANTS:
        row |= {f"{name} / binary": ms[name] / base, f"{name} without copies": (ms[name] - copied) / base}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--classes", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--features", type=int, default=28)
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    cupy, reason = cupy_of(0)
    if cupy is None:
        parser.error(f"this claim needs a GPU: {reason}")

    def measure(case: dict[str, Any]) -> list[dict[str, Any]]:
        X, y = make_data(case["n"], options.features, case["K"])
        return [ratios(interleave(variants(X, y, case["K"], options.rounds, "cuda", cupy), options.repeats))]

    targets = ", ".join(f"{name} {most}" for name, most in TARGETS.items())
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    result = report.Result(
        "gpu",
        f"Whole rounds on a GPU, {options.features} features, no evaluation",
        f"{name}, CuPy {cupy.__version__}. All-threshold logit, exact Hessian, hist, depth 6. Targets: {targets}.",
    )
    cases = [{"n": n, "K": K} for n, K in itertools.product(options.rows, options.classes)]
    resume(result, cases, measure)


if __name__ == "__main__":
    main()
