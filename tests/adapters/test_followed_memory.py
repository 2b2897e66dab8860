"""Scores that are followed take turns in two pieces of memory: none is new in a round."""

from __future__ import annotations

import numpy as np
import pytest

from ordinal_objectives.adapters.followed_scores import FollowedScore
from ordinal_objectives.rows import CPU

LEAVES = np.array([0, 1, 1], np.int32)


@pytest.mark.parametrize("n_thresholds", [None, 2])
def test_a_score_is_kept_until_it_is_left_behind(n_thresholds):
    start = np.zeros(3, np.float32)
    if n_thresholds is None:
        own, values = FollowedScore(start, 0, CPU(1)), np.array([1.0, 2.0])
    else:
        scores = np.asfortranarray(np.zeros((3, n_thresholds), np.float32))
        own, values = FollowedScore(start, 0, CPU(1), scores), np.array([[1.0, 1.0], [2.0, 2.0]], np.float32)
    memory, expected = set(), np.zeros_like(own.raw_prediction)
    for step in range(1, 6):
        tried = own.plus(LEAVES, 9.0 * values)
        np.testing.assert_array_equal(own.raw_prediction, expected)  # a trial that is rejected leaves it alone
        taken = own.plus(LEAVES, values)
        assert np.shares_memory(taken, tried)
        np.testing.assert_array_equal(own.raw_prediction, expected)
        if step == 3:  # the leaves stay
            own.move(start + step, own.raw_prediction)
        else:
            expected = expected + values[LEAVES]
            own.move(start + step, taken)
        np.testing.assert_array_equal(own.raw_prediction, expected)
        np.testing.assert_array_equal(own.framework_score, step)
        memory.add(own.raw_prediction.ctypes.data)
        assert own.iteration == step
    assert len(memory) == 2
