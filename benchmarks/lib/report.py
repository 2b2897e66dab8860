"""Write a benchmark's result as JSON and Markdown, with the machine it was measured on."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

from ordinal_objectives.versions import versions

RESULTS = Path(__file__).resolve().parents[1] / "results"


def machine() -> dict[str, Any]:
    """Return processor, cores and versions."""
    info = Path("/proc/cpuinfo")
    models = (
        [line.split(":")[1].strip() for line in info.read_text().splitlines() if "model name" in line]
        if info.exists()
        else []
    )
    return {"processor": models[0] if models else platform.processor(), "cores": os.cpu_count(), **versions()}


def write(name: str, title: str, rows: list[dict[str, Any]], notes: str = "") -> None:
    """Print the table, and write results/<name>.json and results/<name>.md.

    Parameters
    ----------
    rows : list of dict
        All with the same keys: the columns.
    """
    RESULTS.mkdir(exist_ok=True)
    where = machine()
    content = {"title": title, "notes": notes, "machine": where, "rows": rows}
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    lines = [f"# {title}", "", table(rows), "", notes, "", measured_on(where)]
    text = "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
    print(text)


def measured(name: str) -> list[dict[str, Any]]:
    """Return the rows that results/<name>.json already holds, if they are from this machine and these versions."""
    path = RESULTS / f"{name}.json"
    content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return content["rows"] if content.get("machine") == machine() else []


def table(rows: list[dict[str, Any]]) -> str:
    """Return rows as a Markdown table."""
    columns = list(rows[0])
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(cell(row[column]) for column in columns) + " |" for row in rows]
    return "\n".join(lines)


def measured_on(where: dict[str, Any]) -> str:
    """Return a machine in one sentence."""
    short = ("processor", "cores", "instruction set", "python", "numpy", "xgboost", "lightgbm")
    return "Measured on: " + "; ".join(f"{key} {where[key]}" for key in short) + "."


def cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
