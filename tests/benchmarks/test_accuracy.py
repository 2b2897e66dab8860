"""The runner of the accuracy benchmark: what it measures, how it chooses, and that it resumes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from claims.accuracy import accuracy
from claims.accuracy.accuracy import cells, tune
from lib.data import load
from lib.methods import Fitted

pytestmark = pytest.mark.slow


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
