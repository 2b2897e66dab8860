"""Verdicts in words: a linear part, decisions for kappa, and costs in training.

Each test is a sentence of a page and what it says of the tables; test_words.py looks for sentences without one.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from claims.accuracy import linear_part
from claims.decisions import kappa, training_costs
from lib import report
from lib.set_ratios import ADDED, NUMBERS, SHARES, rows_of
from ordinal_objectives import XGBOrdinalClassifier

ERRORS = ["mae", "zero_one", "rps", "log_loss"]


@pytest.fixture(scope="module")
def linear():
    table = pd.DataFrame(rows_of(linear_part.NAME, "evaluation"))
    assert (table["failure"] == "").all()
    table[list(NUMBERS)] = table[list(NUMBERS)].astype(float)
    return table.groupby(["method", "data"])[list(NUMBERS)].mean()


@pytest.fixture(scope="module")
def decisions():
    table = pd.DataFrame(report.RunsFile(report.RESULTS / "kappa_runs.csv", kappa.COLUMNS).rows)
    numbers = ["qwk", "expected", "seconds"]
    table[numbers] = table[numbers].apply(pd.to_numeric)
    return table


def test_linear_1(linear):
    """With each trainer all four errors are a little lower on average, RPS on about two sets of three, and the search
    takes between one and a half and two times as long."""
    for trainer in linear_part.OURS:
        logs = np.log(linear.loc[f"{trainer}, auto"] + ADDED) - np.log(linear.loc[trainer] + ADDED)
        assert logs[ERRORS].mean().between(np.log(0.97), 0.0).all()
        assert (logs["rps"] < 0).mean() == pytest.approx(2 / 3, abs=0.04)
        assert 1.5 < np.exp(logs["seconds"].mean()) < 2.0


def test_linear_2(linear):
    """No trainer is above the class shares on more sets than without it."""
    shares = linear.loc[SHARES][["rps", "log_loss"]]
    for trainer in linear_part.OURS:
        with_it, without = (
            (linear.loc[name][["rps", "log_loss"]] > shares).any(axis=1).sum() for name in (f"{trainer}, auto", trainer)
        )
        assert with_it <= without


def test_kappa_1(decisions):
    """`decision_rule="kappa"` is above the median on 32 of 39 sets and above free cut points, which are tuned by
    labels, on 28 of 39."""
    means = decisions.groupby(["method", "data"])["qwk"].mean()
    assert len(means.loc["kappa"]) == 39
    assert (means.loc["kappa"] > means.loc["median"]).sum() == 32
    assert (means.loc["kappa"] > means.loc["rounder"]).sum() == 28


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


@pytest.fixture(scope="module")
def costs():
    table = pd.DataFrame(report.RunsFile(report.RESULTS / "training_costs_runs.csv", training_costs.COLUMNS).rows)
    table["cost"] = pd.to_numeric(table["cost"])
    return table.groupby(["costs", "library", "method", "data"])["cost"].mean()


def test_costs_1(costs):
    """Models trained with costs cost less than the plain ones, which decide by the median: on two sets in three or
    nearly so with quadratic costs, and on all but one with the others."""
    for library in training_costs.LIBRARIES:
        lower = {
            name: (costs.loc[name, library, "trained"] < costs.loc[name, library, "plain"]).mean()
            for name in ("quadratic", "low is dear")
        }
        assert 0.57 < lower["quadratic"] < 0.7
        assert lower["low is dear"] >= 32 / 33


def test_costs_2(costs):
    """But the plain model that decides by the same costs, with `cost_matrix`, costs as little or less on more than half
    of the sets, whatever the trainer."""
    for library in training_costs.LIBRARIES:
        for name in ("quadratic", "low is dear"):
            trained, plain = (costs.loc[name, library, method] for method in ("trained", "plain, its costs"))
            assert (plain <= trained).mean() > 0.5


def test_costs_3():
    """So try `cost_matrix` first: it leaves the probabilities as they are."""
    x, y = np.linspace(-1, 1, 60)[:, np.newaxis], np.repeat([0, 1, 2], 20)
    options = {"n_estimators": 3, "n_jobs": 1}
    plain, deciding = (
        XGBOrdinalClassifier(cost_matrix=one, **options) for one in (None, [[0, 1, 2], [9, 0, 1], [9, 9, 0]])
    )
    assert (plain.fit(x, y).predict_proba(x) == deciding.fit(x, y).predict_proba(x)).all()
