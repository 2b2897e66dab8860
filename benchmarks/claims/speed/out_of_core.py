"""Peak memory of trainings whose rows are read in blocks and are never in memory at once.

    python benchmarks/claims/speed/out_of_core.py [--rows 20000000] [--rounds 5] [--threads 2]

Blocks of half a million rows are generated whenever they are read. XGBoost keeps its pages in files, LightGBM and the
native engine keep bins. Every training is a process of its own; its peak is what the system reports as the largest
resident memory of the process, files mapped into it included. Lines that this machine has measured are kept.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import xgboost
from numpy.typing import NDArray

from lib import report
from lib.methods import HOST_DEFAULTS
from lib.runner import resume
from ordinal_objectives import HistGradientBoostingOrdinalClassifier, RowBlocks
from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb

BLOCK, FEATURES, CUTS = 500_000, 28, (-2.2, -0.7, 0.7, 2.2)
VARIANTS: dict[str, dict[str, Any]] = {
    "newton": {"threshold_update": "newton"},
    "joint": {"threshold_update": "joint"},
    "shifts": {"proportional": False},
}


def block(i: int, n_rows: int) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Return the features and class codes of a block."""
    rng = np.random.default_rng(i)
    X = rng.standard_normal((min(BLOCK, n_rows - i * BLOCK), FEATURES), dtype=np.float32)
    score = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + rng.logistic(size=len(X))
    return X, np.digitize(score, CUTS).astype(np.int8)


class Blocks:
    """The features, block by block."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows

    def __len__(self) -> int:
        return (self.n_rows + BLOCK - 1) // BLOCK

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        return (block(i, self.n_rows)[0] for i in range(len(self)))

    def labels(self) -> NDArray[np.int8]:
        return np.concatenate([block(i, self.n_rows)[1] for i in range(len(self))])


class Batches(xgboost.DataIter):
    """The same rows, as XGBoost asks for them."""

    def __init__(self, n_rows: int, folder: str, binary: bool) -> None:
        self.n_rows, self.binary, self.at = n_rows, binary, 0
        super().__init__(cache_prefix=str(Path(folder) / "pages"))

    def next(self, input_data: Any) -> bool:
        if self.at * BLOCK >= self.n_rows:
            return False
        X, y = block(self.at, self.n_rows)
        input_data(data=X, label=y > 1 if self.binary else y)
        self.at += 1
        return True

    def reset(self) -> None:
        self.at = 0


class Rows(lightgbm.Sequence):
    """The same rows, as LightGBM asks for them: single ones in increasing order, and slices."""

    batch_size = BLOCK

    def __init__(self, n_rows: int) -> None:
        self.n_rows, self.last = n_rows, (-1, np.empty((0, FEATURES), np.float32))

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, rows: Any) -> NDArray[np.float64]:
        start, stop = (rows.start, rows.stop) if isinstance(rows, slice) else (rows, rows + 1)
        i = start // BLOCK
        if self.last[0] != i:
            self.last = (i, block(i, self.n_rows)[0])
        found = self.last[1][start - i * BLOCK : stop - i * BLOCK].astype(np.float64)
        return found if isinstance(rows, slice) else found[0]


def train(framework: str, variant: str, options: argparse.Namespace) -> float:
    """Train a model and return its last training loss; NaN of a built-in objective."""
    binary, ordinal, n = variant == "binary", VARIANTS.get(variant, {}), options.rows
    if framework == "XGBoost":
        params = {"max_depth": 6, "nthread": options.threads}
        with tempfile.TemporaryDirectory() as folder:
            matrix = xgboost.ExtMemQuantileDMatrix(Batches(n, folder, binary), nthread=options.threads)
            if binary:
                xgboost.train({**params, "objective": "binary:logistic"}, matrix, options.rounds)
            else:
                booster = oxgb.train(params, matrix, options.rounds, n_classes=len(CUTS) + 1, **ordinal)
            del matrix  # its files go before their folder does
        return np.nan if binary else oxgb.threshold_record(booster).training_loss[-1]
    y = Blocks(n).labels()
    if framework == "LightGBM":
        params = {"num_leaves": 31, "num_threads": options.threads, "verbosity": -1}
        data = lightgbm.Dataset(Rows(n), y > 1 if binary else y, params=params)
        if binary:
            lightgbm.train({**params, "objective": "binary"}, data, options.rounds)
            return np.nan
        return olgbm.threshold_record(
            olgbm.train(params, data, options.rounds, n_classes=len(CUTS) + 1, **ordinal)
        ).training_loss[-1]
    proportional = {"proportional": True} | ordinal
    model = HistGradientBoostingOrdinalClassifier(
        max_iter=options.rounds, early_stopping=False, n_jobs=options.threads, **HOST_DEFAULTS["native"], **proportional
    )
    return float(model.fit(RowBlocks(Blocks(n)), y).evals_result_["training"][-1])


def measure(framework: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    for variant in [*(["binary"] if framework != "native engine" else []), *VARIANTS]:
        command = [sys.executable, __file__, "--rows", str(options.rows), "--rounds", str(options.rounds)]
        command += ["--threads", str(options.threads), "--alone", framework, variant]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        rows.append({"training": variant, **json.loads(done.stdout.splitlines()[-1])})
        own = rows[0]["peak GiB"] if framework != "native engine" else np.nan
        rows[-1]["above binary GiB"] = rows[-1]["peak GiB"] - own
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        start = time.perf_counter()
        framework, variant = options.alone
        loss = train(framework, variant, options)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(json.dumps({"peak GiB": peak, "seconds": time.perf_counter() - start, "loss": loss}))
        return
    name = "out_of_core" if options.rows == 20_000_000 else f"out_of_core_{options.rows}"
    result = report.Result(
        name,
        f"Peak memory of trainings from blocks, {options.rows:,} x {FEATURES}, {len(CUTS) + 1} classes",
        f"{options.rounds} rounds, {options.threads} threads. XGBoost 6 levels, the others 31 leaves. Binary: the "
        "library's own logistic loss. Seconds include generating the rows, which every reading does anew.",
    )
    cases = [{"library": framework} for framework in ("XGBoost", "LightGBM", "native engine")]
    resume(result, cases, lambda case: measure(case["library"], options))


if __name__ == "__main__":
    main()
