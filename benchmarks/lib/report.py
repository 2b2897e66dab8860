"""Write a benchmark's result as JSON and Markdown, with the machine it was measured on."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from lib.runner import CsvFile, Row
from ordinal_objectives.utils.extras import versions

RESULTS = Path(__file__).resolve().parents[1] / "results"


# Whose versions matter only where they run.
RIVALS = ("catboost", "mord", "ngboost", "ogboost", "quantile-forest", "statsmodels", "xgbordinal")


def machine() -> dict[str, Any]:
    """Return processor, cores and versions."""
    info = Path("/proc/cpuinfo")
    models = (
        [line.split(":")[1].strip() for line in info.read_text().splitlines() if "model name" in line]
        if info.exists()
        else []
    )
    return {"processor": models[0] if models else platform.processor(), "cores": os.cpu_count(), **versions()}


def write(name: str, title: str, rows: list[dict[str, Any]], notes: str = "", runs: Path | None = None) -> None:
    """Print the table, and write results/<name>.json and results/<name>.md.

    Parameters
    ----------
    rows : list of dict
        All with the same keys: the columns.
    runs : Path or None
        File of the runs that the table is made of, whose first machine is named; None for this machine.
    """
    RESULTS.mkdir(exist_ok=True)
    where = machine() if runs is None else machines(runs)[0]
    content = {"title": title, "notes": notes, "machine": where, "rows": rows}
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    text = page(content)
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
    print(text)


def page(content: dict[str, Any]) -> str:
    """Return a result, as its JSON file holds it, as a page of Markdown."""
    lines = [f"# {content['title']}", "", table(content["rows"]), "", content["notes"], ""]
    return "\n".join([*lines, measured_on(content["machine"])]).replace("\n\n\n", "\n\n") + "\n"


class Result:
    """A result whose rows are measured one after the other; a store of ``runner.resume``.

    Parameters
    ----------
    name, title, notes : str
        As in `write`.
    order : sequence of str
        Columns by which the rows are sorted; without any they stay as they came.

    Attributes
    ----------
    rows : list of dict
        Those that results/<name>.json holds already, if they are from this machine and these versions.
    """

    def __init__(self, name: str, title: str, notes: str = "", order: Sequence[str] = ()):
        self.name, self.title, self.notes, self.order = name, title, notes, order
        path = RESULTS / f"{name}.json"
        content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        self.rows: list[dict[str, Any]] = content["rows"] if content.get("machine") == machine() else []

    def add(self, new: list[dict[str, Any]]) -> None:
        """Add rows, and write all."""
        self.rows += new
        self.rows.sort(key=lambda row: [row[column] for column in self.order])
        write(self.name, self.title, self.rows, self.notes)


class RunsFile(CsvFile):
    """Rows of a CSV file that many runs add to, on whatever machine: each has the number of its own.

    Attributes
    ----------
    machines : list of dict
        Those of <name>.json beside the file, by number from 1.
    """

    def __init__(self, path: Path, columns: Sequence[str]):
        super().__init__(path, (*columns, "machine"))
        self.beside = path.with_suffix(".json")
        self.machines: list[dict[str, Any]] = machines(path)

    def add(self, new: list[Row]) -> None:
        """Add rows, as measured here."""
        here = machine() | rivals()
        if here not in self.machines:
            self.machines.append(here)
            self.beside.parent.mkdir(parents=True, exist_ok=True)
            self.beside.write_text(json.dumps({"machines": self.machines}, indent=1) + "\n", encoding="utf-8")
        super().add([{**row, "machine": self.machines.index(here) + 1} for row in new])


def rivals() -> dict[str, str]:
    """Return the versions of the rivals that are installed."""
    found = {}
    for package in RIVALS:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def machines(runs_file: Path) -> list[dict[str, Any]]:
    """Return the machines that a file of rows names by number from 1; none without a file."""
    beside = runs_file.with_suffix(".json")
    return json.loads(beside.read_text(encoding="utf-8"))["machines"] if beside.exists() else []


def table(rows: list[dict[str, Any]]) -> str:
    """Return rows as a Markdown table."""
    columns = list(rows[0])
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(cell(row[column]) for column in columns) + " |" for row in rows]
    return "\n".join(lines)


def measured_on(*machines: dict[str, Any], more: Sequence[str] = ()) -> str:
    """Return machines in one sentence; ``more`` names versions that it says where they are known."""
    short = (
        "ordinal_objectives",
        "processor",
        "cores",
        "instruction set",
        "python",
        "numpy",
        "xgboost",
        "lightgbm",
        *more,
    )
    found = {key: dict.fromkeys(str(where[key]) for where in machines if key in where) for key in short}
    # Which others the processor runs matters to no number.
    found["instruction set"] = dict.fromkeys(value.split(" (")[0] for value in found["instruction set"])
    return "Measured on: " + "; ".join(f"{key} {', '.join(values)}" for key, values in found.items() if values) + "."


def cell(value: Any) -> str:
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.3g}"
    return str(value)
