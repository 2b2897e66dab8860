"""Do prediction sets cover what they state? Split and cross, of all rows and by class, on ten sets.

    ORDINAL_DATA=folder python benchmarks/claims/decisions/prediction_sets.py [--partitions 8]

The native engine with 60 trees. In each partition a classifier and its calibration see the rows to train on alone.
Coverage is counted on the rows to test on, and compared with what the beta-binomial distribution allows. Another table
compares the tails that are used with scores that grow an interval from the median by the more probable neighbour. Two
minutes.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import betabinom, binom

from lib import report
from lib.data import load, partition
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, OrdinalPredictionSets
from ordinal_objectives.decision import decide
from ordinal_objectives.decisions.prediction_sets import hull, tail_scores

DATA = (
    "abalone",
    "brfss_genhlth",
    "california",
    "car",
    "cpu_small",
    "era",
    "nursery",
    "obesity",
    "skillcraft",
    "wine_red",
)
ALPHAS = (0.2, 0.1, 0.05)
CASES = {
    "split": {"method": "split", "coverage": "marginal"},
    "split, by class": {"method": "split", "coverage": "class"},
    "cross": {"method": "cross", "coverage": "marginal"},
    "cross, by class": {"method": "cross", "coverage": "class"},
}
# A case is below what it states where the beta-binomial distribution gives it less than this.
RARE = 0.001
FEWEST = 20  # rows of a class to test on


def model(n_classes: int, seed: int) -> HistGradientBoostingOrdinalClassifier:
    return HistGradientBoostingOrdinalClassifier(
        max_iter=60, early_stopping=False, n_jobs=1, random_state=seed, classes=range(n_classes)
    )


def rows_of(data: str, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[Any], NDArray[Any], int]:
    """Return features, codes, rows to train on, rows to test on, and the number of classes."""
    dataset = load(data)
    X = dataset.X.apply(lambda column: column.cat.codes if column.dtype == "category" else column)
    return X.to_numpy(dtype=np.float64), dataset.y, *partition(dataset, seed), dataset.n_classes


def measure(data: str, seed: int) -> list[dict[str, Any]]:
    """Return what each case covers on a partition: of all rows ("class" is -1) and of the rows of each class."""
    X, y, train, test, n_classes = rows_of(data, seed)
    rows = []
    for method in ("split", "cross"):
        sets = OrdinalPredictionSets(model(n_classes, seed), method=method, random_state=seed)
        sets.fit(X[train], y[train])
        for case, options in CASES.items():
            if options["method"] != method:
                continue
            for alpha in ALPHAS:
                inside = sets.set_params(alpha=alpha, coverage=options["coverage"]).predict_set(X[test])
                covered = inside[np.arange(len(test)), y[test]]
                shared = {"data": data, "seed": seed, "case": case, "stated": 1 - alpha}
                shared |= {
                    "n_classes": n_classes,
                    "size": inside.sum(axis=1).mean(),
                    "intervals": are_intervals(inside),
                }
                for k in range(-1, n_classes):
                    of_class = np.ones(len(test), dtype=bool) if k < 0 else y[test] == k
                    n_calibration = sets.n_calibration_.sum() if k < 0 else sets.n_calibration_[k]
                    counts = {"class": k, "calibration": int(n_calibration), "test": int(of_class.sum())}
                    rows.append(shared | counts | {"covered": int(covered[of_class].sum())})
    return rows


def are_intervals(inside: NDArray[np.bool_]) -> bool:
    """Tell whether every row holds one interval: it begins once."""
    begins = np.diff(inside, axis=1, prepend=False) & inside
    return bool((begins.sum(axis=1) == 1).all())


def least(stated: float, calibration: int, test: int) -> int:
    """Return the least number of covered rows that is not rare, where scores do not tie."""
    k = math.ceil(stated * (calibration + 1) - 1e-9)
    if k > calibration:
        return test
    return int(betabinom(test, k, calibration + 1 - k).ppf(RARE))


def promised(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of runs that a case promises something of: all rows, or by class those of each class."""
    by_class = runs["case"].str.endswith("by class")
    return runs[np.where(by_class, (runs["class"] >= 0) & (runs["test"] >= FEWEST), runs["class"] < 0)]


def summary(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Return for each case and level what is covered over all sets, and how often less than is promised."""
    rows = []
    for case in CASES:
        for stated in sorted(runs["stated"].unique()):
            part = promised(runs[(runs["case"] == case) & (runs["stated"] == stated)])
            share = part["covered"] / part["test"]
            if case.startswith("split"):
                allowed = [least(stated, *counts) for counts in zip(part["calibration"], part["test"], strict=True)]
                floor, n_below = "beta-binomial", int((part["covered"] < allowed).sum())
                most = int(binom(len(part), RARE).ppf(1 - RARE))
            else:
                floor = f"{2 * stated - 1:.2g}"
                # A share of few rows of a class lies below its expectation by chance.
                slack = 0.0 if not case.endswith("class") else 3.1 * np.sqrt(stated * (1 - stated) / part["test"])
                n_below, most = int((share + slack < 2 * stated - 1).sum()), 0
            rows.append(
                {
                    "sets": case,
                    "stated": f"{stated:.2f}",
                    "covered": f"{share.mean():.3f}",
                    "least of a set": f"{share.groupby(part['data']).mean().min():.3f}",
                    "cases": str(len(part)),
                    "promised": floor,
                    "below it": str(n_below),
                    "reached": "yes" if n_below <= most else "no",
                    "classes in a set": f"{part['size'].mean():.2f}",
                    "intervals": "all" if part["intervals"].all() else "not all",
                }
            )
    return rows


def by_data(runs: pd.DataFrame) -> list[dict[str, Any]]:
    """Return for each set what its sets of the level 0.9 cover, and how many classes they hold."""
    rows = []
    for data, part in runs[np.isclose(runs["stated"], 0.9)].groupby("data"):
        row = {"data": data, "K": str(part["n_classes"].iloc[0])}
        for case in CASES:
            of_case = part[part["case"] == case]
            whole, of_class = (
                of_case[of_case["class"] < 0],
                of_case[(of_case["class"] >= 0) & (of_case["test"] >= FEWEST)],
            )
            worst = (of_class["covered"] / of_class["test"]).groupby(of_class["class"]).mean().min()
            covered = (whole["covered"] / whole["test"]).mean()
            row[case] = f"{covered:.3f} ({worst:.3f}), {whole['size'].mean():.2f}"
        rows.append(row)
    return rows


# Scores


def grown(proba: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of the interval before each class joins it: the more probable neighbour joins next."""
    n_rows, n_classes = proba.shape
    rows, low = np.arange(n_rows), decide(proba)
    high, mass = low.copy(), proba[rows, low]
    scores = np.zeros((n_rows, n_classes))
    for _ in range(n_classes - 1):
        below = np.where(low > 0, proba[rows, low - 1], -1.0)
        above = np.where(high < n_classes - 1, proba[rows, (high + 1) % n_classes], -1.0)
        down = below > above
        new = np.where(down, low - 1, high + 1)
        scores[rows, new] = mass
        mass, low, high = mass + np.maximum(below, above), np.where(down, new, low), np.where(down, high, new)
    return scores


SCORES: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {"tails": tail_scores, "grown": grown}


def compare_scores(data: str, seed: int) -> list[dict[str, Any]]:
    """Return size and coverage of the sets of both scores, of all rows and by class, at the level 0.9."""
    X, y, train, test, n_classes = rows_of(data, seed)
    calibration, rest = train[: len(train) // 4], train[len(train) // 4 :]
    fitted = model(n_classes, seed).fit(X[rest], y[rest])
    known, new = fitted.predict_proba(X[calibration]), fitted.predict_proba(X[test])
    rows = []
    for name, score in SCORES.items():
        own, scores = score(known)[np.arange(len(calibration)), y[calibration]], score(new)
        for by_class in (False, True):
            groups = [own[y[calibration] == k] if by_class else own for k in range(n_classes)]
            bounds = [
                np.sort(one)[k - 1] if (k := math.ceil(0.9 * (len(one) + 1))) <= len(one) else 1 for one in groups
            ]
            low, high = hull(scores <= bounds, decide(new))
            covered = (low <= y[test]) & (y[test] <= high)
            shares = [covered[y[test] == k].mean() for k in range(n_classes) if (y[test] == k).sum() >= FEWEST]
            result = {
                "classes in a set": (high - low + 1).mean(),
                "covered": covered.mean(),
                "worst class": min(shares),
            }
            rows.append({"coverage": "class" if by_class else "marginal", "score": name} | result)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=8)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "For alpha=", UserWarning)
    jobs = [(data, seed) for data in DATA for seed in range(options.partitions)]
    runs = pd.DataFrame([row for job in jobs for row in measure(*job)])
    report.write(
        "prediction_sets",
        "Coverage of prediction sets",
        summary(runs),
        f"{len(DATA)} sets, {options.partitions} partitions each. A case is a partition, or by class a class of one "
        f"with {FEWEST} rows to test on or more; `covered` is the mean over cases. A split case is below its promise "
        f"where the beta-binomial distribution gives so few covered rows less than {RARE:g}; as many cases lie there "
        f"by chance, and `reached` allows no more than that. Cross cases are promised 1 - 2 alpha; of a class, less "
        f"3.1 standard errors. Intervals: whether every set is one.",
    )
    report.write(
        "prediction_sets_by_data",
        "Prediction sets by data set, stated 0.9",
        by_data(runs),
        "Share covered of all rows (of the class that is covered least), and classes in a set; means over partitions.",
    )
    compared = pd.DataFrame([row for job in jobs for row in compare_scores(*job)])
    means = compared.groupby(["coverage", "score"], sort=False).mean().round(3).reset_index()
    report.write(
        "prediction_set_scores",
        "Scores of prediction sets, stated 0.9",
        [{key: str(value) for key, value in row.items()} for row in means.to_dict("records")],
        "Tails: the probability on the median's side of a class. Grown: that of the interval before the class joins. "
        "Means over the same sets and partitions.",
    )


if __name__ == "__main__":
    main()
