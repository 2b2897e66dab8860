"""Several models' mean beside one model: ordinal and multiclass members, by the rows that each leaves out.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/ensembles.py [--minutes 30] [--jobs 2] [--methods NAME ...]
    python benchmarks/claims/accuracy/ensembles.py --sets evaluation   or confirmation: the default and its rivals
    python benchmarks/claims/accuracy/ensembles.py --tables            writes the tables of both

Without --sets they are those on which designs are chosen (``OTHER``) and their samples of few rows. One
multiclass model finds its rounds on a fifth of the rows and is trained again on all, as the plain call of the ordinal
classifiers is; members of an ensemble stop by the rows that their subsample leaves out. Seconds are the processor's,
one thread. Runs are kept in results/ensembles_runs.csv and others: run again to continue.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

from typing import Any

import numpy as np
import xgboost

from lib import report
from lib.data import FEW_ROWS, OTHER
from lib.methods import spread
from lib.set_ratios import GROUPS, NOTE, SHARES, command, of_shares, ratios, rows_of, runs_of
from ordinal_objectives import (
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    OrdinalEnsembleClassifier,
    XGBOrdinalClassifier,
)
from ordinal_objectives.estimators.held_out import Rows, hold_out, take_rows

NAME, SEEDS = "ensembles", {"design": 1, "evaluation": 3, "confirmation": 1}
# What members that stop by the rows that their subsample leaves out are given, beside one thread.
NATIVE: dict[str, Any] = {"max_iter": 500, "early_stopping": True, "n_iter_no_change": 20, "n_jobs": 1}
STOPS: dict[str, Any] = {"n_estimators": 500, "early_stopping_rounds": 10, "n_jobs": 1}
# Plain calls, which hold rows out themselves.
PLAIN_NATIVE = ("trees", HistGradientBoostingOrdinalClassifier(n_jobs=1))
PLAIN_HOSTS = [("XGBoost", XGBOrdinalClassifier(n_jobs=1)), ("LightGBM", LGBMOrdinalClassifier(n_jobs=1))]
ALL_ROWS: dict[str, Any] = {"subsample": 1.0}
SMALL, LARGE = ((f"{n} leaves", HistGradientBoostingOrdinalClassifier(max_leaf_nodes=n, **NATIVE)) for n in (15, 31))
MULTICLASS_MEMBER = ("multiclass", xgboost.XGBClassifier(enable_categorical=True, subsample=0.8, **STOPS))


ONE, PLAIN, RIVAL = "one multiclass model", "HistGradientBoostingOrdinalClassifier()", "4 multiclass"
DEFAULT, SIZES = "4 plain calls", "2 native of 15 leaves, 2 of 31"
# Members, copies of each, and what else the ensemble is given. The default is spelled out, for one thread; before it
# was 2 native classifiers of 15 leaves and 2 of 31.
ENSEMBLES: dict[str, tuple[list[tuple[str, Any]], dict[str, Any]]] = {
    DEFAULT: ([PLAIN_NATIVE], {"n_bags": 4, **ALL_ROWS}),
    "2 plain calls": ([PLAIN_NATIVE], {"n_bags": 2, **ALL_ROWS}),
    "3 plain calls: native, XGBoost, LightGBM": ([PLAIN_NATIVE, *PLAIN_HOSTS], {"n_bags": 1, **ALL_ROWS}),
    SIZES: ([SMALL, LARGE], {"n_bags": 2}),
    RIVAL: ([MULTICLASS_MEMBER], {"n_bags": 4}),
}
METHODS = (SHARES, ONE, PLAIN, *ENSEMBLES)
SHIPPED = (SHARES, ONE, PLAIN, DEFAULT, RIVAL)


def _one_multiclass(train: tuple[Any, Any], X_test: Any, n_classes: int) -> tuple[Any, int]:
    """Find the rounds on a fifth of the rows, as the ordinal plain call does, and train on all rows."""
    classes, codes = np.unique(train[1], return_inverse=True)
    fit, held_out = hold_out(Rows(train[0], np.asarray(codes, dtype=np.int32)), 0.2, 0)
    X_fit, y_fit, X_held, y_held = fit.X, fit.codes, held_out.X, held_out.codes
    present = np.unique(y_fit)
    seen = np.isin(y_held, present)
    held = take_rows(X_held, np.flatnonzero(seen)), np.searchsorted(present, y_held[seen])
    search = xgboost.XGBClassifier(enable_categorical=True, **STOPS)
    search.fit(X_fit, np.searchsorted(present, y_fit), eval_set=[held], verbose=False)
    rounds = round((search.best_iteration + 1) * len(codes) / len(fit))
    model = xgboost.XGBClassifier(enable_categorical=True, n_estimators=rounds, n_jobs=1).fit(train[0], codes)
    return spread(model.predict_proba(X_test), classes, n_classes), rounds


def _predicted(method: str, train: tuple[Any, Any], X_test: Any, n_classes: int) -> tuple[Any, int]:
    if method == SHARES:
        return of_shares(train, X_test, n_classes)
    if method == ONE:
        return _one_multiclass(train, X_test, n_classes)
    classes = np.arange(n_classes)
    if method == PLAIN:
        single = HistGradientBoostingOrdinalClassifier(classes=classes, n_jobs=1, random_state=0).fit(*train)
        return single.predict_proba(X_test), single.n_iter_
    members, options = ENSEMBLES[method]
    model = OrdinalEnsembleClassifier(members, classes=classes, random_state=0, **options).fit(*train)
    return model.predict_proba(X_test), 0


def write_tables() -> None:
    rows = rows_of(NAME)
    groups = (("all", GROUPS["design"]), ("50, 100 and 200 rows", tuple(FEW_ROWS)), ("the others", tuple(OTHER)))
    found = [{"sets of": name, **row} for name, sets in groups for row in ratios(rows, ONE, METHODS[2:], sets)]
    note = f"{len(OTHER)} sets on which designs are chosen, and samples of some; {SEEDS['design']} partitions. {NOTE}"
    report.write("ensembles_design", "Ensembles, sets on which designs are chosen", found, note, runs_of(NAME))
    for group, name, title in (
        ("evaluation", "ensembles", "Ensembles"),
        ("confirmation", "ensembles_confirmation", "Ensembles, sets that were kept aside"),
    ):
        rows, sets = rows_of(NAME, group), GROUPS[group]
        found = [
            {"beside": beside, **row}
            for beside, methods in ((ONE, SHIPPED[2:]), (RIVAL, (DEFAULT,)), (PLAIN, SHIPPED[3:]))
            for row in ratios(rows, beside, methods, sets)[1:]
        ]
        note = f"{SEEDS[group]} partitions of each of the {len(sets)} sets. {NOTE}"
        report.write(name, title, found, note, runs_of(NAME, group))


if __name__ == "__main__":
    command(__doc__, NAME, METHODS, SHIPPED, SEEDS, _predicted, write_tables)
