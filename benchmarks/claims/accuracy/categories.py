"""Ways to use categories: one-hot, ordinal codes, LightGBM's and XGBoost's own splits, and the native engine's.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/categories.py [--minutes 10] [--jobs 1] [--methods NAME ...]
    python benchmarks/claims/accuracy/categories.py --tables       writes the tables

Ten sets with categories, each as it is and with one more category of 100 levels that means nothing. Of the largest sets
5,000 rows are drawn. 100 trees of the defaults. Runs are kept in results/categories_runs.csv.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd

from lib import report
from lib.data import load, partition
from lib.methods import encoder
from lib.runner import Row, resume
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier
from ordinal_objectives.metrics import ranked_probability_score

NAME, SEEDS, MOST_ROWS, N_TREES, LEVELS = "categories", 6, 5_000, 100, 100
SETS = (
    "autos",
    "car",
    "eucalyptus",
    "grub_damage",
    "nursery",
    "obesity",
    "obesity_s4e2",
    "political_information",
    "soup",
    "student_por",
)
OURS = "native, categories"
METHODS = (OURS, "native, one-hot", "native, codes", "LightGBM, categories", "XGBoost, categories")
COLUMNS = ("data", "noise", "seed", "method", "rps", "seconds", "share", "even")


def _table(X: pd.DataFrame, method: str, train: Any) -> pd.DataFrame:
    """Return features as a method takes them, fitted to the training rows."""
    if method.endswith("one-hot"):
        return pd.DataFrame(encoder(scale=False).fit(X.iloc[train]).transform(X))
    if method.endswith("codes"):
        return X.assign(**{name: X[name].cat.codes for name in X.select_dtypes("category")})
    return X


def _model(method: str, n_classes: int) -> Any:
    options: dict[str, Any] = {"classes": np.arange(n_classes), "n_jobs": 1, "random_state": 0}
    if method.startswith("LightGBM"):
        return LGBMOrdinalClassifier(n_estimators=N_TREES, verbose=-1, **options)
    if method.startswith("XGBoost"):
        return XGBOrdinalClassifier(n_estimators=N_TREES, enable_categorical=True, **options)
    return HistGradientBoostingOrdinalClassifier(max_iter=N_TREES, early_stopping=False, **options)


def _measure(case: Row) -> list[Row]:
    warnings.simplefilter("ignore")
    dataset, rng = load(case["data"]), np.random.default_rng(case["seed"])
    X, y = dataset.X, dataset.y
    train, test = partition(dataset, case["seed"])
    train = train[:MOST_ROWS]
    if case["noise"]:
        X = X.assign(noise=pd.Categorical(rng.integers(0, LEVELS, len(X))))
    table = _table(X, case["method"], train)
    start = time.process_time()
    model = _model(case["method"], dataset.n_classes).fit(table.iloc[train], y[train])
    proba = model.predict_proba(table.iloc[test])
    seconds = time.process_time() - start
    share = even = np.nan
    if case["noise"] and case["method"] == OURS:
        splits = model.set_params(importance_type="split").feature_importances_
        share, even = splits[-1] / splits.sum(), 1 / len(splits)
    rps = ranked_probability_score(y[test], proba, labels=range(dataset.n_classes))
    return [{"rps": rps, "seconds": seconds, "share": share, "even": even}]


def store() -> report.RunsFile:
    """Return the runs."""
    return report.RunsFile(report.RESULTS / f"{NAME}_runs.csv", COLUMNS)


def means(noise: int) -> pd.DataFrame:
    """Return the mean RPS over partitions, sets in rows and methods in columns."""
    runs = pd.DataFrame(store().rows)
    runs = runs[runs["noise"].astype(int) == noise].astype({"rps": float})
    return runs.pivot_table("rps", "data", "method")[list(METHODS)]


def write_tables() -> None:
    """Write the RPS of each method and set, and the noise's share of splits."""
    shares = (
        pd.DataFrame(store().rows).astype({"share": float, "even": float}).groupby("data")[["share", "even"]].mean()
    )
    rows: list[Row] = []
    for noise, words in ((0, "as it is"), (1, "with noise")):
        table = means(noise)
        for data in SETS:
            of_noise = f"{shares.loc[data, 'share']:.3f} of {shares.loc[data, 'even']:.3f}" if noise else ""
            rps = {method: f"{table.loc[data, method]:.4f}" for method in METHODS}
            rows.append({"set": data, "features": words, **rps, "splits by noise": of_noise})
        level = {
            method: f"{np.exp(np.log(table[OURS] / table[method]).mean()):.3f} "
            f"({int((table[OURS] <= table[method]).sum())} of {len(SETS)})"
            for method in METHODS
        }
        rows.append({"set": "native to it", "features": words, **level, "splits by noise": ""})
    note = (
        f"Mean ranked probability score over {SEEDS} partitions, {N_TREES} trees of the defaults, at most {MOST_ROWS} "
        f"rows to train on. With noise: one more category of {LEVELS} levels drawn at random; its share of the native "
        "engine's splits, beside 1 / features. Last rows: geometric mean of the ratio of the native engine with "
        "categories to the method, and on how many sets it is not higher."
    )
    report.write(NAME, "Ways to use categories", rows, note)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--tables", action="store_true")
    options = parser.parse_args()
    if not options.tables:
        cases = [
            {"data": data, "noise": noise, "seed": seed, "method": method}
            for seed in range(SEEDS)
            for data in SETS
            for noise in (0, 1)
            for method in options.methods
        ]
        resume(store(), cases, _measure, minutes=options.minutes, jobs=options.jobs)
    write_tables()


if __name__ == "__main__":
    main()
