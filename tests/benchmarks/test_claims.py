"""Small claims: simulated rows are as described, and the scripts count and compare what they say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from claims.accuracy import artificial, censored, distributions, plain_call, readme_table, shifts_simulated
from claims.accuracy.shifts_simulated import DIFFER, PROPORTIONAL, THETA
from claims.decisions import prediction_sets, recalibration
from lib.data import load
from lib.set_ratios import SHARES, of_shares, ratios, rows_of
from ordinal_objectives.metrics import ranked_probability_score


@pytest.mark.parametrize("name", artificial.SETS)
def test_samples_repeat_and_have_three_ranks(name):
    X, truth, observed = artificial.SETS[name](3_000, 7)
    again = artificial.SETS[name](3_000, 7)
    assert all(np.array_equal(one, other) for one, other in zip((X, truth, observed), again, strict=True))
    assert X.shape == (3_000, 2)
    assert set(observed) == set(truth) == {0, 1, 2}
    assert np.bincount(truth).min() > 500


def test_noise_moves_half_of_the_nearest_tenth():
    X, truth, observed = artificial.noisy_boundaries(20_000, 3)
    moved = observed != truth
    distance = np.abs(X[:, 1] - np.sin(2 * X[:, 0]) - artificial.CUTS[:, None])
    assert moved.sum() == pytest.approx(1_000, abs=4 * np.sqrt(2_000) / 2)
    assert distance.min(axis=0)[moved].max() <= np.sort(distance.min(axis=0))[2_000]
    assert np.abs(observed - truth)[moved].max() == 1
    between = np.maximum(observed, truth)[moved] - 1  # the boundary between the two ranks
    assert np.array_equal(between, distance.argmin(axis=0)[moved])


def test_split_keeps_train_and_test_apart():
    (X, truth, y), (X_test, truth_test, y_test) = artificial.split("smooth boundaries", 2_000, seed=0)
    assert len(X) == len(truth) == len(y) == 2_000
    assert len(X_test) == len(truth_test) == len(y_test) == artificial.N_TEST
    assert not set(X[:, 0]) & set(X_test[:, 0])


# The simulated rows are what their description says, and the committed result what the pages make of it


@pytest.mark.parametrize("data", [DIFFER, PROPORTIONAL])
def test_labels_follow_the_margins_which_are_ordered(data):
    X, y, margins = shifts_simulated.sample(data, 20_000, 7)
    assert all(map(np.array_equal, (X, y, margins), shifts_simulated.sample(data, 20_000, 7)))
    assert (np.diff(margins, axis=1) > 0).all()
    shares = np.mean(y[:, None] <= np.arange(len(THETA)), axis=0)
    np.testing.assert_allclose(shares, np.mean(1 / (1 + np.exp(-margins)), axis=0), atol=0.015)


def test_only_effects_that_differ_have_shifts():
    X, _, margins = shifts_simulated.sample(DIFFER, 20_000, 7)
    shifts = shifts_simulated.shifts_of(margins)
    np.testing.assert_allclose(shifts.sum(axis=1), 0.0, atol=1e-12)
    # x2 moves the lowest threshold by 1.2 tanh(x2), three quarters of it against the others' mean; x3 spreads evenly.
    expected = np.tanh(X[:, [2]]) * [0.9, -0.3, -0.3, -0.3] + np.tanh(X[:, [3]]) * np.linspace(-0.8, 0.8, 4)
    np.testing.assert_allclose(shifts, expected - expected.mean(axis=0), atol=1e-12)
    _, _, proportional = shifts_simulated.sample(PROPORTIONAL, 20_000, 7)
    np.testing.assert_allclose(shifts_simulated.shifts_of(proportional), 0.0, atol=1e-12)


@pytest.mark.slow
def test_pictures_are_drawn():
    family = shifts_simulated.draw_family()
    assert len(family.axes) == 6
    assert all(len(axis.lines) == 2 * len(THETA) for axis in family.axes)
    assert shifts_simulated.draw_display().axes


# The benchmark of recalibration compares a classifier with itself


def test_a_partition_is_measured(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.digitize(X[:, 0] + rng.logistic(size=300), [-1, 1]).astype(np.int32) * 2  # codes 1 and 3 lack rows
    monkeypatch.setattr(recalibration, "rows_of", lambda data, seed: (X, y, np.arange(200), np.arange(200, 300), 6))
    monkeypatch.setattr(recalibration, "CLASSIFIERS", {"linear": lambda n_classes, seed: LogisticRegression()})
    runs = pd.DataFrame(recalibration.measure("made", 0))
    assert len(runs) == 4
    P = np.zeros((100, 6))
    P[:, [0, 2, 4]] = LogisticRegression().fit(X[:200], y[:200]).predict_proba(X[200:])
    expected = ranked_probability_score(y[200:], P, labels=range(6))
    np.testing.assert_allclose(runs["plain rps"], expected)
    assert (runs["rps"] != runs["plain rps"]).all()


def test_ratios_are_means_of_sets():
    shared = {"classifier": "one", "few": False, "method": "sigmoid", "seed": 0}
    runs = [
        shared
        | {"data": data}
        | dict.fromkeys(recalibration.LOSSES, value)
        | {f"plain {loss}": 1.0 for loss in recalibration.LOSSES}
        for data, value in (("a", 0.5), ("a", 0.5), ("b", 2.0))
    ]
    (row,) = recalibration.summary(pd.DataFrame(runs))
    assert row["rps"] == "1.000 (1 of 2)"
    assert row["rows to train on"] == "all"


# The benchmark of prediction sets counts what it says


def test_intervals_begin_once():
    assert prediction_sets.are_intervals(np.array([[True, True, False], [False, True, True], [False, True, False]]))
    assert not prediction_sets.are_intervals(np.array([[True, True, False], [True, False, True]]))
    assert not prediction_sets.are_intervals(np.array([[False, False, False]]))


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


def test_grown_scores_follow_the_more_probable_neighbour():
    np.testing.assert_allclose(prediction_sets.grown(np.array([[0.1, 0.2, 0.4, 0.3]])), [[0.9, 0.7, 0.0, 0.4]])


@pytest.mark.filterwarnings("ignore:For alpha=")
def test_a_partition_of_prediction_sets_is_measured(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.digitize(X[:, 0] + rng.logistic(size=300), [-1, 1]).astype(np.int32)
    monkeypatch.setattr(prediction_sets, "rows_of", lambda data, seed: (X, y, np.arange(200), np.arange(200, 300), 3))
    runs = pd.DataFrame(prediction_sets.measure("made", 0))
    assert len(runs) == len(prediction_sets.CASES) * len(prediction_sets.ALPHAS) * 4
    whole = runs[runs["class"] < 0]
    of_classes = runs[runs["class"] >= 0].groupby(["case", "stated"])[["covered", "test"]].sum()
    np.testing.assert_array_equal(whole.groupby(["case", "stated"])[["covered", "test"]].sum(), of_classes)
    assert runs["intervals"].all()
    split = whole[whole["case"] == "split"]
    assert split["calibration"].unique().tolist() == [50]
    assert split.sort_values("stated")["size"].is_monotonic_increasing
    assert len(prediction_sets.compare_scores("made", 0)) == 4
    assert len(prediction_sets.summary(runs)) == 12
    assert list(prediction_sets.by_data(runs)[0]) == ["data", "K", *prediction_sets.CASES]


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


@pytest.mark.parametrize(("n_rows", "leaf"), [(40, 1), (500, 10), (5000, 20)])
def test_leaves_follow_the_rows(n_rows, leaf):
    assert plain_call._leaf({"min_child_samples": 50}, n_rows) == {"min_child_samples": leaf}
    assert plain_call._leaf({"max_depth": 4}, n_rows) == {"max_depth": 4}


@pytest.mark.parametrize(
    "method",
    ["native, leaf n/20", "LGBMOrdinalClassifier()", "class shares"],
)
def test_a_setting_predicts_every_class(method):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=list("abc"))
    y = np.digitize(X["a"], [-0.5, 0.5]).astype(np.int32)
    proba, found = plain_call.predicted(method, (X, y), X[:5], 4)
    assert proba.shape == (5, 4)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert found > 0 or method == "class shares"


INSTALLED = [method for method in distributions.METHODS if not method.startswith(("CatBoost", "NGBoost", "quantile f"))]


@pytest.mark.parametrize("method", INSTALLED)
def test_a_method_of_distributions_predicts_quantiles_and_means(method, monkeypatch):
    monkeypatch.setattr(distributions, "MOST", 5)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=150)
    quantiles, mean = distributions.METHODS[method](X[:100], y[:100], X[100:], 0)
    assert quantiles.shape == (50, 99)
    assert mean.shape == (50,)
    assert (np.diff(quantiles, axis=1) >= 0).all()
    assert np.corrcoef(mean, X[100:, 0])[0, 1] > 0.5


@pytest.mark.parametrize("censoring", censored.CENSORING)
def test_censored_lives_are_drawn_and_estimated(censoring):
    draw, estimate = censored.CENSORING[censoring]
    lower, upper = draw(np.random.default_rng(0), 4000)
    assert (lower <= upper).all()
    assert (np.isinf(lower) | np.isinf(upper)).any()
    np.testing.assert_allclose(estimate(lower, upper), np.exp(-censored.AT / censored.MEAN), atol=0.05)
    rows = censored.measure({"censoring": censoring, "rows": 1000, "seed": 0})
    assert max(abs(row["predicted"] - row["estimate"]) for row in rows) < 0.01
