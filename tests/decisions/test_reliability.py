"""Cumulative reliability beside sums over rows, and intervals that hold the true share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given as cases, strategies as st
from scipy.stats import binomtest

from makers import draw
from ordinal_objectives.decisions import cumulative_reliability
from ordinal_objectives.metrics import cumulative_calibration_error


@cases(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(1, 8))
def test_means_and_shares_of_every_bin(seed, n_classes, n_bins):
    rng = np.random.default_rng(seed)
    P, codes = draw(rng, 50, n_classes)
    weight = rng.uniform(0.0, 2.0, 50)
    found = cumulative_reliability(codes, P, weight, labels=range(n_classes), n_bins=n_bins)
    assert found.stated.shape == found.low.shape == (n_classes - 1, n_bins)
    expected = 0.0
    for k in range(n_classes - 1):
        stated = P[:, : k + 1].sum(axis=1).round(9)
        inside = np.minimum(np.floor((stated * n_bins).round(6)), n_bins - 1)
        for b in range(n_bins):
            rows = inside == b
            if not rows.any():
                assert np.isnan([found.stated[k, b], found.happened[k, b], found.low[k, b], found.high[k, b]]).all()
                assert found.count[k, b] == 0
                continue
            assert found.stated[k, b] == pytest.approx(np.average(stated[rows], weights=weight[rows]))
            assert found.happened[k, b] == pytest.approx(np.average(codes[rows] <= k, weights=weight[rows]))
            expected += weight[rows].sum() * abs(found.stated[k, b] - found.happened[k, b])
            assert found.count[k, b] == pytest.approx(weight[rows].sum() ** 2 / (weight[rows] ** 2).sum())
    error = cumulative_calibration_error(codes, P, weight, labels=range(n_classes), n_bins=n_bins)
    assert error == pytest.approx(expected / weight.sum())


@pytest.mark.parametrize("n_seen", [0, 1, 7, 20])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_intervals_are_exact_binomial_ones(n_seen, level):
    codes = np.r_[np.zeros(n_seen, dtype=int), np.ones(20 - n_seen, dtype=int)]
    found = cumulative_reliability(codes, [[0.4, 0.6]] * 20, labels=range(2), n_bins=1, level=level)
    expected = binomtest(n_seen, 20).proportion_ci(level, method="exact")
    np.testing.assert_allclose([found.low[0, 0], found.high[0, 0]], expected, atol=1e-12)


def test_labels_and_weights():
    P, codes = draw(np.random.default_rng(0), 80, 4)
    names = np.array(["poor", "fair", "good", "excellent"])
    weight = np.random.default_rng(0).integers(0, 3, 80)
    by_name = cumulative_reliability(names[codes], P, 1e-3 * weight, labels=names)
    by_code = cumulative_reliability(codes, P, weight, labels=range(4))
    repeated = cumulative_reliability(np.repeat(codes, weight), np.repeat(P, weight, axis=0), labels=range(4))
    for one, two, three in zip(*(vars(found).values() for found in (by_name, by_code, repeated)), strict=True):
        np.testing.assert_allclose(one, two)
        assert one.shape == three.shape
    np.testing.assert_allclose(by_code.happened, repeated.happened)
    assert (by_code.count <= repeated.count + 1e-9).all()  # repeated rows are taken for rows of their own


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bins": 0}, "n_bins must be an integer between 1 and 10000; got 0"),
        ({"n_bins": 10**9}, "n_bins must be an integer between 1 and 10000; got 1000000000"),
        ({"level": 1.0}, "level must be a finite number above 0 and below 1; got 1.0"),
        ({"labels": ["a", "b"]}, "y_true holds labels outside the classes"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        cumulative_reliability([0, 1], [[0.4, 0.6]] * 2, **options)
