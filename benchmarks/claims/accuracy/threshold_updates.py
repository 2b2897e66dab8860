"""Rounds and seconds to the loss that fixed thresholds reach in 500 rounds, for every update and Hessian.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/threshold_updates.py [--minutes 30] [--jobs 2]

Regression targets are cut at their deciles by value (rule `quantile`). Random 70/30 partitions; depth
4 (16 leaves), eta 0.1, one thread, nothing is tuned. Partitions measured before are kept: run again to
continue. Seconds are the processor's for a round, evaluation included, times the rounds.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import xgboost
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import gmean

from lib import pictures, report
from lib.data import load
from lib.runner import resume
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb

DATA = ("stocks", "abalone", "bank32nh", "cpu_act", "california", "census16H", "wine_red", "kin40k")
UPDATES, HESSIANS, ROUNDS = ("fixed", "newton", "schur", "joint"), ("exact", "majorized"), 500
FILE = report.RESULTS / "threshold_updates_runs.json"
PICTURE = report.RESULTS.parents[1] / "docs" / "evidence" / "threshold_updates.png"
# Names and colours in the picture.
SHOWN = {
    "fixed": ("thresholds stay (fixed)", "#666666"),
    "newton": ("Newton step on the thresholds (newton)", "#1f5fa8"),
    "schur": ("step that minds the leaves (schur)", "#2e7d32"),
    "joint": ("joint step of leaves and thresholds (joint)", "#c1272d"),
}


def xgboost_curve(X: list[pd.DataFrame], y: list[NDArray[Any]], **options: Any) -> list[float]:
    fit, test = (xgboost.DMatrix(a, b, enable_categorical=True) for a, b in zip(X, y, strict=True))
    seen: dict[str, Any] = {}
    params = {"max_depth": 4, "eta": 0.1, "nthread": 1}
    evals = [(test, "v")]
    oxgb.train(params, fit, ROUNDS, evals=evals, evals_result=seen, verbose_eval=False, **options)
    return seen["v"]["all_threshold"]


def lightgbm_curve(X: list[pd.DataFrame], y: list[NDArray[Any]], **options: Any) -> list[float]:
    seen: dict[str, Any] = {}
    params = {"max_depth": 4, "num_leaves": 16, "learning_rate": 0.1, "num_threads": 1, "verbosity": -1}
    fit = lightgbm.Dataset(X[0], y[0])
    test = lightgbm.Dataset(X[1], y[1], reference=fit)
    callbacks = [lightgbm.record_evaluation(seen)]
    olgbm.train(params, fit, ROUNDS, valid_sets=[test], valid_names=["v"], callbacks=callbacks, **options)
    return seen["v"]["all_threshold"]


CURVES = {"XGBoost": xgboost_curve, "LightGBM": lightgbm_curve}


def partition(library: str, X: pd.DataFrame, y: NDArray[Any], seed: int) -> list[dict[str, Any]]:
    """Return one row for each update and Hessian; the target loss is the best that fixed thresholds reach."""
    order = np.random.default_rng(seed).permutation(len(y))
    parts = np.split(order, [int(0.7 * len(y))])
    curves, seconds = {}, {}
    for hessian in HESSIANS:
        for update in UPDATES:
            start = time.process_time()
            curves[hessian, update] = CURVES[library](
                [X.iloc[part] for part in parts],
                [y[part] for part in parts],
                n_classes=int(y.max()) + 1,
                hessian=hessian,
                threshold_update=update,
            )
            seconds[hessian, update] = (time.process_time() - start) / ROUNDS
    target = min(min(curves[hessian, "fixed"]) for hessian in HESSIANS)
    rows = []
    for (hessian, update), curve in curves.items():
        reached = np.flatnonzero(np.array(curve) <= target)
        rounds = int(reached[0]) + 1 if reached.size else None
        rows.append(
            {
                "hessian": hessian,
                "update": update,
                "rounds": rounds,
                "seconds": rounds and rounds * seconds[hessian, update],
                "best loss": min(curve),
                "best round": int(np.argmin(curve)) + 1,
                "fixed best": target,
                "curve": [round(value, 4) for value in curve[9::10]],
            }
        )
    return rows


def summarise(runs: list[dict[str, Any]]) -> None:
    table = []
    for library in CURVES:
        for hessian in HESSIANS:
            for update in UPDATES:
                chosen = [
                    run for run in runs if (run["library"], run["hessian"], run["update"]) == (library, hessian, update)
                ]
                if not chosen:
                    continue
                table.append(
                    {
                        "library": library,
                        "Hessian": hessian,
                        "update": update,
                        "reached": f"{sum(run['rounds'] is not None for run in chosen)} / {len(chosen)}",
                        "rounds": float(np.median([run["rounds"] or np.inf for run in chosen])),
                        "seconds": float(np.median([run["seconds"] or np.inf for run in chosen])),
                        "best round": float(np.median([run["best round"] for run in chosen])),
                        "best loss / fixed": gmean([run["best loss"] / run["fixed best"] for run in chosen]),
                    }
                )
    sets = sorted({run["data"] for run in runs})
    report.write(
        "threshold_updates",
        f"Rounds and seconds to the best validation loss of fixed thresholds in {ROUNDS} rounds",
        table,
        f"{len(sets)} data sets ({', '.join(sets)}), up to three partitions; processor seconds; medians, where a "
        f"partition that never reaches the loss counts as infinite. `best loss / fixed` is the geometric mean of the "
        f"best validation loss in {ROUNDS} rounds over that of fixed thresholds, `best round` the median round of it.",
    )
    pictures.save(draw(runs), PICTURE)


def draw(runs: list[dict[str, Any]]) -> Figure:
    """Draw the loss by rounds of each library and Hessian, a line for each update."""
    drawn, axes = pictures.panels(len(HESSIANS), len(CURVES), (9, 6.6), sharex=True, sharey=True)
    for line, hessian in zip(axes, HESSIANS, strict=True):
        for axis, library in zip(line, CURVES, strict=True):
            for update, (words, color) in SHOWN.items():
                key = (library, hessian, update)
                part = [run for run in runs if (run["library"], run["hessian"], run["update"]) == key]
                if part:
                    ratios = gmean([np.array(run["curve"]) / run["fixed best"] for run in part])
                    axis.plot(np.arange(10, ROUNDS + 1, 10), ratios, color=color, label=words)
            axis.axhline(1.0, color=pictures.GREY, linewidth=0.7, linestyle=":")
            axis.set(xscale="log", ylim=(None, 1.4))
            axis.set_title(f"{library}, {hessian} Hessian", fontsize=10)
        line[0].set_ylabel("validation loss / best loss\nwith thresholds that stay\n(lower is better)")
    for axis in axes[-1]:
        axis.set_xlabel("rounds (log)")
    drawn.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return drawn


def measure(case: dict[str, Any]) -> list[dict[str, Any]]:
    dataset = load(case["data"])
    return partition(case["library"], dataset.X, dataset.y, case["seed"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1e9, help="start no partition after so many minutes")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    cases = [
        {"data": name, "seed": seed, "library": library} for seed in range(3) for name in DATA for library in CURVES
    ]
    summarise(resume(FILE, cases, measure, minutes=options.minutes, jobs=options.jobs))


if __name__ == "__main__":
    main()
