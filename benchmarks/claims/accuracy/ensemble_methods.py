"""Ensemble methods of the literature around the three classifiers, and inside their hosts: errors and seconds.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/ensemble_methods.py [--minutes 30] [--methods NAME ...]
    python benchmarks/claims/accuracy/ensemble_methods.py --table

Each method has the classifier's plain call inside, and is measured on five sets with ordered classes, three partitions.
Around AdaBoost the classifiers get a smaller bound on leaves: its weights sum to 1. Every method is judged by the
median of its probabilities and by its own answers. A cell that a library refuses says so. Runs are kept in
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
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
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
    "scikit-learn": partial(RandomForestClassifier, n_jobs=1, random_state=0),
}
OURS = ("XGBoost", "LightGBM", "native")
N_BAGS = 5
Make = Callable[..., Any]


def linear() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


class Neighbours(KNeighborsClassifier):
    """Nearest neighbours that take weights, as boosting asks, and do not use them."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Neighbours:
        super().fit(X, y)
        return self


def stacked(make: Make, **options: Any) -> Any:
    # Of a bootstrap that lacks a class the stack hands on the codes of the others: the classes are those.
    trees = make(**options | {"classes": None})
    return StackingClassifier([("trees", trees), ("neighbours", Neighbours())], linear())


def bagged(make: Make, **options: Any) -> Any:
    return BaggingClassifier(make(**options), n_estimators=N_BAGS, random_state=0)


def boosted(make: Make, **options: Any) -> Any:
    return AdaBoostClassifier(make(min_child_weight=1e-6, **options), n_estimators=N_BAGS, random_state=0)


def boosted_bags(make: Make) -> Any:
    return AdaBoostClassifier(bagged(make, min_child_weight=1e-6), n_estimators=2, random_state=0)


def boosted_bags_of_stacks(make: Make) -> Any:
    stacks = BaggingClassifier(stacked(make, min_child_weight=1e-6), n_estimators=2, random_state=0)
    return AdaBoostClassifier(stacks, n_estimators=2, random_state=0)


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
    "stack, bag, then boost the bag": boosted_bags_of_stacks,
}
# As they are usually grown; a bootstrap has 63.2% of the rows.
FOREST = "random forest, a root of the features, one row to a leaf"
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
        "native": {"boosting_type": "rf", "max_iter": 100},
    },
    FOREST: {
        "native": {
            "boosting_type": "rf",
            "max_iter": 100,
            "max_features": "sqrt",
            "max_leaf_nodes": None,
            "min_samples_leaf": 1,
            "subsample": 0.632,
        },
        "scikit-learn": {},
    },
    "GOSS": {
        "XGBoost": {"sampling_method": "gradient_based", "subsample": 0.5},
        "LightGBM": {"data_sample_strategy": "goss"},
        "native": {"data_sample_strategy": "goss", "subsample": 1.0},
    },
    "dart": {
        "XGBoost": {"booster": "dart", "rate_drop": 0.1, "n_estimators": 50, "proportional": True},
        "LightGBM": {"boosting_type": "dart"},
        "native": {"booster": "dart"},
    },
}


def _predicted(
    classifier: str, method: str, train: tuple[Any, Any], X_test: Any, n_classes: int
) -> tuple[Any, int, Any]:
    # scikit-learn's methods hand on codes without gaps: all are trained on the classes that have rows.
    present, codes = np.unique(train[1], return_inverse=True)
    known = {} if classifier == "scikit-learn" else {"classes": range(len(present))}
    make = partial(CLASSIFIERS[classifier], **known)
    encode = encoder(scale=False).fit(train[0]).set_output(transform="pandas")
    X, X_test = encode.transform(train[0]).to_numpy(), encode.transform(X_test).to_numpy()
    if method in MODES:
        model = make(**MODES[method][classifier])
    elif method == "OrdinalEnsembleClassifier":  # knows the classes itself
        model = METHODS[method](CLASSIFIERS[classifier]).set_params(classes=range(len(present)))
    else:
        model = METHODS[method](make)
    model.fit(X, codes)
    return spread(model.predict_proba(X_test), present, n_classes), 0, present[model.predict(X_test)]


def measure(case: Row) -> list[Row]:
    return [errors_of(case, partial(_predicted, case["classifier"], case["method"]))]


def write_table() -> None:
    runs = pd.DataFrame(report.RunsFile(FILE, ("classifier", *COLUMNS, "own_mae")).rows)
    rows = []
    for method in (*METHODS, *MODES):
        for classifier in MODES.get(method, OURS):
            here = runs[(runs["method"] == method) & (runs["classifier"] == classifier)]
            row: Row = {"method": method, "classifier": classifier}
            refused = here["failure"].astype(bool).any()
            for title, name in {
                "mae": "mae",
                "mae, own answers": "own_mae",
                "rps": "rps",
                "seconds": "seconds",
            }.items():
                of_sets = here.assign(value=pd.to_numeric(here[name])).groupby("data")["value"].mean()
                row[title] = "refused" if refused else f"{of_sets.mean():.3f}"
            rows.append(row)
    note = (
        f"Means over {', '.join(SETS)}, {SEEDS} partitions each. `mae` is that of the median class for all, `mae, own "
        "answers` that of what the method predicts: scikit-learn's methods answer with the most probable class or by "
        f"votes. With the plain call of each classifier inside; {N_BAGS} members where a method has copies, 2 around a "
        "method of methods. Inside AdaBoost, whose weights sum to 1, the classifiers have min_child_weight=1e-6: with "
        "XGBoost's own 1 no tree has a split there. XGBoost's forests have 100 trees of depth 6, and its dart 50 "
        "rounds, both with one score: they refuse thresholds that move with x. The native forests have 100 "
        "trees. Seconds of the processor, one thread, those of the usual forests on an Intel Xeon."
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
        for classifier in MODES.get(method, OURS)
    ]
    store = report.RunsFile(FILE, ("classifier", *COLUMNS, "own_mae"))
    resume(store, cases, measure, minutes=options.minutes, jobs=options.jobs)


if __name__ == "__main__":
    main()
