"""Shifts that XGBoost fits itself (`shift_method="host"`) beside renewed leaves: accuracy, and what a round costs.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/host_vector_leaves.py           resumes; about half an hour
    ORDINAL_DATA=folder python benchmarks/claims/accuracy/host_vector_leaves.py --small   student_por and boston alone
    python benchmarks/claims/accuracy/host_vector_leaves.py --cost                    beside the built-in binary round

Accuracy: trees of depth 4, at most 3,000 rows, early stopping on a fifth of them, all other parameters by default.
Runs are kept by the version of XGBoost, since versions before 3.4 treat min_child_weight otherwise.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import xgboost

from claims.report.shifts_table import log_ratios
from lib import report
from lib.data import OTHER, load, partition
from lib.runner import resume
from lib.timing import Clock, interleave, make_data
from ordinal_objectives import XGBOrdinalClassifier, metrics
from ordinal_objectives.adapters import xgb as oxgb
from ordinal_objectives.adapters.xgb.outputs import (
    CATEGORICAL_SPLITS,
    MIN_CHILD_WEIGHT,
    is_at_least,
    output_shares,
)
from ordinal_objectives.leaves.vector import Shifts

SMALL = ("student_por", "boston")
DATA = (*OTHER, *SMALL, "skillcraft", "bank32nh", "census16H")
MOST_TRAIN, MOST_TEST = 3_000, 5_000
# Learning rate: most rounds, and rounds without gain before the end.
ROUNDS = {0.1: (400, 40), 0.3: (200, 20), 1.0: (80, 10)}
METHODS: dict[str, dict[str, Any]] = {
    "proportional": {"proportional": True},
    "renewal": {"proportional": False},
    "host": {"proportional": False, "shift_method": "host"},
    "host, majorized": {"proportional": False, "shift_method": "host", "hessian": "majorized"},
}
# What min_child_weight=1 would do to contrasts in versions that compare it with every output's Hessian.
UNSCALED = {"host, min_child_weight not scaled": METHODS["host"]}
MEASURES = ("rps", "mae", "zero_one", "log_loss")


def measure(case: dict[str, Any]) -> list[dict[str, Any]]:
    options = dict((METHODS | UNSCALED)[case["method"]])
    if case["method"] in UNSCALED:
        options["min_child_weight"] = 1.0 / float(output_shares(load(case["data"]).n_classes, 1.0, Shifts()).min())
    return [errors_of(case, options)]


def errors_of(case: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return errors, rounds and seconds of the classifier with some options, on the rows of a case."""
    dataset = load(case["data"])
    train, test = partition(dataset, case["seed"])
    train, test = train[:MOST_TRAIN], test[:MOST_TEST]
    X = dataset.X
    if not is_at_least(CATEGORICAL_SPLITS):  # for all methods, so that they have the same columns
        X = X.apply(lambda column: column.cat.codes if column.dtype == "category" else column)
    n_rounds, patience = ROUNDS[case["learning_rate"]]
    model = XGBOrdinalClassifier(
        n_estimators=n_rounds,
        learning_rate=case["learning_rate"],
        early_stopping_rounds=patience,
        validation_fraction=0.2,
        max_depth=4,
        subsample=1.0,
        n_jobs=1,
        random_state=case["seed"],
        classes=np.arange(dataset.n_classes),
        **options,
    )
    started = time.process_time()
    model.fit(X.iloc[train], dataset.y[train])
    seconds, y = time.process_time() - started, dataset.y[test]
    proba = model.predict_proba(X.iloc[test])
    codes, labels = model.predict(X.iloc[test]), np.arange(dataset.n_classes)
    return {
        "rps": metrics.ranked_probability_score(y, proba, labels=labels),
        "mae": metrics.mean_absolute_error(y, codes, labels=labels),
        "zero_one": metrics.zero_one_error(y, codes, labels=labels),
        "log_loss": metrics.ordinal_log_loss(y, proba, labels=labels),
        "n_iter": model.n_iter_,
        "n_raised": model.diagnostics_["n_raised"],
        "n_rounds": model._record.n_iterations,
        "seconds": seconds,
    }


def accuracy(options: argparse.Namespace) -> None:
    data = SMALL if options.small else DATA
    methods = METHODS if is_at_least(MIN_CHILD_WEIGHT) else METHODS | UNSCALED
    cases = [
        {"xgboost": xgboost.__version__, "data": name, "seed": seed, "learning_rate": rate, "method": method}
        for rate, name, seed, method in itertools.product(ROUNDS, data, range(options.seeds), methods)
    ]
    rows = resume(report.RESULTS / "host_vector_leaves_runs.json", cases, measure, minutes=options.minutes)
    runs = pd.DataFrame(rows)
    table = []
    for (version, rate), part in runs.groupby(["xgboost", "learning_rate"]):
        for method in METHODS | UNSCALED:
            if method != "renewal" and method in set(part.method):
                table.append({"XGBoost": version, "learning rate": rate, "method": method} | against(part, method))
    report.write(
        "host_vector_leaves",
        "Shifts that XGBoost fits itself, against renewed leaves",
        table,
        "Geometric mean over the sets of a set's mean log ratio to `shift_method='renewal'` over its partitions; in "
        "brackets the sets below 1. Raised: share of the rounds after which the training loss was higher. Seconds: "
        "processor time of `fit`, beside other work, as a ratio.",
    )
    each = runs.pivot_table("rps", ["xgboost", "data", "learning_rate"], "method").round(4).reset_index()
    report.write(
        "host_vector_leaves_sets",
        "The same by set: ranked probability score",
        [
            {"XGBoost": row.xgboost, "data": row.data, "learning rate": row.learning_rate}
            | {method: "" if np.isnan(row[method]) else f"{row[method]:.4f}" for method in METHODS | UNSCALED}
            for _, row in each.iterrows()
        ],
    )


def against(runs: pd.DataFrame, method: str, other: str = "renewal") -> dict[str, str]:
    """Return the ratios of a method to another one."""
    ours, theirs = (runs[runs.method == name].set_index(["data", "seed"]) for name in (method, other))
    both = ours.index.intersection(theirs.index)
    cells = {"sets": str(len(both.unique("data"))), "fits": str(len(both))}
    for name in MEASURES:
        logs = log_ratios(ours[name], theirs[name])
        cells[name] = f"{np.exp(logs.mean()):.3f} ({(logs < 0).sum()})"
    cells["rounds"] = f"{np.exp(np.log(ours.loc[both, 'n_iter'] / theirs.loc[both, 'n_iter']).mean()):.2f}"
    cells["raised"] = f"{ours.loc[both, 'n_raised'].sum() / ours.loc[both, 'n_rounds'].sum():.3f}"
    cells["seconds"] = f"{np.exp(np.log(ours.loc[both, 'seconds'] / theirs.loc[both, 'seconds']).mean()):.2f}"
    return cells


def variants(X: np.ndarray, y: np.ndarray, n_classes: int, threads: int, n_rounds: int) -> dict[str, Any]:
    params = {"max_depth": 6, "tree_method": "hist", "nthread": threads}
    ordinal, binary = xgboost.DMatrix(X, y), xgboost.DMatrix(X, y > (n_classes - 1) / 2)

    def built_in() -> list[float]:
        clock = Clock()
        xgboost.train({**params, "objective": "binary:logistic"}, binary, n_rounds, callbacks=[clock])
        return clock.rounds()

    def ours(**how: Any) -> Callable[[], list[float]]:
        def run() -> list[float]:
            clock = Clock()
            oxgb.train(params, ordinal, n_rounds, n_classes=n_classes, callbacks=[clock], verbose_eval=False, **how)
            return clock.rounds()

        return run

    return {
        "built-in": built_in,
        "proportional, newton": ours(threshold_update="newton"),
        "renewal": ours(proportional=False),
        "host": ours(proportional=False, shift_method="host"),
    }


def cost(options: argparse.Namespace) -> None:
    def measure(case: dict[str, Any]) -> list[dict[str, Any]]:
        X, y = make_data(options.rows, 28, case["K"])
        ms = interleave(variants(X, y, case["K"], case["threads"], options.rounds), options.repeats)
        base = ms.pop("built-in")
        return [{"binary round ms": base, **{f"{name} / binary": value / base for name, value in ms.items()}}]

    result = report.Result(
        "host_vector_leaves_cost",
        f"A whole round, {options.rows:,} x 28, beside the built-in binary one",
        "All-threshold logit, exact Hessian, hist, depth 6, no evaluation. Medians over rounds, variants in turns.",
    )
    cases = [{"K": K, "threads": threads} for threads, K in itertools.product(options.threads, (5, 10))]
    resume(result, cases, measure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if options.cost:
        cost(options)
    else:
        accuracy(options)


if __name__ == "__main__":
    main()
