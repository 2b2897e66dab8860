"""How large the trees of a call without arguments should be: fixed sizes, and the search that ships.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/tree_sizes.py [--minutes 30] [--jobs 2] [--methods NAME ...]
    ORDINAL_DATA=folder python benchmarks/claims/accuracy/tree_sizes.py --sets few
    python benchmarks/claims/accuracy/tree_sizes.py --tables

The sets on which designs are chosen (``OTHER``), and samples of them of 50 to 5,000 rows, one partition each. Every
classifier finds its number of rounds as it ships; what stands in brackets is given and not searched. Seconds are the
processor's, one thread. Runs are kept in results/tree_sizes_runs.csv: run again to continue.

``--sets few``: calls without arguments on samples of 12 to 300 rows, by one, three and five draws of rows held out;
with leaves of at least 3 rows, categories of 3 rows, or a penalty; and without trees where these do not gain more than
a standard error of the draws. Also where the labels are put in random order, and no tree is worth anything. Runs are
kept in results/tree_sizes_few_runs.csv.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import product
from typing import Any
from unittest import mock

import numpy as np

from lib import report
from lib.data import FEW_ROWS, MORE_ROWS, OTHER, SOME_ROWS
from lib.set_ratios import NOTE, SHARES, command, of_shares, ratios, rows_of, runs_of
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.estimators import held_out

NAME, SEEDS = "tree_sizes", {"sizes": 1, "few": 2}
# The plain call of before first.
GIVEN: dict[type, list[dict[str, Any]]] = {
    XGBOrdinalClassifier: [*({"max_depth": n} for n in (4, 3, 6, 8)), {"max_depth": 3, "learning_rate": 0.2}, {}],
    LGBMOrdinalClassifier: [{"num_leaves": n} for n in (31, 7, 15, 63)] + [{"reg_lambda": 1.0}, {}],
    HistGradientBoostingOrdinalClassifier: [{"max_leaf_nodes": n} for n in (31, 7, 15, 63)] + [{}],
}
METHODS: dict[str, tuple[type, dict[str, Any]]] = {
    f"{kind.__name__}({', '.join(f'{name}={value}' for name, value in given.items())})": (kind, given)
    for kind, each in GIVEN.items()
    for given in each
}
# The shares of the classes with one more row of each; what calls of few rows could do.
SMOOTHED, RANDOM = "class shares of one more row each", ", labels in random order"
ONE, FIVE, THREE = "one draw", "five draws", "three draws"
LEAVES, TREES = "three draws, leaves of 3 rows", "three draws, trees by a standard error"
CATEGORIES, PENALTY = "three draws, categories of 3 rows", "three draws, penalty of 1"
# What is given to classifiers; XGBoost bounds leaves by weight, and has the penalty.
_OF_FEW: dict[str, dict[type, str]] = {
    LEAVES: {LGBMOrdinalClassifier: "min_child_samples", HistGradientBoostingOrdinalClassifier: "min_samples_leaf"},
    CATEGORIES: {HistGradientBoostingOrdinalClassifier: "min_samples_category"},
    PENALTY: {LGBMOrdinalClassifier: "reg_lambda"},
}
FEW: dict[str, tuple[type, str]] = {
    f"{kind.__name__}(), {one}{labels}": (kind, one)
    for labels, kind, one in product(("", RANDOM), GIVEN, (ONE, FIVE, THREE, TREES, *_OF_FEW))
    if kind in _OF_FEW.get(one, GIVEN)
}


def _without_trees_unless_ahead(every: list[Sequence[float]]) -> Any:
    """Return the mean losses, the lowest of them without trees unless these gain more than a standard error."""
    each = np.array([losses[: min(map(len, every))] for losses in every])
    losses = each.mean(axis=0)
    gained = each[:, 0] - each[:, losses.argmin()]
    ahead = gained.mean() > gained.std(ddof=1) / np.sqrt(len(each))
    return losses if ahead else np.maximum(losses, losses[0])


def _predicted(method: str, train: tuple[Any, Any], X_test: Any, n_classes: int) -> tuple[Any, int]:
    if method == SHARES:
        return of_shares(train, X_test, n_classes)
    X, y = train
    if method == SMOOTHED:
        return of_shares((X, np.concatenate([y, np.arange(n_classes)])), X_test, n_classes)
    if method.endswith(RANDOM):
        y = np.random.default_rng(0).permutation(y)
    with ExitStack() as changes:
        if method in METHODS:
            kind, given = METHODS[method]
        else:
            kind, one = FEW[method]
            draws = {ONE: 1, FIVE: 5}.get(one, 3)
            changes.enter_context(mock.patch.multiple(held_out, _ONE_DRAW=10**9, _DRAWS_OF_FEW=draws))
            if one == TREES:
                changes.enter_context(mock.patch.object(held_out, "_mean", _without_trees_unless_ahead))
            values = {LEAVES: int(np.clip(len(y) // 50, 3, 20)), CATEGORIES: 3, PENALTY: 1.0}
            given = {_OF_FEW[one][kind]: values[one]} if one in _OF_FEW else {}
        if kind is LGBMOrdinalClassifier:  # without the penalty of few rows, which these tables decided
            given = {"reg_lambda": 0.0} | given
        model = kind(classes=np.arange(n_classes), n_jobs=1, random_state=0, **given).fit(X, y)
    return model.predict_proba(X_test), model.n_iter_


def write_tables() -> None:
    rows = rows_of(NAME)
    groups = {
        "50 to 200 rows": tuple(FEW_ROWS),
        "1,000 and 5,000 rows": tuple(MORE_ROWS),
        "all rows": tuple(OTHER),
        "all": (*FEW_ROWS, *MORE_ROWS, *OTHER),
    }
    found = [
        {"sets of": name, **row}
        for kind in GIVEN
        for name, sets in groups.items()
        for row in ratios(rows, *_first_and_others(kind), sets)
    ]
    note = f"{len(OTHER)} sets on which designs are chosen, and samples of them; {SEEDS['sizes']} partition. {NOTE}"
    report.write(NAME, "Sizes of trees in calls without arguments", found, note, runs_of(NAME))
    rows, found = rows_of(NAME, "few"), []
    for n in (12, 25, 50, 100, 200, 300):
        sets = [data for data in (*FEW_ROWS, *SOME_ROWS) if data.endswith(f" {n}")]
        found += [{"rows": n, **row} for row in ratios(rows, SMOOTHED, FEW, sets)]
    note = f"Samples of sets on which designs are chosen; {SEEDS['few']} partitions. {NOTE}"
    report.write(f"{NAME}_few", "Calls without arguments of few rows", found, note, runs_of(NAME, "few"))


def _first_and_others(kind: type) -> tuple[str, list[str]]:
    first, *others = (method for method, (made, _) in METHODS.items() if made is kind)
    return first, others


if __name__ == "__main__":
    command(__doc__, NAME, [SHARES, *METHODS], [SHARES, SMOOTHED, *FEW], SEEDS, _predicted, write_tables, "sizes")
