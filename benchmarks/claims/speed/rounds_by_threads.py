"""What a round of the native engine takes on 1 to 16 threads, computed from the tasks that it hands out.

    python benchmarks/claims/speed/rounds_by_threads.py [--rows 1000000] [--classes 5 10]
    python benchmarks/claims/speed/rounds_by_threads.py --phases 16       one line for each phase of a round, computed,
                                                                  and measured where there are so many; not stored
    python benchmarks/claims/speed/rounds_by_threads.py --threads 16 --called on_16_threads     a result of its own

A machine of few cores cannot time sixteen threads. Here the work is parted as for as many threads as are asked for,
and done on one; each task is timed (`native/core/threads/region_times.hpp`), in seconds of the processor. On T
threads a parallel region takes as long as its tasks do when each thread that it may have takes the next one once it
is free, and a barrier; what lies outside of regions takes as long as it does. The barrier is that of two threads,
measured. Memory is assumed to serve all threads as fast as one: sixteen real cores take longer. Beside it: these
rounds and LightGBM's binary ones, measured with as many threads as this machine has. Lines that it has measured
before are kept: run again to continue, delete the result's .json to start anew.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any

import lightgbm
import numpy as np

from claims.speed.engine_rounds import LEAVES, classes, in_turns, lightgbm_booster, make_data, timed
from lib import report
from lib.runner import Row, resume
from ordinal_objectives import AllThreshold, _core
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import TrainingSet
from ordinal_objectives.rows import RowStatistics

TIMES, IN_TURN, ON_THREADS = "ORDINAL_REGION_TIMES", "1", "threads"
Phase = tuple[float, float, int]
FEATURES, ROUNDS, SKIPPED = 28, 8, 2
VARIANTS: dict[str, dict[str, Any]] = {
    "newton": {"threshold_update": "newton", "proportional": True},
    "joint": {"threshold_update": "joint", "proportional": True},
    "shifts": {"proportional": False},
}
NOTES = (
    "Medians of rounds. Predicted: from the tasks of a run on one thread, parted as for so many; memory is assumed to "
    "serve all threads as fast as one. Outside: the part of it that no second thread shares. Nothing is measured where "
    "this machine has fewer cores."
)


def makespan(seconds: Sequence[float], threads: int) -> float:
    """Return when all tasks are done, each begun by the first thread that is free, in their order."""
    free = [0.0] * threads
    for task in seconds:
        heapq.heappush(free, heapq.heappop(free) + task)
    return max(free)


def start(rows: int, n_classes: int, variant: str, threads: int) -> EngineRun:
    X, score = make_data(rows, FEATURES)
    parameters = BoostingParameters.of(AllThreshold(), max_leaf_nodes=LEAVES, **VARIANTS[variant])
    return EngineRun(parameters, TrainingSet(X, classes(score, n_classes), n_classes), n_threads=threads)


def predict(rows: int, n_classes: int, variant: str, threads: int, barrier: float) -> Row:
    """Return milliseconds of a round on so many threads, computed, and of its phases."""

    def of_region(most: int, begin: float, end: float, _: float, tasks: list[float]) -> Phase | None:
        if most == 1 and threads > 1:
            return None
        return end - begin, makespan(tasks, most) + (barrier if threads > 1 else 0.0), most

    return middle_round(start(rows, n_classes, variant, threads), of_region, time.thread_time, clocked=0)


def watch(rows: int, n_classes: int, variant: str, threads: int) -> Row:
    """Return milliseconds of a round by the clock on the wall, and of its phases."""

    def of_region(worked: int, _begin: float, _end: float, wall: float, tasks: list[float]) -> Phase:
        return sum(tasks), wall, worked

    return middle_round(start(rows, n_classes, variant, threads), of_region, time.perf_counter, clocked=1)


def middle_round(
    run: EngineRun, of_region: Callable[..., Phase | None], clock: Callable[[], float], *, clocked: int
) -> Row:
    """Return the round of median length, and for each phase its work, its length, and on how many threads at most.

    What lies outside of regions is what the clock says beside these; ``clocked`` is the place of what it said of them.
    """
    found: list[Row] = []
    for _ in range(ROUNDS):
        _core.region_times()
        began = clock()
        run.advance()
        total = clock() - began
        phases: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 1])
        for phase, *region in _core.region_times():
            if (counted := of_region(*region)) is not None:
                of_phase, (work, length, used) = phases[phase], counted
                of_phase[:] = of_phase[0] + 1e3 * work, of_phase[1] + 1e3 * length, max(of_phase[2], used)
        outside = 1e3 * total - sum(one[clocked] for one in phases.values())
        phases["outside"] = [outside, outside, 1]
        found.append({"ms": sum(one[1] for one in phases.values()), "outside": outside, "phases": dict(phases)})
    kept = sorted(found[SKIPPED:], key=lambda one: one["ms"])
    return kept[len(kept) // 2]


def apart(counters: str, *arguments: Any) -> Row:
    """Return what `predict` or `watch` says in a process of its own, which asks for counters as it starts."""
    command = [sys.executable, __file__, "--counters", counters, json.dumps(arguments)]
    done = subprocess.run(command, env={**os.environ, TIMES: counters}, check=True, stdout=subprocess.PIPE, text=True)
    found: Row = json.loads(done.stdout)
    return found


def barrier_seconds() -> float:
    """Return what it costs to hand a region to a second thread: a pass over few rows with helpers, and without."""
    y = np.zeros(8192, np.int32)
    y[::2] = 1
    score, thresholds = np.zeros(len(y), np.float32), np.zeros(1)

    def pass_seconds(threads: int) -> float:
        rows = RowStatistics(AllThreshold(), y, 2, None, n_threads=threads)
        return median(timed(partial(rows, score, thresholds, "exact"))[0] for _ in range(2000))

    alone = pass_seconds(1)
    helpers = _core.ThreadHelpers(2)
    shared = pass_seconds(2)
    del helpers
    return max(shared - alone / 2, 0.0)


def measure(case: Row, rows: int, barrier: float) -> list[Row]:
    n_classes, variant, threads = case["K"], case["variant"], case["threads"]
    predicted = apart(IN_TURN, rows, n_classes, variant, threads, barrier)
    ms = {"engine": float("nan"), "LightGBM": float("nan")}
    if threads <= (os.cpu_count() or 1):
        X, score = make_data(rows, FEATURES)
        y = classes(score, 2)
        dataset = lightgbm.Dataset(X, y, params={"num_threads": threads, "verbose": -1}).construct()
        calls: dict[str, Callable[[], Any]] = {
            "engine": start(rows, n_classes, variant, threads).advance,
            "LightGBM": lightgbm_booster(dataset, y, 2, threads).update,
        }
        ms = {name: median(times) for name, times in in_turns(calls, 18).items()}
    return [
        {
            "predicted ms": predicted["ms"],
            "of it outside ms": predicted["outside"],
            "measured ms": ms["engine"],
            "LightGBM binary ms": ms["LightGBM"],
        }
    ]


def show_phases(options: argparse.Namespace) -> None:
    barrier, threads = barrier_seconds(), options.phases
    for n_classes in options.classes:
        for variant in VARIANTS:
            case = options.rows, n_classes, variant, threads
            show(f"K = {n_classes}, {variant}, {threads} threads, computed", apart(IN_TURN, *case, barrier))
            if threads <= (os.cpu_count() or 1):
                show("    measured by the clock on the wall", apart(ON_THREADS, *case))


def show(title: str, found: Row) -> None:
    print(f"{title}: {found['ms']:.1f} ms")
    for name, (work, length, used) in sorted(found["phases"].items(), key=lambda one: -one[1][1]):
        share = work / length / used if length else 0.0
        print(f"    {name:20s} {work:7.2f} ms of work in {length:6.2f} ms: {share:4.0%} of {used} threads")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--called", default="by_threads", help="what a result of its own is called")
    parser.add_argument("--phases", type=int)
    parser.add_argument("--counters", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.counters:
        counters, arguments = options.counters
        print(json.dumps((watch if counters == ON_THREADS else predict)(*json.loads(arguments))))
        return
    if options.phases:
        show_phases(options)
        return
    name = f"engine_{options.called}_{options.rows}x{FEATURES}"
    title = f"A round of the native engine {options.called.replace('_', ' ')}, {options.rows:,} x {FEATURES}"
    cases = [
        {"K": n_classes, "variant": variant, "threads": threads}
        for n_classes in options.classes
        for variant in VARIANTS
        for threads in options.threads
    ]
    store = report.Result(name, f"{title}, 255 bins, {LEAVES} leaves", NOTES, order=("K", "variant", "threads"))
    resume(store, cases, partial(measure, rows=options.rows, barrier=barrier_seconds()))


if __name__ == "__main__":
    main()
