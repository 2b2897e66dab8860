"""What a joint round of the native engine costs as the data grow, and how near its histograms are to bare adds.

    python benchmarks/claims/speed/engine_scaling.py scaling    against rows, features, bins, classes; fitted exponents
    python benchmarks/claims/speed/engine_scaling.py threads    with two threads, round for round beside one
    python benchmarks/claims/speed/engine_scaling.py ceiling    the histogram of all rows against the bare vector adds

One thread, unless two are asked for. Lines that this machine has measured before are kept: run again to continue.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import xgboost

from claims.speed.engine_rounds import LEAVES, classes, in_turns, make_data, timed, xgboost_update
from lib import report
from lib.runner import resume
from ordinal_objectives.histogram_engine.binning import find_cuts
from ordinal_objectives.histogram_engine.criteria.one_score import Joint
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import RunStart, TrainingSet
from ordinal_objectives.losses import AllThreshold

USUAL = {"rows": 100_000, "features": 28, "bins": 255, "K": 5}
HUGE_PAGE = 2**21  # bytes
SIZES = {
    "rows": [10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000],
    "features": [10, 30, 100, 300, 1000],
    "bins": [15, 31, 63, 127, 255],
    "K": [2, 3, 5, 8, 12, 20, 30, 50],
}


def one_run(rows: int, features: int, bins: int, K: int) -> EngineRun:
    X, score = make_data(rows, features)
    parameters = BoostingParameters.of(AllThreshold(), max_leaf_nodes=LEAVES, max_bins=bins)
    return EngineRun(parameters, TrainingSet(X, classes(score, K), K), n_threads=1)


def scaling() -> None:
    def measure(case: dict[str, Any]) -> list[dict[str, Any]]:
        run = one_run(**{**USUAL, case["against"]: case["size"]})
        return [{"round ms": median(in_turns({"it": run.advance}, 12)["it"]), "fitted exponent": float("nan")}]

    title = "Cost of a joint round, 1 thread; elsewhere 100,000 x 28, 255 bins, K = 5"
    result = report.Result("engine_scaling", title)
    table = resume(result, [{"against": name, "size": n} for name, sizes in SIZES.items() for n in sizes], measure)
    for row in table:
        row["fitted exponent"] = exponent([other for other in table if other["against"] == row["against"]])
    result.add([])


def exponent(part: list[dict[str, Any]]) -> float:
    """Return b of round ~ size^b by least squares on logarithms; NaN for one point."""
    if len(part) < 2:
        return float("nan")
    size, ms = np.log([[row["size"] for row in part], [row["round ms"] for row in part]])
    return float(np.polyfit(size, ms, 1)[0])


def threads(n: int, p: int, rounds: int) -> None:
    X, score = make_data(n, p)
    cuts = find_cuts(X)
    parameters = BoostingParameters.of(AllThreshold(), max_leaf_nodes=LEAVES)
    calls: dict[str, dict[str, Any]] = {}
    for K in (3, 5, 10, 15, 30):
        y = classes(score, K)
        calls[f"joint, K = {K}"] = {
            f"{t}": EngineRun(parameters, TrainingSet(X, y, K), n_threads=t, start=RunStart(cuts=cuts)).advance
            for t in (1, 2)
        }
    # LightGBM's threads are those of the booster made last: XGBoost's are its own.
    matrix = xgboost.QuantileDMatrix(X, classes(score, 2), max_bin=256)
    calls["XGBoost binary"] = {f"{t}": xgboost_update(matrix, t) for t in (1, 2)}
    times = {what: in_turns(both, rounds) for what, both in calls.items()}
    table = [
        {
            "what": what,
            "1 thread: ms": median(both["1"]),
            "2 threads: ms": median(both["2"]),
            "1 / 2": median(one / two for one, two in zip(both["1"], both["2"], strict=True)),
        }
        for what, both in times.items()
    ]
    report.write(
        f"engine_threads_{n}x{p}",
        f"Rounds with one and two threads, {n:,} x {p}, 255 bins, {LEAVES} leaves",
        table,
        "Rounds of two trainings, taken in turns: medians, and the median of their ratios. The machine's processors "
        "are virtual: at times two do the work of one, for whatever runs there.",
    )


def bare_adds(folder: Path) -> Any:
    """Compile histogram_ceiling.cpp for this processor."""
    source, library = Path(__file__).with_name("histogram_ceiling.cpp"), folder / "ceiling.so"
    flags = ["-O3", "-march=native", "-mprefer-vector-width=512", "-std=c++17", "-shared", "-fPIC"]
    subprocess.run([os.environ.get("CXX", "c++"), *flags, str(source), "-o", str(library)], check=True)
    function = ctypes.CDLL(str(library)).bare_adds
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
    return function


def row_statistics(run: EngineRun) -> np.ndarray:
    assert isinstance(run.criterion, Joint)
    return run.state.engine.statistics(2 + len(run.criterion.cross_terms.chosen))


def histogram_seconds(run: EngineRun, add: Any, repeats: int) -> dict[str, float]:
    """Return the best times of a tree of one leaf, which is one histogram, of bare adds and of a copy."""
    statistics = row_statistics(run)
    (n, width), features = statistics.shape, list(range(len(run.cuts)))
    bins = np.random.default_rng(0).integers(0, 255, (n, len(features)), dtype=np.uint8)
    # On a huge page, as the engine's is: NumPy asks for them in large arrays.
    room = np.zeros(3 * HUGE_PAGE // 4, np.float32)
    histogram = room[-room.ctypes.data % HUGE_PAGE // 4 :][: len(features) * 257 * width]
    half = np.sort(np.random.default_rng(1).choice(n, n // 2, replace=False)).astype(np.uint32)
    copy = np.empty_like(statistics)
    calls = {
        "all rows": lambda: run.grow(None, features),
        "half of them": lambda: run.grow(half, features),
        "bare": lambda: add(
            *(a.ctypes.data for a in (bins, statistics)), n, len(features), width, histogram.ctypes.data
        ),
        "copy": lambda: np.copyto(copy, statistics),
    }
    times = [{name: timed(call)[0] for name, call in calls.items()} for _ in range(repeats)]
    return {name: min(time[name] for time in times) for name in calls}


def ceiling(n: int, p: int, repeats: int) -> None:
    table = []
    with tempfile.TemporaryDirectory() as folder:
        add = bare_adds(Path(folder))
        for K in (3, 5, 10, 15, 30):
            run = one_run(n, p, 255, K)
            run.parameters.max_leaf_nodes = 1
            seconds = histogram_seconds(run, add, repeats)
            statistics = row_statistics(run)
            read = statistics.nbytes + n * p
            row = {"K": K, "floats a row": statistics.shape[1]}
            row |= {"ns an update": 1e9 * seconds["all rows"] / (n * p)}
            row |= {"half the rows, gathered: ns": 2e9 * seconds["half of them"] / (n * p)}
            row |= {"bare adds: ns": 1e9 * seconds["bare"] / (n * p)}
            row |= {"share of the ceiling": seconds["bare"] / seconds["all rows"]}
            row |= {"GB/s read": 1e-9 * read / seconds["all rows"]}
            row |= {"GB/s of a copy": 2e-9 * statistics.nbytes / seconds["copy"]}
            table.append(row)
            print(row, flush=True)
    report.write(
        f"engine_ceiling_{n}x{p}",
        f"One histogram of {n:,} x {p}, 255 bins, 1 thread, against bare vector adds",
        table,
        "Best of the repeats. The bare adds (histogram_ceiling.cpp) read the same statistics and as many bins into one "
        "float32 histogram, compiled for this processor. With gathered rows the thresholds' sums of the sample are in "
        "the time.",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["scaling", "threads", "ceiling"])
    parser.add_argument("--rows", type=int, default=1_000_000, help="of threads and ceiling")
    parser.add_argument("--features", type=int, default=28, help="of threads and ceiling")
    parser.add_argument("--repeats", type=int, default=5, help="of the ceiling")
    parser.add_argument("--rounds", type=int, default=60, help="of threads")
    options = parser.parse_args()
    if options.what == "scaling":
        scaling()
    elif options.what == "threads":
        threads(options.rows, options.features, options.rounds)
    else:
        ceiling(options.rows, options.features, options.repeats)


if __name__ == "__main__":
    main()
