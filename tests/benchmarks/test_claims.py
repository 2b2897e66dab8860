"""Small claims: simulated rows are as described, and the scripts count and compare what they say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from claims.accuracy import plain_call, readme_table, shifts_simulated
from claims.accuracy.shifts_simulated import DIFFER, PROPORTIONAL, THETA
from claims.decisions import prediction_sets
from claims.interpretation import dependent_rows
from lib.data import load
from lib.set_ratios import SHARES, of_shares, ratios, rows_of

# The simulated rows are what their description says, and the committed result what the pages make of it


@pytest.mark.parametrize("data", [DIFFER, PROPORTIONAL])
def test_labels_follow_the_margins_which_are_ordered(data):
    X, y, margins = shifts_simulated.sample(data, 20_000, 7)
    assert all(map(np.array_equal, (X, y, margins), shifts_simulated.sample(data, 20_000, 7)))
    assert (np.diff(margins, axis=1) > 0).all()
    shares = np.mean(y[:, None] <= np.arange(len(THETA)), axis=0)
    np.testing.assert_allclose(shares, np.mean(1 / (1 + np.exp(-margins)), axis=0), atol=0.015)


# Rows in clusters, of which the truth is known


def test_rows_of_a_cluster_share_an_effect_that_the_truth_is_averaged_over():
    X, y, cluster = dependent_rows.sample(4_000, 0.3, 5)
    assert (np.ptp(X[:, 0].reshape(4_000, -1), axis=1) == 0.0).all()
    assert cluster.tolist() == np.repeat(np.arange(4_000), dependent_rows.SIZE).tolist()
    proba = dependent_rows.true_proba(X, 0.3)
    np.testing.assert_allclose(np.bincount(y) / len(y), proba.mean(axis=0), atol=0.015)
    of_clusters = ((y > 1) - proba[:, 2:].sum(axis=1)).reshape(4_000, -1)
    between, within = of_clusters.mean(axis=1).var(), of_clusters.var(axis=1).mean()
    assert between > 2 * within / dependent_rows.SIZE  # half as much if rows were independent
    effect = dependent_rows.true_effect(0, 0.3)
    low, high = X - [0.5, 0.0, 0.0], X + [0.5, 0.0, 0.0]
    changes = dependent_rows.true_proba(high, 0.3) - dependent_rows.true_proba(low, 0.3)
    np.testing.assert_allclose(changes.mean(axis=0), effect, atol=0.005)


def test_a_repetition_has_intervals_of_all_quantities_by_rows_and_by_clusters(monkeypatch):
    monkeypatch.setattr(dependent_rows, "MODELS", {"few trees": {"max_iter": 3}})
    monkeypatch.setattr(dependent_rows, "REFITS", 3)
    monkeypatch.setattr(dependent_rows, "DRAWS", 50)
    found = dependent_rows.measure({"model": "few trees", "clusters": 30, "icc": 0.3, "seed": 0})
    table = pd.DataFrame(found).pivot_table("width", "quantity", "by")
    assert sorted(table.index) == sorted([*dependent_rows.FEATURES, *dependent_rows.METRICS])
    assert (table["clusters"] != table["rows"]).all()
    assert table.loc["difference of rps", "clusters"] > table.loc["difference of rps", "rows"]
    truth = {row["quantity"]: row["truth"] for row in found}
    assert truth["effect of x0, of the cluster"] > 0.05
    assert truth["difference of rps"] < 0


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


def test_ratios_are_means_of_logarithms_over_sets(rows):
    few = ratios(rows, "XGBClassifier()", plain_call.of_trainer("XGBoost"), ["mv 50", "thyroid 200"])
    assert few[0]["rps"] == "1"
    named = next(one for one in few if one["method"] == "XGBoost, depth 4")

    def mean(data, method):
        return np.mean([float(r["rps"]) for r in rows if (r["data"], r["method"]) == (data, method)])

    logs = [np.log(mean(data, "XGBoost, depth 4") / mean(data, "XGBClassifier()")) for data in ("mv 50", "thyroid 200")]
    lower = sum(log < 0 for log in logs)
    assert named["rps"].startswith(f"{np.exp(np.mean(logs)):.3f} [")
    assert f"; {np.exp(np.median(logs)):.3f}; {lower} / 0 / {2 - lower}, p " in named["rps"]
    assert named["sets"] == 2


def test_table_of_the_readme_is_measured_on_the_sets_that_are_there(tmp_path, monkeypatch, capsys):
    """With the shares of the classes for every method all errors are equal; the committed runs stand below."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(151, 5))).assign(target=rng.integers(1, 4, 151))
    frame.to_csv(tmp_path / "B_tae.csv.gz", index=False)
    monkeypatch.setenv("ORDINAL_DATA", str(tmp_path))
    monkeypatch.setattr(plain_call, "predicted", lambda _, *rest: of_shares(*rest))
    load.cache_clear()
    readme_table.main(["--runs", str(tmp_path / "runs.csv"), "--partitions", "1"])
    load.cache_clear()
    here, committed = capsys.readouterr().out.split("Committed")
    assert here.startswith("Measured here (sets: 1, partitions of each: 1):")
    assert here.count("1.00 1.00-1.00 (0) | 1.00 1.00-1.00 (0)") == len(readme_table.METHODS)
    assert "1.00 1.00-1.00 (0)" not in committed
    monkeypatch.setenv("ORDINAL_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(SystemExit):
        readme_table.main([])


def errors(method, data, seed=0, mae=0.5, log_loss=1.0, seconds=1.0, machine="1"):
    values = {"mae": mae, "zero_one": 0.5, "rps": 0.5, "log_loss": log_loss, "seconds": seconds}
    return {"data": data, "seed": seed, "method": method, "failure": "", "machine": machine} | values


def compared_by(ours, theirs):
    sets = {row["data"] for row in ours + theirs}
    shares = [errors(SHARES, data) for data in sets]
    return ratios([*ours, *theirs, *shares], "theirs", ["ours"], sets)[1]


def test_seconds_are_compared_where_one_machine_fitted_both():
    theirs = [errors("theirs", "esl", 0), errors("theirs", "esl", 1, seconds=100.0, machine="2")]
    ours = [errors("ours", "esl", 0, seconds=3.0), errors("ours", "esl", 1, seconds=3.0)]
    assert compared_by(ours, theirs)["seconds"] == "3.000 (0)"
    assert compared_by(ours[1:], theirs[1:])["seconds"] == "-"


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


@pytest.mark.parametrize(("diverged", "ratio", "named"), [("theirs", 0.5, True), ("ours", 8.0, False)])
def test_a_diverged_fit_of_the_others_leaves_the_mean_and_is_named(diverged, ratio, named):
    losses = {"ours": [0.5, 0.5, 0.5], "theirs": [1.0, 1.0, 1.0]}
    losses[diverged][2] = 23.0
    ours, theirs = (
        [errors(one, "esl", seed, log_loss=loss) for seed, loss in enumerate(losses[one])] for one in losses
    )
    row = compared_by(ours, theirs)
    assert row["log_loss"].startswith(f"{ratio:.3f} ")
    assert ("partition 2 of esl, where theirs diverged" in row["left out"]) == named
