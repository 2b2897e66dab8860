"""How often 90% intervals hold the effects of groups, of one column and of two.

    python benchmarks/claims/accuracy/random_effect_intervals.py [--repetitions 500] [--groups 10 30 100]
    python benchmarks/claims/accuracy/random_effect_intervals.py --tables       writes the tables

Rows of five classes, drawn with P(y <= k) = sigma(theta_k - x0 - sum of effects), with three Gaussian features.
"crossed": two columns of as many groups, in independent order. "nested": each group of the first column has three of
the second. Effects are Gaussian, and the intraclass correlation is the share of
one column in the latent variance without the other. The truth of an interval is the effect of the group less the mean
effect of the column's groups: the effect itself is known up to a number that the thresholds, or the other column, take
up.

Runs are kept in results/random_effect_intervals_runs.csv: what is there is not measured again. The command prints the
seconds of a repetition.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from lib import report
from lib.runner import Row, resume
from ordinal_objectives import HistGradientBoostingOrdinalClassifier

type Floats = NDArray[np.float64]
type Codes = NDArray[np.intp]
NAME, LEVEL, Z, INNER = "random_effect_intervals", 0.9, 1.6448536269514722, 3
THETA = np.array([-2.0, -0.5, 0.5, 2.0])
DESIGNS, GROUPS, CORRELATIONS = ("one column", "crossed", "nested"), (10, 30, 100), (0.1, 0.3)
SIZES = {"linear": (20, 10, 5), "as shipped": (20,)}  # rows to a group of the last column
MODELS: dict[str, dict[str, Any]] = {
    "linear": {"linear": True, "linear_l2": 1.0, "max_iter": 10, "early_stopping": False},
    "as shipped": {},
}
COLUMNS = (
    "model",
    "design",
    "groups",
    "size",
    "icc",
    "seed",
    "column",
    "held",
    "conditional",
    "width",
    "tau",
    "seconds",
)


def deviation(icc: float) -> float:
    """Return the standard deviation of the effects: that of the logistic errors is pi / sqrt(3)."""
    return float(np.sqrt(icc / (1.0 - icc)) * np.pi / np.sqrt(3.0))


def sample(
    design: str, n_groups: int, size: int, icc: float, seed: int
) -> tuple[Floats, Codes, list[Floats], list[Codes]]:
    """Return features with the columns of groups last, labels, and effects and groups of each column."""
    rng = np.random.default_rng([seed, n_groups, size, round(100 * icc), DESIGNS.index(design)])
    if design == "nested":
        inner = np.repeat(np.arange(INNER * n_groups), size)
        groups = [inner // INNER, inner]
    else:
        of_rows = np.repeat(np.arange(n_groups), size)
        groups = [of_rows] if design == "one column" else [of_rows, rng.permutation(of_rows)]
    effects = [deviation(icc) * rng.normal(size=group.max() + 1) for group in groups]
    X = rng.normal(size=(len(groups[0]), 3))
    score = X[:, 0] + sum(of[group] for of, group in zip(effects, groups, strict=True))
    y = np.searchsorted(THETA, score + rng.logistic(size=len(X)))
    return np.column_stack([X, *groups]), y, effects, groups


def conditional(score: Floats, y: Codes, theta: Floats, group: Codes, variance: float) -> Floats:
    """Return the deviations of the effects given thresholds, variance and the other column, as is common elsewhere."""
    ends = np.concatenate([[-np.inf], theta, [np.inf]])
    below, above = expit(ends[y] - score), expit(ends[y + 1] - score)
    hessian = np.bincount(group, below * (1 - below) + above * (1 - above))
    return np.asarray((hessian + 1.0 / variance) ** -0.5)


def measure(case: Row) -> list[Row]:
    """Return the shares of each column's intervals that hold the truth."""
    X, y, effects, groups = sample(*(case[name] for name in ("design", "groups", "size", "icc", "seed")))
    start = time.process_time()
    options: dict[str, Any] = {"loss": "cumulative_link", "classes": range(len(THETA) + 1), **MODELS[case["model"]]}
    options |= {"random_state": 0, "n_jobs": 1}
    model = HistGradientBoostingOrdinalClassifier(random_intercept=list(range(3, X.shape[1])), **options).fit(X, y)
    seconds, found = round(time.process_time() - start, 3), []
    score = model.predict_raw(X)
    for column, (one, truth, group) in enumerate(zip(model.fitted_effects(), effects, groups, strict=True)):
        off = np.abs(one.effects - (truth - truth.mean()))
        given = conditional(score, y, model.thresholds_, group, one.variance)
        row = {"column": column + 1, "held": float(np.mean(off < Z * one.standard_errors))}
        row |= {"conditional": float(np.mean(off < Z * given)), "width": float(2 * Z * one.standard_errors.mean())}
        found.append({**row, "tau": one.variance**0.5, "seconds": seconds})
    return found


def store() -> report.RunsFile:
    """Return the runs."""
    return report.RunsFile(report.RESULTS / f"{NAME}_runs.csv", COLUMNS)


def write_tables() -> None:
    """Write the shares of intervals that hold the truth, and the lowest and highest of them."""
    numbers = ["held", "conditional", "width", "tau", "icc"]
    runs = pd.DataFrame(store().rows)
    runs = runs.astype(dict.fromkeys(numbers, float) | dict.fromkeys(["groups", "size", "column"], int))
    keys, rows = ["model", "size", "design", "groups", "icc", "column"], []
    for (model, size, design, n_groups, icc, column), cases in runs.groupby(keys):
        row: dict[str, Any] = {"model": model, "rows a group": size, "design": design, "column": column}
        row |= {"groups": n_groups * (INNER if (design, column) == ("nested", 2) else 1), "icc": icc}
        row |= {"repetitions": len(cases), "conditional": f"{cases['conditional'].mean():.3f}"}
        row |= {"coverage": f"{cases['held'].mean():.3f}", "width": f"{cases['width'].mean():.2f}"}
        rows.append(row | {"tau": f"{cases['tau'].mean():.2f}", "true tau": f"{deviation(icc):.2f}"})
    note = (
        f"Shares of the groups whose effect a {LEVEL:.0%} interval holds, {Z:.3f} standard errors on both sides, over "
        f"all groups and repetitions. Conditional: with the standard deviation of each effect given thresholds, "
        f"variances and the effects of the other column. "
    )
    design = (__doc__ or "").split("\n\n")[2].replace("\n", " ")
    report.write(
        NAME, "Intervals of the effects of groups", rows, f"{note}Width and tau are means. {design}", store().path
    )
    found = pd.DataFrame(rows).assign(columns=lambda of: np.where(of["design"] == "one column", "one", "two"))
    extremes: list[dict[str, Any]] = []
    for (size, columns), cases in found.groupby(["rows a group", "columns"]):
        row = {"rows a group": size, "columns": columns}
        for name in ("conditional", "coverage"):
            row |= {f"lowest {name}": cases[name].min(), f"highest {name}": cases[name].max()}
        extremes.append(row)
    title = "Intervals of the effects of groups: the lowest and the highest coverage"
    report.write(f"{NAME}_extremes", title, extremes, f"{note}Over the rows of {NAME}.md.", store().path)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--groups", nargs="+", type=int, choices=GROUPS, default=GROUPS)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--tables", action="store_true", help="write the tables of what was measured")
    options = parser.parse_args()
    if options.tables:
        write_tables()
        return
    cases = [
        {"model": model, "design": design, "groups": n_groups, "size": size, "icc": icc, "seed": seed}
        for n_groups in options.groups
        for seed in range(options.repetitions)
        for model in options.models
        for size in SIZES[model]
        for design in DESIGNS
        for icc in CORRELATIONS
    ]
    runs = pd.DataFrame(resume(store(), cases, measure, minutes=options.minutes, jobs=options.jobs))
    each = runs.astype({"seconds": float}).drop_duplicates(["model", "design", "groups", "size", "icc", "seed"])
    print(
        each.groupby(["model", "design", "groups"])["seconds"]
        .mean()
        .round(2)
        .rename("seconds a repetition")
        .to_string()
    )


if __name__ == "__main__":
    main()
