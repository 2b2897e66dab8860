"""Measure what has not been measured yet: one way to resume for all claims whose runs take long.

A case is a small dictionary, such as ``{"data": "abalone", "seed": 0}``. What is measured of it is a list of rows.
They are stored with the case's entries after every case: a run that is stopped loses the cases it was at. Rows are
kept in a JSON file, or, where there are many thousands, in a CSV file; those that are themselves a result are kept
with the machine that measured them (``report.Result``).
"""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from tqdm import tqdm

Row = dict[str, Any]


class Store(Protocol):
    """Where rows are kept."""

    rows: list[Row]

    def add(self, new: list[Row]) -> None: ...


class JsonFile:
    """Rows in one JSON file, written anew each time."""

    def __init__(self, path: Path):
        self.path = path
        self.rows: list[Row] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []

    def add(self, new: list[Row]) -> None:
        self.rows += new
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.rows, indent=1) + "\n", encoding="utf-8")


class CsvFile:
    """Rows as texts, of numbers six digits, added to the end of a file.

    Half a line, which a killed run left, is taken out of it.

    Raises
    ------
    ValueError
        If the file has other columns.
    """

    def __init__(self, path: Path, columns: Sequence[str]):
        self.path, self.columns = path, columns
        self.rows: list[Row] = []
        if path.exists():
            text = path.read_text(encoding="utf-8")
            if not text.endswith("\n"):
                path.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")
            with path.open(encoding="utf-8", newline="") as file:
                reader = csv.DictReader(file)
                if list(reader.fieldnames or columns) != list(columns):
                    raise ValueError(f"{path} must have the columns {', '.join(columns)}; it has {reader.fieldnames}")
                self.rows = list(reader)

    def add(self, new: list[Row]) -> None:
        texts = [{key: f"{v:.6g}" if isinstance(v, float) else str(v) for key, v in row.items()} for row in new]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, self.columns, lineterminator="\n")
            if file.tell() == 0:
                writer.writeheader()
            writer.writerows(texts)
        self.rows += texts


def missing(cases: Iterable[Row], rows: list[Row]) -> list[Row]:
    """Return the cases of which there is no row. All have the same keys."""
    cases = list(cases)
    keys = list(cases[0]) if cases else []
    done = {tuple(str(row.get(key)) for key in keys) for row in rows}
    return [case for case in cases if tuple(str(case[key]) for key in keys) not in done]


def resume(
    store: Store | Path,
    cases: Iterable[Row],
    measure: Callable[[Row], list[Row]],
    *,
    minutes: float = 1e9,
    jobs: int = 1,
) -> list[Row]:
    """Measure the cases that a store lacks, and return all of its rows.

    Parameters
    ----------
    store : Store or Path
        Of a JSON file.
    cases : iterable of dict
    measure : callable
        ``measure(case)`` returns rows; pickled where there are several jobs.
    minutes : float
        No case is begun after so many.
    jobs : int
        Processes; one measures in this process.
    """
    kept = JsonFile(store) if isinstance(store, Path) else store
    end = time.monotonic() + 60 * minutes
    todo = missing(cases, kept.rows)
    with tqdm(total=len(todo), unit="case", mininterval=5, smoothing=0.01) as bar:
        for case, rows in _measured(todo, measure, jobs, lambda: time.monotonic() < end):
            kept.add([{**case, **row} for row in rows])
            bar.set_postfix(case, refresh=False)
            bar.update()
    return kept.rows


def _measured(
    todo: list[Row], measure: Callable[[Row], list[Row]], jobs: int, in_time: Callable[[], bool]
) -> Iterator[tuple[Row, list[Row]]]:
    """Yield cases with their rows as they are done."""
    queue = iter(todo)
    if jobs == 1:
        while in_time() and (case := next(queue, None)) is not None:
            yield case, measure(case)
        return
    with ProcessPoolExecutor(jobs) as pool:
        running = {pool.submit(measure, case): case for case in islice(queue, 2 * jobs if in_time() else 0)}
        while running:
            future = next(as_completed(running))
            yield running.pop(future), future.result()
            if in_time():
                running |= {pool.submit(measure, case): case for case in islice(queue, 1)}
