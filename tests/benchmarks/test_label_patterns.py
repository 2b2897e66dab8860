"""Labels that the benchmark makes: intervals hold the class, masks leave out what they say, votes are the majority."""

from __future__ import annotations

import numpy as np
import pytest

from claims.accuracy import label_patterns
from ordinal_objectives.losses import AllThreshold

K, N = 6, 3_000
codes = np.random.default_rng(0).integers(0, K, N).astype(np.int32)


@pytest.mark.parametrize("kind", label_patterns.KINDS)
@pytest.mark.parametrize("share", label_patterns.SHARES)
def test_intervals_hold_the_class(kind, share):
    lower, upper = label_patterns.coarsened(codes, K, kind, share / 100, np.random.default_rng(1))
    assert ((lower <= codes) & (codes <= upper)).all()
    assert 0.8 * share < 100 * np.mean(lower < upper) < 1.05 * share + 1
    is_coarse = lower < upper
    if kind == label_patterns.MERGED:
        assert (upper - lower).max() == 2
    elif kind == label_patterns.SIDES:
        assert ((lower == 0) != (upper == K - 1))[is_coarse].all()
    else:
        assert (upper[is_coarse] == K - 1).all()
        assert set(lower[~is_coarse]) == set(range(K))  # rows of every class are known


@pytest.mark.parametrize("kind", label_patterns.KINDS)
def test_intervals_depend_on_the_class_through_holding_it_alone(kind):
    lower, upper = label_patterns.coarsened(codes, K, kind, 0.5, np.random.default_rng(1))
    inside = (lower == 2) & (upper == (K - 1 if kind != label_patterns.MERGED else 3))
    often = np.array([inside[codes == k].mean() for k in range(2, upper[inside].max() + 1)])
    assert often.min() > 0.0
    np.testing.assert_allclose(often, often.mean(), atol=4 * np.sqrt(often.mean() / (N / K)))


def test_a_mask_leaves_out_the_thresholds_inside():
    rng = np.random.default_rng(0)
    f, thresholds = rng.normal(size=N), np.linspace(-2, 2, K - 1)
    lower, upper = label_patterns.coarsened(codes, K, label_patterns.SIDES, 0.5, rng)
    found = label_patterns.Masked(lower, upper).row_derivatives(f, lower, thresholds)
    every = AllThreshold().row_derivatives(f, codes, thresholds)
    is_out = (np.arange(K - 1) < lower[:, np.newaxis]) | (np.arange(K - 1) >= upper[:, np.newaxis])
    np.testing.assert_allclose(found.threshold_gradient, np.where(is_out, every.threshold_gradient, 0.0))
    known = lower == upper
    np.testing.assert_allclose(found.value[known], every.value[known])
