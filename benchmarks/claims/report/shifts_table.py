"""What thresholds that move with x change on the sets of the choice: ratios to the proportional model.

    python benchmarks/claims/accuracy/accuracy.py --experiments "design, shifts" "design, shifts, few rows" \
        --results benchmarks/results/shifts_runs.csv
    python benchmarks/claims/report/shifts_table.py

The defaults of `proportional`, `shift_l2`, `shift_penalty` and `split_gain` were chosen by this table. That leaves
should shift thresholds at all was known from a design note, which had other sets too (`DESIGN_NOTE` in lib/data.py).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from claims.accuracy.accuracy import DECISIONS
from lib import report

# Each against the proportional model of the same trainer.
BASES = {"LightGBM, ": "LightGBM", "native": "native joint"}
MEASURES = ("mae", "zero_one", "rps", "log_loss")
# Errors of zero on sets that are nearly solved.
LEAST = 1e-4


def main() -> None:
    runs = pd.read_csv(report.RESULTS / "shifts_runs.csv")
    rows = []
    for experiment, of_experiment in runs[runs.experiment.str.startswith("design")].groupby("experiment"):
        for method in of_experiment.method.unique():
            base = next((name for start, name in BASES.items() if method.startswith(start)), "ordinal")
            if method not in (base, "LightGBM") and "decisions" not in experiment:
                cells = ratios(of_experiment, method, base, MEASURES)
                decided = runs[runs.experiment == experiment + DECISIONS]
                cells["by mode"] = ratios(decided, f"{method}, mode", f"{base}, mode", ("zero_one",))["zero_one"]
                rows.append({"rows": experiment, "method": method, "against": base} | cells)
    report.write(
        "shifts",
        "Thresholds that move with x against proportional odds",
        rows,
        "Geometric mean over the sets of a set's mean log ratio over its partitions, and the sets below 1 of all. "
        "Zero-one error and MAE are those of the median; `by mode`: zero-one error of the most probable class. The "
        "native engine's vector gain takes three groups of thresholds; `all`: it takes each by itself.",
    )


def ratios(runs: pd.DataFrame, method: str, base: str, measures: tuple[str, ...]) -> dict[str, str]:
    """Return the ratio of each measure, and on how many sets it is below 1."""
    ours, theirs = (runs[runs.method == name].set_index(["data", "seed"]) for name in (method, base))
    both = ours.index.intersection(theirs.index)
    cells = {"sets": str(len(both.unique("data"))), "fits": str(len(both))}
    for measure in measures:
        logs = log_ratios(ours[measure], theirs[measure])
        cells[measure] = f"{np.exp(logs.mean()):.3f} ({(logs < 0).sum()})"
    return cells


def log_ratios(ours: pd.Series, theirs: pd.Series, least: float = LEAST) -> pd.Series:
    """Return each set's mean log ratio over the partitions that both have, with a little added to both losses."""
    both = ours.index.intersection(theirs.index)
    return np.log((ours[both] + least) / (theirs[both] + least)).groupby("data").mean()


if __name__ == "__main__":
    main()
