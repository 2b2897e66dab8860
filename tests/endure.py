"""Many fits and predictions in one process, fits that are interrupted at random moments, predictions of eight threads
while a ninth trains, and ten thousand rounds on data that a score separates.

python tests/endure.py --results benchmarks/results/endurance.csv
"""

from __future__ import annotations

import argparse
import csv
import gc
import os
import pickle
import signal
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from makers import make_cat, make_engine, make_lgb, make_xgb
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


def beside_fits(name: str, seconds: float, n_threads: int = 8) -> tuple[int, int]:
    """Return how often threads have predicted, each time the same, and how many fits another thread did meanwhile."""
    X, y = rows(0)
    model, other = MAKERS[name]().fit(X, y), rows(1)
    expected, counts = model.predict_proba(X), [0] * (n_threads + 1)
    wrong: list[object] = []
    end = time.monotonic() + seconds

    def work(number: int) -> None:
        try:
            while not counts[number] or (time.monotonic() < end and not wrong):
                if number == n_threads:
                    MAKERS[name]().fit(*other)
                elif not np.array_equal(model.predict_proba(X), expected):
                    wrong.append("other probabilities")
                counts[number] += 1
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(n_threads + 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong
    return sum(counts[:-1]), counts[-1]


# What each trainer can do with the thresholds.
UPDATES: dict[str, dict[str, Any]] = {
    "newton": {"threshold_update": "newton", "proportional": True},
    "joint": {"threshold_update": "joint", "proportional": True},
    "shifts": {"proportional": False},
    "alternating": {},
}


def separated(name: str, update: str, rounds: int) -> tuple[np.ndarray, int]:
    """Return the losses on rows that a score separates, and how many rounds raised it, all of them counted.

    LightGBM ends a training that finds no split.
    """
    X = np.linspace(-4, 4, 120)[:, np.newaxis]
    make: Any = {
        "engine": lambda **o: make_engine(max_iter=rounds, min_samples_leaf=2, **o),
        "xgboost": lambda **o: make_xgb(n_estimators=rounds, min_child_weight=0.0, **o),
        "lightgbm": lambda **o: make_lgb(n_estimators=rounds, min_child_samples=2, verbose=-1, **o),
        "catboost": lambda **o: make_cat(iterations=rounds, **o),
    }[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = make(**UPDATES[update]).fit(X, np.digitize(X[:, 0], [-3.0, 0.0, 3.0]))
        proba, losses = model.predict_proba(X), np.asarray(model.training_loss_)
    assert np.isfinite(proba).all()
    assert np.isfinite(losses[1:]).all()
    assert np.isfinite(model.threshold_history_).all()
    assert not model.proportional_ or (np.diff(model.threshold_history_, axis=1) >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-9)
    raised = np.count_nonzero(np.diff(losses) > 1e-6 * np.abs(losses[:-1]) + 1e-12)
    assert raised <= model.diagnostics_.get("n_raised", 0), (raised, model.diagnostics_)
    return losses, int(raised)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int, default=500)
    parser.add_argument("--predictions", type=int, default=50_000)
    parser.add_argument("--interrupts", type=int, default=1000, help="of each classifier")
    parser.add_argument("--seconds", type=float, default=200, help="for which threads predict with each classifier")
    parser.add_argument("--rounds", type=int, default=10_000, help="on data that a score separates")
    parser.add_argument("--only", nargs="+", default=["growth", "interrupted", "threads", "separable"])
    parser.add_argument("--results", type=Path, help="where what ran stands in place of what it found before")
    args = parser.parse_args()
    found: dict[tuple[str, str], list[Any]] = {}
    if args.results and args.results.exists():
        found = {(row[0], row[1]): row for row in csv.reader(args.results.open())}

    def add(name: str, what: str, times: int, result: str) -> None:
        found.setdefault(("classifier", "what"), ["classifier", "what", "times", "result"])
        found[name, what] = [name, what, times, result]
        print(*found[name, what], flush=True)
        if args.results:
            with args.results.open("w", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(found.values())

    for name in MAKERS if "growth" in args.only else ():
        start, growth = grown(name, args.fits, args.predictions)
        add(name, "growth after 50 fits", args.fits, f"{growth:.2%} of {start:.0f} MiB")
    for name in INTERRUPTED if "interrupted" in args.only else ():
        ended, late = interrupted(name, args.interrupts)
        add(name, "interrupted fits", ended + late, f"{ended} ended as they were, {late} were over")
    for name in MAKERS if "threads" in args.only else ():
        n_predictions, n_fits = beside_fits(name, args.seconds)
        add(name, "predictions of 8 threads beside fits", n_predictions, f"all the same, beside {n_fits} fits")
    for name in (*MAKERS, "catboost") if "separable" in args.only else ():
        for update in UPDATES:
            if (name == "catboost") == (update == "alternating"):
                losses, raised = separated(name, update, args.rounds)
                result = f"the loss fell from {losses[0]:.3g} to {losses[-1]:.2g}, and rose in {raised} rounds"
                add(name, f"rounds on separable data, {update}", len(losses) - 1, result)


if __name__ == "__main__":
    main()
