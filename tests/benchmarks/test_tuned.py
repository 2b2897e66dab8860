"""The tuned comparison: the same settings for all, records of a search, and what its tables say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from claims.accuracy import tuned
from claims.accuracy.tuned import KEYS, SETTINGS, Measure, by_own_decisions, records, searches
from claims.report import goals, tuned_tables
from lib import report
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


@pytest.mark.parametrize("name", TUNED)
def test_every_rival_runs(name):
    case = dict(zip(KEYS, ("search", "sklearn_diabetes", 0, name, 1), strict=True))
    (row,) = Measure([])(case)
    assert "failure" not in row, row
    (final,) = Measure([case | row])(case | {"step": "final"})
    assert "failure" not in final, final
    assert 0.5 < final["mae"] < 3
    assert ("rps" in final) == ("rounded" not in name)


@pytest.mark.parametrize("name", CATBOOST)
def test_catboost_takes_categories_and_gaps(name):
    pytest.importorskip("catboost")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=300), "b": pd.Categorical(rng.choice(["x", "y", None], size=300))})
    X.loc[:20, "a"] = np.nan
    y = (X["a"].fillna(0) > 0).to_numpy(dtype=np.int32) + (X["b"] == "x").to_numpy(dtype=np.int32)
    method, spelled = CATBOOST[name]
    rows = (X[:200], y[:200]), (X[200:], y[200:])
    fitted = method(*rows, 50, 3, **spelled(draw(0, 1)[0]))
    predicted, _ = fitted.predict(X[200:])
    assert np.isfinite(fitted.loss)
    assert (predicted == y[200:]).mean() > 0.7


@pytest.fixture
def results(tmp_path):
    """Two sets; after four settings ours has fallen from 0.3 to 0.2, and a rival from 0.26 to 0.25, or less on one."""
    path = tmp_path / "tuned_runs.csv"
    store = report.RunsFile(path, tuned.COLUMNS)
    rows = []
    for data, worse in (("abalone", 0.25), ("wine_red", 0.18)):
        of_methods = {OURS: {0: 0.3, 3: 0.2}, "lgbm multiclass": {0: 0.26, 2: worse}, "lgbm rounded": {0: 0.4}}
        for method, found in of_methods.items():
            for setting, loss in found.items():
                row = dict(zip(KEYS, ("final", data, 0, method, setting), strict=True)) | {"n_train": 10}
                rows.append(row | dict.fromkeys(("zero_one", "mae", "qwk"), loss) | {"failure": ""})
                rows[-1] |= {} if method == "lgbm rounded" else {"rps": loss, "log_loss": loss}
    rows.append({**dict(zip(KEYS, ("search", "abalone", 0, OURS, 1), strict=True)), "failure": "no, never"})
    store.add(rows)
    return path


def test_tables_of_the_search(results):
    tables = tuned_tables.tables(results)
    assert tables["tuned MAE"].cell(OURS, {"data": "abalone"}) == "0.2000"
    assert tables["tuned RPS"].cell("lgbm multiclass", {"data": "wine_red"}) == "0.1800"
    assert (
        tables["tuned"].cell("MAE", {"method": "lgbm multiclass"}) == "1.061 [0.132, 8.550], 1.061 (1 / 0 / 1; 1.000)"
    )  # sqrt(1.25 * 0.9)
    assert tables["tuned"].cell("RPS", {"method": "lgbm rounded"}) == "-"
    curve = tables["tuned curve"]
    assert curve.cell("after 1", {"metric": "MAE", "method": OURS}) == "1.500"
    assert curve.cell("after 4", {"metric": "MAE", "method": OURS}) == "1.000"
    assert curve.cell("after 2", {"metric": "MAE", "method": "lgbm multiclass"}) == "1.300"
    assert tables["tuned failures"].rows == [
        {"method": OURS, "data": "abalone", "settings": "1", "reasons": "no, never"}
    ]
    assert tuned_tables.draw(results) is not None
    assert tuned_tables.draw(results.with_name("none.csv")) is None


def test_the_goal_names_the_closest_rival_and_where_it_is_ahead(results):
    (rps, mae) = goals.tuned_goals(tuned_tables.read(results))
    assert (
        rps[1]
        == "lowest: lgbm multiclass 1.061 [0.132, 8.550] on 2 of 6 sets; ahead on wine_red (lgbm multiclass 0.900)"
    )
    assert mae[2] == goals.NOT_YET  # four sets are missing
