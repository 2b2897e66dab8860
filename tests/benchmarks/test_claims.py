"""Small claims: simulated rows are as described, and the scripts count and compare what they say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from claims.accuracy import plain_call
from claims.decisions import prediction_sets
from lib.set_ratios import SHARES, ratios, rows_of

# The simulated rows are what their description says, and the committed result what the pages make of it


# The benchmark of prediction sets counts what it says


def test_the_least_number_is_rare():
    """Of 99 calibration rows, at 0.9, the 90th score is beaten by a beta-distributed share of new rows."""
    draws = np.sort(np.random.default_rng(0).uniform(size=(4_000, 99)), axis=1)[:, 89]
    covered = np.random.default_rng(1).binomial(200, draws)
    assert (covered < prediction_sets.least(0.9, 99, 200)).mean() < 0.004
    assert (covered < prediction_sets.least(0.9, 99, 200) + 10).mean() > 0.004
    assert prediction_sets.least(0.9, 8, 200) == 200  # too few rows: all classes are in every set


def row(case, covered, k=-1, **changes):
    counts = {"class": k, "calibration": 99, "test": 100, "covered": covered}
    return (
        {"data": "a", "seed": 0, "case": case, "stated": 0.9, "n_classes": 3, "size": 2.0, "intervals": True}
        | counts
        | changes
    )


def test_what_is_below_its_promise_is_counted():
    runs = [row("split", 90), row("split", 60), row("cross", 81), row("cross", 79)]
    runs += [row("split, by class", 60), row("split, by class", 60, k=1), row("split, by class", 3, k=2, test=4)]
    runs += [row("cross, by class", 75, k=0), row("cross, by class", 60, k=1, intervals=False)]
    table = {one["sets"]: one for one in prediction_sets.summary(pd.DataFrame(runs))}
    assert {name: (one["cases"], one["below it"]) for name, one in table.items()} == {
        "split": ("2", "1"),
        "split, by class": ("1", "1"),  # of classes alone, and of those with enough rows
        "cross": ("2", "1"),
        "cross, by class": ("2", "1"),
    }
    assert table["cross"]["reached"] == "no"
    assert table["split"]["reached"] == "yes"  # one of two in a thousand: the level says that it is chance
    assert table["cross, by class"]["intervals"] == "not all"
    assert table["split"]["covered"] == "0.750"


# The runs by which the settings of a call without arguments are chosen


@pytest.fixture(scope="module")
def rows():
    return rows_of(plain_call.NAME)


def errors(method, data, seed=0, mae=0.5, log_loss=1.0):
    values = {"mae": mae, "zero_one": 0.5, "rps": 0.5, "log_loss": log_loss, "seconds": 1.0}
    return {"data": data, "seed": seed, "method": method, "failure": ""} | values


def compared_by(ours, theirs):
    sets = {row["data"] for row in ours + theirs}
    shares = [errors(SHARES, data) for data in sets]
    return ratios([*ours, *theirs, *shares], "theirs", ["ours"], sets)[1]


@pytest.mark.parametrize("solved", [0.0, 1e-3])
def test_a_solved_set_leaves_the_mean_and_is_named(solved):
    ours = [errors("ours", "esl", mae=0.4), errors("ours", "car", mae=solved)]
    row = compared_by(ours, [errors("theirs", "esl"), errors("theirs", "car")])
    assert row["mae"].startswith("0.800 ")
    assert row["left out"] == "car by mae"
    assert row["rps"].startswith("1.000 ")


def test_sets_that_share_rows_count_once():
    names = ("cpu_act", "cpu_small", "esl")
    ours = [errors("ours", name, mae=mae) for name, mae in zip(names, (0.25, 1.0, 0.4), strict=True)]
    row = compared_by(ours, [errors("theirs", name) for name in names])
    assert row["sets"] == 2
    assert row["mae"].startswith(f"{0.8**0.5:.3f} ")
    assert "; 1 / 1 / 0, p" in row["mae"]
