"""Thresholds that judge splits together: neighbours, and always those with the least curvature first."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from ordinal_objectives.histogram_engine.criteria.vector import neighbours


def merged(curvature, most):
    """Return the groups as lists of thresholds, by looking at every pair of neighbours again after each merger."""
    groups = [[k] for k in range(len(curvature))]
    while len(groups) > most:
        pairs = [curvature[one].sum() + curvature[other].sum() for one, other in pairwise(groups)]
        first = pairs.index(min(pairs))
        groups[first : first + 2] = [groups[first] + groups[first + 1]]
    return groups


@pytest.mark.parametrize("most", [1, 2, 3, 5])
@pytest.mark.parametrize("n_thresholds", [1, 4, 9, 30])
def test_the_two_neighbours_with_the_least_curvature_are_merged(n_thresholds, most):
    for seed in range(10):
        curvature = np.random.default_rng(seed).exponential(size=n_thresholds)
        found = neighbours(curvature, np.arange(n_thresholds, dtype=np.int32), most)
        groups = [np.flatnonzero(found == g).tolist() for g in range(found.max() + 1)]
        assert groups == merged(curvature, most)


def test_thresholds_with_much_curvature_keep_groups_of_their_own():
    found = neighbours(np.array([1.0, 90.0, 1.0, 2.0, 80.0, 1.0, 1.0]), np.arange(7, dtype=np.int32), 5)
    assert found.tolist() == [0, 1, 2, 2, 3, 4, 4]


def test_units_move_as_one_and_those_without_a_group_stay():
    # Units 0 and 1 have two thresholds each; 1 and 2 have the least curvature together.
    units = np.array([-1, 0, 0, 1, 1, 2, -1], dtype=np.int32)
    found = neighbours(np.array([50.0, 4.0, 4.0, 1.0, 1.0, 3.0, 50.0]), units, 2)
    assert found.tolist() == [-1, 0, 0, 1, 1, 1, -1]
    assert neighbours(np.ones(2), np.full(2, -1, np.int32), 3).tolist() == [-1, -1]
