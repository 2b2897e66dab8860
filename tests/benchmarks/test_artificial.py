"""The artificial samples are what their description says."""

from __future__ import annotations

import numpy as np
import pytest

from claims.accuracy import artificial


@pytest.mark.parametrize("name", artificial.SETS)
def test_samples_repeat_and_have_three_ranks(name):
    X, truth, observed = artificial.SETS[name](3_000, 7)
    again = artificial.SETS[name](3_000, 7)
    assert all(np.array_equal(one, other) for one, other in zip((X, truth, observed), again, strict=True))
    assert X.shape == (3_000, 2)
    assert set(observed) == set(truth) == {0, 1, 2}
    assert np.bincount(truth).min() > 500


def test_noise_moves_half_of_the_nearest_tenth_across_their_boundary():
    X, truth, observed = artificial.noisy_boundaries(20_000, 3)
    moved = observed != truth
    distance = np.abs(X[:, 1] - np.sin(2 * X[:, 0]) - artificial.CUTS[:, None])
    assert moved.sum() == pytest.approx(1_000, abs=4 * np.sqrt(2_000) / 2)
    assert distance.min(axis=0)[moved].max() <= np.sort(distance.min(axis=0))[2_000]
    assert np.abs(observed - truth)[moved].max() == 1
    between = np.maximum(observed, truth)[moved] - 1  # the boundary between the two ranks
    assert np.array_equal(between, distance.argmin(axis=0)[moved])


def test_split_keeps_train_and_test_apart():
    (X, truth, y), (X_test, truth_test, y_test) = artificial.split("smooth boundaries", 2_000, seed=0)
    assert len(X) == len(truth) == len(y) == 2_000
    assert len(X_test) == len(truth_test) == len(y_test) == artificial.N_TEST
    assert not set(X[:, 0]) & set(X_test[:, 0])
