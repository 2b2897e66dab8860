"""Censored numbers without features: OrdinalDistributionRegressor beside the estimates of Kaplan-Meier and Turnbull.

    python benchmarks/claims/accuracy/censored.py [--minutes 60]
    python benchmarks/claims/accuracy/censored.py --tables

Lives are exponential, of mean 8 months. Three ways to see less than a life, three numbers of cuts, two numbers of rows.
The one feature is noise, and the trees have a learning rate of almost nothing: what is predicted is the estimate for
all rows. Runs are kept in results/censored_runs.csv: run again to continue.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lib import report
from lib.runner import Row, resume
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, OrdinalDistributionRegressor
from ordinal_objectives.aliases import Params

NAME = "censored"
Array = NDArray[np.float64]
Ends = tuple[Array, Array]
MEAN, AT = 8.0, np.array([3.0, 6.0, 12.0])
CUTS: dict[str, Params] = {
    "3, 6, 12": {"cuts": AT},
    "monthly": {"cuts": np.arange(1.0, 13.0)},
    "default": {},
}
SIZES, DRAWS = (1_000, 20_000), 20
STEPS = 20_000
COLUMNS = ("censoring", "rows", "seed", "cuts", "month", "estimate", "predicted")


def followed(rng: np.random.Generator, n: int) -> Ends:
    """Return lives, of which some last longer than they are watched."""
    life, watched = rng.exponential(MEAN, n), rng.uniform(1.0, 16.0, n)
    return np.where(life <= watched, life, np.nextafter(watched, np.inf)), np.where(life <= watched, life, np.inf)


def found_late(rng: np.random.Generator, n: int) -> Ends:
    """Return lives in tenths of a month: some end before they are first looked at, some last longer than watched."""
    life = np.ceil(10.0 * rng.exponential(MEAN, n)) / 10.0
    first, watched = rng.integers(1, 60, n) / 10.0, rng.integers(60, 160, n) / 10.0
    lower = np.where(life <= first, -np.inf, np.where(life <= watched, life, np.nextafter(watched, np.inf)))
    return lower, np.where(life <= first, first, np.where(life <= watched, life, np.inf))


def inspected(rng: np.random.Generator, n: int) -> Ends:
    """Return the inspections, one or two months apart, between which lives end."""
    life, inspections = rng.exponential(MEAN, n), np.cumsum(rng.integers(1, 3, (n, 16)), axis=1).astype(float)
    ends = np.column_stack([np.full(n, -np.inf), inspections, np.full(n, np.inf)])
    rows, last = np.arange(n), (inspections < life[:, np.newaxis]).sum(axis=1)
    return np.nextafter(ends[rows, last], np.inf), ends[rows, last + 1]


def kaplan_meier(lower: Array, upper: Array) -> Array:
    time, dead = np.sort(lower), np.sort(lower[lower == upper])
    at_risk = len(time) - np.searchsorted(time, dead)
    return np.array([np.prod(1.0 - 1.0 / at_risk[dead <= month]) for month in AT])


def turnbull(lower: Array, upper: Array) -> Array:
    """Return the self-consistent estimate by its plain EM steps, over all ends."""
    (low, high), times = np.unique(np.stack([lower, upper]), axis=1, return_counts=True)
    values = np.unique(np.append(low, high))
    values = values[np.isfinite(values)]
    inside = ((low[:, np.newaxis] <= values) & (values <= high[:, np.newaxis])).astype(float)
    share = np.full(len(values), 1.0 / len(values))
    for _ in range(STEPS):
        before, share = share, share * ((times / (inside @ share)) @ inside) / len(lower)
        if np.abs(share - before).sum() < 1e-10:
            break
    return np.array([share[values > month].sum() for month in AT])


CENSORING: dict[str, tuple[Callable[[np.random.Generator, int], Ends], Callable[[Array, Array], Array]]] = {
    "followed for 1 to 16 months": (followed, kaplan_meier),
    "first seen after some months, followed for 6 to 16": (found_late, turnbull),
    "inspected every 1 or 2 months": (inspected, turnbull),
}


def measure(case: Row) -> list[Row]:
    rng, n = np.random.default_rng(case["seed"]), case["rows"]
    draw, estimate = CENSORING[case["censoring"]]
    lower, upper = draw(rng, n)
    X, expected = rng.normal(size=(n, 1)), estimate(lower, upper)
    plain = HistGradientBoostingOrdinalClassifier(max_iter=1, learning_rate=1e-6, early_stopping=False, n_jobs=1)
    rows = []
    for name, given in CUTS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = OrdinalDistributionRegressor(plain, **given).fit(X, np.column_stack([lower, upper]))
        found = model.predict_exceedance(X[:1], AT)[0]
        rows += [
            {"cuts": name, "month": int(month), "estimate": float(one), "predicted": float(ours)}
            for month, one, ours in zip(AT, expected, found, strict=True)
        ]
    return rows


def table() -> list[Row]:
    with (report.RESULTS / f"{NAME}_runs.csv").open(encoding="utf-8", newline="") as file:
        runs = pd.DataFrame(csv.DictReader(file)).astype({"rows": int, "month": int, "estimate": float})
    runs["difference"] = runs["predicted"].astype(float) - runs["estimate"]
    rows = []
    for (censoring, n, cuts), own in runs.groupby(["censoring", "rows", "cuts"], sort=False):
        months = own.groupby("month")
        mean = months["difference"].mean()
        last = own[own["month"] == AT[-1]]
        rows.append(
            {
                "censoring": censoring,
                "estimate": "Kaplan-Meier" if CENSORING[censoring][1] is kaplan_meier else "Turnbull",
                "rows": n,
                "cuts": cuts,
                **{f"mean difference at {month}": round(float(value), 6) for month, value in mean.items()},
                "largest in a draw": float(own["difference"].abs().max()),
                "P(> 12): truth": float(np.exp(-AT[-1] / MEAN)),
                "estimated": float(last["estimate"].mean()),
                "predicted": float(last["predicted"].astype(float).mean()),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no case after so many")
    parser.add_argument("--tables", action="store_true", help="write the table of what was measured")
    options = parser.parse_args()
    store = report.RunsFile(report.RESULTS / f"{NAME}_runs.csv", COLUMNS)
    if not options.tables:
        cases = [
            {"censoring": censoring, "rows": n, "seed": seed}
            for censoring in CENSORING
            for n in SIZES
            for seed in range(DRAWS)
        ]
        resume(store, cases, measure, minutes=options.minutes)
    note = (
        f"Differences of P(life > month) from the estimate, means over {DRAWS} draws; the largest in a draw at any of "
        "the three months."
    )
    report.write(NAME, "Censored numbers beside Kaplan-Meier and Turnbull", table(), note, store.path)


if __name__ == "__main__":
    main()
