"""Notebooks have outputs, which are those of today; the quickstart is its script in examples.

The notebook of the thesis shows the tables of the results: tests/benchmarks/test_evidence.py compares them.
"""

from __future__ import annotations

import re
import runpy

import nbformat
import pytest

from sources import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MAKE = runpy.run_path(str(ROOT / "notebooks" / "make.py"))
OF_A_MACHINE = re.compile(r"(?<![\w:/.])/\w+/\w|/home/|/root/|/tmp/|/Users/|site-packages|\bat 0x|Warning:")
# Trees of other versions of XGBoost differ a little; committed results do not.
TOLERANCE = {"quickstart": 0.1}
each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def texts(cell):
    """Return what a cell prints and shows: text as it is, of pictures that there is one.

    A kernel that waits sends what a cell prints in parts.
    """
    found: list[str] = []
    parts = False
    for output in cell.outputs:
        data = output.get("data", {})
        if output.output_type == "stream" and parts:
            found[-1] += output.text
            continue
        parts = output.output_type == "stream"
        found.append(output.get("text", data.get("text/markdown", "a picture" if "image/png" in data else str(data))))
    return found


@each
def test_outputs_are_stored(path):
    notebook = nbformat.read(path, as_version=4)
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert len(outputs) >= 5
    assert {output.output_type for output in outputs} <= {"stream", "display_data"}
    assert {output.name for output in outputs if output.output_type == "stream"} <= {"stdout"}
    assert not any("execution" in cell.metadata for cell in cells)
    assert path.stat().st_size < 300_000


@each
def test_outputs_name_no_machine(path):
    """Nor do they hold warnings, or objects by their place in memory."""
    for text in (text for cell in code_cells(nbformat.read(path, as_version=4)) for text in texts(cell)):
        assert str(ROOT) not in text
        assert not OF_A_MACHINE.search(text), text


def test_the_quickstart_is_its_script():
    made = MAKE["from_script"](MAKE["QUICKSTART"].read_text(encoding="utf-8"))
    stored = nbformat.read(ROOT / "notebooks" / "quickstart.ipynb", as_version=4)
    assert [(cell.cell_type, cell.source) for cell in stored.cells] == [
        (cell.cell_type, cell.source) for cell in made.cells
    ], "make notebooks"


def test_there_are_notebooks():
    assert {*TOLERANCE, "three_modes", "thesis_experiments"} == {path.stem for path in NOTEBOOKS}
