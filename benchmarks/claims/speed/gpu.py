"""Cost of a whole round of XGBoost on a GPU with learned thresholds, against the floor of any custom objective there.

    python benchmarks/claims/speed/gpu.py [--rows 1000000 10000000] [--classes 5 10] [--rounds 16]

The floor is an objective that returns the same CuPy arrays every round: XGBoost still copies its margin to the host and
asks Python. For shifts that XGBoost fits itself, the floor returns as many outputs, and the same for splits. Variants
alternate; each number is the median over rounds and repeats, timed from one gradient to the next: a callback that notes
the time would have the thresholds of every round learned once more. "Kernels" is what a round asks of this package on
the device, each kernel started and its sums copied back, at a margin that is there already. A line for each target says
whether it is met.

    python benchmarks/claims/speed/gpu.py --cpu-pass

measures rounds whose trees grow on the GPU and whose gradients are computed by all threads of the CPU.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from statistics import median
from typing import Any
from unittest import mock

import numpy as np
import xgboost
from xgboost.objective import TreeObjective

from lib import report
from lib.runner import resume
from lib.timing import SKIPPED, make_data
from ordinal_objectives.adapters import xgb as oxgb
from ordinal_objectives.adapters.xgb import training
from ordinal_objectives.losses import get_loss
from ordinal_objectives.rows import CPU
from ordinal_objectives.rows.gpu import GPU, cupy_of

VARIANTS: dict[str, dict[str, Any]] = {
    "newton": {"threshold_update": "newton"},
    "joint": {"threshold_update": "joint"},
    "shifts": {"proportional": False},
    "host's shifts": {"proportional": False, "shift_method": "host"},
}
BINARY, FLOOR, FLOOR_OF_OUTPUTS = "binary", "floor", "floor of outputs"
# Rounds in rounds of the floor, at so many rows and classes; and kernels in built-in binary rounds.
TARGETS = {"newton": 1.3, "joint": 1.5, "shifts": 1.8, "host's shifts": 1.5}
TARGET_SIZES = [(1_000_000, 5), (1_000_000, 10)]
MOST_KERNELS, KERNEL_SIZES = 0.10, [(10_000_000, 10)]
N_LEAVES = 64


class Fixed(TreeObjective):
    """Returns the same arrays every round, and the first columns of those of several outputs for splits."""

    def __init__(self, *pair: Any) -> None:
        self.pair = pair

    def __call__(self, iteration: int, margin: Any, dtrain: xgboost.DMatrix) -> tuple[Any, Any]:
        return self.pair[0], self.pair[1]

    def split_grad(self, iteration: int, grad: Any, hess: Any) -> Any:
        return None if grad.ndim == 1 else (grad[:, :1].copy(), hess[:, :1].copy())


def variants(
    X: np.ndarray, y: np.ndarray, n_classes: int, device: str, handed: Callable[[np.ndarray], Any]
) -> dict[str, Callable[[int], None]]:
    """Return functions that train so many rounds.

    Parameters
    ----------
    X, y : ndarray
    n_classes : int
    device : str
        XGBoost's.
    handed : callable
        Makes the floor's arrays what XGBoost is handed: CuPy's ``asarray``.
    """
    params = {"max_depth": 6, "tree_method": "hist", "device": device}
    ordinal, binary = xgboost.QuantileDMatrix(X, y), xgboost.QuantileDMatrix(X, y > (n_classes - 1) / 2)
    gradient = (0.5 - binary.get_label()).astype(np.float32)
    hessian = np.full(len(y), 0.25, np.float32)
    of_outputs = [np.tile(one[:, None], n_classes - 1) for one in (gradient, hessian)]
    outputs = {"multi_strategy": "multi_output_tree", "num_target": n_classes - 1}

    def built_in(n_rounds: int) -> None:
        xgboost.train({**params, "objective": "binary:logistic"}, binary, n_rounds)

    def fixed(more: dict[str, Any], *pair: np.ndarray) -> Callable[[int], None]:
        asked = {**params, "base_score": 0.0, "disable_default_eval_metric": 1, **more}
        return lambda n_rounds: xgboost.train(asked, binary, n_rounds, obj=Fixed(*map(handed, pair)))

    def ours(options: dict[str, Any]) -> Callable[[int], None]:
        return lambda n_rounds: oxgb.train(params, ordinal, n_rounds, n_classes=n_classes, **options)

    floors = {FLOOR: fixed({}, gradient, hessian), FLOOR_OF_OUTPUTS: fixed(outputs, *of_outputs)}
    return {BINARY: built_in, **floors, **{name: ours(options) for name, options in VARIANTS.items()}}


def rounds_of(runs: dict[str, Callable[[int], None]], n_rounds: int, repeats: int) -> dict[str, float]:
    """Return the milliseconds of a round of each variant, in turns, but for the first rounds of each training."""
    update, begun = xgboost.Booster.update, list[float]()

    def noted(*given: Any, **options: Any) -> None:
        begun.append(time.perf_counter())
        update(*given, **options)

    found: dict[str, list[float]] = {name: [] for name in runs}
    with mock.patch.object(xgboost.Booster, "update", noted):
        for _ in range(repeats):
            for name, train in runs.items():
                begun.clear()
                train(n_rounds)
                found[name] += np.diff(begun)[SKIPPED:].tolist()
    return {name: 1e3 * median(times) for name, times in found.items()}


def kernels(y: np.ndarray, n_classes: int, arrays: Any) -> dict[str, Callable[[], Any]]:
    """Return what a round of each variant asks of this package on the device, as functions.

    Parameters
    ----------
    y : ndarray
    n_classes : int
    arrays : module
        CuPy.
    """
    device, loss, rng = GPU(arrays), get_loss("all_threshold"), np.random.default_rng(0)
    n, n_thresholds = len(y), n_classes - 1
    rows, margins = device.row_pass(loss, y, n_classes), device.margin_pass(loss, y, n_classes)
    theta = np.linspace(-2.0, 2.0, n_thresholds)
    values = np.linspace(-0.3, 0.3, N_LEAVES)
    order = np.arange(N_LEAVES, dtype=np.int32)
    before = device.copy(rng.normal(size=n).astype(np.float32))
    after = device.copy(before + device.copy(rng.choice(values, n).astype(np.float32)))
    score = device.copy(after, np.float64)
    vectors = np.tile(values.astype(np.float32)[:, None], n_thresholds)
    scores = device.columns(n, n_thresholds)
    scores[:] = after[:, None]
    outputs, columns = device.copy(scores), device.columns(n, 2 * n_thresholds)
    mixing, offset = np.eye(n_thresholds, dtype=np.float32), np.zeros(n_thresholds, np.float32)
    shares = arrays.ones(n, dtype=np.float32)
    rows(score, theta, "exact")
    margins(scores, theta, "exact")

    def newton() -> None:
        rows(after, theta, "exact", want_loss=False)
        rows(after, theta, "exact")

    def joint() -> None:
        leaves, *_ = device.match_leaves(before, after, values, order)
        rows.leaf_sums(leaves, N_LEAVES)
        rows(device.add_leaf_values(score, leaves, values), theta, "exact")

    def shifts() -> None:
        leaves, *_ = device.match_leaves(before, after, values, order)
        margins.leaf_sums(leaves, N_LEAVES)
        margins.leaf_weights(leaves, N_LEAVES)
        moved = device.add_leaf_vectors(scores, leaves, vectors)
        margins(moved, theta, "exact")
        margins(moved, theta, "exact")

    def hosts_shifts() -> None:
        device.weighted_sum(shares, outputs)
        moved = device.scores_of(outputs, mixing, offset)
        margins(moved, theta, "exact", want_loss=False)
        margins(moved, theta, "exact", columns=columns)
        for part in (columns[:, :n_thresholds], columns[:, n_thresholds:]):
            float(device.times(part, mixing)[0, 0])  # waits until it is there

    return dict(zip(VARIANTS, (newton, joint, shifts, hosts_shifts), strict=True))


def milliseconds(run: Callable[[], Any], repeats: int) -> float:
    """Return the median time of a function, after one call that compiles."""
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1e3 * median(times)


def rows_of(rounds: dict[str, float], of_kernels: dict[str, float]) -> list[dict[str, Any]]:
    """Return the rows of a case: milliseconds, rounds in rounds of their floor, kernels in binary rounds."""
    rows = []
    for name, ms in rounds.items():
        floor = FLOOR_OF_OUTPUTS if name in ("host's shifts", FLOOR_OF_OUTPUTS) else FLOOR
        own = of_kernels.get(name, float("nan"))
        in_floors, in_binary = ms / rounds[floor], own / rounds[BINARY]
        rows.append({"round": name, "ms": ms, "/ floor": in_floors, "kernels ms": own, "kernels / binary": in_binary})
    return rows


def verdicts(rows: list[dict[str, Any]]) -> list[str]:
    """Return a line for each target: what was measured, what is allowed, and whether it is met."""
    measured = {(row["n"], row["K"], row["round"]): row for row in rows}
    targets = [(size, name, "/ floor", most) for size in TARGET_SIZES for name, most in TARGETS.items()]
    targets += [(size, name, "kernels / binary", MOST_KERNELS) for size in KERNEL_SIZES for name in VARIANTS]
    lines = []
    for (n, K), name, column, most in targets:
        where = f"{name}, {column} at {n:,} rows, K = {K}: "
        if (n, K, name) not in measured:
            lines.append(f"{where}not measured")
            continue
        found = measured[n, K, name][column]
        lines.append(f"{where}{found:.3g}, at most {most:g}: {'met' if found <= most else 'MISSED'}")
    return lines


def described(cupy: Any) -> str:
    """Return the GPU and the version of CuPy."""
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    return f"{name}, CuPy {cupy.__version__}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--classes", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--features", type=int, default=28)
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cuda", help="XGBoost's")
    parser.add_argument("--cpu-pass", action="store_true")
    options = parser.parse_args()
    cupy, reason = cupy_of(0)
    if cupy is None:
        parser.error(f"this claim needs a GPU: {reason}")

    def measure(case: dict[str, Any]) -> list[dict[str, Any]]:
        X, y = make_data(case["n"], options.features, case["K"])
        runs = variants(X, y, case["K"], options.device, cupy.asarray)
        if options.cpu_pass:
            with mock.patch.object(training, "device_of", lambda booster, loss, n_threads: CPU(n_threads)):
                rounds = rounds_of(runs, options.rounds, options.repeats)
            return [{name: row[name] for name in ("round", "ms", "/ floor")} for row in rows_of(rounds, {})]
        rounds = rounds_of(runs, options.rounds, options.repeats)
        own = {name: milliseconds(run, 5 * options.repeats) for name, run in kernels(y, case["K"], cupy).items()}
        return rows_of(rounds, own)

    result = report.Result(
        "gpu_cpu_pass" if options.cpu_pass else "gpu",
        f"Whole rounds on a GPU, {options.features} features, no evaluation"
        f"{', passes on the CPU' if options.cpu_pass else ''}",
        f"{described(cupy)}. All-threshold logit, exact Hessian, hist, depth 6. Floor: a custom objective with fixed "
        f"CuPy gradients; of outputs: the same with K - 1 outputs.",
    )
    cases = [{"n": n, "K": K} for n, K in itertools.product(options.rows, options.classes)]
    rows = resume(result, cases, measure)
    if not options.cpu_pass:
        print("\n".join(verdicts(rows)))


if __name__ == "__main__":
    main()
