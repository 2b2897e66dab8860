"""Bootstrap intervals of metrics against slow loops over the same samples."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from scipy.stats import norm, t as student
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import f1_score

from ordinal_objectives import OrdinalLabels
from ordinal_objectives.metrics import METRICS, cumulative_calibration_error, interval, mean_absolute_error

N, K, DRAWS = 60, 4, 40
RNG = np.random.default_rng(0)
Y = np.append(RNG.integers(K, size=N - K), np.arange(K))
WEIGHT = RNG.uniform(0.5, 2.0, N) * (RNG.random(N) < 0.9)
GROUPS = RNG.integers(9, size=N)
PROBA = [RNG.dirichlet(np.ones(K), N) for _ in range(2)]
DECISIONS = [np.clip(Y + RNG.integers(-k, k + 1, size=N), 0, K - 1) for k in (1, 2)]
SCORES = [np.round(Y + k * RNG.normal(size=N), 1) for k in (1, 3)]  # some are equal
RESPONSES = {"decisions": DECISIONS, "probabilities": PROBA, "scores": SCORES}


def sampled_rows(n_draws, groups=None, weight=None, seed=0):
    """Yield the rows of each sample, one after the other."""
    random = np.random.RandomState(seed)
    counted = np.arange(N) if weight is None else np.flatnonzero(weight)
    units = [counted[[i]] for i in range(len(counted))]
    if groups is not None:
        units = [counted[groups[counted] == group] for group in np.unique(groups[counted])]
    for _ in range(n_draws):
        yield np.concatenate([units[i] for i in random.randint(len(units), size=len(units))])


def ends_of(values, n_units, level=0.95):
    """Return the ends of the expanded percentile interval of rows or groups."""
    outer = norm.cdf(student.ppf((1 + level) / 2, n_units - 1) * np.sqrt(n_units / (n_units - 1)))
    return np.nanquantile(values, [1 - outer, outer])


def called(name, y, response, weight=None):
    metric = METRICS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return metric.function(y, response, weight, labels=range(K))


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("groups", [None, GROUPS])
def test_every_metric_against_a_loop_over_samples(name, weight, groups):
    mine, other = RESPONSES[METRICS[name].judges]
    drawn = {"groups": groups, "n_draws": DRAWS, "level": 0.8, "labels": range(K), "random_state": 3}
    samples = list(sampled_rows(DRAWS, groups, weight, seed=3))
    counted = np.arange(N) if weight is None else np.flatnonzero(weight)
    n_units = len(counted if groups is None else np.unique(groups[counted]))
    of_mine, of_other = (
        [called(name, Y[row], one[row], None if weight is None else weight[row]) for row in samples]
        for one in (mine, other)
    )
    found = interval(name, Y, mine, weight, **drawn)
    assert found.value == pytest.approx(called(name, Y, mine, weight), abs=1e-12)
    np.testing.assert_allclose(found[1:], ends_of(of_mine, n_units, 0.8), atol=1e-12)
    found = interval(METRICS[name].function, Y, mine, weight, other=other, **drawn)
    assert found.value == pytest.approx(called(name, Y, mine, weight) - called(name, Y, other, weight), abs=1e-12)
    np.testing.assert_allclose(found[1:], ends_of(np.subtract(of_mine, of_other), n_units, 0.8), atol=1e-12)


def test_a_function_of_ones_own_against_the_same_loop():
    mine = partial(f1_score, average="macro", labels=range(K), zero_division=0.0)
    found = interval(mine, Y, DECISIONS[0], WEIGHT, n_draws=DRAWS)
    of_samples = [
        mine(Y[row], DECISIONS[0][row], sample_weight=WEIGHT[row]) for row in sampled_rows(DRAWS, None, WEIGHT)
    ]
    np.testing.assert_allclose(
        found, [mine(Y, DECISIONS[0], sample_weight=WEIGHT), *ends_of(of_samples, (WEIGHT > 0).sum())]
    )
    two_bins = partial(cumulative_calibration_error, n_bins=2)
    of_samples = [two_bins(Y[row], PROBA[0][row], labels=range(K)) for row in sampled_rows(DRAWS)]
    found = interval(two_bins, Y, PROBA[0], labels=range(K), n_draws=DRAWS)
    np.testing.assert_allclose(found[1:], ends_of(of_samples, N))


def test_rows_without_weight_are_as_if_they_were_not_there():
    there = WEIGHT > 0
    assert not there.all()
    for name, metric in METRICS.items():
        response = RESPONSES[metric.judges][0]
        options = {"n_draws": DRAWS, "labels": range(K)}
        found = interval(name, Y, response, WEIGHT, groups=GROUPS, **options)
        fewer = interval(name, Y[there], response[there], WEIGHT[there], groups=GROUPS[there], **options)
        np.testing.assert_allclose(found, fewer, rtol=1e-12)


def test_answers_of_one_row_stay_together():
    counts = RNG.integers(0, 3, (N, K)) + np.eye(K)[Y]
    labels, row = OrdinalLabels.from_counts(counts), np.repeat(np.arange(N), K)
    code, weight = np.tile(np.arange(K), N), counts.ravel()
    for name in ("mae", "lwk", "rps"):
        response = RESPONSES[METRICS[name].judges][0]
        found = interval(name, labels, response, n_draws=DRAWS)
        options = {"groups": row, "labels": range(K), "n_draws": DRAWS}
        np.testing.assert_allclose(found, interval(name, code, response[row], weight, **options), rtol=1e-12)


def test_intervals_of_classes_are_drawn_row_by_row():
    labels = OrdinalLabels.from_intervals(Y, np.minimum(Y + 1, K - 1), classes=range(K))
    for name in ("mae", "log_loss"):
        response = RESPONSES[METRICS[name].judges][0]
        of_samples = [METRICS[name].function(labels[row], response[row]) for row in sampled_rows(DRAWS)]
        np.testing.assert_allclose(interval(name, labels, response, n_draws=DRAWS)[1:], ends_of(of_samples, N))
    with pytest.raises(ValueError, match="intervals have no class"):
        interval("qwk", labels, DECISIONS[0])


def test_what_cannot_be_drawn_is_refused():
    refused = [
        (lambda: interval("mae", [1], [1]), ValueError, "y_true"),
        (lambda: interval("mae", Y, DECISIONS[0], groups=np.zeros(N)), ValueError, "groups"),
        (lambda: interval("mea", Y, DECISIONS[0]), ValueError, "metric"),
        (lambda: interval("mae", Y, DECISIONS[0], level=95), ValueError, "level"),
        (lambda: interval("mae", Y, DECISIONS[0], n_draws=0), ValueError, "n_draws"),
        (lambda: interval(mean_absolute_error, Y, DECISIONS[0], WEIGHT[1:]), ValueError, "sample_weight"),
    ]
    for call, error, name in refused:
        with pytest.raises(error, match=name):
            call()
