"""CatBoost's MultiClass and CatBoostOrdinalClassifier with the same settings: rate, depth, sampling, and rounds.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/same_settings.py [--minutes 30] [--jobs 2]
    python benchmarks/claims/accuracy/same_settings.py --tables

The 39 sets of the evidence, three partitions each. Both have 100 rounds; or each stops by its own loss on the same
fifth of the training rows, and is not trained again. Runs are kept in results/same_settings_evaluation_runs.csv: run
again to continue.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

from typing import Any

import numpy as np

from lib import report
from lib.methods import PATIENCE
from lib.rivals import catboost
from lib.set_ratios import GROUPS, NOTE, SHARES, command, of_shares, ratios, rows_of, runs_of
from ordinal_objectives import CatBoostOrdinalClassifier
from ordinal_objectives.estimators.held_out import Rows, hold_out

NAME, SEEDS, MOST_ROUNDS = "same_settings", {"evaluation": 3}, 1000
DEPTH = 6
SETTINGS: dict[str, Any] = {
    "learning_rate": 0.1,
    "one_hot_max_size": 10,
    "bootstrap_type": "Bernoulli",
    "subsample": 0.8,
}
# Ours, and what stands beside it: the number of rounds, or None where each stops by its own loss.
PAIRS = {"100 rounds": 100, "stopped early": None}
MULTICLASS, ORDINAL = ([f"{one}, {rounds}" for rounds in PAIRS] for one in ("MultiClass", "CatBoostOrdinalClassifier"))
METHODS = (SHARES, *MULTICLASS, *ORDINAL)


def _predicted(method: str, train: tuple[Any, Any], X_test: Any, n_classes: int) -> tuple[Any, int]:
    if method == SHARES:
        return of_shares(train, X_test, n_classes)
    one, how = method.split(", ")
    rounds, valid = PAIRS[how], None
    if rounds is None:
        fit, held = hold_out(Rows(*train), 0.2, 0)
        train, valid, rounds = (fit.X, fit.codes), (held.X, held.codes), MOST_ROUNDS
    if one == "MultiClass":
        fitted = catboost(train, valid, rounds, n_classes, DEPTH, one, **SETTINGS)
        return fitted.predict(X_test)[1], fitted.rounds
    ours = CatBoostOrdinalClassifier(
        iterations=rounds, depth=DEPTH, classes=np.arange(n_classes), n_jobs=1, random_state=0,
        early_stopping_rounds=valid and PATIENCE, **SETTINGS,
    )  # fmt: skip
    ours.fit(*train, eval_set=valid and [valid])
    return ours.predict_proba(X_test), ours.n_iter_


def write_tables() -> None:
    rows, sets = rows_of(NAME, "evaluation"), GROUPS["evaluation"]
    found = [
        row
        for multiclass, ours in zip(MULTICLASS, ORDINAL, strict=True)
        for row in ratios(rows, multiclass, [ours], sets)
    ]
    note = (
        f"{SEEDS['evaluation']} partitions of each of the {len(sets)} sets; rate .1, depth {DEPTH}, Bernoulli samples "
        f"of .8, levels split one by one up to 10. {NOTE}"
    )
    report.write(NAME, "CatBoost with the same settings", found, note, runs_of(NAME, "evaluation"))


if __name__ == "__main__":
    command(__doc__, NAME, METHODS, METHODS, SEEDS, _predicted, write_tables, default="evaluation")
