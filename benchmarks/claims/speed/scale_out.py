"""What learned thresholds send between workers: bytes of a round, counted, and the time that the sums take.

    python benchmarks/claims/speed/scale_out.py [--rows 40000] [--workers 2] [--classes 5] [--rounds 30]

A cluster of processes on this machine, one thread each. Bytes are those of the vectors handed to XGBoost's allreduce
by this package; the allreduce itself sends each about twice (to and fro). The share of time is this package's
allreduces, waiting for the slower workers included, over the whole training.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import cloudpickle
import dask.array as da
import distributed
import numpy as np
import xgboost
import xgboost.dask

from lib import report
from ordinal_objectives.adapters.collective import Collective
from ordinal_objectives.adapters.xgb import dask as oxgb_dask

VARIANTS: dict[str, dict[str, Any]] = {
    "newton": {"threshold_update": "newton"},
    "schur": {"threshold_update": "schur"},
    "joint": {"threshold_update": "joint"},
    "shifts": {"proportional": False},
}


class Counter(xgboost.callback.TrainingCallback):
    """Counts what this worker sends in every round, and the time it takes."""

    def before_training(self, model: Any) -> Any:
        self.sent: list[tuple[int, float]] = []
        self.at_round: list[int] = []
        self.plain = Collective._reduce

        def counted(values: Any, how: Any) -> Any:
            begun = time.perf_counter()
            total = self.plain(values, how)
            self.sent.append((np.size(values) * 8, time.perf_counter() - begun))
            return total

        Collective._reduce = staticmethod(counted)  # type: ignore[method-assign]
        self.begun = time.perf_counter()
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self.at_round.append(len(self.sent))
        return False

    def after_training(self, model: Any) -> Any:
        wall = time.perf_counter() - self.begun
        Collective._reduce = staticmethod(self.plain)  # type: ignore[method-assign]
        # Of rounds after the first, which counts classes and finds the start.
        later = self.sent[self.at_round[0] : self.at_round[-1]]
        n_rounds = len(self.at_round) - 1
        distributed.get_worker().counted = (
            len(later) / n_rounds,
            sum(size for size, _ in later) / n_rounds,
            sum(seconds for _, seconds in self.sent) / wall,
            1000 * wall / len(self.at_round),
        )
        return model


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=40000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--classes", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--rounds", type=int, default=30)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(args.rows, 20))
    latent = X[:, 0] + 0.5 * X[:, 1] ** 2 + rng.logistic(size=args.rows)
    params = {"max_depth": 6, "eta": 0.1, "tree_method": "hist"}
    rows = args.rows // args.workers
    cluster = {
        "n_workers": args.workers,
        "threads_per_worker": 1,
        "host": "127.0.0.1",
        "dashboard_address": "127.0.0.1:0",
    }
    found = []
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with distributed.LocalCluster(**cluster) as local, distributed.Client(local) as client:
        for n_classes in args.classes:
            y = np.digitize(latent, np.quantile(latent, np.arange(1, n_classes) / n_classes))
            parts = da.from_array(X, chunks=(rows, 20)), da.from_array(y, chunks=rows)
            matrix = xgboost.dask.DaskQuantileDMatrix(client, *parts)
            for name, options in VARIANTS.items():
                oxgb_dask.train(client, params, matrix, args.rounds, callbacks=[Counter()], **options)
                counted = client.run(lambda dask_worker: dask_worker.counted)
                calls, size, share, round_ms = np.mean(list(counted.values()), axis=0)
                found.append(
                    {
                        "update": name,
                        "classes": n_classes,
                        "allreduces a round": f"{calls:.2f}",
                        "bytes a round": f"{size:.0f}",
                        "share of time": f"{100 * share:.1f}%",
                        "ms a round": f"{round_ms:.1f}",
                    }
                )
    title = f"Thresholds on {args.workers} workers, {args.rows} rows: what they send"
    notes = (
        "Workers are processes of one machine. Calls and bytes are counted; the share of time holds the waiting for "
        "the slower worker, and depends on the load of the machine."
    )
    report.write("scale_out", title, found, notes)


if __name__ == "__main__":
    main()
