"""The README's table measured anew, but for CatBoost: about ten minutes of one processor.

ORDINAL_DATA=~/ordinal-data make bench-readme_table
ORDINAL_DATA=~/ordinal-data python benchmarks/claims/accuracy/readme_table.py --runs FILE --partitions 1

Sets whose files are not in the folder are left out. The runs are kept in a file of your own: called again, it goes on
where it was stopped. The committed runs of the same sets and partitions stand below.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from claims.accuracy import plain_call
from lib import report
from lib.data import SOURCES
from lib.runner import resume
from lib.set_ratios import COLUMNS, GROUPS, measured, rows_of

METHODS = [method for method in plain_call.IN_README if method != plain_call.CATBOOST]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing, and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=Path("build/readme_table_runs.csv"))
    parser.add_argument("--partitions", type=int, default=plain_call.SEEDS["evaluation"])
    options = parser.parse_args(arguments)
    folder = Path(os.environ.get("ORDINAL_DATA", "."))
    sets = [data for data in GROUPS["evaluation"] if (folder / f"{SOURCES[data].file}.csv.gz").exists()]
    if not sets:
        parser.error("ORDINAL_DATA must name a folder of data files; python benchmarks/fetch_data.py fetches them")
    cases = [
        {"data": data, "seed": seed, "method": method}
        for seed in range(options.partitions)
        for data in sets
        for method in (plain_call.RECOMMENDED, *METHODS)
    ]
    store = report.RunsFile(options.runs, COLUMNS)
    resume(store, cases, partial(measured, plain_call.predicted))
    for where, rows in (("Measured here", store.rows), ("Committed", rows_of(plain_call.NAME, "evaluation"))):
        alike = [row for row in rows if row["data"] in sets and int(row["seed"]) < options.partitions]
        print(f"{where} (sets: {len(sets)}, partitions of each: {options.partitions}):\n")
        print(report.table(plain_call.medians(alike, METHODS)), end="\n\n")


if __name__ == "__main__":
    main()
