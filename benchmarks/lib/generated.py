"""Results inside pages: what stands between two marks is written from the result files, never by hand.

<!-- generated: NAME -->                        a table with its note
<!-- end -->

in <!-- generated: NAME; COLUMN; KEY=VALUE -->31<!-- end --> rounds        a cell of one

A cell's mark must not begin a line, which Markdown would take for HTML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lib import method_names, report

MARKED = re.compile(r"(<!-- generated: ([^>]*?) -->)(.*?)(<!-- end -->)", re.DOTALL)
# An interval, and sets won, tied and lost: a table on the site does not break a line inside one.
UNBROKEN = re.compile(r"\[-?[\d.]+, -?[\d.]+\]|\d+ / \d+ / \d+")
PENDING = "No results yet."


@dataclass(frozen=True)
class Table:
    """Rows with the same keys, and what must be said beside them; Markdown has the readable names of methods."""

    rows: list[dict[str, Any]]
    note: str = ""

    def markdown(self) -> str:
        if not self.rows:
            return self.note or PENDING
        table = UNBROKEN.sub(lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), report.table(self.rows))
        return method_names.readable("\n\n".join(part for part in (table, self.note) if part))

    def cell(self, column: str, where: Mapping[str, str]) -> str:
        """Return the only cell of a column whose row has the given values."""
        found = [row for row in self.rows if all(_plain(row.get(key)) == value for key, value in where.items())]
        if len(found) != 1 or column not in found[0]:
            raise ValueError(f"column {column!r} where {dict(where)} must name one cell; {len(found)} rows match")
        return _plain(found[0][column])


def result_tables(folder: Path = report.RESULTS) -> dict[str, Table]:
    """Return the tables that :func:`report.write` has written, by the file's name without its ending."""
    contents = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    return {
        name: Table(content["rows"], f"{content.get('notes', '')}\n\n{report.measured_on(content['machine'])}".strip())
        for name, content in contents.items()
        if isinstance(content, dict) and "rows" in content
    }


def fill(text: str, tables: Mapping[str, Table]) -> str:
    """Return a page with everything between marks written anew."""

    def write(match: re.Match[str]) -> str:
        start, request, _, end = match.groups()
        name, *cell = (part.strip() for part in request.split(";"))
        if name not in tables:
            raise ValueError(f"no table is called {name!r}; there are {', '.join(tables)}")
        if not cell:
            return f"{start}\n\n{tables[name].markdown()}\n\n{end}"
        column, *where = cell
        return start + tables[name].cell(column, dict(part.split("=", 1) for part in where)) + end

    return MARKED.sub(write, text)


def _plain(value: Any) -> str:
    return report.cell(value).replace("**", "")
