"""Distributions of a number cut into classes, beside the probability of each training value."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ordinal_objectives.distributions.binned_target import BinnedTarget

cases = st.tuples(st.integers(0, 2**32 - 1), st.integers(5, 60), st.integers(1, 30), st.booleans(), st.integers(0, 2))


def problem(case):
    """Return a target, probabilities of its classes with empty ones, and the probability of each training value."""
    seed, n, n_cuts, weighted, decimals = case
    rng = np.random.default_rng(seed)
    y = np.append(np.round(rng.normal(size=n) * rng.choice([1.0, 3.0, 100.0]), decimals), [-1.0, 1.0])
    weight = np.append(rng.integers(0, 4, n), [1, 2]).astype(float) if weighted else None
    target = BinnedTarget.fit(y, weight, n_cuts)
    proba = rng.dirichlet(np.full(target.n_classes, 0.3), size=7)
    proba[0] = np.eye(target.n_classes)[-1]
    mass, k = np.diff(target.share, prepend=0.0), target.encode(target.values)
    return rng, y, weight, target, proba, proba[:, k] * mass / np.bincount(k, mass)[k]


@settings(max_examples=60)
@given(cases)
def test_distributions_are_those_of_the_training_values(case):
    rng, y, _, target, proba, of_values = problem(case)
    below = of_values.cumsum(axis=1)
    t = np.append(rng.normal(size=9) * 3, rng.choice(y, 4))
    slow = [[row[target.values <= point].sum() for point in t] for row in of_values]
    np.testing.assert_allclose(target.cdf(proba, t[np.newaxis]), slow, atol=1e-12)
    levels = rng.random((7, 5))
    found = [
        [target.values[np.flatnonzero(row >= q - 1e-12)[0]] for q in qs] for row, qs in zip(below, levels, strict=True)
    ]
    np.testing.assert_array_equal(target.quantiles(proba, levels), found)
    np.testing.assert_allclose(target.mean(proba), of_values @ target.values, atol=1e-9)


@settings(max_examples=60)
@given(cases)
def test_crps_is_that_of_two_draws(case):
    rng, y, _, target, proba, of_values = problem(case)
    true = np.append(rng.normal(size=5) * 4, rng.choice(y, 2))
    pairs = np.abs(target.values[:, np.newaxis] - target.values)
    slow = [p @ np.abs(target.values - t) - p @ pairs @ p / 2 for p, t in zip(of_values, true, strict=True)]
    np.testing.assert_allclose(target.crps(proba, true), slow, atol=1e-9)


@settings(max_examples=60)
@given(cases)
def test_cuts_are_quantiles_and_heaps_are_classes(case):
    _, y, weight, target, _, _ = problem(case)
    counts = np.bincount(target.encode(y), weight, minlength=target.n_classes)
    assert (counts > 0).all()
    assert counts.sum() == (len(y) if weight is None else weight.sum())
    n_cuts, total = case[2], counts.sum()
    for value in target.values:
        mass = (y == value).sum() if weight is None else weight[y == value].sum()
        if mass * (n_cuts + 1) > total * (1 + 1e-9):
            assert counts[target.encode(np.array([value]))[0]] == mass
    most = np.maximum(
        total / (n_cuts + 1), [((y == v) * (1 if weight is None else weight)).sum() for v in target.values[target.last]]
    )
    assert (counts <= most + total / (n_cuts + 1) + 1e-9).all()


@settings(max_examples=40)
@given(cases, st.sampled_from([np.exp, np.cbrt, lambda t: 3 * t - 7]))
def test_quantiles_follow_a_rising_transformation(case, rising):
    rng, y, weight, _, _, _ = problem((case[0], case[1], case[2], case[3], 1))
    y = y / 100
    before, after = (BinnedTarget.fit(values, weight, case[2]) for values in (y, rising(y)))
    np.testing.assert_array_equal(before.encode(y), after.encode(rising(y)))
    proba = rng.dirichlet(np.ones(before.n_classes), size=4)
    levels = rng.random((4, 6))
    np.testing.assert_allclose(after.quantiles(proba, levels), rising(before.quantiles(proba, levels)), rtol=1e-12)


def test_outer_classes_are_halved_while_they_keep_their_share():
    target = BinnedTarget.fit(np.arange(1000.0), None, 9, tails=4 / 1000)
    counts = np.bincount(target.encode(target.values))
    assert counts.tolist()[5:-5] == [100] * 8
    assert counts.min() >= 4
    assert counts.sum() == 1000
    assert counts[0] < 8
    assert counts[-1] < 8
    assert len(BinnedTarget.fit(np.arange(1000.0), None, 9, tails=0.2).last) == 10


def test_given_cuts_end_classes():
    target = BinnedTarget.fit(np.array([0.0, 1.0, 2.0, 2.0, 5.0]), None, np.array([0.5, 2.0]))
    assert target.encode(np.array([-3.0, 0.0, 0.5, 1.0, 2.0, 2.5, 9.0])).tolist() == [0, 0, 1, 1, 1, 2, 2]
    assert target.cuts.tolist() == [0.0, 2.0]


@pytest.mark.parametrize("cuts", [[-1.0, 1.0], [2.0, 5.0], [0.2, 0.4, 2.0], [7.0]])
def test_cuts_without_rows_between_them_are_refused(cuts):
    with pytest.raises(ValueError, match="cuts must have training values of y between them, and on both sides; got"):
        BinnedTarget.fit(np.array([0.0, 1.0, 2.0, 2.0, 5.0]), None, np.array(cuts))
