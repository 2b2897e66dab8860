"""The tuned comparison: the same settings for all, records of a search, and what its tables say."""

from __future__ import annotations

import numpy as np
import pytest

from claims.accuracy import tuned
from claims.accuracy.tuned import KEYS, SETTINGS, Measure, by_own_decisions, records, searches
from lib.methods import OURS, Fitted
from lib.rivals import CATBOOST, SLOW, TUNED, draw

pytestmark = pytest.mark.slow


def test_a_longer_search_begins_as_a_shorter_one():
    assert draw(3, 15)[:4] == draw(3, 4)
    assert draw(3, 1) != draw(4, 1)
    for setting in draw(0, 200):
        assert 0.02 <= setting["eta"] <= 0.3
        assert 2 <= setting["depth"] <= 8
        assert 2 <= setting["leaf_rows"] <= 50
        assert 0.5 <= setting["rows"] <= 1


def test_a_setting_means_the_same_to_every_library():
    (setting,) = draw(0, 1)
    for name, (_, spelled) in tuned.METHODS.items():
        said = spelled(setting)
        assert said["learning_rate"] == setting["eta"], name
        assert said["depth"] == setting["depth"], name
        if "hgb" not in name:
            assert said["subsample"] == setting["rows"], name


def test_every_method_searches_alike():
    cases = searches()
    assert len({tuple(case.values()) for case in cases}) == len(cases) == (9 * 6 + 2 * 6 + 3) * 3 * SETTINGS
    for methods, sets in ((CATBOOST, tuned.SETS), (SLOW, tuned.SETS[:3])):
        assert {case["data"] for case in cases if case["method"] in methods} == set(sets)


def searched(losses, method=OURS, **changes):
    cases = [dict(zip(KEYS, ("search", "abalone", 0, method, i), strict=True)) for i in range(len(losses))]
    rows = [case | {"loss": loss, "rounds": "7"} | changes for case, loss in zip(cases, losses, strict=True)]
    return cases, rows


def test_records_are_the_best_so_far():
    cases, rows = searched(["0.9", "1.0", "", "0.8", "0.8", "0.7"])
    assert [case["setting"] for case in records(cases, rows)] == [0, 3, 5]
    assert {case["step"] for case in records(cases, rows)} == {"final"}
    assert records(cases, rows[:-1]) == []  # the search is not done


def test_a_record_is_trained_with_the_rounds_of_its_search(monkeypatch):
    calls = []

    def method(train, valid, rounds, n_classes, **drawn):
        calls.append((len(train[1]), valid is None, rounds, drawn["learning_rate"]))
        proba = np.full((133, n_classes), 1 / n_classes)
        return Fitted(lambda X: (proba.argmax(axis=1), proba), loss=0.5, rounds=31)

    monkeypatch.setitem(tuned.METHODS, "fake", (method, TUNED["xgb multiclass"][1]))
    case = dict(zip(KEYS, ("search", "sklearn_diabetes", 0, "fake", 2), strict=True))
    (row,) = Measure([])(case)
    assert (row["loss"], row["rounds"]) == (0.5, 31)
    assert "mae" not in row  # a search does not look at the test rows
    (final,) = Measure([case | row])(case | {"step": "final"})
    eta = draw(0, 3)[2]["eta"]
    assert calls == [(247, False, tuned.ROUNDS, eta), (309, True, 31, eta)]
    assert final["rps"] > 0


def test_each_metric_has_its_own_decision():
    proba = np.array([[0.4, 0.0, 0.3, 0.3]] * 2)  # mode 0, median 2, mean 1.5, rounded down to 1
    scores = by_own_decisions(Fitted(lambda X: (np.array([3, 3]), proba)), None, np.array([2, 1]))
    assert (scores["zero_one"], scores["mae"]) == (1.0, 0.5)
    plain = by_own_decisions(Fitted(lambda X: (np.array([3, 3]), None)), None, np.array([2, 1]))
    assert (plain["zero_one"], plain["mae"]) == (1.0, 1.5)
    assert "rps" not in plain
