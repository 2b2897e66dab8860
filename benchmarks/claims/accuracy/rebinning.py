"""Whether cutting the features anew by Hessian weight (`rebin_every`) lowers the native engine's validation loss.

    ORDINAL_DATA=folder python benchmarks/claims/accuracy/rebinning.py

Set-up as in joint_vs_alternating.py, joint thresholds and exact Hessian. With 16 bins the cuts matter most.
"""

from __future__ import annotations

import numpy as np

from claims.accuracy.joint_vs_alternating import features, train
from lib import report
from lib.data import load
from ordinal_objectives.histogram_engine.parameters import BoostingParameters
from ordinal_objectives.losses import AllThreshold

DATA, SEEDS, ROUNDS = ("abalone", "cpu_act", "california"), range(5), 150


def main() -> None:
    rows = []
    for name in DATA:
        dataset = load(name)
        X = features(dataset)
        for max_bins in (16, 255):
            best = {}
            for every in (None, 10):
                parameters = BoostingParameters.of(
                    AllThreshold(), hessian="exact", max_bins=max_bins, rebin_every=every
                )
                best[every] = np.array([train(X, dataset, seed, parameters, ROUNDS)[0].min() for seed in SEEDS])
            change = 100 * (best[10] / best[None] - 1)
            rows.append(
                {
                    "data": name,
                    "max_bins": max_bins,
                    "best validation loss, cut once": f"{best[None].mean():.4f}",
                    "every 10 trees": f"{best[10].mean():.4f}",
                    "change %": f"{change.mean():+.2f}",
                    "of each partition": " ".join(f"{c:+.2f}" for c in change),
                }
            )
            print(rows[-1], flush=True)
    report.write(
        "rebinning",
        f"Cutting the features anew by Hessian weight, {ROUNDS} rounds, 31 leaves, eta 0.1",
        rows,
        "Below 0: cutting anew ends lower.",
    )


if __name__ == "__main__":
    main()
