"""Splits of many classes judged by the cross terms of a few thresholds, beside the same by those of all.

    ORDINAL_DATA=folder python benchmarks/claims/cross_terms.py

At some rounds of a training a tree is grown both ways from the same score and thresholds. A second training,
by the cross terms of all thresholds throughout, shows what the few cost in the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from claims.engine import LEAVES, classes, make_data
from claims.joint_vs_alternating import features
from lib import report
from lib.data import load
from ordinal_objectives.histogram_engine import boosting
from ordinal_objectives.histogram_engine.boosting import Boosting
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.losses import AllThreshold

ROWS, FEATURES = 100_000, 28
ROUNDS = [1, 10, 30, 100, 300]
CLASSES = [8, 10, 15, 20, 30, 50]
DATA = ["abalone", "california", "census16H"]


@contextmanager
def all_thresholds() -> Iterator[None]:
    """Let engines that are made or advanced here carry the cross terms of all thresholds."""
    kept = boosting.few_cross_terms
    boosting.few_cross_terms = lambda *_, **__: None
    try:
        yield
    finally:
        boosting.few_cross_terms = kept


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


def compare(name: str, X: NDArray[np.float64], y: NDArray[np.integer], K: int) -> list[dict[str, Any]]:
    """Train both ways; return a row for each of ROUNDS."""
    parameters = BoostingParameters(AllThreshold(), max_leaf_nodes=LEAVES)
    run = Boosting(parameters, X, y, K)
    with all_thresholds():
        plain = Boosting(parameters, X, y, K, cuts=run.cuts)
    table = []
    for t in tqdm(range(1, max(ROUNDS) + 1), desc=f"{name}, {K} classes"):
        run.advance()
        with all_thresholds():
            plain.advance()
        if t not in ROUNDS:
            continue
        columns = list(range(X.shape[1]))
        few = run._grow(None, columns)
        with all_thresholds():
            state = (run.raw_prediction.copy(), run.thresholds, run.iteration)
            every = Boosting(parameters, X, y, K, start=state, cuts=run.cuts)._grow(None, columns)
        shared, worst = compare_trees(few, every)
        table.append(
            {
                "data": name,
                "K": K,
                "round": t,
                "cross terms of": len(run._cross_terms.chosen),
                "of thresholds": K - 1,
                "splits alike": shared,
                "of splits": int((every["feature"] >= 0).sum()),
                "worst error of a gain": worst,
                "training loss / that with all": run.training_loss / plain.training_loss,
            }
        )
    return table


def main() -> None:
    X, score = make_data(2 * ROWS, FEATURES)
    table = []
    for K in CLASSES:
        table += compare("artificial", X[:ROWS], classes(score, K)[:ROWS], K)
    for name in DATA:
        dataset = load(name)
        table += compare(name, features(dataset), dataset.y.astype(np.int32), dataset.n_classes)
    report.write(
        "cross_terms",
        f"Splits judged by the cross terms of a few thresholds, exact Hessian, {LEAVES} leaves",
        table,
        f"The artificial data are {ROWS:,} x {FEATURES}. Splits alike: those of one tree grown both ways from the same "
        "state, until the first that differs; the error is relative, of these splits. The losses are those of two "
        "whole trainings.",
    )


if __name__ == "__main__":
    main()
