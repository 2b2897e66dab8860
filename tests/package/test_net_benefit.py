"""Net benefit against a loop over rows and over samples, and its picture."""

from __future__ import annotations

import matplotlib
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, t as student
from sklearn.linear_model import LogisticRegression

from ordinal_objectives import OrdinalLabels
from ordinal_objectives.metrics import interval, net_benefit
from ordinal_objectives.plotting import NetBenefitDisplay

matplotlib.use("Agg")

N, K = 80, 4
RNG = np.random.default_rng(0)
Y = np.append(RNG.integers(K, size=N - K), np.arange(K))
PROBA = 0.5 * RNG.dirichlet(np.ones(K), N) + 0.5 * np.eye(K)[Y]
WEIGHT = RNG.uniform(0.5, 2.0, N) * (RNG.random(N) < 0.8)
GROUPS = RNG.integers(9, size=N)
T = [0.1, 0.35, 0.8]


def by_loop(y, proba, k, t, weight=None):
    """Return true positives less what false ones cost, in a share of the rows."""
    weight = np.ones(len(y)) if weight is None else weight
    true = false = 0.0
    for label, row, one in zip(y, proba, weight, strict=True):
        if row[k:].sum() >= t:
            true, false = (true + one, false) if label >= k else (true, false + one)
    return (true - false * t / (1 - t)) / weight.sum()


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("groups", [None, GROUPS])
def test_net_benefit_and_its_intervals_against_a_loop(k, weight, groups):
    given = {"at_least": k, "thresholds": T, "labels": range(K)}
    found = net_benefit(Y, PROBA, weight, groups=groups, n_draws=30, level=0.8, random_state=3, **given)
    sure = np.tile(np.eye(K)[-1], (N, 1))
    np.testing.assert_allclose(found.model, [by_loop(Y, PROBA, k, t, weight) for t in T], atol=1e-12)
    np.testing.assert_allclose(found.treat_all, [by_loop(Y, sure, k, t, weight) for t in T], atol=1e-12)
    assert found.share == pytest.approx(np.average(k <= Y, weights=weight))
    random = np.random.RandomState(3)
    counted = np.arange(N) if weight is None else np.flatnonzero(weight)
    units = [counted[[i]] for i in range(len(counted))]
    if groups is not None:
        units = [counted[groups[counted] == group] for group in np.unique(groups[counted])]
    drawn = []
    for _ in range(30):
        rows = np.concatenate([units[i] for i in random.randint(len(units), size=len(units))])
        of_rows = None if weight is None else weight[rows]
        of_both = [[by_loop(Y[rows], proba[rows], k, t, of_rows) for t in T] for proba in (PROBA, sure)]
        drawn.append([of_both[0], np.subtract(*of_both)])
    outer = norm.cdf(student.ppf(0.9, len(units) - 1) * np.sqrt(len(units) / (len(units) - 1)))
    low, high = np.quantile(drawn, [1 - outer, outer], axis=0)
    np.testing.assert_allclose([found.low, found.low_over_all], low, atol=1e-12)
    np.testing.assert_allclose([found.high, found.high_over_all], high, atol=1e-12)
    alone = net_benefit(Y, PROBA, weight, **given)
    assert alone.low is alone.high_over_all is None
    np.testing.assert_array_equal(alone.model, found.model)


def test_the_interval_of_a_difference_is_that_of_a_metric_of_ones_own():
    """What interval does with the net benefit at one threshold is the same."""

    def at_half(y, proba, sample_weight=None):
        return net_benefit(y, proba, sample_weight, at_least=2, thresholds=[0.5], labels=range(K)).model[0]

    found = net_benefit(Y, PROBA, at_least=2, thresholds=[0.5], groups=GROUPS, n_draws=50)
    one = interval(at_half, Y, PROBA, groups=GROUPS, n_draws=50)
    np.testing.assert_allclose([found.model[0], found.low[0], found.high[0]], one, atol=1e-12)
    shares = np.tile([0.0, 0.0, 0.0, 1.0], (N, 1))
    one = interval(at_half, Y, PROBA, other=shares, groups=GROUPS, n_draws=50)
    np.testing.assert_allclose([found.low_over_all[0], found.high_over_all[0]], one[1:], atol=1e-12)


def test_names_of_classes_and_the_frame():
    names = np.array(["none", "mild", "severe", "fatal"])
    found = net_benefit(pd.Categorical(names[Y], names, ordered=True), PROBA, at_least="severe", n_draws=5)
    codes = net_benefit(Y, PROBA, at_least=2)
    np.testing.assert_array_equal(found.model, codes.model)
    assert len(found.thresholds) == 99
    frame = found.to_frame()
    assert frame.columns.tolist() == ["model", "treat_all", "low", "high", "low_over_all", "high_over_all"]
    assert frame.loc[0.5, "model"] == found.model[49]
    assert codes.to_frame().columns.tolist() == ["model", "treat_all"]


@pytest.mark.parametrize(
    ("given", "error", "name"),
    [
        ({"at_least": 0}, ValueError, "at_least"),
        ({"at_least": 7}, ValueError, "at_least"),
        ({"thresholds": [0.5, 1.0]}, ValueError, "thresholds"),
        ({"thresholds": [0.5, 0.5]}, ValueError, "thresholds"),
        ({"thresholds": []}, ValueError, "thresholds"),
        ({"thresholds": 0.5}, ValueError, "thresholds"),
        ({"n_draws": -1}, ValueError, "n_draws"),
        ({"level": 95}, ValueError, "level"),
        ({"n_draws": 3, "groups": np.zeros(N)}, ValueError, "groups"),
        ({"sample_weight": WEIGHT[1:]}, ValueError, "sample_weight"),
        ({"y_true": OrdinalLabels.from_counts(np.eye(K)[Y])}, TypeError, "y_true"),
    ],
)
def test_wrong_arguments_are_named(given, error, name):
    with pytest.raises(error, match=rf"^{name} "):
        net_benefit(**{"y_true": Y, "proba": PROBA, "at_least": 2, **given})


def test_curves_are_those_of_the_function_also_of_two_models():
    X = np.column_stack([Y + RNG.normal(size=N), RNG.normal(size=N)])
    names = np.array(["a", "b", "c", "d"])
    first = LogisticRegression().fit(X, names[Y])
    options = {"at_least": "c", "n_draws": 20, "groups": GROUPS, "sample_weight": WEIGHT}
    display = NetBenefitDisplay.from_estimator(first, X, names[Y], labels=names, **options)
    found = net_benefit(names[Y], first.predict_proba(X), labels=names, **options)
    of_all, none, curve = display.ax_.lines
    np.testing.assert_array_equal(of_all.get_ydata(), found.treat_all)
    assert set(none.get_ydata()) == {0.0}
    np.testing.assert_array_equal(curve.get_ydata(), found.model)
    (band,) = display.ax_.collections
    ends = band.get_paths()[0].vertices[:, 1]
    assert {found.low.min(), found.high.max()} <= set(ends)
    assert display.ax_.get_xlabel() == "act from this P(y >= c) on"
    NetBenefitDisplay.from_predictions(Y, PROBA, at_least=2, name="$other", ax=display.ax_)
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["act for all", "act for none", "LogisticRegression", "$other"]
    display.figure_.canvas.draw()
