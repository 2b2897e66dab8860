"""Notebooks have outputs, and the quickstart is its script in examples.

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


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_stored_and_name_no_machine(path):
    """Nor do they hold warnings, or objects by their place in memory."""
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert len(outputs) >= 5
    assert {output.output_type for output in outputs} <= {"stream", "display_data"}
    for output in outputs:
        assert output.get("name", "stdout") == "stdout"
        text = output.get("text", output.get("data", {}).get("text/markdown", ""))
        assert not OF_A_MACHINE.search(text), text
    assert path.stat().st_size < 300_000


def test_the_quickstart_is_its_script():
    made = MAKE["from_script"](MAKE["QUICKSTART"].read_text(encoding="utf-8"))
    stored = nbformat.read(ROOT / "notebooks" / "quickstart.ipynb", as_version=4)
    assert [(cell.cell_type, cell.source) for cell in stored.cells] == [
        (cell.cell_type, cell.source) for cell in made.cells
    ], "make notebooks"
