"""Rows held out: each class gives its share."""

from __future__ import annotations

import numpy as np
import pytest

from ordinal_objectives.estimators.held_out import Rows, hold_out


@pytest.mark.parametrize("seed", range(5))
def test_each_class_gives_its_share(seed):
    y = np.random.default_rng(0).permutation(np.repeat([0, 1, 2, 3], [8, 12, 80, 300])).astype(np.int32)
    X = np.arange(len(y))
    fit, held = hold_out(Rows(X, y), 0.25, seed)
    np.testing.assert_array_equal(np.bincount(held.codes), [2, 3, 20, 75])
    np.testing.assert_array_equal(np.sort(np.concatenate([fit.X, held.X])), X)


def test_rows_of_weight_zero_do_not_count_for_the_shares():
    y = np.repeat(np.arange(3, dtype=np.int32), [40, 40, 40])
    weight = np.ones(120)
    weight[:20] = 0.0
    _, held = hold_out(Rows(np.arange(120), y, weight), 0.2, 0)
    np.testing.assert_array_equal(np.bincount(held.codes), [4, 8, 8])
    assert weight[held.X].all()


def test_a_class_of_one_row_leaves_the_draw_to_chance():
    y = np.repeat(np.arange(3, dtype=np.int32), [1, 50, 49])
    fit, held = hold_out(Rows(np.arange(100), y), 0.2, 0)
    assert (len(fit), len(held)) == (80, 20)
