"""LightGBM on Dask: the page."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("distributed")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how_to" / "dask.md"


@pytest.mark.slow
def test_the_page_runs(forked_workers):
    names = {}
    first, *others = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(first, names)  # our own text
    with names["client"].cluster, names["client"]:
        for block in others:
            exec(block, names)
        model, rows = names["model"], names["valid"][names["features"]]
        assert 0 < model.n_iter_ < 199
        assert model.is_categorical_.tolist() == [False, False, True]
        np.testing.assert_allclose(names["probabilities"].compute(), model.predict_proba(rows.compute()))
        assert 0.4 < names["share_right"] < 1
