"""What a round of the native engine costs with leaf steps of order 3 and 4, divided by one of order 2.

    python benchmarks/claims/high_order/high_order_rounds.py [--rows 20000 200000] [--classes 2 5 10] [--threads 1]

The orders take turns; each number is the median over the rounds of one training. Lines that this machine has measured
before are kept.
"""

from __future__ import annotations

import argparse
import itertools
from statistics import median
from typing import Any

from claims.speed.engine_rounds import LEAVES, classes, in_turns, make_data
from lib import report
from lib.runner import resume
from ordinal_objectives.histogram_engine.binning import find_cuts
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.histogram_engine.run import EngineRun
from ordinal_objectives.histogram_engine.state import RunStart, TrainingSet
from ordinal_objectives.losses import AllThreshold

ORDERS, FEATURES = (2, 3, 4), 28


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 200_000])
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 5, 10])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()

    def measure(case: dict[str, Any]) -> list[dict[str, Any]]:
        X, score = make_data(case["rows"], FEATURES)
        cuts, codes = find_cuts(X), classes(score, case["K"])
        calls = {}
        for order in ORDERS:
            update = "newton" if case["thresholds"] == "by Newton" else "joint"
            parameters = BoostingParameters.of(
                AllThreshold(), order=order, max_leaf_nodes=LEAVES, threshold_update=update
            )
            run = EngineRun(
                parameters, TrainingSet(X, codes, case["K"]), n_threads=options.threads, start=RunStart(cuts=cuts)
            )
            calls[str(order)] = run.advance
        ms = {order: median(times) for order, times in in_turns(calls, options.rounds).items()}
        return [{"order 2 ms": ms["2"], "order 3 / order 2": ms["3"] / ms["2"], "order 4 / order 2": ms["4"] / ms["2"]}]

    result = report.Result(
        "high_order_round_ms",
        f"A round by the order of its leaf steps, {FEATURES} features, {LEAVES} leaves",
        f"{options.threads} thread. Medians of the rounds of one training each, taken in turns. Thresholds by Newton: "
        "splits are judged by the leaves alone; jointly: by leaves and thresholds.",
    )
    kinds = itertools.product(options.rows, options.classes, ("by Newton", "jointly"))
    cases = [{"rows": n, "K": K, "thresholds": update} for n, K, update in kinds]
    resume(result, cases, measure)


if __name__ == "__main__":
    main()
