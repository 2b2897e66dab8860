"""Probabilities of the immediate-threshold loss against many digits, where log-odds differ by 1e17 and more."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from ordinal_objectives.links import LINKS
from ordinal_objectives.losses import ImmediateThreshold
from pairs import pairwise

SCORES = np.array([-690.0, -300.0, -40.0, -37.5, -6.0, -0.5, 0.0, 0.25, 3.0, 36.0, 41.0, 250.0, 690.0])

each_link = pytest.mark.parametrize("link", LINKS)


def log_inverse(link, x):
    """Log G(x), with G close to 1 taken from its small complement."""
    if link == "loglog":
        return -mp.exp(-x)
    if link == "cloglog":
        return mp.log(-mp.expm1(-mp.exp(x)))
    if x > 0:
        return mp.log1p(-mp.exp(log_inverse(link, -x)))
    if link == "logit":
        return x - mp.log1p(mp.exp(x))
    if link == "probit":
        return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)
    return mp.log(mp.atan2(1, -x) / mp.pi)


def exact(link, distances):
    """Logarithms of the class probabilities, and the log-odds between the classes."""
    odds = [log_inverse(LINKS[link].mirror, -mp.mpf(x)) - log_inverse(link, mp.mpf(x)) for x in distances.tolist()]
    logs = [mp.mpf(0)]
    for one in odds:
        logs.append(logs[-1] + one)
    top = max(logs)
    total = top + mp.log(sum(mp.exp(log - top) for log in logs))
    return [log - total for log in logs], odds


def thresholds_of(n_classes, seed, order):
    """Eighths, so that a distance from a score is a double."""
    rng = np.random.default_rng([n_classes, seed])
    thresholds = np.round(8 * rng.uniform(-45, 45, n_classes - 1)) / 8
    return {"ordered": np.sort(thresholds), "reversed": np.sort(thresholds)[::-1], "unordered": thresholds}[order]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("link", "order", "n_classes"), pairwise(LINKS, ["ordered", "unordered", "reversed"], [2, 3, 4, 7, 12])
)
def test_probabilities_at_extremes(link, order, n_classes):
    thresholds = thresholds_of(n_classes, 0, order)
    loss = ImmediateThreshold(link)
    proba, cumulative = loss.predict_proba(SCORES, thresholds), loss.cumulative_proba(SCORES, thresholds)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-14)
    for f, row, below in zip(SCORES, proba, cumulative, strict=True):
        with mp.workdps(340 if link in ("cloglog", "loglog") else 60):
            logs, odds = exact(link, thresholds - f)
            top = max(range(n_classes), key=lambda k: logs[k])
            # Each log-odds is a rounded double: that of the ones between a class and the likeliest remains.
            between = [sum(map(abs, odds[min(k, top) : max(k, top)])) for k in range(n_classes)]
            error = np.array([min(float(mp.mpf("1e-13") + mp.mpf("4e-16") * size), 1.0) for size in between])
            expected = np.array([float(mp.exp(log)) for log in logs])
            sums = np.array([float(mp.fsum(mp.exp(log) for log in logs[: k + 1])) for k in range(n_classes - 1)])
        assert np.all(np.abs(row - expected) <= error * expected + 1e-290), (f, row, expected)
        allowed = n_classes * (max(error * expected) + 1e-13 * sums)
        assert np.all(np.abs(below - sums) <= allowed + 1e-290), (f, below, sums)


@each_link
@pytest.mark.parametrize("n_classes", [4, 12])
def test_a_score_between_its_thresholds_belongs_to_their_class(link, n_classes):
    """Far from other thresholds the class of the interval is certain, however large the other odds are."""
    thresholds = 60.0 * np.arange(n_classes - 1)
    middles = 60.0 * np.arange(n_classes) - 30.0
    proba = ImmediateThreshold(link).predict_proba(middles, thresholds)
    assert proba.argmax(axis=1).tolist() == list(range(n_classes))
    if LINKS[link].curvature_floor == 0.0:  # tails like exp
        np.testing.assert_allclose(proba.max(axis=1), 1.0)


@each_link
def test_any_finite_score_has_probabilities(link):
    scores = np.array([-1e300, -1e154, -1e30, -1e6, 1e6, 1e30, 1e154, 1e300])
    for thresholds in ([-1.0, 0.5, 2.0], [2.0, -1.0, 0.5]):
        proba = ImmediateThreshold(link).predict_proba(scores, thresholds)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        assert proba.argmax(axis=1).tolist() == [0] * 4 + [3] * 4


def test_rounding_lifts_no_cumulative_probability_above_1():
    below = ImmediateThreshold().cumulative_proba(np.linspace(-30.0, 30.0, 400), np.linspace(0.0, 20.0, 5))
    assert below.max() == 1.0
