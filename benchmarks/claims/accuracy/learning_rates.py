"""Which learning rates a call without arguments should have: that of its search, and that of the training after it.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/learning_rates.py [--minutes 30] [--jobs 2] [--methods NAME]
    python benchmarks/claims/accuracy/learning_rates.py --tables

The sets on which designs are chosen (``OTHER``), and samples of them of 50 to 5,000 rows, up to three partitions
each, two with more than 6,000 training rows. The search runs at the first rate, and the training on all rows at the
second, with as many more rounds as this is slower, and a quarter more, since the search trains on four fifths of the
rows. The first of each library is the call as it was. Seconds are the processor's, one thread. Runs are kept in
results/learning_rates_runs.csv: run again to continue.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np

from lib import report
from lib.data import OTHER, n_train
from lib.runner import Row
from lib.set_ratios import GROUPS, NOTE, SHARES, command, of_both, of_shares, ratios, rows_of, runs_of
from ordinal_objectives import (
    CatBoostOrdinalClassifier,
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    XGBOrdinalClassifier,
)
from ordinal_objectives.estimators import held_out
from ordinal_objectives.estimators.held_out import Choices, Rates, Tried

NAME, SEEDS, FEW_SEEDS, MANY_ROWS = "learning_rates", 3, 2, 6_000
AS_IT_WAS = ", as it was"


@dataclass(frozen=True)
class Call:
    """A call without arguments that finds its rounds at one rate and trains at another."""

    kind: type
    rates: Rates
    more_rounds: float = 1.25
    sizes: tuple[int, ...] = (4, 8)


def _calls(kind: type, name: str, before: float, *rates: tuple[float, float]) -> dict[str, Call]:
    found = {f"{name}{AS_IT_WAS}": Call(kind, Rates(before, before), more_rounds=1.0)}
    return found | {f"{name}, {search:g} then {last:g}": Call(kind, Rates(search, last)) for search, last in rates}


LIGHT = ((0.2, 0.2), (0.2, 0.1), (0.2, 0.05), (0.1, 0.1), (0.1, 0.05), (0.05, 0.05))
XGB = ((0.3, 0.3), (0.3, 0.15), (0.3, 0.1), (0.15, 0.15), (0.1, 0.1))
METHODS: dict[str, Call] = {
    **_calls(XGBOrdinalClassifier, "XGBoost", 0.3, *XGB),
    **{
        f"XGBoost, {search:g} then 0.1, depth 4, 6, 8": Call(XGBOrdinalClassifier, Rates(search, 0.1), sizes=(4, 6, 8))
        for search in (0.3, 0.1)
    },
    **_calls(LGBMOrdinalClassifier, "LightGBM", 0.2, *LIGHT),
    **_calls(HistGradientBoostingOrdinalClassifier, "native", 0.1, (0.1, 0.1), (0.1, 0.05), (0.05, 0.05)),
    **_calls(CatBoostOrdinalClassifier, "CatBoost", 0.1, (0.1, 0.1)),
}
PARTITIONS = {data: FEW_SEEDS for data in GROUPS["rates"] if n_train(data) > MANY_ROWS}


def _choices(call: Call, shipped: Choices) -> Choices:
    tried = {least: one._replace(rates=call.rates) for least, one in shipped.tried.items()}
    if call.kind is XGBOrdinalClassifier:
        tried[1_000] = Tried(call.rates, [{"max_depth": one} for one in call.sizes])
    return replace(shipped, tried=tried)


def predicted(method: str, train: tuple[Any, Any], X_test: Any, n_classes: int) -> tuple[Any, int]:
    """Return the probabilities of a method, and its number of rounds."""
    if method == SHARES:
        return of_shares(train, X_test, n_classes)
    call = METHODS[method]
    left = Choices.left
    with (
        mock.patch.object(held_out, "_MORE_ROUNDS", call.more_rounds),
        mock.patch.object(Choices, "left", lambda shipped, *given: left(_choices(call, shipped), *given)),
    ):
        model = call.kind(classes=np.arange(n_classes), n_jobs=1, random_state=0).fit(*train)
    return model.predict_proba(X_test), model.n_iter_


def _beside(rows: list[Row], first: str, method: str, sets: list[str]) -> list[Row]:
    """Return the line of a method, on the partitions that both have."""
    some = of_both([row for row in rows if row["data"] in sets], first, method, ("data", "seed"))
    n_partitions = sum(row["method"] == method for row in some)
    return [row | {"partitions": n_partitions} for row in ratios(some, first, [method], sets)[1:]] if some else []


def write_tables() -> None:
    rows = rows_of(NAME)
    sizes = {data: n_train(data) for data in GROUPS["rates"]}
    groups = {
        "fewer than 100 rows": (0, 100),
        "100 to 299": (100, 300),
        "300 to 999": (300, 1_000),
        "1,000 to 1,999": (1_000, 2_000),
        "more": (2_000, 10**9),
        "all": (0, 10**9),
    }
    found = []
    for kind in dict.fromkeys(call.kind for call in METHODS.values()):
        first, *others = (name for name, call in METHODS.items() if call.kind is kind)
        for title, (low, high) in groups.items():
            sets = [data for data, n in sizes.items() if low <= n < high]
            found += [{"training rows": title, **row} for one in others for row in _beside(rows, first, one, sets)]
    note = (
        f"{len(OTHER)} sets on which designs are chosen, and {len(sizes) - len(OTHER)} samples of some; up to {SEEDS} "
        f"partitions, of all sets together as many as `partitions` says. Beside the call as it was. {NOTE}"
    )
    report.write(NAME, "Learning rates of calls without arguments", found, note, runs_of(NAME))


if __name__ == "__main__":
    command(
        __doc__,
        NAME,
        [SHARES, *METHODS],
        [],
        {"rates": SEEDS},
        predicted,
        write_tables,
        "rates",
        partitions={"rates": PARTITIONS},
    )
