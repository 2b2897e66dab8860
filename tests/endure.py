"""Many fits and predictions in one process, and fits that are interrupted at random moments.

python tests/endure.py --results benchmarks/results/endurance.csv
"""

from __future__ import annotations

import argparse
import csv
import gc
import os
import pickle
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

from makers import make_engine, make_lgb, make_xgb
from state_machine import assert_same, public, said_by

MAKERS = {
    "engine": lambda: make_engine(max_iter=20, min_samples_leaf=5, random_state=0),
    "xgboost": lambda: make_xgb(n_estimators=20, random_state=0),
    "lightgbm": lambda: make_lgb(n_estimators=20, random_state=0, verbose=-1),
}

# LightGBM frees its own data sets twice where an interrupt comes at a bad moment, also without this package.
INTERRUPTED = ("engine", "xgboost")


def rows(seed: int, n_rows: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    return X, np.digitize(X[:, 0] + rng.logistic(size=n_rows), [-1.0, 0.5, 2.0])


def resident() -> int:
    """Return the bytes of memory that this process holds."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def grown(name: str, n_fits: int, n_predictions: int, warm: int = 50) -> tuple[float, float]:
    """Return the memory in MiB after the first fits, and the share by which it has grown in the end."""
    X, y = rows(0)
    start, each = 0, n_predictions // n_fits
    for fit in range(n_fits):
        model = MAKERS[name]().fit(X, y)
        for _ in range(each):
            model.predict_proba(X[:20])
        if fit + 1 == warm:
            start = resident()
    return start / 2**20, resident() / start - 1


def interrupted(name: str, times: int, seed: int = 0) -> tuple[int, int]:
    """Return how many fits an interrupt ended, each of which left the model as it was, and how many it was late for.

    An interrupt between the last step of a training and the end of ``fit`` is late, though Python raises it.
    """
    X, y = rows(0)
    model = MAKERS[name]().fit(X, y)
    other = rows(1)
    begin = time.perf_counter()
    finished = MAKERS[name]().fit(*other)
    lasts, rng = time.perf_counter() - begin, np.random.default_rng(seed)
    before, after, late = public(model) | said_by(model, X), public(finished) | said_by(finished, X), 0
    kept = pickle.dumps(model)

    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, stop)
    try:
        for _ in range(times):
            try:
                signal.setitimer(signal.ITIMER_REAL, max(rng.uniform(0, lasts), 1e-5))
                model.fit(*other)
                signal.setitimer(signal.ITIMER_REAL, 0)
                late += 1
                model = pickle.loads(kept)
            except KeyboardInterrupt:
                found = public(model) | said_by(model, X)
                is_over = np.array_equal(found["predict_proba"], after["predict_proba"])
                assert_same(found, after if is_over else before)
                if is_over:
                    late += 1
                    model = pickle.loads(kept)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    return times - late, late


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int, default=500)
    parser.add_argument("--predictions", type=int, default=50_000)
    parser.add_argument("--interrupts", type=int, default=1000, help="of each classifier")
    parser.add_argument("--results", type=Path)
    args = parser.parse_args()
    found: list[list[Any]] = [["classifier", "what", "times", "result"]]
    for name in MAKERS:
        start, growth = grown(name, args.fits, args.predictions)
        found.append([name, "growth after 50 fits", args.fits, f"{growth:.2%} of {start:.0f} MiB"])
    for name in INTERRUPTED:
        ended, late = interrupted(name, args.interrupts)
        found.append([name, "interrupted fits", ended + late, f"{ended} ended as they were, {late} were over"])
    print(*found, sep="\n")
    if args.results:
        with args.results.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(found)


if __name__ == "__main__":
    main()
