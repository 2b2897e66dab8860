"""Sentences of pages, and the numbers of tables that they are checked against."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from claims.report.tuned_tables import OURS_TUNED
from lib import generated
from lib.generated import Table


def sentences(page: str) -> list[str]:
    """Return the sentences of a page, without links and without what is generated."""
    found = []
    for block in re.split(r"\n\s*\n|\n(?=- )", generated.MARKED.sub("", page)):
        text = re.sub(r"^- (\*\*[^*]*\*\*:? )?", "", re.sub(r"\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])", r"\1", block))
        found += re.split(r"(?<=[.!?])\s+(?=[A-Z`])", " ".join(text.split()))
    return found


def checked(file: Path) -> Iterator[str]:
    """Yield the docstrings of a file's tests."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield " ".join((ast.get_docstring(node) or "").split())


class Tables:
    """Cells of the pages' tables as numbers; a cell is named by a column and by what other columns of its row hold."""

    def __init__(self, tables: Mapping[str, Table]):
        self.tables = tables

    def text(self, name: str, column: str, **where: str) -> str:
        return self.tables[name].cell(column, where)

    def number(self, name: str, column: str, **where: str) -> float:
        """Return the first number of a cell."""
        return float(self.text(name, column, **where).split()[0])

    def counts(self, name: str, column: str, **where: str) -> tuple[int, ...]:
        """Return the sets won, tied and lost."""
        (found,) = re.findall(r"(\d+) / (\d+) / (\d+)", self.text(name, column, **where))
        return tuple(map(int, found))

    def ends(self, name: str, column: str, **where: str) -> tuple[float, float]:
        """Return the ends of an interval."""
        ((low, high),) = re.findall(r"\[(-?[\d.]+), (-?[\d.]+)\]", self.text(name, column, **where))
        return float(low), float(high)

    def holds_1(self, name: str, column: str, **where: str) -> bool:
        low, high = self.ends(name, column, **where)
        return low <= 1 <= high

    def rows(self, name: str, **where: str) -> list[dict[str, Any]]:
        return [row for row in self.tables[name].rows if all(row[key] == value for key, value in where.items())]

    def values(self, name: str, column: str, key: str = "method", **where: str) -> dict[str, float]:
        """Return a column's first numbers by what another column holds."""
        cells = {row[key]: row[column].replace("**", "") for row in self.rows(name, **where)}
        return {of_row: float(cell.split()[0]) for of_row, cell in cells.items() if cell != "-"}

    def first(self, name: str, column: str, **where: str) -> str:
        """Return the method with the lowest value."""
        found = self.values(name, column, **where)
        return min(found, key=lambda method: found[method])

    def goal(self, start: str) -> tuple[str, str]:
        """Return what was found of a goal, and whether it was reached."""
        ((found, reached),) = (
            (row["found"], row["reached"]) for row in self.tables["goals"].rows if row["goal"].startswith(start)
        )
        return found, reached

    def leads(self) -> dict[str, tuple[float, float, str]]:
        """Return our mean rank, that of the best other, and the verdict, by goal."""
        start, found = "lowest mean rank of all methods by ", {}
        for row in self.rows("goals"):
            if row["goal"].startswith(start):
                ((ours, other),) = re.findall(r"^([\d.]+), best other: .*? ([\d.]+);", row["found"])
                found[row["goal"].removeprefix(start)] = float(ours), float(other), row["reached"]
        return found

    def closest(self, metric: str) -> tuple[str, float, tuple[float, float]]:
        """Return the tuned rival with the lowest ratio to ours, the ratio and its interval."""
        ratios = {name: ratio for name, ratio in self.values("tuned", metric).items() if name not in OURS_TUNED}
        rival = min(ratios, key=lambda name: ratios[name])
        return rival, ratios[rival], self.ends("tuned", metric, method=rival)
