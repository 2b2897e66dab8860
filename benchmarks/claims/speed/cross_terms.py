"""Splits of many classes judged by the cross terms of a few thresholds, beside the same by those of all.

    ORDINAL_DATA=folder python benchmarks/claims/speed/cross_terms.py

At some rounds of a training a tree is grown both ways from the same score and thresholds. A second training,
by the cross terms of all thresholds throughout, shows what the few cost in the end. The rows are also weighted, and
some classes rare, so that few rows far from all others decide the splits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from claims.accuracy.joint_vs_alternating import features
from claims.speed.engine_rounds import LEAVES, classes, make_data, timed
from lib import report
from lib.data import load
from ordinal_objectives.histogram_engine.criteria.cross_terms import few_cross_terms, score_mass
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import RunStart, TrainingSet
from ordinal_objectives.losses import AllThreshold

ROWS, FEATURES = 100_000, 28
ROUNDS = [1, 10, 30, 100, 300]
CLASSES = [8, 10, 15, 20, 30, 50]
DATA = ["abalone", "california", "census16H"]
SUBSAMPLED = {"subsample": 0.3}
Rows = tuple[NDArray[np.floating], NDArray[np.int32], NDArray[np.float64] | None]


def balanced(y: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return weights that give every class the same share."""
    counts = np.bincount(y)
    weights: NDArray[np.float64] = (len(y) / (np.count_nonzero(counts) * np.maximum(counts, 1)))[y]
    return weights


def every_value(name: str) -> tuple[NDArray[np.floating], NDArray[np.int32]]:
    """Return features and the values of the target, each a class."""
    dataset = load(name, "classes")
    return features(dataset), dataset.y


def rare_group(n: int, K: int, share: float) -> tuple[NDArray[np.floating], NDArray[np.int32]]:
    """Return rows of which a small share, told by a feature, has the upper half of the classes to itself."""
    X, score = make_data(n, 8)
    rare = np.random.default_rng(1).random(n) < share
    y = np.where(rare, K // 2 + classes(score, K - K // 2), classes(score, K // 2)).astype(np.int32)
    X[:, 4] = rare + 0.1 * X[:, 4]
    return X, y


def few_heavy(n: int, K: int) -> Rows:
    """Return rows of which twenty have half of the weight."""
    X, score = make_data(n, 10)
    weight = np.ones(n)
    weight[np.random.default_rng(1).choice(n, 20, replace=False)] = n / 20
    return X, classes(score, K), weight


def falling_shares(n: int, K: int) -> tuple[NDArray[np.floating], NDArray[np.int32]]:
    """Return rows of which each class has six tenths of those of the class below."""
    X, score = make_data(n, 10)
    edges = np.quantile(score, 1.0 - 0.6 ** np.arange(1, K))
    return X, np.searchsorted(edges, score).astype(np.int32)


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


def compare(name: str, rows: Rows, **options: Any) -> list[dict[str, Any]]:
    """Train both ways; return a row for each of ROUNDS."""
    X, y, weight = rows
    K = int(y.max()) + 1
    auto = BoostingParameters.of(AllThreshold(), max_leaf_nodes=LEAVES, **options)
    every = replace(auto, cross_terms="all")
    run: Any = EngineRun(auto, TrainingSet(X, y, K, weight))
    plain = EngineRun(every, TrainingSet(X, y, K, weight), start=RunStart(cuts=run.cuts))
    table = []
    for t in tqdm(range(1, max(ROUNDS) + 1), desc=f"{name}, {K} classes"):
        run.advance()
        plain.advance()
        if t not in ROUNDS:
            continue
        in_bag, columns = run._sampler.draw(run.iteration)
        few_tree = run.grow(in_bag, columns)
        state = (run.state.score.copy(), run.thresholds, run.iteration)
        tree = EngineRun(every, TrainingSet(X, y, K, weight), start=RunStart(*state, cuts=run.cuts)).grow(
            in_bag, columns
        )
        shared, worst = compare_trees(few_tree, tree)
        table.append(
            {
                "data": name,
                "K": K,
                "Hessian": auto.spec.hessian,
                "round": t,
                "cross terms of": len(run.criterion.cross_terms.chosen),
                "of thresholds": K - 1,
                "error in L": run.criterion.cross_terms.error,
                "splits alike": shared,
                "of splits": int((tree["feature"] >= 0).sum()),
                "worst error of a gain": worst,
                "training loss / that with all": run.training_loss / plain.training_loss,
            }
        )
    return table


def choice() -> None:
    """Time what the choice costs a round: counting the rows by their score, and the fit."""
    table = []
    for n in (10_000, 200_000, 1_000_000):
        scores = np.random.default_rng(0).normal(size=n)
        for K in CLASSES:
            thresholds = np.linspace(-4.0, 4.0, K - 1)
            rows = score_mass(scores, None, thresholds, 1)
            calls: dict[str, Callable[[], Any]] = {
                "count rows: ms": partial(score_mass, scores, None, thresholds, 1),
                "choose and fit: ms": partial(few_cross_terms, rows, thresholds, "exact", weighted=False),
            }
            row: dict[str, Any] = {"rows": n, "K": K}
            for name, call in calls.items():
                row[name] = 1e3 * median(timed(call)[0] for _ in range(31))
            table.append(row)
    report.write("cross_terms_choice", "What the choice of few cross terms costs a round, 1 thread", table)


def main() -> None:
    choice()
    X, score = make_data(2 * ROWS, FEATURES)
    table = []
    for K in CLASSES:
        table += compare("artificial", (X[:ROWS], classes(score, K)[:ROWS], None))
    for name in DATA:
        dataset = load(name)
        table += compare(name, (features(dataset), dataset.y.astype(np.int32), None))
    table += compare("artificial, subsample 0.3", (X[:ROWS], classes(score, 10)[:ROWS], None), **SUBSAMPLED)
    hard: dict[str, Callable[[], tuple[NDArray[np.floating], NDArray[np.int32]]]] = {
        "abalone, all rings": lambda: every_value("abalone"),
        "1% of rows have half of the classes": lambda: rare_group(20_000, 10, 0.01),
        "shares fall by 0.6": lambda: falling_shares(50_000, 20),
    }
    for name, make in hard.items():
        X, y = make()
        for hessian in ("exact", "majorized"):
            table += compare(f"{name}, balanced", (X, y, balanced(y)), hessian=hessian)
        table += compare(f"{name}, balanced, subsample 0.3", (X, y, balanced(y)), **SUBSAMPLED)
        table += compare(name, (X, y, None))
    table += compare("0.4% of rows have half of the classes", (*rare_group(ROWS, 10, 0.004), None))
    table += compare("0.4% of rows have half of the classes", (*rare_group(ROWS, 30, 0.004), None))
    for K in (10, 30):
        table += compare("20 rows have half of the weight", few_heavy(50_000, K))
    report.write(
        "cross_terms",
        f"Splits judged by the cross terms of a few thresholds, {LEAVES} leaves",
        table,
        f"The artificial data are {ROWS:,} x {FEATURES}. Splits alike: those of one tree grown both ways from the same "
        "state, until the first that differs; the error is relative, of these splits. The losses are those of two "
        "whole trainings.",
    )


if __name__ == "__main__":
    main()
