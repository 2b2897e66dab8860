"""Which settings a call without arguments should have: rate, depth, leaves, sampling, and how its rounds are found.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/plain_call.py [--minutes 30] [--jobs 2] [--methods NAME ...]
    python benchmarks/claims/accuracy/plain_call.py --tables        writes the tables of both
    python benchmarks/claims/accuracy/plain_call.py --sets evaluation    or confirmation: the classifiers as they ship

The sets on which designs are chosen (``OTHER``) and their samples of 50, 100 and 200 rows, three partitions each. The
plain calls of XGBoost, LightGBM and scikit-learn and the shares of the classes stand beside them. Rounds are found on
rows held out (``held_out`` of the training rows, by class; the search ends after ``patience`` rounds without a lower
loss) or as the mean over folds, and the model is trained again on all rows. Seconds are the processor's, one thread.
Runs are kept in results/plain_call_runs.csv: run again to continue.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest import mock

import lightgbm
import numpy as np
import pandas as pd
import xgboost
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

from claims.accuracy import learning_rates
from lib import report
from lib.data import FEW_ROWS, OTHER, default_rule, rows_from
from lib.generated import Table
from lib.methods import HOST_DEFAULTS, encoder, spread
from lib.set_ratios import GROUPS, NOTE, SHARES, command, of_shares, ratios, rows_of, runs_of
from lib.statistics import interval, sets_again
from ordinal_objectives import (
    CatBoostOrdinalClassifier,
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    OrdinalEnsembleClassifier,
    XGBOrdinalClassifier,
)
from ordinal_objectives.estimators import held_out
from ordinal_objectives.estimators.held_out import Rows, hold_out

NAME, MOST_ROUNDS = "plain_call", 500
SEEDS = {"design": 3, "evaluation": 3, "confirmation": 2}
BESIDE = {
    "XGBClassifier()": "XGBoost",
    "LGBMClassifier()": "LightGBM",
    "HistGradientBoostingClassifier()": "native",
}


@dataclass(frozen=True)
class Plain:
    """One way to fit without arguments; ``rounds`` None: they are found here; ``ships``: as the classifier does it."""

    trainer: str
    rounds: int | None = None
    held_out: float = 0.2
    folds: int = 0
    patience: int = 10
    ships: bool = False
    options: dict[str, Any] = field(default_factory=dict)


def _plain(trainer: str, **given: Any) -> Plain:
    search = {name: given.pop(name) for name in ("rounds", "held_out", "folds", "patience", "ships") if name in given}
    return Plain(trainer, **search, options=given)


_catboost = partial(_plain, "CatBoost", ships=True)
_xgb, _lgb, _native = partial(_plain, "XGBoost"), partial(_plain, "LightGBM"), partial(_plain, "native")
_BAGGED = {"subsample": 0.8, "subsample_freq": 1}
METHODS = {
    SHARES: Plain("shares"),
    "XGBClassifier()": Plain("XGBClassifier"),
    "LGBMClassifier()": Plain("LGBMClassifier"),
    "HistGradientBoostingClassifier()": Plain("HistGradientBoostingClassifier"),
    "XGBoost, 100 rounds": _xgb(rounds=100),
    "XGBoost, patience 25": _xgb(patience=25),
    "XGBoost": _xgb(),
    "XGBoost, depth 4": _xgb(max_depth=4),
    "XGBoost, depth 4, subsample .8": _xgb(max_depth=4, subsample=0.8),
    "XGBoost, depth 6, subsample .8": _xgb(subsample=0.8),
    "XGBoost, depth 3, subsample .8": _xgb(max_depth=3, subsample=0.8),
    "XGBoost, depth 4, subsample .8, rate .2": _xgb(max_depth=4, subsample=0.8, learning_rate=0.2),
    "XGBoost, depth 4, subsample .8, rate .1": _xgb(max_depth=4, subsample=0.8, learning_rate=0.1),
    "XGBoost, depth 4, subsample .8, colsample .8": _xgb(max_depth=4, subsample=0.8, colsample_bynode=0.8),
    "XGBoost, depth 4, subsample .8, 5 folds": _xgb(max_depth=4, subsample=0.8, folds=5),
    "XGBoost, depth 4, subsample .8, a tenth": _xgb(max_depth=4, subsample=0.8, held_out=0.1),
    "LightGBM, 100 rounds": _lgb(rounds=100),
    "LightGBM": _lgb(),
    "LightGBM, leaf n/50": _lgb(min_child_samples=50),
    "LightGBM, leaf n/50, 15 leaves": _lgb(min_child_samples=50, num_leaves=15),
    "LightGBM, leaf n/50, subsample .8": _lgb(min_child_samples=50, **_BAGGED),
    "LightGBM, leaf n/50, 15 leaves, subsample .8": _lgb(min_child_samples=50, num_leaves=15, **_BAGGED),
    "LightGBM, leaf n/20, 15 leaves, subsample .8": _lgb(min_child_samples=20, num_leaves=15, **_BAGGED),
    "LightGBM, leaf n/50, 15 leaves, subsample .8, rate .2": _lgb(
        min_child_samples=50, num_leaves=15, learning_rate=0.2, **_BAGGED
    ),
    "LightGBM, leaf n/50, subsample .8, rate .2": _lgb(min_child_samples=50, learning_rate=0.2, **_BAGGED),
    "native, 100 rounds": _native(rounds=100),
    "native": _native(),
    "native, leaf n/50": _native(min_samples_leaf=50),
    "native, leaf n/20": _native(min_samples_leaf=20),
    "native, leaf n/50, l2 1": _native(min_samples_leaf=50, l2_regularization=1.0),
    "native, leaf n/50, l2 1, subsample .8": _native(min_samples_leaf=50, l2_regularization=1.0, subsample=0.8),
    "native, leaf n/50, l2 1, rate .2": _native(min_samples_leaf=50, l2_regularization=1.0, learning_rate=0.2),
    "native, leaf n/50, 15 leaves": _native(min_samples_leaf=50, max_leaf_nodes=15),
    "native, leaf n/50, 15 leaves, rate .2": _native(min_samples_leaf=50, max_leaf_nodes=15, learning_rate=0.2),
    "native, leaf n/50, 15 leaves, rate .2, l2 1": _native(
        min_samples_leaf=50, max_leaf_nodes=15, learning_rate=0.2, l2_regularization=1.0
    ),
    "CatBoost": _catboost(),
    "CatBoost, rate .03": _catboost(learning_rate=0.03),
    "CatBoost, rate .05": _catboost(learning_rate=0.05),
    "CatBoost, rate .2": _catboost(learning_rate=0.2),
    "CatBoost, depth 4": _catboost(depth=4),
}

# Run on the sets of the evidence only: our calls; as they were, with trees of one size and rounds of one
# draw of rows held out; and other libraries.
PLAIN = {
    "XGBOrdinalClassifier()": _xgb(ships=True),
    "LGBMOrdinalClassifier()": _lgb(ships=True),
    "HistGradientBoostingOrdinalClassifier()": _native(ships=True),
}
CATBOOST_ORDINAL = "CatBoostOrdinalClassifier()"
FIXED = {
    "XGBOrdinalClassifier(max_depth=4)": _xgb(ships=True, max_depth=4),
    "LGBMOrdinalClassifier(num_leaves=31, reg_lambda=0)": _lgb(ships=True, num_leaves=31, reg_lambda=0.0),
    "HistGradientBoostingOrdinalClassifier(max_leaf_nodes=31)": _native(ships=True, max_leaf_nodes=31),
}
# The same with the rates and rounds that they had.
BEFORE = {f"{name}{learning_rates.AS_IT_WAS}": plain for name, plain in PLAIN.items()}
CATBOOST = "CatBoostClassifier()"
RIVALS = {
    CATBOOST_ORDINAL: _catboost(),
    CATBOOST: Plain("CatBoostClassifier"),
    "RandomForestClassifier()": Plain("RandomForestClassifier"),
    "four bagged XGBClassifier": Plain("BaggedClassifier"),
}
EVERY = METHODS | PLAIN | BEFORE | FIXED | RIVALS
# They take many times as long as all others together.
PARTITIONS = {
    "design": {name: 2 for name, plain in METHODS.items() if plain.trainer == "CatBoost"},
    "evaluation": {CATBOOST: 1, CATBOOST_ORDINAL: 1},
    "confirmation": {CATBOOST: 1, CATBOOST_ORDINAL: 0},
}

# Of the sets kept aside: seen when the learning rates were first tried.
LOOKED_AT = ("maternal_health", "fetal_health", "wine_white")

OURS: dict[str, Any] = {
    "XGBoost": XGBOrdinalClassifier,
    "LightGBM": LGBMOrdinalClassifier,
    "native": HistGradientBoostingOrdinalClassifier,
    "CatBoost": CatBoostOrdinalClassifier,
}
SHIPPED = (SHARES, *BESIDE, *PLAIN, *BEFORE, *FIXED, *RIVALS)

# What the README compares the default choice with. The last call finds its rounds too: what is left there is no gain of
# that search.
RECOMMENDED = "HistGradientBoostingOrdinalClassifier()"
IN_README = {one: f"`{one}`" for one in (*BESIDE, CATBOOST)}
IN_README["four bagged XGBClassifier"] = "four bagged `XGBClassifier`, which also search"
README_COLUMNS = {"rps": "RPS", "log_loss": "log loss", "seconds": "time"}


def _leaf(options: dict[str, Any], n_rows: int) -> dict[str, Any]:
    """Return the options with leaves of at most n/50 (or n/20) rows for 50 (or 20), and never more than 20."""
    name = next((one for one in ("min_child_samples", "min_samples_leaf") if one in options), None)
    return options if name is None else options | {name: int(np.clip(n_rows // options[name], 1, 20))}


def _fit(
    plain: Plain, rows: tuple[Any, Any], n_classes: int, rounds: int, watched: tuple[Any, Any] | None = None
) -> Any:
    """Train on rows; with rows to watch until these have had no lower loss for ``patience`` rounds."""
    options: dict[str, Any] = {"classes": np.arange(n_classes), "random_state": 0}
    options |= HOST_DEFAULTS[plain.trainer] | ({"max_depth": 6} if plain.trainer == "XGBoost" else {})
    options |= _leaf(plain.options, len(rows[1]))
    evaluated: dict[str, Any] = {} if watched is None else {"eval_set": [watched]}
    if plain.trainer == "XGBoost":
        patience = None if watched is None else plain.patience
        model = XGBOrdinalClassifier(n_estimators=rounds, n_jobs=1, early_stopping_rounds=patience, **options)
        return model.fit(*rows, **evaluated)
    if plain.trainer == "LightGBM":
        if watched is not None:
            evaluated["callbacks"] = [lightgbm.early_stopping(plain.patience, verbose=False)]
        model = LGBMOrdinalClassifier(n_estimators=rounds, n_jobs=1, verbose=-1, **options)
        return model.fit(*rows, **evaluated)
    model = HistGradientBoostingOrdinalClassifier(
        max_iter=rounds, n_jobs=1, early_stopping=watched is not None, n_iter_no_change=plain.patience, **options
    )
    native = {} if watched is None else {"X_val": watched[0], "y_val": watched[1]}
    return model.fit(*rows, **native)


def _found(plain: Plain, rows: tuple[Any, Any], n_classes: int) -> int:
    """Return the number of rounds that rows held out, or the mean over folds, speak for."""
    X, y = rows
    if plain.folds:
        folds = min(plain.folds, np.bincount(y).max())
        parts = StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y)
        found = [_fit(plain, (X.iloc[a], y[a]), n_classes, MOST_ROUNDS, (X.iloc[b], y[b])).n_iter_ for a, b in parts]
        return max(1, round(float(np.mean(found))))
    fit, held = hold_out(Rows(X, y), plain.held_out, 0)
    X_fit, y_fit, X_held, y_held = fit.X, fit.codes, held.X, held.codes
    return max(1, int(_fit(plain, (X_fit, y_fit), n_classes, MOST_ROUNDS, (X_held, y_held)).n_iter_))


def _plain_multiclass(trainer: str, X: Any) -> Any:
    if trainer == "XGBClassifier":
        return xgboost.XGBClassifier(n_jobs=1, enable_categorical=True)
    if trainer == "LGBMClassifier":
        return lightgbm.LGBMClassifier(n_jobs=1, verbose=-1)
    if trainer == "RandomForestClassifier":
        return make_pipeline(encoder(scale=False), RandomForestClassifier(n_jobs=1, random_state=0))
    if trainer == "CatBoostClassifier":
        import catboost  # which the tests do without

        categories = X.select_dtypes("category").columns.tolist()
        fixed = {"thread_count": 1, "random_seed": 0, "verbose": 0, "allow_writing_files": False}
        return catboost.CatBoostClassifier(cat_features=categories, **fixed)
    if trainer == "BaggedClassifier":  # their rounds are found on the rows that each leaves out
        stops = {"n_estimators": 500, "early_stopping_rounds": 10, "subsample": 0.8}
        member = xgboost.XGBClassifier(n_jobs=1, enable_categorical=True, **stops)
        return OrdinalEnsembleClassifier([("multiclass", member)], n_bags=4, random_state=0)
    return HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)


def _as_catboost_reads(X: Any) -> Any:
    """Return a frame whose categories are texts: CatBoost takes no missing ones."""
    categories = X.select_dtypes("category").columns
    return X.assign(
        **{name: X[name].astype(object).where(X[name].notna(), "missing").astype(str) for name in categories}
    )


def predicted(method: str, train: tuple[Any, Any], X_test: Any, n_classes: int) -> tuple[Any, int]:
    plain, (X, y) = EVERY[method], train
    if plain.trainer == "shares":
        return of_shares(train, X_test, n_classes)
    if plain.trainer.endswith("Classifier"):
        classes, codes = np.unique(y, return_inverse=True)
        model = _plain_multiclass(plain.trainer, X)
        if plain.trainer == "CatBoostClassifier":
            X, X_test = _as_catboost_reads(X), _as_catboost_reads(X_test)
        model.fit(X, codes)
        return spread(model.predict_proba(X_test), classes, n_classes), 100
    if method in BEFORE:
        return learning_rates.predicted(f"{plain.trainer}{learning_rates.AS_IT_WAS}", train, X_test, n_classes)
    if plain.ships:
        draws = 1 if method in FIXED else held_out._DRAWS_OF_FEW
        with mock.patch.object(held_out, "_DRAWS_OF_FEW", draws):
            ours = OURS[plain.trainer](classes=np.arange(n_classes), n_jobs=1, random_state=0, **plain.options)
            ours.fit(X, y)
        return ours.predict_proba(X_test), ours.n_iter_
    if plain.trainer == "native":
        encode = encoder(scale=False).fit(X).set_output(transform="pandas")
        X, X_test = encode.transform(X), encode.transform(X_test)
    rounds = plain.rounds or _found(plain, (X, y), n_classes)
    model = _fit(plain, (X, y), n_classes, rounds)
    return model.predict_proba(X_test), rounds


# Said under the tables of calls without arguments.
GIVEN = (
    "Ours are told all classes (`classes=`). A class that no training row has gets probability 0 from the others, "
    "which their log loss pays on esl (partition 2), nursery (0, 1) and student_por (0, 2)."
)
ONE_DRAW = "Trees of one size are also grown with one draw of rows held out, which is a private constant."


def write_tables() -> None:
    rows = rows_of(NAME)
    found = [
        {"sets of": name, **row}
        for name, sets in (("all", GROUPS["design"]), ("50, 100 and 200 rows", tuple(FEW_ROWS)))
        for beside, trainer in (BESIDE | {"CatBoost": "CatBoost"}).items()
        for row in ratios(rows, beside, [one for one in of_trainer(trainer) if one != beside], sets)
    ]
    note = (
        f"{len(OTHER)} sets on which designs are chosen, and samples of some; {SEEDS['design']} partitions, "
        f"{PARTITIONS['design']['CatBoost']} with CatBoost. {NOTE}"
    )
    report.write(
        "plain_call_design", "Calls without arguments, sets on which designs are chosen", found, note, runs_of(NAME)
    )
    for group, name, title in (
        ("evaluation", "plain_call", "Calls without arguments"),
        ("confirmation", "plain_call_confirmation", "Calls without arguments, sets that were kept aside"),
    ):
        rows, sets = rows_of(NAME, group), GROUPS[group]
        found = [
            row for beside, trainer in BESIDE.items() for row in ratios(rows, beside, of_trainer(trainer, True), sets)
        ]
        note = f"{SEEDS[group]} partitions of each of the {len(sets)} sets. {NOTE}"
        report.write(name, title, found, f"{note} {GIVEN}", runs_of(NAME, group))
        before = [row for one in BEFORE for row in ratios(rows, one, of_trainer(EVERY[one].trainer, True), sets)]
        report.write(
            f"{name}_before", f"{title}, beside what they were", before, f"{note} {GIVEN}", runs_of(NAME, group)
        )
        fixed = [row for one in FIXED for row in ratios(rows, one, of_trainer(EVERY[one].trainer, True), sets)]
        report.write(
            f"{name}_sizes", f"{title}, beside trees of one size", fixed, f"{note} {ONE_DRAW}", runs_of(NAME, group)
        )
    others = [one for one in SHIPPED if one not in (SHARES, CATBOOST, *BEFORE, *FIXED)]
    ordered = tuple(name for name in GROUPS["confirmation"] if default_rule(name) == "classes")
    for group, sets, name, title in (
        ("evaluation", GROUPS["evaluation"], "plain_call_rivals", "Calls without arguments, beside other libraries"),
        ("confirmation", ordered, "plain_call_aside_rivals", "Sets kept aside with ordered classes, beside CatBoost"),
        ("confirmation", LOOKED_AT, "plain_call_aside_looked_at", "Those of them that were looked at before"),
    ):
        n_partitions = PARTITIONS[group][CATBOOST]
        some = [row for row in rows_of(NAME, group) if int(row["seed"]) < n_partitions and row["data"] in sets]
        found = ratios(some, CATBOOST, others, sets)
        note = f"{n_partitions} partition of each of the {len(sets)} sets. {NOTE} {GIVEN}"
        report.write(name, title, found, note, runs_of(NAME, group))


def readme() -> Table:
    """Return the table of the README: the recommended call divided by others, on the median set, which no set makes.

    Sets that share rows count once; no set is left out, since a median needs no mean of logarithms.
    """
    path = runs_of(NAME, "evaluation")
    rows = rows_of(NAME, "evaluation")
    of_ours = {row["machine"] for row in rows if row["method"] == RECOMMENDED}
    where = report.machines(path)[int(min(of_ours)) - 1]
    note = (
        f"Median over {len({rows_from(row['data']) for row in rows})} data sets, 95% interval, number of sets "
        f"below 1. {SEEDS['evaluation']} partitions each, {PARTITIONS['evaluation'][CATBOOST]} with CatBoost. RPS: "
        f"squared error of P(y <= k). Time: one thread, {where['processor']} with "
        f"{where['instruction set'].split()[0]}, search included. Version {where['ordinal_objectives']}."
    )
    return Table(medians(rows, IN_README), textwrap.fill(note, 100, break_on_hyphens=False))


def medians(rows: list[dict[str, Any]], methods: Iterable[str]) -> list[dict[str, Any]]:
    """Return the lines of the README's table: the recommended call divided by others, on the median set."""
    runs = pd.DataFrame(rows).query("failure == ''").set_index(["method", "data", "seed"])
    machine, runs = runs["machine"], runs[list(README_COLUMNS)].astype(float)
    ours, found = runs.loc[RECOMMENDED], []
    for method in methods:
        theirs = runs.loc[method].copy()
        theirs["seconds"] = theirs["seconds"].where(machine.loc[method] == machine.loc[RECOMMENDED].loc[theirs.index])
        mine = ours.loc[theirs.index].where(theirs.notna())
        of_sets = [part.groupby("data").mean() for part in (mine, theirs)]
        ratio = np.exp(np.log(of_sets[0] / of_sets[1]).groupby(rows_from).mean())
        cells = {title: _median(ratio[of].dropna(), of != "seconds") for of, title in README_COLUMNS.items()}
        found.append({"beside": IN_README[method], **cells})
    return found


def _median(ratios: pd.Series, with_interval: bool) -> str:
    if not len(ratios):
        return "-"
    low, high = interval(sets_again(ratios, np.median))
    between = f" {low:.2f}-{high:.2f}" if with_interval else ""
    return f"{ratios.median():.2f}{between} ({(ratios < 1).sum()})"


def of_trainer(trainer: str, ships: bool = False) -> list[str]:
    """Return the methods of the design that a trainer grows; its plain call if ``ships``."""
    return [name for name, plain in (PLAIN if ships else METHODS).items() if plain.trainer == trainer]


if __name__ == "__main__":
    command(__doc__, NAME, list(METHODS), SHIPPED, SEEDS, predicted, write_tables, partitions=PARTITIONS)
