"""The gallery draws what it shows."""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib.image
import pytest

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_page_draws_its_pictures(tmp_path):
    drawn = runpy.run_path(str(GALLERY / "draw.py"))["draw"](tmp_path)
    assert len(drawn) == 9
    assert {path.name for path in drawn} == {path.name for path in GALLERY.glob("*.png")}
    for path in drawn:
        picture, committed = matplotlib.image.imread(path), matplotlib.image.imread(GALLERY / path.name)
        assert picture.std() > 0.05
        assert abs(picture.mean() - committed.mean()) < 0.05  # libraries of other versions draw other pixels
