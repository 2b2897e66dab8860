"""The glossary names what there is, and its formulas are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from ordinal_objectives import HistGradientBoostingOrdinalClassifier
from ordinal_objectives.losses import LOSSES, get_loss
from ordinal_objectives.spec import THRESHOLD_UPDATES

GLOSSARY = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text()
# Our own column; the others quote other programs.
OURS = [row.split("|")[1:3] for row in GLOSSARY.splitlines() if row.startswith("|")]


def test_methods_and_attributes_exist():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = HistGradientBoostingOrdinalClassifier(max_iter=2, min_samples_leaf=5).fit(X, np.arange(60) % 3)
    named = {name for row in OURS for name in re.findall(r"`(predict_\w+|\w+_)`", " ".join(row))}
    assert len(named) > 5
    assert not [name for name in named if not hasattr(model, name)]


def test_losses_and_updates_exist():
    losses = re.findall(r'`loss="(\w+)"`', " ".join(row[0] for row in OURS))
    assert sorted(losses) == sorted(LOSSES)
    assert [get_loss(name).name for name in losses] == losses
    updates = next(row[1] for row in OURS if row[0].strip() == "threshold update")
    assert sorted(re.findall(r'"(\w+)"', updates)) == sorted(THRESHOLD_UPDATES)


@pytest.mark.parametrize("link", ["cloglog", "loglog"])
def test_formulas_of_the_links(link):
    row = next(row for row in OURS if row[0].strip() == f'`"{link}"`')
    formula = re.search(r"G\(x\) = (.*?)(:|$)", row[1].strip())
    assert formula is not None
    x = np.linspace(-3, 2, 7)
    expected = eval(formula[1], {"exp": np.exp, "x": x})  # our own page
    np.testing.assert_allclose(get_loss("all_threshold", link).link.inverse(x), expected)
