"""The benchmark of prediction sets counts what it says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from claims.decisions import prediction_sets as claim


def test_intervals_begin_once():
    assert claim.are_intervals(np.array([[True, True, False], [False, True, True], [False, True, False]]))
    assert not claim.are_intervals(np.array([[True, True, False], [True, False, True]]))
    assert not claim.are_intervals(np.array([[False, False, False]]))


def test_the_least_number_is_rare():
    """Of 99 calibration rows, at 0.9, the 90th score is beaten by a beta-distributed share of new rows."""
    draws = np.sort(np.random.default_rng(0).uniform(size=(4_000, 99)), axis=1)[:, 89]
    covered = np.random.default_rng(1).binomial(200, draws)
    assert (covered < claim.least(0.9, 99, 200)).mean() < 0.004
    assert (covered < claim.least(0.9, 99, 200) + 10).mean() > 0.004
    assert claim.least(0.9, 8, 200) == 200  # too few rows: all classes are in every set


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
    table = {one["sets"]: one for one in claim.summary(pd.DataFrame(runs))}
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


def test_grown_scores_follow_the_more_probable_neighbour():
    np.testing.assert_allclose(claim.grown(np.array([[0.1, 0.2, 0.4, 0.3]])), [[0.9, 0.7, 0.0, 0.4]])


@pytest.mark.filterwarnings("ignore:For alpha=")
def test_a_partition_is_measured(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.digitize(X[:, 0] + rng.logistic(size=300), [-1, 1]).astype(np.int32)
    monkeypatch.setattr(claim, "rows_of", lambda data, seed: (X, y, np.arange(200), np.arange(200, 300), 3))
    runs = pd.DataFrame(claim.measure("made", 0))
    assert len(runs) == len(claim.CASES) * len(claim.ALPHAS) * 4
    whole = runs[runs["class"] < 0]
    of_classes = runs[runs["class"] >= 0].groupby(["case", "stated"])[["covered", "test"]].sum()
    np.testing.assert_array_equal(whole.groupby(["case", "stated"])[["covered", "test"]].sum(), of_classes)
    assert runs["intervals"].all()
    split = whole[whole["case"] == "split"]
    assert split["calibration"].unique().tolist() == [50]
    assert split.sort_values("stated")["size"].is_monotonic_increasing
    assert len(claim.compare_scores("made", 0)) == 4
    assert len(claim.summary(runs)) == 12
    assert list(claim.by_data(runs)[0]) == ["data", "K", *claim.CASES]
