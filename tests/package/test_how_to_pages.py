"""The pages for contributors name files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs" / "how_to").glob("*.md")), ROOT / "CONTRIBUTING.md"]
FOLDERS = (
    "adapters",
    "benchmarks",
    "docs",
    "examples",
    "histogram_engine",
    "native",
    "ordinal_objectives",
    "tests",
    "threshold_solver",
)


def missing(text):
    """Return the paths in backticks that no file ends in; those of users and of placeholders do not count."""
    there = [str(path.relative_to(ROOT)) for name in FOLDERS for path in (ROOT / name).rglob("*.*")]
    named = re.findall(r"`((?:[\w-]+/)+[\w-]+\.(?:py|hpp|cpp|md))`", text)
    return [name for name in named if not any(f"/{path}".endswith(f"/{name}") for path in there)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_name_files_that_exist(page):
    assert not missing(page.read_text())


def test_a_missing_file_is_found():
    assert missing("`rows/native.py`, `adapters/<name>/`, `rows/gone.py`") == ["rows/gone.py"]
