"""The runner of the accuracy benchmark: what it measures, how it chooses, and that it resumes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from claims.accuracy import accuracy
from claims.accuracy.accuracy import cells, judge, tune
from lib.data import SIXTEEN, load
from lib.methods import METHODS, Fitted

pytestmark = pytest.mark.slow


def test_every_partition_of_the_sixteen_sets_is_measured_once():
    found = cells(["sixteen"])
    assert len(set(found)) == len(found)
    for method in METHODS:
        seeds = [cell.seed for cell in found if cell[:3] == ("sixteen", "boston", "quantile") and cell.method == method]
        assert sorted(seeds) == list(range(20))
    large = [cell.seed for cell in found if cell.data == "california" and cell.method == "ogboost"]
    assert sorted(large) == list(range(accuracy.FEW_SEEDS))
    halves = [cell.seed >= 10 for cell in found]
    assert halves == sorted(halves)
    cut = {(cell.data, cell.rule) for cell in found if cell.seed == 19 and cell.method == "native joint"}
    assert {("abalone", "width"), ("california", "width"), ("bank32nh", "rank"), ("census8L", "rank")} <= cut
    assert len(cut) == 2 * len(SIXTEEN)  # by decile, and as the thesis cut them
    with pytest.raises(ValueError, match=r"experiments must be among sixteen, .*confirmation.*; got 'seventeen'"):
        cells(["seventeen"])


def test_the_sets_of_the_confirmation_are_in_no_other_experiment():
    confirmed = {cell.data for cell in cells(["confirmation"])}
    others = cells([name for name in (*accuracy.EXPERIMENTS, *accuracy.APART) if name != "confirmation"])
    assert len(confirmed) == 12
    assert confirmed.isdisjoint(cell.data for cell in others)
    seeds = Counter((cell.data, cell.method) for cell in cells(["confirmation"]))
    assert {n for (_, method), n in seeds.items() if method != "ogboost"} == {10}


def test_settings_and_rounds_are_chosen_on_the_last_fifth_and_used_on_all_rows(monkeypatch):
    calls = []

    def method(train, valid, rounds, n_classes, depth):
        calls.append((len(train[1]), None if valid is None else valid[1].tolist(), rounds, depth))
        return Fitted(None, loss={3: 0.7, 6: 0.5}[depth], rounds=10 * depth)

    monkeypatch.setitem(accuracy.ALL_METHODS, "fake", (method, ({"depth": 3}, {"depth": 6})))
    X, y = load("sklearn_diabetes").X, np.arange(442, dtype=np.int32)
    fitted, setting = tune("fake", (X, y), 442)
    valid = list(range(353, 442))
    assert calls == [(353, valid, 500, 3), (353, valid, 500, 6), (442, None, 60, 6)]
    assert (fitted.rounds, setting) == (60, "depth=6")


def test_scores_of_a_point_forecast_are_those_of_its_classes():
    y, predicted = np.array([0, 1, 2, 2]), np.array([0, 1, 1, 0])
    proba = np.eye(3)[predicted]
    scores = judge(y, predicted, proba)
    assert scores["mae"] == scores["rps"] == 0.75
    assert "rps" not in judge(y, predicted, None)
