"""Verdicts in words: calls without arguments.

Each test is a sentence of a page and what it says of the tables; test_words.py looks for sentences without one.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from claims.accuracy import ensembles
from claims.accuracy.plain_call import BESIDE, NAME, of_trainer
from lib import report
from lib.set_ratios import NUMBERS, SHARES, rows_of

OURS = {beside: of_trainer(trainer, True)[0] for beside, trainer in BESIDE.items()}


@pytest.fixture(scope="module")
def means():
    return means_of(NAME)


@pytest.fixture(scope="module")
def of_ensembles():
    return means_of(ensembles.NAME)


@pytest.fixture(scope="module")
def kept_aside():
    return means_of(NAME, "confirmation")


def means_of(name, group="evaluation"):
    table = pd.DataFrame([row for row in rows_of(name, group) if not row["failure"]])
    table[list(NUMBERS)] = table[list(NUMBERS)].astype(float)
    return table.groupby(["method", "data"])[list(NUMBERS)].mean()


def ratio(means, one, other):
    return (means.loc[one] + 1e-4) / (means.loc[other] + 1e-4)


def test_plain_call_1(means):
    """Each of the three is lower than its host's own by RPS and log loss on nearly all sets, and by all four errors on
    average."""
    for host, ours in OURS.items():
        logs = np.log(ratio(means, ours, host))
        assert (logs[["rps", "log_loss"]] < 0).mean().min() > 0.9
        assert (logs[["mae", "zero_one", "rps", "log_loss"]].mean() < 0).all()


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


def test_confirmation_of_plain_calls_1(kept_aside):
    """It came out as expected: each is lower than its host's own by RPS and log loss on average, and none is above the
    class shares."""
    for host, ours in OURS.items():
        assert (np.log(ratio(kept_aside, ours, host))[["rps", "log_loss"]].mean() < 0).all()
        above = kept_aside.loc[ours] > kept_aside.loc[SHARES].loc[kept_aside.loc[ours].index]
        assert not above[["rps", "log_loss"]].any(axis=None)


def test_confirmation_of_plain_calls_2(kept_aside):
    """By absolute error XGBoost's is level with its host's own."""
    assert abs(np.log(ratio(kept_aside, OURS["XGBClassifier()"], "XGBClassifier()"))["mae"].mean()) < 0.01


def test_confirmation_of_plain_calls_3(kept_aside):
    """The classifier of scikit-learn refuses `movielens100k`, one of whose columns has more categories than it
    takes."""
    assert "movielens100k" not in kept_aside.loc["HistGradientBoostingClassifier()"].index
    failures = {row["failure"] for row in rows_of(NAME, "confirmation") if row["failure"]}
    assert all("cardinality <= 255" in one for one in failures)


def test_ensembles_1(of_ensembles):
    """The ensemble is lower than one multiclass model by RPS and log loss on all sets but `nursery`, and than four of
    them on all but three."""
    one = ratio(of_ensembles, ensembles.DEFAULT, ensembles.ONE)[["rps", "log_loss"]]
    assert one.index[(one >= 1).any(axis=1)].tolist() == ["nursery"]
    four = ratio(of_ensembles, ensembles.DEFAULT, ensembles.RIVAL)[["rps", "log_loss"]]
    assert (four >= 1).any(axis=1).sum() == 3


def test_ensembles_2(of_ensembles):
    """One ordinal model is as good on average, in less than a third of the time: by RPS the ensemble is lower than it
    on most sets, by log loss on fewer than half."""
    found = ratio(of_ensembles, ensembles.DEFAULT, ensembles.PLAIN)
    assert np.abs(np.log(found[["rps", "log_loss"]]).mean()).max() < 0.01
    assert np.exp(np.log(found["seconds"]).mean()) > 3
    assert (found["rps"] < 1).mean() > 0.5 > (found["log_loss"] < 1).mean()


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


def test_confirmation_of_ensembles_1():
    """That came out too, by all four errors beside both."""
    means = means_of(ensembles.NAME, "confirmation")
    for other in (ensembles.ONE, ensembles.RIVAL):
        assert (np.log(ratio(means, ensembles.DEFAULT, other)).mean()[["mae", "zero_one", "rps", "log_loss"]] < 0).all()


@pytest.fixture(scope="module")
def methods():
    rows = json.loads((report.RESULTS / "ensemble_methods.json").read_text(encoding="utf-8"))["rows"]
    refused = [row for row in rows if row["rps"] == "refused"]
    found = {(row["method"], row["classifier"]): float(row["rps"]) for row in rows if row not in refused}
    return pd.Series(found).unstack()


def test_ensemble_methods_1(methods):
    """Averages, bagging, voting and stacking leave the RPS of each classifier where it was, within three hundredths,
    and AdaBoost nearly doubles it, also around bags and stacks: what it averages are votes, so its probabilities are
    flat."""
    compared = methods / methods.loc["alone"]
    level = ["OrdinalEnsembleClassifier", "bagging", "voting with a linear model", "stacking with a linear model"]
    assert np.abs(compared.loc[level] - 1).max(axis=None) < 0.03
    boosted = compared.loc[["AdaBoost", "bag a boosted", "boost a bagged", "stack, bag, then boost the bag"]]
    assert boosted.min(axis=None) > 1.8
    assert boosted.max(axis=None) < 2


def test_ensemble_methods_by_their_own_answers():
    """By its own answers AdaBoost is within four hundredths of one model by absolute error, and around bags of stacks
    it is behind by a fifth to three tenths."""
    rows = json.loads((report.RESULTS / "ensemble_methods.json").read_text(encoding="utf-8"))["rows"]
    shown = {(row["method"], row["classifier"]): row["mae, own answers"] for row in rows}
    by_method = pd.Series({key: float(value) for key, value in shown.items() if value != "refused"}).unstack()
    compared = by_method / by_method.loc["alone"]
    assert np.abs(compared.loc["AdaBoost"] - 1).max() < 0.04
    assert compared.loc["stack, bag, then boost the bag"].between(1.19, 1.31).all()


def test_ensemble_methods_2(methods):
    """Random forests are worse than boosted trees, GOSS is level, and dart, which refuses thresholds that move with x,
    is a little behind."""
    compared = methods / methods.loc["alone"]
    assert compared.loc["random forest"].min() > 1.04
    assert np.abs(compared.loc["GOSS"] - 1).max() < 0.01
    assert 1.005 < compared.loc["dart"].min() <= compared.loc["dart"].max() < 1.03
