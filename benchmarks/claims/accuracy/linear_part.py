"""Whether a linear part under the trees pays, with which penalty, and whether rows held out know when.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/linear_part.py [--minutes 30] [--jobs 2] [--methods NAME ...]
    python benchmarks/claims/accuracy/linear_part.py --tables       writes the tables
    python benchmarks/claims/accuracy/linear_part.py --sets evaluation    or confirmation: linear="auto" as it ships

On the sets on which designs are chosen and their samples of few rows. Rounds are found as the plain call finds them;
``auto`` searches twice. Seconds are the processor's, one thread. Runs are kept in results/linear_part_runs.csv.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

from typing import Any

import numpy as np

from lib import report
from lib.data import FEW_ROWS, OTHER
from lib.methods import encoder
from lib.set_ratios import GROUPS, NOTE, SHARES, command, of_shares, ratios, rows_of
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier

NAME, SEEDS = "linear_part", {"design": 1, "evaluation": 2, "confirmation": 2}
OURS: dict[str, Any] = {
    "XGBoost": XGBOrdinalClassifier,
    "LightGBM": LGBMOrdinalClassifier,
    "native": HistGradientBoostingOrdinalClassifier,
}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    **{trainer: (trainer, {}) for trainer in OURS},
    **{f"{trainer}, auto": (trainer, {"linear": "auto"}) for trainer in OURS},
    **{f"XGBoost, {l2:g}": ("XGBoost", {"linear": True, "linear_l2": l2}) for l2 in (1.0, 10.0, 100.0)},
    **{f"XGBoost, auto, {l2:g}": ("XGBoost", {"linear": "auto", "linear_l2": l2}) for l2 in (1.0, 10.0)},
}
SHIPPED = (SHARES, *OURS, *(f"{trainer}, auto" for trainer in OURS))


def _predicted(method: str, train: tuple[Any, Any], X_test: Any, n_classes: int) -> tuple[Any, int]:
    if method == SHARES:
        return of_shares(train, X_test, n_classes)
    (X, y), (trainer, options) = train, METHODS[method]
    if trainer == "native":  # which takes no categories
        encode = encoder(scale=False).fit(X).set_output(transform="pandas")
        X, X_test = encode.transform(X), encode.transform(X_test)
    model = OURS[trainer](classes=np.arange(n_classes), n_jobs=1, random_state=0, **options).fit(X, y)
    return model.predict_proba(X_test), model.n_iter_


def _tables(group: str, methods: tuple[str, ...]) -> list[dict[str, Any]]:
    rows = rows_of(NAME, group)
    sets = {"all": GROUPS[group]}
    if group == "design":
        sets |= {"50, 100 and 200 rows": tuple(FEW_ROWS), "the others": tuple(OTHER)}
    return [
        {"sets of": name, **row}
        for name, some in sets.items()
        for trainer in OURS
        for row in ratios(rows, trainer, [m for m in methods if m != trainer and METHODS[m][0] == trainer], some)
    ]


def write_tables() -> None:
    """Write a table for each group of sets that was run."""
    words = {
        "design": "The sets on which designs are chosen, and samples of some",
        "evaluation": "The 39 sets of the evidence; the idea of a linear part was first tried on twenty of them",
        "confirmation": "The sets kept aside",
    }
    for group, said in words.items():
        if rows_of(NAME, group):
            methods = tuple(METHODS) if group == "design" else tuple(m for m in SHIPPED if m != SHARES)
            note = f"{said}; {SEEDS[group]} partition(s). {NOTE}"
            title = "A linear part under the trees"
            name = NAME if group == "design" else f"{NAME}_{group}"
            report.write(name, title, _tables(group, methods), note)


if __name__ == "__main__":
    command(__doc__, NAME, [SHARES, *METHODS], SHIPPED, SEEDS, _predicted, write_tables)
