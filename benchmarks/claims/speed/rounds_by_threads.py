"""What a round of the native engine would take on 2 to 16 threads, computed from the tasks that it hands out.

    python benchmarks/claims/speed/rounds_by_threads.py [--rows 1000000] [--classes 5 10] [--phases]

A machine of few cores cannot time sixteen threads. Here the work is parted as for as many threads as are asked for, and
done on one, each task timed (`native/core/threads/region_times.hpp`). On T threads a parallel region takes as long as
its tasks do when each thread takes the next one once it is free, plus what it costs to hand a region to a second thread;
what lies outside of regions takes as long as it does. That the memory serves T threads as fast as one is assumed:
sixteen real cores take longer. Beside it: the same rounds measured with one and two threads, and LightGBM's binary one.
Lines that this machine has measured before are kept: run again to continue, delete the result's .json to start anew.
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
from statistics import median
from typing import Any

import lightgbm
import numpy as np

from claims.speed.engine_rounds import LEAVES, classes, lightgbm_booster, make_data
from lib import report
from lib.runner import Row, resume
from ordinal_objectives import _core
from ordinal_objectives.histogram_engine.engine_run import EngineRun
from ordinal_objectives.histogram_engine.labelled_rows import LabelledRows
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.losses import AllThreshold

THREADS, MEASURED = (1, 2, 4, 8, 16), (1, 2)
ROUNDS, SKIPPED = 8, 2
VARIANTS: dict[str, dict[str, Any]] = {
    "newton": {"threshold_update": "newton", "proportional": True},
    "joint": {"threshold_update": "joint", "proportional": True},
    "shifts": {"proportional": False},
}
NOTES = (
    "Milliseconds of a round, medians; 31 leaves. Predicted: from the tasks of a run on one thread, parted as for so many, "
    "with memory as fast for all of them as for one. Outside: of it, what no second thread shares."
)


def _run(rows: int, n_classes: int, variant: str, threads: int) -> EngineRun:
    X, score = make_data(rows, 28)
    parameters = BoostingParameters.of(AllThreshold(), max_leaf_nodes=LEAVES, **VARIANTS[variant])
    return EngineRun(parameters, LabelledRows(X, classes(score, n_classes), n_classes, None), n_threads=threads)


def makespan(tasks: list[float], threads: int) -> float:
    """Return the seconds until all tasks are done, each begun by the first thread that is free, in their order."""
    free = [0.0] * threads
    for seconds in tasks:
        heapq.heappush(free, heapq.heappop(free) + seconds)
    return max(free)


def handover(threads: int = 2, n: int = 2000) -> float:
    """Return the seconds that a region with nothing to do costs, beside one that is not shared."""
    raise NotImplementedError


def predicted(threads: int, rows: int, n_classes: int, variant: str, barrier: float) -> tuple[float, float, Row]:
    """Return seconds of a round on so many threads, those outside of regions, and the same by phase."""
    run = _run(rows, n_classes, variant, threads)
    found: list[tuple[float, float, dict[str, list[float]]]] = []
    for _ in range(ROUNDS):
        _core.region_times()
        start = time.perf_counter()
        run.advance()
        end = time.perf_counter()
        phases: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0])
        inside = 0.0
        for phase, shared, begin, stop, tasks in _core.region_times():
            if not shared or threads == 1:
                phases["outside"][0] += 0.0
                inside += 0.0
                if threads == 1:
                    inside += stop - begin
                    phases[phase][0] += stop - begin
                    phases[phase][1] += stop - begin
                    phases[phase][2] += 1
                continue
            inside += stop - begin
            phases[phase][0] += stop - begin
            phases[phase][1] += makespan(tasks, threads) + barrier
            phases[phase][2] += 1
        outside = (end - start) - inside
        phases["outside"] = [outside, outside, 1]
        found.append((sum(one[1] for one in phases.values()), outside, dict(phases)))
    kept = found[SKIPPED:]
    middle = sorted(kept, key=lambda one: one[0])[len(kept) // 2]
    return middle


def measure(case: Row) -> list[Row]: ...


def main() -> None:
    a = argparse.ArgumentParser()
    a.add_argument("--rows", type=int, default=1_000_000)
    a.add_argument("--classes", type=int, nargs="+", default=[5])
    a.add_argument("--threads", type=int, nargs="+", default=[1, 16])
    a.add_argument("--variants", nargs="+", default=list(VARIANTS))
    o = a.parse_args()
    for K in o.classes:
        for v in o.variants:
            for T in o.threads:
                total, outside, phases = predicted(T, o.rows, K, v, 5e-6)
                print(f"K={K} {v} T={T}: {1e3*total:.1f} ms, outside {1e3*outside:.2f}")
                for name, (work, span, n) in sorted(phases.items(), key=lambda p: -p[1][1]):
                    print(f"    {name:22s} work {1e3*work:7.2f} span {1e3*span:7.2f} regions {n:4d}  efficiency {work/span/T if span else 0:.2f}")


if __name__ == "__main__":
    main()
