"""Make the notebooks: the quickstart from its script in examples, and the stored outputs of both.

make notebooks
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent
QUICKSTART = FOLDER.parent / "examples" / "quickstart.py"
METADATA = {
    "kernelspec": {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}


def from_script(text: str) -> Any:
    """Return an example as a notebook without outputs: its docstring, and its cells of comment and code.

    Of reStructuredText the examples use what Markdown has too, and links, which are written anew.
    """
    docstring = ast.get_docstring(ast.parse(text)) or ""
    first, *cells = re.split(
        r"^# %%\n", text.split('"""', 2)[2], flags=re.MULTILINE
    )
    notebook = nbformat.v4.new_notebook(metadata=METADATA)
    for words, code in [(docstring, first), *map(words_and_code, cells)]:
        words = re.sub(r"`([^`<]+) <([^>]+)>`_", r"[\1](\2)", words)
        notebook.cells += (
            [nbformat.v4.new_markdown_cell(words.strip())]
            if words.strip()
            else []
        )
        notebook.cells += (
            [nbformat.v4.new_code_cell(code.strip())] if code.strip() else []
        )
    for i, cell in enumerate(notebook.cells):
        cell.id = f"cell-{i:02}"
    return notebook


def words_and_code(cell: str) -> tuple[str, str]:
    """Return the comment that a cell begins with, without its marks, and the rest."""
    lines = cell.splitlines()
    n = next(
        (i for i, line in enumerate(lines) if not line.startswith("#")),
        len(lines),
    )
    return "\n".join(line[2:] for line in lines[:n]), "\n".join(lines[n:])


def execute(notebook: Any) -> Any:
    """Run a notebook in its folder and return it with its outputs, without times and versions."""
    place = {"metadata": {"path": str(FOLDER)}}
    notebook = NotebookClient(
        notebook,
        timeout=300,
        startup_timeout=300,
        kernel_name="python3",
        resources=place,
        record_timing=False,
    ).execute()
    notebook.metadata = nbformat.from_dict(METADATA)
    return notebook


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.ipynb")):
        is_script = path.stem == QUICKSTART.stem
        notebook = (
            from_script(QUICKSTART.read_text(encoding="utf-8"))
            if is_script
            else nbformat.read(path, as_version=4)
        )
        nbformat.write(execute(notebook), path)
        print(path.relative_to(FOLDER.parent))
