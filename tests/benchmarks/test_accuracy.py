"""The runner of the accuracy benchmark: what it measures, how it chooses, and that it resumes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from claims.accuracy import accuracy
from claims.accuracy.accuracy import RULES, Cell, cells, judge, left, measure, tune
from lib.data import PUBLISHED_SETS, SIXTEEN, load
from lib.methods import METHODS, OURS, Fitted

pytestmark = pytest.mark.slow

RUNNER = Path(accuracy.__file__)


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


def test_a_refit_keeps_what_the_library_chose_by_itself():
    asked = []

    def method(train, valid, rounds, n_classes, **setting):
        asked.append(setting)
        return Fitted(None, loss=1.0, rounds=7, chosen={} if valid is None else {"learning_rate": 0.25})

    family = {"one": (method, ({"depth": 3}, {"depth": 6}))}
    tune("one", (pd.DataFrame({"x": range(10)}), np.arange(10) % 2), 2, family)
    assert asked == [{"depth": 3}, {"depth": 6}, {"depth": 3, "learning_rate": 0.25}]


def test_sets_with_published_errors_have_thirty_partitions():
    of_ours = [cell for cell in cells(["ordinal"]) if cell.method == OURS]
    assert {cell.data for cell in of_ours if cell.seed == 29} == set(PUBLISHED_SETS)
    assert len({cell for cell in of_ours if cell.data == "skillcraft"}) == 10


def test_what_has_no_decisions_yet_is_measured_for_them_alone():
    def row(cell):
        return {key: str(value) for key, value in cell._asdict().items()}

    peer, plain = (Cell("sixteen", "boston", "quantile", 3, method) for method in ("XGBOrdinal", "xgb rounded"))
    of_decisions = peer._replace(experiment="sixteen decisions")
    assert left([peer, plain], []) == [peer, plain]
    assert left([peer, plain], [row(peer), row(plain)]) == [of_decisions]
    decided = row(of_decisions._replace(method="XGBOrdinal, median"))
    assert left([peer, plain], [row(peer), row(plain), decided]) == []


def test_a_cell_of_decisions_leaves_the_row_that_is_there_alone():
    base = Cell("sixteen", "sklearn_diabetes", "quantile", 0, "xgb multiclass")
    rows = measure(base)
    alone = measure(base._replace(experiment="sixteen decisions"))
    assert [row["method"] for row in rows[1:]] == [row["method"] for row in alone]
    assert [row["zero_one"] for row in rows[1:]] == [row["zero_one"] for row in alone]
    assert rows[0]["zero_one"] == rows[2]["zero_one"]  # multiclass answers with the mode


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


def test_a_row_has_what_can_be_measured():
    (row,) = measure(Cell("ablation", "sklearn_diabetes", "quantile", 0, "xgb rounded"))
    assert set(row) | {"failure", "rps", "log_loss"} == set(accuracy.COLUMNS)
    assert not {"failure", "rps"} & set(row)
    rows = measure(Cell("sixteen", "sklearn_diabetes", "quantile", 0, "ordinal"))
    assert [row["method"] for row in rows] == ["ordinal", "ordinal, median", "ordinal, mode", "ordinal, mean"]
    assert rows[0]["mae"] == rows[1]["mae"]  # the default rule is the median
    assert {row["experiment"] for row in rows[1:]} == {"sixteen decisions"}


def test_a_method_that_raises_leaves_its_reason(monkeypatch):
    def method(*_, **__):
        raise RuntimeError("too\nbad")

    monkeypatch.setitem(accuracy.ALL_METHODS, "fake", (method, ({},)))
    (row,) = measure(Cell("ablation", "sklearn_diabetes", "quantile", 0, "fake"))
    assert row["failure"] == "RuntimeError: too bad"
    assert "mae" not in row
    rows = measure(Cell("sixteen", "sklearn_diabetes", "quantile", 0, "fake"))
    assert [row["method"] for row in rows] == ["fake", *(f"fake, {rule}" for rule in RULES)]
    assert {row["failure"] for row in rows} == {"RuntimeError: too bad"}


def test_scores_of_a_point_forecast_are_those_of_its_classes():
    y, predicted = np.array([0, 1, 2, 2]), np.array([0, 1, 1, 0])
    proba = np.eye(3)[predicted]
    scores = judge(y, predicted, proba)
    assert scores["mae"] == scores["rps"] == 0.75
    assert "rps" not in judge(y, predicted, None)
