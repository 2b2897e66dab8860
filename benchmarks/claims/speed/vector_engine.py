"""A round of the engine whose leaves shift single thresholds, against its joint round and LightGBM's binary one.

    python benchmarks/claims/speed/vector_engine.py      200,000 x 28 and 1,000,000 x 28; K = 5, 10, 30; 1 and 2 threads
    python benchmarks/claims/speed/vector_engine.py --rows 200000 --classes 5 --threads 1

All numbers of a line come from one process. Variants alternate, and each is the median over rounds. Lines that
this machine has measured before are kept: run again to continue, delete the result's .json to start anew.
"""

from __future__ import annotations

import argparse
from statistics import median
from typing import Any

import lightgbm

from claims.speed.engine_rounds import LEAVES, classes, in_turns, lightgbm_booster, make_data
from lib import report
from ordinal_objectives.histogram_engine.binning import find_cuts
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import RunStart, TrainingSet
from ordinal_objectives.losses import AllThreshold

VARIANTS: dict[str, dict[str, Any]] = {
    "vector, ridge": {"split_gain": "vector"},
    "vector, smooth": {"split_gain": "vector", "shift_penalty": "smooth"},
    "joint gain": {"split_gain": "joint"},
    "scalar gain": {"split_gain": "scalar"},
}
NOTES = (
    "Medians of the rounds of one training each, taken in turns. The joint round is that of the proportional model. "
    "Splits are judged by groups of thresholds: three with the gain of vectors, from five classes on, and five with "
    "the joint one, from seven on."
)


def measure(options: argparse.Namespace, n_rows: int) -> None:
    name = f"vector_engine_{n_rows}x28"
    title = f"A round whose leaves shift single thresholds, {n_rows:,} x 28, 255 bins, {LEAVES} leaves, exact Hessian"
    result = report.Result(name, title, NOTES, ("threads", "K"))
    known = {(row["threads"], row["K"]) for row in result.rows}
    X, score = make_data(n_rows, 28)
    cuts = find_cuts(X)
    y = classes(score, 2)
    for threads in options.threads:
        dataset = lightgbm.Dataset(X, y, params={"num_threads": threads, "verbose": -1}).construct()
        for K in options.classes:
            if (threads, K) in known:
                continue
            common: dict[str, Any] = {"n_threads": threads, "start": RunStart(cuts=cuts)}
            codes = classes(score, K)
            runs = {
                "joint": EngineRun(
                    BoostingParameters.of(AllThreshold(), max_leaf_nodes=LEAVES), TrainingSet(X, codes, K), **common
                )
            }
            for variant, more in VARIANTS.items():
                parameters = BoostingParameters.of(AllThreshold(), max_leaf_nodes=LEAVES, proportional=False, **more)
                runs[variant] = EngineRun(parameters, TrainingSet(X, codes, K), **common)
            calls = {variant: run.advance for variant, run in runs.items()}
            calls["LightGBM binary"] = lightgbm_booster(dataset, y, 2, threads).update
            ms = {variant: median(times) for variant, times in in_turns(calls, options.rounds).items()}
            row = {"threads": threads, "K": K} | {f"{variant} ms": value for variant, value in ms.items()}
            row |= {f"{variant} / binary": ms[variant] / ms["LightGBM binary"] for variant in list(VARIANTS)[:2]}
            row |= {f"{variant} / joint": ms[variant] / ms["joint"] for variant in list(VARIANTS)[2:]}
            result.add([row])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[200_000, 1_000_000])
    parser.add_argument("--classes", type=int, nargs="+", default=[5, 10, 30])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=36)
    options = parser.parse_args()
    for n_rows in options.rows:
        measure(options, n_rows)


if __name__ == "__main__":
    main()
