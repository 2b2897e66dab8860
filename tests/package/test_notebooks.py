"""The notebook of the quickstart is its script in examples.

The notebook of the thesis shows the tables of the results: tests/benchmarks/test_evidence.py compares them.
"""

from __future__ import annotations

import runpy

import nbformat

from sources import ROOT

MAKE = runpy.run_path(str(ROOT / "notebooks" / "make.py"))


def test_the_quickstart_is_its_script():
    made = MAKE["from_script"](MAKE["QUICKSTART"].read_text(encoding="utf-8"))
    stored = nbformat.read(ROOT / "notebooks" / "quickstart.ipynb", as_version=4)
    assert [(cell.cell_type, cell.source) for cell in stored.cells] == [
        (cell.cell_type, cell.source) for cell in made.cells
    ], "make notebooks"
