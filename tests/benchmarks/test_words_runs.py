"""Sentences that no generated table shows, against the runs in the result files; see test_words.py."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from claims.accuracy import ensembles
from claims.accuracy.plain_call import BESIDE, NAME, of_trainer
from claims.decisions import kappa
from lib import report
from lib.set_ratios import NUMBERS, SHARES, rows_of
from ordinal_objectives import XGBOrdinalClassifier

OURS = {beside: of_trainer(trainer, True)[0] for beside, trainer in BESIDE.items()}


@pytest.fixture(scope="module")
def means():
    return means_of(NAME)


@pytest.fixture(scope="module")
def of_ensembles():
    return means_of(ensembles.NAME)


def means_of(name, group="evaluation"):
    table = pd.DataFrame([row for row in rows_of(name, group) if not row["failure"]])
    table[list(NUMBERS)] = table[list(NUMBERS)].astype(float)
    return table.groupby(["method", "data"])[list(NUMBERS)].mean()


def ratio(means, one, other):
    return (means.loc[one] + 1e-4) / (means.loc[other] + 1e-4)


def test_plain_call_2(means):
    """XGBoost's and the native engine's are below the shares of the classes on every set; LightGBM's is above them on
    one, `diabetes`, by less than a hundredth: few rows, and a class for each of ten levels."""
    for host, ours in OURS.items():
        worse = (means.loc[ours] / means.loc[SHARES])[["rps", "log_loss"]].max(axis=1)
        assert worse[worse > 1].index.tolist() == (["diabetes"] if host == "LGBMClassifier()" else [])
        assert worse.max() < 1.01


def test_plain_call_3(means):
    """XGBoost's takes about as long as `XGBClassifier()` by the mean of logarithms; it is slower on small sets, where
    the search costs most, and faster on large ones."""
    seconds = means["seconds"]
    longer = seconds[OURS["XGBClassifier()"]] / seconds["XGBClassifier()"]
    assert 0.8 < np.exp(np.log(longer).mean()) < 1.25
    short = seconds["XGBClassifier()"].rank(pct=True)
    assert longer[short < 0.25].mean() > 1.5
    assert longer[short > 0.75].mean() < 0.8


def test_confirmation_of_plain_calls():
    """The classifier of scikit-learn refuses `movielens100k`, one of whose columns has more categories than it
    takes."""
    assert "movielens100k" not in means_of(NAME, "confirmation").loc["HistGradientBoostingClassifier()"].index
    failures = {row["failure"] for row in rows_of(NAME, "confirmation") if row["failure"]}
    assert all("cardinality <= 255" in one for one in failures)


def test_ensembles_1(of_ensembles):
    """The ensemble is lower than one multiclass model by RPS and log loss on all sets but `nursery`, and than four of
    them on all but three."""
    one = ratio(of_ensembles, ensembles.DEFAULT, ensembles.ONE)[["rps", "log_loss"]]
    assert one.index[(one >= 1).any(axis=1)].tolist() == ["nursery"]
    four = ratio(of_ensembles, ensembles.DEFAULT, ensembles.RIVAL)[["rps", "log_loss"]]
    assert (four >= 1).any(axis=1).sum() == 3


def test_ensembles_3(of_ensembles):
    """The ensemble is the safer choice where multiclass is ahead of one ordinal model, as on `autos`, `nursery`, `tae`
    and `wine_red`; one ordinal model is enough on the others, and better on `car` and `balance_scale`."""
    ahead = ratio(of_ensembles, ensembles.PLAIN, ensembles.ONE)["rps"]
    helped = ratio(of_ensembles, ensembles.DEFAULT, ensembles.PLAIN)["rps"]
    assert (
        ahead[["autos", "nursery", "tae", "wine_red"]].min() > 1 > helped[["autos", "nursery", "tae", "wine_red"]].max()
    )
    assert (ahead > 1).sum() == 5
    assert helped[["car", "balance_scale"]].min() > 1.1
    assert (helped > 1.1).sum() == 2


@pytest.fixture(scope="module")
def decisions():
    table = pd.DataFrame(report.RunsFile(report.RESULTS / "kappa_runs.csv", kappa.COLUMNS).rows)
    numbers = ["qwk", "expected", "seconds"]
    table[numbers] = table[numbers].apply(pd.to_numeric)
    return table


def test_kappa_2(decisions):
    """One number that stretches the mean is as good as the closed form."""
    means = decisions.groupby(["method", "data"])["qwk"].mean()
    above = means.loc["kappa"] - means.loc["stretch"]
    assert abs(above.mean()) < 0.002
    assert abs((above > 0).sum() - (above < 0).sum()) <= 2


def expected_less_achieved(decisions, method):
    gap = decisions[decisions["method"] == method].eval("expected - qwk")
    assert len(gap) == 39 * kappa.SEEDS
    return gap


def test_kappa_3(decisions):
    """Expected and achieved kappa differ by four to six hundredths on average."""
    for method in ("kappa", "kappa, folds", "kappa, early stopping"):
        assert 0.035 < expected_less_achieved(decisions, method).abs().mean() < 0.06


def test_kappa_4(decisions):
    """With early stopping, whose rows also ended the training, the expected one is higher by about a hundredth; by
    five folds, whose models have fewer rows, it is lower by as much."""
    assert expected_less_achieved(decisions, "kappa, early stopping").mean() == pytest.approx(0.01, abs=0.005)
    assert expected_less_achieved(decisions, "kappa, folds").mean() == pytest.approx(-0.01, abs=0.005)


def test_costs_3():
    """So try `cost_matrix` first: it leaves the probabilities as they are."""
    x, y = np.linspace(-1, 1, 60)[:, np.newaxis], np.repeat([0, 1, 2], 20)
    options = {"n_estimators": 3, "n_jobs": 1}
    plain, deciding = (
        XGBOrdinalClassifier(cost_matrix=one, **options) for one in (None, [[0, 1, 2], [9, 0, 1], [9, 9, 0]])
    )
    assert (plain.fit(x, y).predict_proba(x) == deciding.fit(x, y).predict_proba(x)).all()
