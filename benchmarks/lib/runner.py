"""Measure what has not been measured yet: one way to resume for all claims whose runs take long.

A case is a small dictionary, such as ``{"data": "abalone", "seed": 0}``. What is measured of it is a list of rows.
They are stored with the case's entries in one JSON file after every case: a run that is stopped loses one case.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def stored(path: Path) -> list[Row]:
    """Return the rows of a file, or none."""
    rows: list[Row] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return rows


def missing(cases: Iterable[Row], rows: list[Row]) -> list[Row]:
    """Return the cases of which there is no row."""
    return [case for case in cases if not any(case.items() <= row.items() for row in rows)]


def resume(
    path: Path, cases: Iterable[Row], measure: Callable[[Row], list[Row]], *, minutes: float = 1e9, jobs: int = 1
) -> list[Row]:
    """Measure the cases that a file lacks, and return all of its rows.

    Parameters
    ----------
    path : Path
        Of the JSON file.
    cases : iterable of dict
    measure : callable
        ``measure(case)`` returns rows; pickled where there are several jobs.
    minutes : float
        No case is begun after so many.
    jobs : int
        Processes.
    """
    start = time.monotonic()
    rows = stored(path)
    todo = missing(cases, rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    while todo and time.monotonic() - start < 60 * minutes:
        now, todo = todo[:jobs], todo[jobs:]
        if jobs == 1:
            found = [measure(case) for case in now]
        else:
            with ProcessPoolExecutor(jobs) as pool:
                found = list(pool.map(measure, now))
        rows += [{**case, **row} for case, of_case in zip(now, found, strict=True) for row in of_case]
        path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        print(*now, f"{time.monotonic() - start:.0f} s, {len(todo)} left", flush=True)
    return rows
