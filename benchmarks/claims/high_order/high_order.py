"""Time and rounds that leaf steps of order 2, 3 and 4 take to 99% of what order 2 gains over a long run.

    ORDINAL_DATA=folder python benchmarks/claims/high_order/high_order.py [--data higgs7500 ...] [--seeds 4] [--jobs 2]

The protocol of Pachebat and Ivanov (2022), with the log loss in place of the accuracy, and a learning rate and a
penalty chosen for every order alike. Rows are parted 60/20/20 into training, validation and test rows, 100,000 at
most; depth 6. Sets of few rows have three times the partitions.

1. Order 2 trains a long run with every setting of the grid; the lowest validation loss is its best, and the validation
   mark is 99% of the way there from the loss without trees. The same run's test loss gives the test mark.
2. Every order's setting is the one that reaches the validation mark first, in processor seconds: one for all partitions
   of a set, which reached it in most of them. Otherwise rows by chance decide, and gaps say little.
3. The race: chosen settings, equal settings, a control with a longer step, and other rules of order 3 train ten rounds
   in turn. Seconds and rounds to the test mark are reported; seconds are the processor's, one thread, evaluation left
   out.

Binary sets have fixed thresholds, which is the paper's setting; ordinal ones the joint step. Partitions measured
before are kept: run again to continue. `<name>.csv.gz` of the paper's own sets (``PAPERS``; last column `target`) is
read where the data folder holds it. Tables and figures: high_order_report.py.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from claims.high_order import high_order_report
from lib import report
from lib.data import load
from lib.runner import Row, missing, resume
from ordinal_objectives.histogram_engine.criteria.one_score import HighOrder, HighOrderSums
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import LeafStep, TrainingSet
from ordinal_objectives.leaves import scalar
from ordinal_objectives.losses import get_loss
from ordinal_objectives.rows import RowStatistics
from ordinal_objectives.trees import Tree, TreeEnsemble

BINARY, ORDINAL = ("higgs7500", "cover_adbench", "covertype93k"), ("cpu_act", "california", "brfss_genhlth")
# A few hundred test rows more or less decide who reaches a mark there: so many times the partitions.
FEW_ROWS = {"higgs7500": 3, "cpu_act": 3}
PAPERS = ("higgs", "epsilon", "covertype", "miniboone")
ORDERS, ETAS, PENALTIES = (2, 3, 4), (1.0, 0.3, 0.1), (1.0, 10.0, 100.0, 1000.0)
MOST_ROWS, ROUNDS, PATIENCE, TURN, SHARE, HOPELESS = 100_000, 1_000, 50, 10, 0.99, 3
FILE = report.RESULTS / "high_order_runs.json"
LOSS = get_loss("all_threshold")
PLAIN = ", eta 0.1, lambda 1"  # nothing tuned: the mark is that of order 2 so
Setting = tuple[float, float]  # eta, lambda


@dataclass
class Part:
    """Rows: features, class codes and their number of classes."""

    X: NDArray[np.float32]
    y: NDArray[np.int32]
    n_classes: int


@lru_cache(maxsize=1)
def whole(name: str) -> Part:
    """Return a set; the binary ones ask for their most frequent class."""
    if name in PAPERS:
        frame = pd.read_csv(_papers_file(name))
        target = frame.pop("target").to_numpy()
    else:
        dataset = load(name)
        frame, target = dataset.X, dataset.y
    X = frame.to_numpy(dtype=np.float32)
    if name in ORDINAL:
        return Part(X, target.astype(np.int32), int(target.max()) + 1)
    values, counts = np.unique(target, return_counts=True)
    return Part(X, (target == values[np.argmax(counts)]).astype(np.int32), 2)


def _papers_file(name: str) -> Path:
    return Path(os.environ.get("ORDINAL_DATA", ".")) / f"{name}.csv.gz"


def parts(name: str, seed: int) -> list[Part]:
    """Return training, validation and test rows."""
    rows = whole(name)
    order = np.random.default_rng(seed).permutation(len(rows.y))[:MOST_ROWS]
    cuts = [int(0.6 * len(order)), int(0.8 * len(order))]
    return [Part(rows.X[part], rows.y[part], rows.n_classes) for part in np.split(order, cuts)]


class EvaluationSet:
    """Rows that no tree is grown on: their loss and accuracy."""

    def __init__(self, part: Part) -> None:
        self._part, self._score = part, np.zeros(len(part.y))
        self._rows = RowStatistics(LOSS, part.y, part.n_classes, n_threads=1)
        self.loss: list[float] = []
        self.accuracy: list[float] = []

    def see(self, tree: Tree | None, thresholds: NDArray[np.float64]) -> None:
        if tree is not None:
            TreeEnsemble([tree], self._part.X.shape[1]).add_to(self._score, self._part.X, 0, 1, 1)
        self.loss.append(self._rows(self._score, thresholds, "exact").loss / len(self._score))
        found = (self._score[:, None] > thresholds).sum(axis=1)  # the median class
        self.accuracy.append(float(np.mean(found == self._part.y)))


class OtherRule(HighOrder):
    """Order 3 whose leaves follow another equation; their splits are Halley's."""

    rule = "root"

    def solve(self, sums: HighOrderSums, leaves: NDArray[np.intp]) -> LeafStep:
        newton, delta = self.quadratic.solve(sums.quadratic, leaves)
        curvature = sums.quadratic.H[leaves] + self._state.parameters.l2_regularization
        return LeafStep(
            scalar.high_order_step(newton, curvature, sums.higher[leaves, 0], rule=self.rule).weights, delta
        )


class ExpandedRule(OtherRule):
    rule = "expanded"


class QuadraticSplits(HighOrder):
    """Halley's leaves on trees whose splits the quadratic model judges."""

    def grow(self, growth: Any, in_bag: NDArray[np.uint32] | None) -> dict[str, Any]:
        return self.quadratic.grow(growth, in_bag)


class Training:
    """A training with its processor seconds."""

    def __init__(
        self,
        fit: Part,
        watched: list[EvaluationSet],
        order: int,
        setting: Setting,
        criterion: type[HighOrder] | None = None,
    ) -> None:
        parameters = BoostingParameters.of(
            LOSS,
            order=order,
            learning_rate=setting[0],
            l2_regularization=setting[1],
            threshold_update="fixed" if fit.n_classes == 2 else "joint",
            max_leaf_nodes=None,
            max_depth=6,
        )
        self.run = EngineRun(parameters, TrainingSet(fit.X, fit.y, fit.n_classes), n_threads=1, criterion=criterion)
        self.watched, self.seconds = watched, [0.0]
        for rows in watched:
            rows.see(None, self.run.thresholds)

    def advance(self) -> None:
        start = time.process_time()
        tree = self.run.advance()
        self.seconds.append(self.seconds[-1] + time.process_time() - start)
        for rows in self.watched:
            rows.see(tree, self.run.thresholds)

    def over(self) -> bool:
        """Whether the first watched rows have had no better loss for long."""
        loss = self.watched[0].loss
        return len(loss) > ROUNDS or len(loss) - 1 - int(np.argmin(loss)) >= PATIENCE


def mark_of(start: float, best: float) -> float:
    return start - SHARE * (start - best)


def first(curve: list[float], mark: float) -> int | None:
    """Return the first iteration at or below a mark."""
    reached = np.flatnonzero(np.array(curve) <= mark)
    return int(reached[0]) if reached.size else None


def tune(case: Row) -> list[Row]:
    """Return when every order and setting reached the validation mark, and one row with the marks of the test rows."""
    fit, valid, test = parts(case["data"], case["seed"])
    grid: list[Setting] = [(eta, penalty) for eta in ETAS for penalty in PENALTIES]
    long: dict[Setting, Training] = {}
    for setting in grid:
        training = long[setting] = Training(fit, [EvaluationSet(valid), EvaluationSet(test)], 2, setting)
        while not training.over():
            training.advance()
        del training.run
    best = min(grid, key=lambda setting: min(long[setting].watched[0].loss))
    on_valid, on_test = long[best].watched
    mark, at = mark_of(on_valid.loss[0], min(on_valid.loss)), int(np.argmin(on_valid.loss))
    rows: list[Row] = [
        {
            "kind": "mark",
            "mark": mark_of(on_test.loss[0], on_test.loss[at]),
            "accuracy": SHARE * on_test.accuracy[at],
            "best": on_test.loss[at],
        }
    ]
    for order in ORDERS:
        quickest = np.inf
        for eta, penalty in grid:
            training = (
                long[eta, penalty] if order == 2 else Training(fit, [EvaluationSet(valid)], order, (eta, penalty))
            )
            while order > 2 and training.watched[0].loss[-1] > mark and not training.over():
                if training.seconds[-1] > HOPELESS * quickest:
                    break
                training.advance()
            rounds = first(training.watched[0].loss, mark)
            seconds = None if rounds is None else training.seconds[rounds]
            quickest = min(quickest, np.inf if seconds is None else seconds)
            rows.append(
                {"kind": "setting", "order": order, "eta": eta, "lambda": penalty, "rounds": rounds, "seconds": seconds}
            )
    return rows


def choose(tried: list[Row], name: str) -> dict[int, Setting]:
    """Return every order's setting: the one that reaches the mark in most partitions, and of those the quickest."""
    chosen = {}
    for order in ORDERS:
        seconds: dict[Setting, list[float]] = {}
        for row in tried:
            if row["data"] == name and row.get("order") == order:
                took = np.inf if row["seconds"] is None else row["seconds"]
                seconds.setdefault((row["eta"], row["lambda"]), []).append(took)
        chosen[order] = min(seconds, key=lambda one: (np.isinf(seconds[one]).sum(), float(np.median(seconds[one]))))
    return chosen


def racers(chosen: dict[int, Setting]) -> Iterator[tuple[str, int, Setting, dict[str, Any]]]:
    for order in ORDERS:
        yield f"order {order}", order, chosen[order], {}
    eta, penalty = chosen[2]
    for order in ORDERS[1:]:
        yield f"order {order}, setting of order 2", order, chosen[2], {}
    yield "order 2, eta x 1.5", 2, (1.5 * eta, penalty), {}
    for order in ORDERS:
        yield f"order {order}{PLAIN}", order, (0.1, 1.0), {}
    yield "order 3 by its root (eq. 9)", 3, chosen[3], {"criterion": OtherRule}
    yield "order 3 expanded (eq. 10)", 3, chosen[3], {"criterion": ExpandedRule}
    yield "order 3, quadratic splits", 3, chosen[3], {"criterion": QuadraticSplits}


def race(case: Row, tried: list[Row]) -> list[Row]:
    """Return a row for every training that runs for the test marks."""
    fit, valid, test = parts(case["data"], case["seed"])
    chosen = choose(tried, case["data"])
    marks = next(row for row in tried if case.items() <= row.items() and row["kind"] == "mark")
    field = {
        label: (setting, Training(fit, [EvaluationSet(valid), EvaluationSet(test)], order, setting, **variant))
        for label, order, setting, variant in racers(chosen)
    }
    while any(not training.over() for _, training in field.values()):
        for _, training in field.values():
            for _ in range(TURN):
                if not training.over():
                    training.advance()
    plain = field[f"order 2{PLAIN}"][1].watched[1]
    plain_marks = mark_of(plain.loss[0], min(plain.loss)), SHARE * max(plain.accuracy), min(plain.loss)
    rows = []
    for label, (setting, training) in field.items():
        tuned = marks["mark"], marks["accuracy"], marks["best"]
        goal, right_goal, best_of_two = plain_marks if label.endswith(PLAIN) else tuned
        on_test = training.watched[1]
        reached = first(on_test.loss, goal)
        right = first([-value for value in on_test.accuracy], -right_goal)
        kept = np.unique(np.geomspace(1, len(on_test.loss), 80).astype(int)) - 1
        rows.append(
            {
                "kind": "race",
                "run": label,
                "eta": setting[0],
                "lambda": setting[1],
                "rounds": reached,
                "seconds": None if reached is None else training.seconds[reached],
                "accuracy rounds": right,
                "accuracy seconds": None if right is None else training.seconds[right],
                "round ms": 1e3 * float(np.median(np.diff(training.seconds))),
                "best test loss": min(on_test.loss),
                "best round": int(np.argmin(on_test.loss)),
                "best accuracy": max(on_test.accuracy),
                "order 2's best": best_of_two,
                "mark": goal,
                "most frequent": float(np.bincount(test.y).max() / len(test.y)),
                "fell back": training.run.diagnostics.n_low_order,
                # Pictures show the first partition.
                "curve": [
                    [int(i), round(training.seconds[i], 4), round(on_test.loss[i], 6), round(on_test.accuracy[i], 4)]
                    for i in (kept if case["seed"] == 0 else [])
                ],
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    papers = [name for name in PAPERS if _papers_file(name).exists()]
    parser.add_argument("--data", nargs="+", default=[*BINARY, *ORDINAL, *papers])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e9, help="start no partition after so many minutes")
    parser.add_argument("--file", type=Path, default=FILE)
    options = parser.parse_args()
    cases = [
        {"data": name, "seed": seed} for name in options.data for seed in range(options.seeds * FEW_ROWS.get(name, 1))
    ]
    start = time.monotonic()
    settings = options.file.with_name(options.file.name.replace("runs", "settings"))
    tried = resume(settings, cases, tune, minutes=options.minutes, jobs=options.jobs)
    left = options.minutes - (time.monotonic() - start) / 60
    tuned = [case for case in cases if not missing([case], tried)]
    runs = resume(options.file, tuned, partial(race, tried=tried), minutes=left, jobs=options.jobs)
    high_order_report.write(runs, small=options.file != FILE)


if __name__ == "__main__":
    main()
