"""Scores of a language model as features, labels of people: agreement by the number of labels.

    python benchmarks/claims/decisions/judges.py

A judge gives six criteria scores from 1 to 5, lenient and biased by length. 25 raters, whose severities have the
standard deviation .9, give the labels, one a row. The first rows train; 4,000 others are labelled by the same raters,
and once more by 25 others. The ceiling is that of two ratings a row of these others.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression

from lib import report
from lib.runner import Row
from lib.statistics import mean_interval
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, OrdinalTunedClassifier
from ordinal_objectives.agreement import kappa_ceiling
from ordinal_objectives.metrics import (
    cumulative_calibration_error,
    quadratic_weighted_kappa,
    ranked_probability_score,
)

SEEDS, N_LABELS, N_TEST, RATERS, CLASSES = range(20), (100, 300, 1_000), 4_000, 25, range(1, 6)

OWN, LINEAR = "the judge's own score, rounded", "linear regression, rounded"
ENGINE: Callable[..., Any] = partial(HistGradientBoostingOrdinalClassifier, classes=CLASSES, random_state=0)
MIXED: Callable[..., Any] = partial(ENGINE, loss="cumulative_link", random_intercept="rater")
TUNED: Callable[..., Any] = partial(OrdinalTunedClassifier, metric="qwk", rule="kappa", random_state=0)
METHODS: dict[str, Callable[[], Any]] = {
    "engine, median": ENGINE,
    "engine, kappa": lambda: TUNED(ENGINE()),
    "engine, `linear=True`, kappa": lambda: TUNED(ENGINE(linear=True)),
    "`random_intercept`, median": MIXED,
    "`random_intercept`, kappa": lambda: TUNED(MIXED()),
    "`random_intercept`, `linear=True`, kappa": lambda: TUNED(MIXED(linear=True)),
}


def simulated(seed: int) -> tuple[pd.DataFrame, Callable[..., NDArray[np.intp]]]:
    """Return the judge's scores, and the labels of the rows by their raters."""
    rng = np.random.default_rng(seed)
    n = N_LABELS[-1] + N_TEST
    quality, length = rng.normal(size=(2, n))
    seen = quality[:, np.newaxis] + 0.5 * rng.normal(size=(n, 6))
    scores = np.clip(np.round(3.8 + 0.5 * seen + 0.35 * length[:, np.newaxis] + 0.3 * rng.normal(size=(n, 6))), 1, 5)
    severity = rng.normal(scale=0.9, size=2 * RATERS)

    def label(rater: NDArray[np.intp]) -> NDArray[np.intp]:
        score = 1.6 * quality - severity[rater] + 0.8 * rng.logistic(size=n)
        return 1 + np.digitize(score, [-2.0, -0.7, 0.7, 2.0])

    X = pd.DataFrame(scores, columns=[f"criterion {i}" for i in range(1, 7)]).assign(length=length)
    return X, label


def measure(seed: int) -> list[Row]:
    """Return the scores of all methods for known and for new raters."""
    X, label = simulated(seed)
    rng = np.random.default_rng([seed, 1])
    known, new, second = (rng.integers(low, low + RATERS, len(X)) for low in (0, RATERS, RATERS))
    second = np.where(second == new, RATERS + (second - RATERS + 1) % RATERS, second)
    y, y_new, y_second = label(known), label(new), label(second)
    test = np.arange(N_LABELS[-1], len(X))
    truths = {"known": (known, y), "new": (new, y_new)}
    found: list[Row] = []
    twice = np.tile(test, 2)
    ceiling = kappa_ceiling(twice, np.r_[new[test], second[test]], np.r_[y_new[test], y_second[test]])
    found.append({"n_labels": 0, "seed": seed, "raters": "new", "method": "ceiling", "qwk": ceiling})
    for n in N_LABELS:
        for method in (OWN, LINEAR, *METHODS):
            features = X.assign(rater=known) if "random_intercept" in method else X
            if method == OWN:
                model: Any = None
            else:
                make = METHODS.get(method, LinearRegression)
                model = make().fit(features[:n], y[:n])
            for raters, (rater, truth) in truths.items():
                rows = features.iloc[test]
                rows = rows.assign(rater=rater[test]) if "rater" in rows else rows
                row: Row = {"n_labels": n, "seed": seed, "raters": raters, "method": method}
                if method in METHODS:
                    predicted, proba = model.predict(rows), model.predict_proba(rows)
                    row["rps"] = ranked_probability_score(truth[test], proba, labels=CLASSES)
                    error = cumulative_calibration_error(truth[test], proba, labels=CLASSES)
                    row["calibration"] = error / (len(CLASSES) - 1)
                else:
                    mean = X.iloc[test, :6].mean(axis=1) if model is None else model.predict(rows)
                    predicted = np.clip(np.round(mean), 1, 5).astype(int)
                row["qwk"] = quadratic_weighted_kappa(truth[test], predicted, labels=CLASSES)
                found.append(row)
    return found


def mean_with_interval(values: pd.Series) -> str:
    """Return the mean over seeds and its interval of level 0.95."""
    low, high = mean_interval(values)
    return f"{values.mean():.3f} ± {(high - low) / 2:.3f}"


def table(runs: pd.DataFrame, value: str, n_labels: tuple[int, ...], methods: list[str]) -> list[dict[str, Any]]:
    """Return a row for each method, and a column for each number of labels, for known and for new raters."""
    rows = []
    for method in methods:
        row: dict[str, Any] = {"call": method}
        for raters in ("known", "new"):
            for n in n_labels:
                of = runs[(runs["method"] == method) & (runs["raters"] == raters) & (runs["n_labels"] == n)]
                row[f"{n:,}, {raters}"] = mean_with_interval(of[value])
        rows.append(row)
    return rows


def main() -> None:
    warnings.simplefilter("ignore")
    runs = pd.DataFrame([row for seed in SEEDS for row in measure(seed)])
    ceiling = mean_with_interval(runs.loc[runs["method"] == "ceiling", "qwk"])
    said = (
        f"Simulated; {len(SEEDS)} seeds, mean and 95% interval of the mean; 4,000 rows to test on, by raters of the "
        "training or by new ones."
    )
    kappa = table(runs, "qwk", N_LABELS, [OWN, LINEAR, *METHODS])
    note = f"{said} Quadratic weighted kappa. The ceiling from two ratings a row of new raters: {ceiling}."
    report.write("judges", "Kappa with the labels of people, by the number of labels", kappa, note)
    report.write(
        "judges_calibration",
        "Calibration error of probabilities of people's labels, by the number of labels",
        table(runs, "calibration", N_LABELS, [name for name in METHODS if "median" in name or "linear" in name]),
        f"{said} Mean over the four thresholds of the expected calibration error, ten bins. The decision "
        "does not change the probabilities.",
    )


if __name__ == "__main__":
    main()
