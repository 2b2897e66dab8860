"""Sentences that no generated table shows, against the runs in the result files; see test_words.py."""

from __future__ import annotations

import csv
import json
from itertools import product

import numpy as np
import pandas as pd
import pytest

from claims.accuracy import censored, ensembles, same_settings
from claims.accuracy.plain_call import (
    BESIDE,
    CATBOOST,
    CATBOOST_ORDINAL,
    FIXED,
    NAME,
    PARTITIONS,
    PLAIN,
    of_trainer,
    readme,
)
from claims.decisions import kappa
from claims.report.words import Tables
from lib import report
from lib.set_ratios import GROUPS, NUMBERS, SHARES, log_ratios, rows_of, set_means
from lib.statistics import ratio_interval
from ordinal_objectives import XGBOrdinalClassifier

OURS = {beside: of_trainer(trainer, True)[0] for beside, trainer in BESIDE.items()}


@pytest.fixture(scope="module")
def means():
    return means_of(NAME)


@pytest.fixture(scope="module")
def of_ensembles():
    return means_of(ensembles.NAME)


def means_of(name, group="evaluation", seeds=None):
    rows = [row for row in rows_of(name, group) if seeds is None or int(row["seed"]) in seeds]
    table = pd.DataFrame([row for row in rows if not row["failure"]])
    table[list(NUMBERS)] = table[list(NUMBERS)].astype(float)
    return table.groupby(["method", "data"])[list(NUMBERS)].mean()


def ratio(means, one, other):
    return np.exp(log_ratios(means, one, other)[0])


def test_plain_call_2(means):
    """All three are below the shares of the classes on every set."""
    for ours in OURS.values():
        assert (means.loc[ours] / means.loc[SHARES])[["rps", "log_loss"]].max(axis=None) < 1


def test_plain_call_3(means):
    """No search takes two and a half times as long but LightGBM's on `balance_scale`: with the penalty of few rows it
    needs nearly four times the time there, and RPS is lower by a third."""
    beside = {ours: means.loc[ours] / means.loc[fixed] for fixed, ours in zip(FIXED, PLAIN, strict=True)}
    long = {ours: of.index[of["seconds"] > 2.5].tolist() for ours, of in beside.items()}
    assert {ours: sets for ours, sets in long.items() if sets} == {"LGBMOrdinalClassifier()": ["balance_scale"]}
    there = beside["LGBMOrdinalClassifier()"].loc["balance_scale"]
    assert there["seconds"] == pytest.approx(3.8, abs=0.05)
    assert there["rps"] == pytest.approx(2 / 3, abs=0.01)


def test_plain_call_of_catboost():
    """`CatBoostOrdinalClassifier()` is lower than CatBoost's own call by RPS on 27 sets and by log loss on 29, in .15
    of its time; our other three are lower still on average."""
    means = means_of(NAME, seeds=range(PARTITIONS["evaluation"][CATBOOST]))
    beside = ratio(means, CATBOOST_ORDINAL, CATBOOST)
    assert [(beside[name] < 1).sum() for name in ("rps", "log_loss")] == [27, 29]
    assert np.exp(np.log(beside["seconds"]).mean()) == pytest.approx(0.15, abs=0.005)
    assert all(np.log(ratio(means, one, CATBOOST_ORDINAL)[["rps", "log_loss"]]).mean().lt(0).all() for one in PLAIN)


def test_catboost_with_the_same_settings():
    """Where each stops by its own loss, ours has a lower RPS on 21 sets and a lower log loss on 22, of which 27 each
    were hoped for; with 100 rounds it has so on 20 and 19."""
    means = means_of(same_settings.NAME)
    pairs = zip(same_settings.ORDINAL, same_settings.MULTICLASS, strict=True)
    hundred, stopped = (ratio(means, *pair)[["rps", "log_loss"]] for pair in pairs)
    assert (stopped < 1).sum().tolist() == [21, 22]
    assert (hundred < 1).sum().tolist() == [20, 19]


def test_catboost_with_the_same_settings_2():
    """Then it is also higher on average: `nursery`, `obesity`, `new_thyroid` and `car` are nearly solved, and one score
    needs more rounds for that than one for each class."""
    means = means_of(same_settings.NAME)
    hundred = ratio(means, same_settings.ORDINAL[0], same_settings.MULTICLASS[0])[["rps", "log_loss"]]
    assert np.log(hundred).mean().gt(0).all()
    assert set(hundred["rps"].sort_values().index[-4:]) == {"nursery", "obesity", "new_thyroid", "car"}


def test_readme():
    """Part of the lead is the search for the number of trees: the bagged models of the last row search too."""
    table = Tables({"readme": readme()})
    for loss in ("RPS", "log loss"):
        ratios = table.values("readme", loss, key="beside")
        assert ratios["`XGBClassifier()`"] < list(ratios.values())[-1] < 1


def test_plain_call_4():
    """CatBoost's call has a lower RPS than the native one on seven sets, most of all on `stocks` and `new_thyroid`."""
    means = means_of(NAME, seeds=range(PARTITIONS["evaluation"][CATBOOST]))
    beside = ratio(means, OURS["HistGradientBoostingClassifier()"], CATBOOST)["rps"].dropna().sort_values()
    assert (beside > 1).sum() == 7
    assert set(beside.index[-2:]) == {"stocks", "new_thyroid"}


def test_plain_call_5():
    """On the median set the native one's RPS is lower by five hundredths."""
    means = means_of(NAME, seeds=range(PARTITIONS["evaluation"][CATBOOST]))
    beside = ratio(means, OURS["HistGradientBoostingClassifier()"], CATBOOST)
    assert beside["rps"].median() == pytest.approx(0.95, abs=0.006)


def test_plain_call_6():
    """By absolute error its lead is small: the interval of the mean holds 1, and it is lower on 23 sets of 35."""
    means = means_of(NAME, seeds=range(PARTITIONS["evaluation"][CATBOOST]))
    mae = ratio(means, OURS["HistGradientBoostingClassifier()"], CATBOOST)["mae"].dropna()
    low, high = ratio_interval(mae)
    assert low < 1 < high
    assert ((mae < 1).sum(), len(mae)) == (23, 35)


def test_plain_call_7():
    """One fit of scikit-learn's diverged, on `nursery`: that partition is left out for both."""
    of_pairs = {beside: set_means(rows_of(NAME, "evaluation"), GROUPS["evaluation"])[1].get(beside) for beside in OURS}
    assert of_pairs.pop("HistGradientBoostingClassifier()") == [("nursery", "2")]
    assert not any(of_pairs.values())


def test_confirmation_of_plain_calls():
    """The engine and the classifier of scikit-learn refuse `movielens100k`, one of whose columns has more categories
    than they take."""
    means = means_of(NAME, "confirmation")
    for native in ("HistGradientBoostingClassifier()", "HistGradientBoostingOrdinalClassifier()"):
        assert "movielens100k" not in means.loc[native].index
    failures = {row["failure"] for row in rows_of(NAME, "confirmation") if row["failure"]}
    assert all("cardinality <= 255" in one or "takes at most 254" in one for one in failures)


def test_confirmation_of_sizes():
    """Beside trees of one size LightGBM's is lower by RPS on eleven of the twelve sets, and level on average: on
    `maternal_health`, whose 700 training rows get small trees by default, large ones are better."""
    means = means_of(NAME, "confirmation")
    _, lightgbm, native = (ratio(means, ours, fixed)["rps"].dropna() for fixed, ours in zip(FIXED, PLAIN, strict=True))
    assert ((lightgbm < 1).sum(), len(lightgbm)) == (11, 12)
    assert abs(np.log(lightgbm).mean()) < 0.005 < np.log(native).mean()
    assert lightgbm.idxmax() == native.idxmax() == "maternal_health"


def test_ensembles_1(of_ensembles):
    """The ensemble is lower than one multiclass model by RPS on all sets but three."""
    assert (ratio(of_ensembles, ensembles.DEFAULT, ensembles.ONE)["rps"] >= 1).sum() == 3


def test_ensembles_2(of_ensembles):
    """Beside one native model it is lower by RPS on 22 sets, by little."""
    beside = ratio(of_ensembles, ensembles.DEFAULT, ensembles.PLAIN)["rps"]
    assert (beside < 1).sum() == 22
    assert beside[beside < 1].median() > 0.98


def test_ensembles_3(of_ensembles):
    """It is higher by more than a tenth on `balance_scale` and `nursery`, where the features decide the class:
    there the size of the trees counts for more than an average."""
    beside = ratio(of_ensembles, ensembles.DEFAULT, ensembles.PLAIN)["rps"]
    assert set(beside.index[beside > 1.1]) == {"balance_scale", "nursery"}


@pytest.fixture(scope="module")
def decisions():
    table = pd.DataFrame(report.RunsFile(report.RESULTS / "kappa_runs.csv", kappa.COLUMNS).rows)
    numbers = ["qwk", "tuned", "seconds"]
    table[numbers] = table[numbers].apply(pd.to_numeric)
    return table


def test_kappa_2(decisions):
    """One number that stretches the mean, tuned by labels, is below the closed form by three thousandths on average."""
    means = decisions.groupby(["method", "data"])["qwk"].mean()
    assert (means.loc["stretch"] - means.loc["kappa"]).mean() == pytest.approx(-0.003, abs=0.0005)


def tuned_less_achieved(decisions, method):
    gap = decisions[decisions["method"] == method].eval("tuned - qwk")
    assert len(gap) == 39 * kappa.SEEDS
    return gap


def test_kappa_3(decisions):
    """The kappa of the rows that tuned a rule and that of new rows differ by about four hundredths on average."""
    for rule in kappa.RULES:
        assert 0.035 < tuned_less_achieved(decisions, rule).abs().mean() < 0.045


def test_kappa_4(decisions):
    """For the closed form, whose folds have fewer rows, the former is lower by about a hundredth; for cut points, which
    are chosen by it, it is higher by two."""
    assert tuned_less_achieved(decisions, "kappa").mean() == pytest.approx(-0.01, abs=0.005)
    assert tuned_less_achieved(decisions, "cuts").mean() == pytest.approx(0.02, abs=0.002)


def test_costs_3():
    """So try `cost_matrix` first: it leaves the probabilities as they are."""
    x, y = np.linspace(-1, 1, 60)[:, np.newaxis], np.repeat([0, 1, 2], 20)
    options = {"n_estimators": 3, "n_jobs": 1}
    plain, deciding = (
        XGBOrdinalClassifier(cost_matrix=one, **options) for one in (None, [[0, 1, 2], [9, 0, 1], [9, 9, 0]])
    )
    assert (plain.fit(x, y).predict_proba(x) == deciding.fit(x, y).predict_proba(x)).all()


def test_distributions():
    """Sets that share rows count once, so 22 sets as 16: of these the native one is lower than each rival on 13 or
    more. On average it is lower by four hundredths than the closest two, the quantile forest and XGBoost's 19
    quantiles; the interval beside the latter holds 1."""
    rows = {row["method"]: row for row in distributions_tables()["distributions"]}
    ranks = sorted(rows, key=lambda method: rows[method]["mean rank by CRPS"])
    assert set(ranks[:3]) == {"ours, native", "ours, LightGBM", "ours, XGBoost"}
    rivals = {method: row for method, row in rows.items() if not method.startswith("ours")}
    assert min(row["native lower on"] for row in rivals.values()) == 13
    closest = sorted(rivals, key=lambda method: rivals[method]["crps / native"])[:2]
    assert set(closest) == {"quantile forest", "XGBoost, 19 quantiles"}
    assert [rivals[one]["crps / native"] for one in closest] == pytest.approx([1.04, 1.04], abs=0.005)
    low, high = (float(end) for end in rivals["XGBoost, 19 quantiles"]["of crps: interval"].strip("[]").split(", "))
    assert low < 1 < high
    by_set = {row["data"]: row for row in distributions_tables()["distributions_by_set"]}
    assert len(by_set) == 22
    assert min(by_set["diabetes"][method] for method in rivals) < 1


def test_intervals_of_distributions():
    """On every set with more than 500 rows its intervals of nine tenths hold nearly that share of the rows or more, and
    most where numbers have heaps."""
    with (report.RESULTS / "distributions_runs.csv").open(encoding="utf-8", newline="") as file:
        runs = [row for row in csv.DictReader(file) if row["method"] == "ours, native"]
    few = ("diabetes", "pyrimidines", "triazines", "wisconsin", "machine_cpu", "auto_mpg")
    of_sets = {data: [row for row in runs if row["data"] == data] for data in {row["data"] for row in runs} - {*few}}
    covers = {data: np.mean([float(row["coverage"]) for row in each]) for data, each in of_sets.items()}
    assert len(covers) == 16
    assert all(len(each) == 10 for each in of_sets.values())
    assert min(covers.values()) >= 0.91
    assert set(sorted(covers, key=covers.__getitem__)[-2:]) == {"boston, round prices", "cpu_small, rounded to tens"}


def test_censored_numbers():
    """Without features, the model of censored lives is Turnbull's estimate at every cut, and so that of Kaplan and
    Meier where rows are censored on the right only: with three cuts as with monthly and default ones, and with 1,000
    rows as with 20,000.
    """
    rows = json.loads((report.RESULTS / "censored.json").read_text(encoding="utf-8"))["rows"]
    assert {(row["rows"], row["cuts"]) for row in rows} == set(product(censored.SIZES, censored.CUTS))
    assert len(rows) == len(censored.CENSORING) * len(censored.SIZES) * len(censored.CUTS)
    means = [[row[f"mean difference at {month}"] for month in (3, 6, 12)] for row in rows]
    assert np.abs(means).max() < 0.001
    assert max(row["largest in a draw"] for row in rows) < 0.01


def distributions_tables():
    names = ("distributions", "distributions_by_set")
    return {name: json.loads((report.RESULTS / f"{name}.json").read_text(encoding="utf-8"))["rows"] for name in names}
