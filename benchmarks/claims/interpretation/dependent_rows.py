"""How often 90% intervals hold the truth where rows of a cluster share an effect, with and without ``groups=``.

    python benchmarks/claims/interpretation/dependent_rows.py [--repetitions 500] [--models NAME ...] [--minutes 60]
    python benchmarks/claims/interpretation/dependent_rows.py --tables       writes the tables

Clusters of 20 rows and four classes, drawn with P(y <= k) = sigma(theta_k - f - u), where f = x0 + sin(2 x1), u is a
Gaussian effect of the cluster, and the intraclass correlation its share in the latent variance. x0 is the same in a
cluster, x1 and x2 are of each row, all standard Gaussian. Effects are those of a step of 1; the true ones are of the
probabilities without u, which is integrated over. Differences are of two models that were trained on other rows, one of
all features and one without x0, judged on the rows of the clusters; the true ones are means over 200,000 rows.

Runs are kept in results/dependent_rows_runs.csv: what is there is not measured again. The command prints the seconds
of a repetition.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import time
from functools import lru_cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from claims.interpretation.marginal_effects import remembered
from lib import report
from lib.runner import Row, resume
from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.inspection import average_marginal_effects, rows as inspection_rows
from ordinal_objectives.inspection.rows import trained_again
from ordinal_objectives.metrics import interval

FloatArray = NDArray[np.float64]
NAME, LEVEL, REFITS, DRAWS, SIZE, POPULATION = "dependent_rows", 0.9, 10, 1_000, 20, 200_000
CLUSTERS, CORRELATIONS = (30, 100), (0.1, 0.3)
THETA = np.array([-1.5, 0.0, 1.5])
MODELS: dict[str, dict[str, Any]] = {"20 trees": {"max_iter": 20, "max_leaf_nodes": 8}, "as shipped": {}}
FEATURES = {"effect of x0, of the cluster": 0, "effect of x1, of the row": 1}
METRICS = {"difference of rps": "rps", "difference of mae": "mae"}
COLUMNS = ("model", "clusters", "icc", "seed", "quantity", "by", "held", "width", "value", "truth", "seconds")


def deviation(icc: float) -> float:
    """Return the standard deviation of the clusters' effects: that of the logistic errors is pi / sqrt(3)."""
    return float(np.sqrt(icc / (1.0 - icc)) * np.pi / np.sqrt(3.0))


def true_proba(X: FloatArray, icc: float) -> FloatArray:
    """Return P(y = k | x), the mean over the clusters' effects by Gauss and Hermite."""
    nodes, share = np.polynomial.hermite_e.hermegauss(30)
    f, below = X[:, [0]] + np.sin(2 * X[:, [1]]), np.zeros((len(X), len(THETA)))
    for node, weight in zip(nodes, share / share.sum(), strict=True):
        below += weight / (1 + np.exp(f + deviation(icc) * node - THETA))
    return np.diff(np.c_[np.zeros(len(X)), below, np.ones(len(X))], axis=1)


def sample(n_clusters: int, icc: float, seed: int) -> tuple[FloatArray, NDArray[np.intp], NDArray[np.intp]]:
    """Return features, class codes and clusters."""
    rng, cluster = np.random.default_rng(seed), np.repeat(np.arange(n_clusters), SIZE)
    X = rng.normal(size=(len(cluster), 3))
    X[:, 0] = rng.normal(size=n_clusters)[cluster]
    f = X[:, 0] + np.sin(2 * X[:, 1]) + deviation(icc) * rng.normal(size=n_clusters)[cluster]
    return X, np.digitize(f + rng.logistic(size=len(f)), THETA), cluster


@lru_cache
def population() -> FloatArray:
    """Return features of many rows."""
    return np.random.default_rng(2**31).normal(size=(POPULATION, 3))


@lru_cache
def true_effect(feature: int, icc: float) -> FloatArray:
    """Return the mean change of the probabilities in the population where a feature rises by 1."""
    low, high = population().copy(), population().copy()
    low[:, feature] -= 0.5
    high[:, feature] += 0.5
    return (true_proba(high, icc) - true_proba(low, icc)).mean(axis=0)


def responses(models: tuple[Any, Any], X: FloatArray, metric: str) -> list[Any]:
    """Return what both models say of rows, the second without x0."""
    method = "predict" if metric == "mae" else "predict_proba_ordered"
    return [getattr(models[0], method)(X), getattr(models[1], method)(X[:, 1:])]


@lru_cache
def rivals(model: str, icc: float) -> tuple[tuple[Any, Any], dict[str, float]]:
    """Return two models of rows that are not judged, and the differences of their metrics in the population."""
    X, y, _ = sample(100, icc, 2**30)
    options: dict[str, Any] = {**MODELS[model], "n_jobs": 1, "random_state": 0, "classes": range(len(THETA) + 1)}
    models = (
        HistGradientBoostingOrdinalClassifier(**options).fit(X, y),
        HistGradientBoostingOrdinalClassifier(**options).fit(X[:, 1:], y),
    )
    X, classes = population(), np.arange(len(THETA) + 1)
    proba, truth = true_proba(X, icc), {}
    for name, metric in METRICS.items():
        losses = []
        for found in responses(models, X, metric):
            if metric == "mae":
                of_classes = np.abs(found[:, np.newaxis] - classes)
            else:
                stated = np.cumsum(found, axis=1)[:, :-1]
                of_classes = np.stack([((stated - (k <= np.arange(len(THETA)))) ** 2).sum(axis=1) for k in classes], 1)
            losses.append((proba * of_classes).sum(axis=1).mean())
        truth[name] = float(losses[0] - losses[1])
    return models, truth


def measure(case: Row) -> list[Row]:
    """Return whether intervals by rows and clusters hold the truth of each quantity: of effects a mean of classes."""
    icc, seed = case["icc"], case["seed"]
    models, true_differences = rivals(case["model"], icc)
    start = time.process_time()
    X, y, cluster = sample(case["clusters"], icc, seed)
    model = HistGradientBoostingOrdinalClassifier(**MODELS[case["model"]], n_jobs=1, random_state=0).fit(X, y)
    found: list[Row] = []

    def add(quantity: str, by: str, ends: tuple[Any, Any], value: Any, truth: Any) -> None:
        low, high = (np.asarray(end, dtype=np.float64) for end in ends)
        held = float(np.mean((low <= truth) & (truth <= high)))
        one = {"held": held, "width": float(np.mean(high - low))}
        one |= {"value": float(np.ravel(value)[-1]), "truth": float(np.ravel(truth)[-1])}
        found.append({"quantity": quantity, "by": by, **one})

    given: dict[str, dict[str, Any]] = {"rows": {}, "clusters": {"groups": cluster}}
    # Copies are the same for each feature, and for rows and clusters those on new labels.
    with patch.object(inspection_rows, "trained_again", remembered(trained_again)):
        for quantity, feature in FEATURES.items():
            for by, groups in given.items():
                options = {"step": 1.0, "n_refits": REFITS, "confidence": LEVEL, "random_state": seed}
                options |= {**groups, "y": y} if groups else {}
                one = average_marginal_effects(model, X, feature, **options)
                add(quantity, by, (one.lower, one.upper), one.effects, true_effect(feature, icc))
    for quantity, metric in METRICS.items():
        mine, other = responses(models, X, metric)
        for by, groups in given.items():
            options = {"labels": range(len(THETA) + 1), "level": LEVEL, "n_draws": DRAWS, "random_state": seed}
            difference = interval(metric, y, mine, other=other, **options, **groups)
            add(quantity, by, (difference.low, difference.high), difference.value, true_differences[quantity])
    seconds = time.process_time() - start
    return [{**row, "seconds": round(seconds, 3)} for row in found]


def store() -> report.RunsFile:
    """Return the runs."""
    return report.RunsFile(report.RESULTS / f"{NAME}_runs.csv", COLUMNS)


def write_tables() -> None:
    """Write the shares of repetitions in which intervals hold the truth."""
    numbers = ["held", "width", "value", "truth"]
    runs = pd.DataFrame(store().rows).astype(dict.fromkeys(numbers, float) | {"clusters": int, "icc": float})
    rows: list[dict[str, Any]] = []
    keys = ["model", "clusters", "icc", "quantity"]
    for key, cases in runs.groupby(keys, sort=False):
        by = dict(list(cases.groupby("by")))
        row: dict[str, Any] = dict(zip(keys, key, strict=True)) | {"repetitions": len(by["rows"])}
        for name in ("rows", "clusters"):
            row[f"by {name}"] = f"{by[name]['held'].mean():.3f}"
            row[f"width by {name}"] = f"{by[name]['width'].mean():.4f}"
        row |= {"mean": f"{by['rows']['value'].mean():.4f}", "truth": f"{by['rows']['truth'].iloc[0]:.4f}"}
        rows.append(row)
    report.write(
        NAME,
        "Intervals of effects and of differences of metrics, on rows in clusters",
        rows,
        f"Shares of the repetitions in which {LEVEL:.0%} intervals hold the truth, by rows and, with `groups=`, by "
        f"clusters, and their mean widths. Of effects these are means over four classes, and mean and truth are those "
        f"of the highest class. `n_refits={REFITS}`, `n_draws={DRAWS}`. The standard error of a share of 0.9 is "
        f"{np.sqrt(0.09 / max(rows[0]['repetitions'], 1)):.3f} for one class. "
        f"{(__doc__ or '').split(chr(10) * 2)[2].replace(chr(10), ' ')}",
        store().path,
    )


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--tables", action="store_true", help="write the tables of what was measured")
    options = parser.parse_args()
    if options.tables:
        write_tables()
        return
    cases = [
        {"model": model, "clusters": clusters, "icc": icc, "seed": seed}
        for seed in range(options.repetitions)
        for model in options.models
        for clusters in CLUSTERS
        for icc in CORRELATIONS
    ]
    runs = pd.DataFrame(resume(store(), cases, measure, minutes=options.minutes))
    each = runs.astype({"seconds": float}).drop_duplicates(["model", "clusters", "icc", "seed"])
    print(each.groupby(["model", "clusters"])["seconds"].mean().round(2).rename("seconds a repetition").to_string())


if __name__ == "__main__":
    main()
