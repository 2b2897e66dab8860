"""Tables of cells that are text already, for print and for notebooks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from html import escape

# Cells by column; the first column names the rows.
Cells = Mapping[str, Sequence[str]]


class Printed(ABC):
    """Lines and tables: printed they are text, in a notebook HTML."""

    @abstractmethod
    def _lines(self) -> Iterable[str]:
        """Return the lines above the tables."""

    @abstractmethod
    def _tables(self) -> Iterable[Cells]:
        """Return the cells of each table by column."""

    def __str__(self) -> str:
        return _as_text(self._lines(), self._tables())

    def _repr_html_(self) -> str:
        return _as_html(self._lines(), self._tables())


def _as_text(lines: Iterable[str], tables: Iterable[Cells]) -> str:
    parts = ["\n".join(lines)]
    for table in tables:
        columns = [[name, *cells] for name, cells in table.items()]
        widths = [max(map(len, column)) for column in columns]
        columns = [
            [cell.rjust(width) if number else cell.ljust(width) for cell in column]
            for number, (column, width) in enumerate(zip(columns, widths, strict=True))
        ]
        parts.append("\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True)))
    return "\n\n".join(parts)


def _as_html(lines: Iterable[str], tables: Iterable[Cells]) -> str:
    parts = [f"<p>{'<br>'.join(map(escape, lines))}</p>"]
    for table in tables:
        cells_of = [("th", tuple(table)), *(("td", row) for row in zip(*table.values(), strict=True))]
        rows = [f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in row)}</tr>" for tag, row in cells_of]
        parts.append(f"<table>{''.join(rows)}</table>")
    return "".join(parts)
