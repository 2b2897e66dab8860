"""Peak memory of a task of Spark that makes its matrix, beside the size of its rows.

    python benchmarks/claims/speed/spark_memory.py

Without Spark: batches of rows come as Spark hands them over, 10,000 rows of an array of doubles each. Every line is a
process of its own; its peak is the largest resident memory that the system reports, above that before the first batch.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import xgboost

from lib import report
from ordinal_objectives.adapters.xgb.spark import joined

BATCH, SHAPES = 10_000, ((400_000, 28), (1_000_000, 28), (400_000, 100))
WAYS = ("batches of quantiles", "all rows, then a matrix")


def batches(n_rows: int, n_features: int) -> Iterator[pd.DataFrame]:
    """Return frames with a column of arrays, as Spark makes them of Arrow's batches."""
    rng, places = np.random.default_rng(0), pa.array(np.arange(0, BATCH * n_features + 1, n_features), pa.int32())
    for _ in range(n_rows // BATCH):
        rows = pa.ListArray.from_arrays(places, pa.array(rng.standard_normal(BATCH * n_features)))
        yield pa.table({"features": rows, "label": rng.integers(0, 5, BATCH)}).to_pandas()


def peak(way: str, n_rows: int, n_features: int) -> int:
    """Return the peak in bytes of making the matrix of a task, above the memory before."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    frames = batches(n_rows, n_features)
    if way == WAYS[0]:
        given = [{"data": np.array(part["features"].tolist(), np.float32), "label": part["label"]} for part in frames]
        matrix: Any = joined(given, {})
    else:
        rows = pd.concat(list(frames), ignore_index=True)
        matrix = xgboost.DMatrix(np.array(rows["features"].tolist()), rows["label"])
    assert matrix.num_row() == n_rows
    return 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--line", nargs=3, help=argparse.SUPPRESS)
    line = parser.parse_args().line
    if line:
        print(peak(line[0], int(line[1]), int(line[2])))
        return
    found = []
    for n_rows, n_features in SHAPES:
        for way in WAYS:
            command = [sys.executable, __file__, "--line", way, str(n_rows), str(n_features)]
            size = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            ratio = size / (4 * n_rows * n_features)
            found.append({"rows": n_rows, "features": n_features, "way": way, "MiB": size / 2**20, "ratio": ratio})
    note = "Peak above the memory before the first batch. `ratio`: to the rows as float32."
    report.write("spark_memory", "Memory of a task of Spark", found, note)


if __name__ == "__main__":
    main()
