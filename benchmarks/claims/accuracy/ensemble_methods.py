"""Ensemble methods of the literature around the three classifiers, and inside their hosts: errors and seconds.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/ensemble_methods.py [--minutes 30] [--methods NAME ...]
    python benchmarks/claims/accuracy/ensemble_methods.py --table

Each method is called as a reader of its documentation would call it, with the classifier's plain call inside, on five
sets with ordered classes, three partitions. A cell that a library refuses says so. Runs are kept in
results/ensemble_methods_runs.csv: run again to continue.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lib import report
from lib.methods import encoder, spread
from lib.runner import Row, resume
from lib.set_ratios import COLUMNS, errors_of
from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    OrdinalEnsembleClassifier,
    XGBOrdinalClassifier,
)

FILE = report.RESULTS / "ensemble_methods_runs.csv"
SETS, SEEDS = ("era", "esl", "lev", "swd", "wine_red"), 3
CLASSIFIERS: dict[str, Any] = {
    "XGBoost": partial(XGBOrdinalClassifier, n_jobs=1, random_state=0),
    "LightGBM": partial(LGBMOrdinalClassifier, n_jobs=1, random_state=0),
    "native": partial(HistGradientBoostingOrdinalClassifier, n_jobs=1, random_state=0),
}
N_BAGS = 5
Make = Callable[..., Any]


def linear() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def bagged(make: Make, **options: Any) -> Any:
    return BaggingClassifier(make(**options), n_estimators=N_BAGS, random_state=0)


def boosted(make: Make, **options: Any) -> Any:
    return AdaBoostClassifier(make(min_child_weight=1e-6, **options), n_estimators=N_BAGS, random_state=0)


def boosted_bags(make: Make) -> Any:
    return AdaBoostClassifier(bagged(make, min_child_weight=1e-6), n_estimators=2, random_state=0)


METHODS: dict[str, Callable[[Make], Any]] = {
    "alone": lambda make: make(),
    "OrdinalEnsembleClassifier": lambda make: OrdinalEnsembleClassifier(
        [("ours", make())], n_bags=N_BAGS, subsample=1.0, random_state=0
    ),
    "bagging": bagged,
    "voting with a linear model": lambda make: VotingClassifier([("a", make()), ("b", linear())], voting="soft"),
    "stacking with a linear model": lambda make: StackingClassifier([("a", make()), ("b", linear())], linear()),
    "AdaBoost": boosted,
    "bag a boosted": lambda make: BaggingClassifier(boosted(make), n_estimators=2, random_state=0),
    "boost a bagged": boosted_bags,
    "stack, then boost the bag": lambda make: StackingClassifier([("a", make()), ("b", boosted_bags(make))], linear()),
}
# Modes of the hosts; not every one has each.
MODES: dict[str, dict[str, dict[str, Any]]] = {
    "random forest": {
        "XGBoost": {
            "num_parallel_tree": 100,
            "n_estimators": 1,
            "learning_rate": 1.0,
            "max_depth": 6,
            "colsample_bynode": 0.8,
            "proportional": True,
        },
        "LightGBM": {"boosting_type": "rf"},
        "native": {"num_parallel_tree": 100},
    },
    "GOSS": {
        "XGBoost": {"sampling_method": "gradient_based", "subsample": 0.5},
        "LightGBM": {"data_sample_strategy": "goss"},
        "native": {"data_sample_strategy": "goss"},
    },
    "dart": {
        "XGBoost": {"booster": "dart", "rate_drop": 0.1, "n_estimators": 50, "proportional": True},
        "LightGBM": {"boosting_type": "dart"},
        "native": {"booster": "dart"},
    },
}


def _predicted(classifier: str, method: str, train: tuple[Any, Any], X_test: Any, n_classes: int) -> tuple[Any, int]:
    # scikit-learn's methods hand on codes without gaps: all are trained on the classes that have rows.
    present, codes = np.unique(train[1], return_inverse=True)
    make = partial(CLASSIFIERS[classifier], classes=range(len(present)))
    encode = encoder(scale=False).fit(train[0]).set_output(transform="pandas")
    X, X_test = encode.transform(train[0]).to_numpy(), encode.transform(X_test).to_numpy()
    if method in MODES:
        model = make(**MODES[method][classifier])
    elif method == "OrdinalEnsembleClassifier":  # knows the classes itself
        model = METHODS[method](CLASSIFIERS[classifier]).set_params(classes=range(len(present)))
    else:
        model = METHODS[method](make)
    return spread(model.fit(X, codes).predict_proba(X_test), present, n_classes), 0


def measure(case: Row) -> list[Row]:
    return [errors_of(case, partial(_predicted, case["classifier"], case["method"]))]


def write_table() -> None:
    runs = pd.DataFrame(report.RunsFile(FILE, ("classifier", *COLUMNS)).rows)
    rows = []
    for method in (*METHODS, *MODES):
        for classifier in CLASSIFIERS:
            here = runs[(runs["method"] == method) & (runs["classifier"] == classifier)]
            row: Row = {"method": method, "classifier": classifier}
            refused = here["failure"].astype(bool).any()
            for name in ("mae", "rps", "seconds"):
                of_sets = here.assign(value=pd.to_numeric(here[name])).groupby("data")["value"].mean()
                row[name] = "refused" if refused else f"{of_sets.mean():.3f}"
            rows.append(row)
    note = (
        f"Means over {', '.join(SETS)}, {SEEDS} partitions each; absolute error of the median class for all. With the "
        f"plain call of each classifier inside; {N_BAGS} members where a method has copies, 2 around a method of "
        "methods. XGBoost's forests have 100 trees of depth 6, and its dart 50 rounds, both with one score: they "
        "refuse thresholds that move with x. Seconds of the processor, one thread."
    )
    report.write("ensemble_methods", "Ensemble methods around the classifiers", rows, note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--methods", nargs="+", choices=(*METHODS, *MODES), default=[*METHODS, *MODES])
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        write_table()
        return
    cases = [
        {"classifier": classifier, "data": data, "seed": seed, "method": method}
        for seed in range(SEEDS)
        for data in SETS
        for method in options.methods
        for classifier in CLASSIFIERS
    ]
    store = report.RunsFile(FILE, ("classifier", *COLUMNS))
    resume(store, cases, measure, minutes=options.minutes, jobs=options.jobs)


if __name__ == "__main__":
    main()
