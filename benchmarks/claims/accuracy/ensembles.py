"""Several models' mean beside one model: ordinal and multiclass members, by the rows that each leaves out.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/ensembles.py [--minutes 30] [--jobs 2] [--methods NAME ...]
    python benchmarks/claims/accuracy/ensembles.py --evaluation        the default and its rivals, on other sets
    python benchmarks/claims/accuracy/ensembles.py --tables            writes the tables of both

Without --evaluation the sets are those on which designs are chosen (``OTHER``) and their samples of few rows. One
multiclass model finds its rounds on a fifth of the rows and is trained again on all, as the plain call of the ordinal
classifiers is; members of an ensemble stop by the rows that their subsample leaves out. Seconds are the processor's,
one thread. Runs are kept in results/ensembles_runs.csv and results/ensembles_evaluation_runs.csv: run again to
continue.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
from functools import partial
from typing import Any

import numpy as np
import xgboost
from sklearn.base import BaseEstimator, ClassifierMixin

from lib import report
from lib.data import FEW_ROWS, ORDINAL, OTHER, SIXTEEN
from lib.methods import spread
from lib.runner import Row, resume
from lib.set_ratios import COLUMNS, NOTE, SHARES, errors_of, of_shares, ratios
from ordinal_objectives import OrdinalEnsembleClassifier, XGBOrdinalClassifier
from ordinal_objectives.estimators.held_out import hold_out, take_rows

FILE, EVALUATION = report.RESULTS / "ensembles_runs.csv", report.RESULTS / "ensembles_evaluation_runs.csv"
SEEDS = 3
STOPS: dict[str, Any] = {"n_estimators": 500, "early_stopping_rounds": 10, "n_jobs": 1}
LIKE_OURS = {"max_depth": 4, "subsample": 0.8}


def ordinal(**options: Any) -> XGBOrdinalClassifier:
    return XGBOrdinalClassifier(**STOPS, **options)


def multiclass(**options: Any) -> xgboost.XGBClassifier:
    return xgboost.XGBClassifier(enable_categorical=True, **(STOPS | options))


class Refitted(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """XGBClassifier with its rounds found on a fifth of the rows, trained on all: what the ordinal plain call does."""

    def __init__(self, max_depth: int | None = None, subsample: float | None = None, random_state: int = 0) -> None:
        self.max_depth, self.subsample, self.random_state = max_depth, subsample, random_state

    def fit(self, X: Any, y: Any) -> Refitted:
        self.classes_, codes = np.unique(y, return_inverse=True)
        (X_fit, y_fit, _), (X_held, y_held, _) = hold_out((X, codes, None), 0.2, self.random_state)
        present = np.unique(y_fit)
        seen = np.isin(y_held, present)
        held = take_rows(X_held, np.flatnonzero(seen)), np.searchsorted(present, y_held[seen])
        search = multiclass(**self.get_params())
        search.fit(X_fit, np.searchsorted(present, y_fit), eval_set=[held], verbose=False)
        self.rounds_ = search.best_iteration + 1
        alone = {"n_estimators": self.rounds_, "early_stopping_rounds": None}
        self.model_ = multiclass(**(self.get_params() | alone)).fit(X, codes)
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.model_.predict_proba(X)


PLAIN = XGBOrdinalClassifier(n_jobs=1)
ONE = "one multiclass model"
# Members and copies of each.
ENSEMBLES: dict[str, tuple[list[tuple[str, Any]], int]] = {
    "2 multiclass": ([("multiclass", multiclass())], 2),
    "4 multiclass": ([("multiclass", multiclass())], 4),
    "4 multiclass, depth 4, subsample .8": ([("multiclass", multiclass(**LIKE_OURS))], 4),
    "4 ordinal": ([("ordinal", ordinal())], 4),
    "1 ordinal, 1 multiclass": ([("ordinal", ordinal()), ("multiclass", multiclass())], 1),
    "2 ordinal, 2 multiclass": ([("ordinal", ordinal()), ("multiclass", multiclass())], 2),
    "2 ordinal, 2 multiclass, depth 4, subsample .8": (
        [("ordinal", ordinal()), ("multiclass", multiclass(**LIKE_OURS))],
        2,
    ),
    "2 ordinal, 2 multiclass, refitted": ([("ordinal", PLAIN), ("multiclass", Refitted())], 2),
    "2 ordinal, 2 multiclass, refitted, subsample .8": (
        [("ordinal", PLAIN), ("multiclass", Refitted(subsample=0.8))],
        2,
    ),
    "2 ordinal, 2 multiclass, refitted, depth 4, subsample .8": (
        [("ordinal", PLAIN), ("multiclass", Refitted(**LIKE_OURS))],
        2,
    ),
    "4 multiclass, refitted, subsample .8": ([("multiclass", Refitted(subsample=0.8))], 4),
    "4 ordinal, 4 multiclass": ([("ordinal", ordinal()), ("multiclass", multiclass())], 4),
}
METHODS = (SHARES, ONE, "XGBOrdinalClassifier()", *ENSEMBLES)


def _predicted(method: str, train: tuple[Any, Any], X_test: Any, n_classes: int) -> tuple[Any, int]:
    if method == SHARES:
        return of_shares(train, X_test, n_classes)
    if method == ONE:
        one = Refitted().fit(*train)
        return spread(one.predict_proba(X_test), one.classes_, n_classes), one.rounds_
    classes = np.arange(n_classes)
    if method == "XGBOrdinalClassifier()":
        single = XGBOrdinalClassifier(classes=classes, n_jobs=1, random_state=0).fit(*train)
        return single.predict_proba(X_test), single.n_iter_
    members, n_bags = ENSEMBLES[method]
    share = 1.0 if "refitted" in method else 0.8  # refitted members hold out rows of their own
    model = OrdinalEnsembleClassifier(members, n_bags=n_bags, subsample=share, classes=classes, random_state=0)
    model.fit(*train)
    return model.predict_proba(X_test), 0


def measure(case: Row) -> list[Row]:
    return [errors_of(case, partial(_predicted, case["method"]))]


def write_tables() -> None:
    rows = report.RunsFile(FILE, COLUMNS).rows
    groups = (("all", [*FEW_ROWS, *OTHER]), ("50, 100 and 200 rows", FEW_ROWS), ("the others", OTHER))
    found = [{"sets of": name, **row} for name, sets in groups for row in ratios(rows, ONE, METHODS[2:], sets)]
    note = f"{len(OTHER)} sets on which designs are chosen, and samples of some of them; {SEEDS} partitions. {NOTE}"
    report.write("ensembles_design", "Ensembles, sets on which designs are chosen", found, note)
    rows, sets = report.RunsFile(EVALUATION, COLUMNS).rows, (*SIXTEEN, *ORDINAL)
    note = f"{SEEDS} partitions of each of the {len(sets)} sets. {NOTE}"
    report.write("ensembles", "Ensembles", ratios(rows, ONE, METHODS[2:], sets), note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--tables", action="store_true")
    parser.add_argument("--evaluation", action="store_true")
    options = parser.parse_args()
    if options.tables:
        write_tables()
        return
    file, sets = (EVALUATION, (*SIXTEEN, *ORDINAL)) if options.evaluation else (FILE, (*FEW_ROWS, *OTHER))
    cases = [
        {"data": data, "seed": seed, "method": method}
        for seed in range(SEEDS)
        for data in sets
        for method in options.methods
    ]
    resume(report.RunsFile(file, COLUMNS), cases, measure, minutes=options.minutes, jobs=options.jobs)


if __name__ == "__main__":
    main()
