"""Intervals of the agreement of raters: how often they cover the agreement of the population.

    python benchmarks/claims/interpretation/agreement_intervals.py

Five classes, four raters with spread .5, of whom each answers seven tenths of the rows; with groups, five rows of a
group share an effect. The truth is the agreement of 200,000 rows by these raters. Beside it: a bootstrap of rows of
an implementation of alpha that is written from the book, by pairs of answers, and shares no code.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lib import report
from ordinal_objectives.agreement import agreement_report

N_SIMULATIONS, N_DRAWS, N_TRUTH, RATERS = 1_000, 1_000, 200_000, 4
SEVERITY = np.array([-0.6, -0.2, 0.2, 0.6])
Answers = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]


def answers(n_rows: int, of_group: int, rng: np.random.Generator) -> Answers:
    """Return row, rater and label of each answer; rows of a group share four tenths of the variance."""
    group = np.arange(n_rows) // of_group
    share = 0.4 if of_group > 1 else 0.0
    quality = np.sqrt(share) * rng.normal(size=group[-1] + 1)[group] + np.sqrt(1.0 - share) * rng.normal(size=n_rows)
    score = quality - SEVERITY[:, np.newaxis] + 0.8 * rng.normal(size=(RATERS, n_rows))
    label = np.digitize(score, [-1.5, -0.5, 0.5, 1.5])
    rater, row = np.nonzero(rng.random((RATERS, n_rows)) < 0.7)
    return row, rater, label[rater, row]


def alpha_by_pairs(row: NDArray[np.intp], label: NDArray[np.intp], times: NDArray[np.intp]) -> float:
    """Return Krippendorff's alpha for ordered labels, from the table of coincidences, of rows drawn so many times."""
    table = np.zeros((5, 5))
    for one in np.flatnonzero(times):
        given = label[row == one]
        if len(given) < 2:
            continue
        for i in range(len(given)):
            for j in range(len(given)):
                if i != j:
                    table[given[i], given[j]] += times[one] / (len(given) - 1)
    n = table.sum(axis=1)
    observed = expected = 0.0
    for c in range(5):
        for k in range(c + 1, 5):
            distance = (n[c : k + 1].sum() - (n[c] + n[k]) / 2) ** 2
            observed += table[c, k] * distance
            expected += n[c] * n[k] * distance
    return float(1.0 - (n.sum() - 1.0) * observed / expected)


def interval_by_pairs(found: Answers, n_draws: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return the interval of alpha of samples of rows with two answers or more."""
    row, _, label = found
    rows = np.flatnonzero(np.bincount(row) > 1)
    drawn = [
        alpha_by_pairs(row, label, np.bincount(rng.choice(rows, len(rows)), minlength=row.max() + 1))
        for _ in range(n_draws)
    ]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def intervals(found: Answers, of_group: int, n_draws: int) -> dict[str, tuple[float, float, float]]:
    """Return value and ends of each quantity."""
    row, rater, label = found
    groups = row // of_group if of_group > 1 else None
    both = {
        weights: agreement_report(row, rater, label, classes=range(5), weights=weights, groups=groups, n_draws=n_draws)
        for weights in ("quadratic", "linear")
    }
    one = both["quadratic"]
    return {
        "alpha": one.alpha,
        "ceiling of kappa": one.ceiling,
        "quadratic kappa of two raters": one.pairs[0, 1],
        "linear kappa of two raters": both["linear"].pairs[0, 1],
    }


def main() -> None:
    rows: list[dict[str, Any]] = []
    for n_rows, of_group in ((100, 1), (300, 1), (300, 5)):
        population = answers(N_TRUTH, of_group, np.random.default_rng(2**20 + of_group))
        truth = {name: one[0] for name, one in intervals(population, of_group, 1).items()}
        covered = {name: np.zeros(2) for name in truth}
        values: dict[str, list[float]] = {name: [] for name in truth}
        by_pairs, apart = [], 0.0
        for seed in range(N_SIMULATIONS):
            rng = np.random.default_rng([seed, n_rows, of_group])
            found = answers(n_rows, of_group, rng)
            for name, (value, low, high) in intervals(found, of_group, N_DRAWS).items():
                covered[name] += low <= truth[name] <= high, high - low
                values[name].append(value)
            ours = values["alpha"][-1]
            once = alpha_by_pairs(found[0], found[2], np.ones(n_rows, dtype=np.intp))
            apart = max(apart, abs(once - ours))
            if n_rows == 100 and seed < 200:
                low, high = interval_by_pairs(found, 200, rng)
                by_pairs.append(low <= truth["alpha"] <= high)
        data = f"{n_rows} rows" + (f", {n_rows // of_group} groups" if of_group > 1 else "")
        for name, (inside, width) in covered.items():
            row: dict[str, Any] = {"data": data, "quantity": name, "truth": round(truth[name], 3)}
            row |= {"mean": round(float(np.mean(values[name])), 3), "coverage": f"{inside / N_SIMULATIONS:.3f}"}
            row |= {"mean width": f"{width / N_SIMULATIONS:.3f}"}
            is_compared = name == "alpha"
            row["largest difference by pairs"] = f"{apart:.1e}" if is_compared else ""
            row["coverage by pairs"] = f"{np.mean(by_pairs):.3f}" if is_compared and by_pairs else ""
            rows.append(row)
    report.write(
        "agreement_intervals",
        "Agreement of raters: coverage of bootstrap intervals of level 0.95",
        rows,
        f"{N_SIMULATIONS:,} simulations of each data, {N_DRAWS:,} samples each, of rows or of whole groups. By pairs: "
        "an implementation of alpha from the table of coincidences that shares no code; its bootstrap of rows, 200 "
        "samples in 200 simulations.",
    )


if __name__ == "__main__":
    main()
