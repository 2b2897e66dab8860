"""The calibration error of cumulative probabilities against a slow sum over thresholds and bins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ordinal_objectives.metrics import cumulative_calibration_error


@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.integers(1, 12))
def test_calibration_error_is_the_sum_over_thresholds_and_bins(seed, n_classes, n_bins):
    rng = np.random.default_rng(seed)
    true = np.r_[np.arange(n_classes), rng.integers(0, n_classes, 60)]
    P, weight = rng.dirichlet(np.ones(n_classes), true.size), rng.uniform(0.0, 3.0, true.size)
    errors = []
    for k in range(P.shape[1] - 1):
        stated, happened = P[:, : k + 1].sum(axis=1), true <= k
        for b in range(n_bins):
            rows = (stated * n_bins >= b) & ((stated * n_bins < b + 1) | (b == n_bins - 1))
            if weight[rows].sum() > 0:
                gap = np.average(stated[rows], weights=weight[rows]) - np.average(happened[rows], weights=weight[rows])
                errors.append(weight[rows].sum() / weight.sum() * abs(gap))
    assert cumulative_calibration_error(true, P, weight, n_bins=n_bins) == pytest.approx(np.sum(errors))


def test_sums_of_probabilities_fall_into_the_bin_that_their_decimals_name():
    """0.7 + 0.1 is less than 0.8: rows that state the same are compared together."""
    P = [[0.7, 0.1, 0.2], [0.7, 0.1, 0.2], [0.0, 0.8, 0.2]]
    assert np.cumsum(P, axis=1)[0, 1] < 0.8
    assert cumulative_calibration_error([0, 0, 2], P) == pytest.approx((2 * 0.3 + abs(3 * 0.8 - 2)) / 3)


@pytest.mark.parametrize("n_bins", [0, 2.0, True])
def test_a_number_of_bins_that_is_none_is_refused(n_bins):
    with pytest.raises((TypeError, ValueError), match="n_bins must be an integer at least 1; got"):
        cumulative_calibration_error([0, 1], np.eye(2), n_bins=n_bins)
