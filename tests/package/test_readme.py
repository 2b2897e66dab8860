"""The README's examples run, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

README = Path(__file__).resolve().parents[2] / "README.md"


def test_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) >= 3
    names: dict = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)  # our own text
    assert (tmp_path / "ordinal.json").exists()
    assert (tmp_path / "ordinal.txt").exists()
    assert np.isin(names["model"].predict(names["X"]), names["names"]).all()


def test_links_lead_somewhere():
    for document in (README, *sorted((README.parent / "docs").glob("*.md"))):
        for target in re.findall(r"\]\((?!http)([^)#]+)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
