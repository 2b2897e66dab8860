"""Verdicts in words: calls without arguments.

Each test is a sentence of a page and what it says of the tables; test_words.py looks for sentences without one.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from claims.accuracy.plain_call import BESIDE, NAME, of_trainer
from lib.set_ratios import NUMBERS, SHARES, rows_of

OURS = {beside: of_trainer(trainer, True)[0] for beside, trainer in BESIDE.items()}


@pytest.fixture(scope="module")
def means():
    table = pd.DataFrame(rows_of(NAME, "evaluation"))
    table[list(NUMBERS)] = table[list(NUMBERS)].astype(float)
    return table.groupby(["method", "data"])[list(NUMBERS)].mean()


def test_plain_call_1(means):
    """Each of the three is lower than its host's own by RPS and log loss on nearly all sets, and by all four errors on
    average."""
    for host, ours in OURS.items():
        ratio = np.log(means.loc[ours] + 1e-4) - np.log(means.loc[host] + 1e-4)
        assert (ratio[["rps", "log_loss"]] < 0).mean().min() > 0.9
        assert (ratio[["mae", "zero_one", "rps", "log_loss"]].mean() < 0).all()


def test_plain_call_2(means):
    """XGBoost's and the native engine's are below the shares of the classes on every set; LightGBM's is above them on
    one, `diabetes`, by less than a hundredth: few rows, and a class for each of ten levels."""
    for host, ours in OURS.items():
        ratio = (means.loc[ours] / means.loc[SHARES])[["rps", "log_loss"]].max(axis=1)
        assert ratio[ratio > 1].index.tolist() == (["diabetes"] if host == "LGBMClassifier()" else [])
        assert ratio.max() < 1.01


def test_plain_call_3(means):
    """XGBoost's takes about as long as `XGBClassifier()` by the mean of logarithms; it is slower on small sets, where
    the search costs most, and faster on large ones."""
    seconds = means["seconds"]
    ratio = seconds[OURS["XGBClassifier()"]] / seconds["XGBClassifier()"]
    assert 0.8 < np.exp(np.log(ratio).mean()) < 1.25
    short = seconds["XGBClassifier()"].rank(pct=True)
    assert ratio[short < 0.25].mean() > 1.5
    assert ratio[short > 0.75].mean() < 0.8
