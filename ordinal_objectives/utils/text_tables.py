"""Tables of cells that are text already, for print and for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

# Cells by column; the first column names the rows.
Cells = Mapping[str, Sequence[str]]


def as_text(lines: Iterable[str], tables: Iterable[Cells]) -> str:
    """Return lines of text and the tables below them, columns side by side."""
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


def as_html(lines: Iterable[str], tables: Iterable[Cells]) -> str:
    """Return the same in HTML."""
    parts = [f"<p>{'<br>'.join(map(escape, lines))}</p>"]
    for table in tables:
        cells_of = [("th", tuple(table)), *(("td", row) for row in zip(*table.values(), strict=True))]
        rows = [f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in row)}</tr>" for tag, row in cells_of]
        parts.append(f"<table>{''.join(rows)}</table>")
    return "".join(parts)
