"""Splits of many classes judged by the cross terms of a few thresholds, beside the same by those of all.

    python benchmarks/interpolation.py

At some rounds of a training a tree is grown both ways from the same score and thresholds. A second training,
without interpolation throughout, shows what it costs in the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from tqdm import tqdm

import report
from engine import LEAVES, classes, make_data
from ordinal_objectives.histogram_engine import boosting
from ordinal_objectives.histogram_engine.boosting import Boosting
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.losses import AllThreshold

ROWS, FEATURES = 100_000, 28
ROUNDS = [10, 30, 100, 300]
CLASSES = [20, 30, 50]


@contextmanager
def all_thresholds() -> Iterator[None]:
    """Let engines that are made or advanced here keep the cross terms of all thresholds."""
    kept = boosting.interpolate_cross_terms
    boosting.interpolate_cross_terms = lambda *_: None
    try:
        yield
    finally:
        boosting.interpolate_cross_terms = kept


def compare_trees(few: dict[str, Any], every: dict[str, Any]) -> tuple[int, float]:
    """Return how many splits the trees share, in the order they were made, and the worst error of their gains."""
    shared, worst = 0, 0.0
    order = sorted(np.flatnonzero(every["feature"] >= 0), key=lambda node: every["left"][node])
    for node in order:
        if any(few[name][node] != every[name][node] for name in ("feature", "bin", "left")):
            break
        shared += 1
        worst = max(worst, abs(few["gain"][node] / every["gain"][node] - 1.0))
    return shared, worst


def main() -> None:
    X, score = make_data(2 * ROWS, FEATURES)
    table = []
    for K in CLASSES:
        y = classes(score, K)
        parameters = BoostingParameters(AllThreshold(), "exact", max_leaf_nodes=LEAVES)
        run = Boosting(parameters, X[:ROWS], y[:ROWS], K)
        with all_thresholds():
            plain = Boosting(parameters, X[:ROWS], y[:ROWS], K, cuts=run.cuts)
        for t in tqdm(range(1, max(ROUNDS) + 1), desc=f"{K} classes"):
            run.advance()
            with all_thresholds():
                plain.advance()
            if t not in ROUNDS:
                continue
            interpolation, features = run._interpolation, list(range(FEATURES))
            few = run._grow(None, features)
            with all_thresholds():
                state = (run.raw_prediction.copy(), run.thresholds, run.iteration)
                every = Boosting(parameters, X[:ROWS], y[:ROWS], K, start=state, cuts=run.cuts)._grow(None, features)
            shared, worst = compare_trees(few, every)
            table.append(
                {
                    "K": K,
                    "round": t,
                    "cross terms of": K - 1 if interpolation is None else len(interpolation.chosen),
                    "of thresholds": K - 1,
                    "splits alike": shared,
                    "of splits": LEAVES - 1,
                    "worst error of a gain": worst,
                    "training loss / that with all": run.training_loss / plain.training_loss,
                }
            )
    report.write(
        "interpolation",
        f"Splits judged by the cross terms of a few thresholds, {ROWS:,} x {FEATURES}, exact Hessian",
        table,
        "Splits alike: those of one tree grown both ways from the same state, until the first that differs; the error "
        "is relative, of these splits. The losses are those of two whole trainings.",
    )


if __name__ == "__main__":
    main()
