"""The order of the thresholds, the safeguard of a step, and what is counted on the way."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ordinal_objectives.threshold_solver import Diagnostics, is_ordered, longest_step, repair_order


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12))
def test_repair_sorts_a_copy_and_counts(values):
    thresholds = np.array(values)
    repaired, n_repairs = repair_order(thresholds)
    assert repaired.tolist() == sorted(values)
    assert thresholds.tolist() == values
    assert (n_repairs == 0) == is_ordered(values)
    assert n_repairs == sum(a > b for a, b in itertools.pairwise(values))


def test_is_ordered_tells_equal_neighbours_apart():
    assert is_ordered([1.0, 1.0])
    assert not is_ordered([1.0, 1.0], strict=True)
    assert is_ordered([2.0], strict=True)
    assert not is_ordered([1.0, 0.0])
    with pytest.raises(ValueError, match="thresholds holds NaN"):
        is_ordered([0.0, np.nan])


def quadratic(_, thresholds):
    return float(np.sum((thresholds - np.array([0.0, 1.0])) ** 2))


def test_line_search_takes_a_good_step_whole():
    start = np.array([1.0, 2.0])
    new, share = longest_step(start, [-1.0, -1.0], quadratic, quadratic(0.0, start), strictly_ordered=True)
    assert new.tolist() == [0.0, 1.0]
    assert share == 1.0
    assert start.tolist() == [1.0, 2.0]


def test_line_search_halves_until_the_loss_is_not_higher():
    diagnostics = Diagnostics()
    start = np.array([1.0, 2.0])
    new, share = longest_step(
        start, [-8.0, -8.0], quadratic, quadratic(0.0, start), strictly_ordered=False, diagnostics=diagnostics
    )
    assert new.tolist() == [-1.0, 0.0]
    assert (share, diagnostics.n_halved) == (0.25, 2)
    assert diagnostics.n_rejected == 0


def test_line_search_halves_until_ordered_without_asking_for_the_loss():
    asked = []

    def loss_at(share, thresholds):
        asked.append((share, thresholds.tolist()))
        assert is_ordered(thresholds, strict=True)
        return 0.0

    new, share = longest_step([0.0, 1.0], [4.0, 0.0], loss_at, 1.0, strictly_ordered=True)
    assert new.tolist() == [0.5, 1.0]
    assert share == 0.125
    assert asked == [(0.125, [0.5, 1.0])]


def test_line_search_keeps_the_order_that_the_loss_needs():
    """Crossing thresholds are sorted, halved where the loss needs gaps, and left where it needs no order."""

    def flat(*_):
        return 0.0

    start, delta = [0.0, 1.0], [4.0, 1.0]
    diagnostics = Diagnostics()
    assert longest_step(start, delta, flat, 0.0, diagnostics=diagnostics)[0].tolist() == [2.0, 4.0]
    assert (diagnostics.n_repaired, diagnostics.n_halved) == (1, 0)
    assert longest_step(start, [2.0, 1.0], flat, 0.0)[0].tolist() == [2.0, 2.0]
    assert longest_step(start, [2.0, 1.0], flat, 0.0, strictly_ordered=True)[0].tolist() == [1.0, 1.5]
    assert longest_step(start, delta, flat, 0.0, strictly_ordered=True)[0].tolist() == [1.0, 1.25]
    free, share = longest_step([1.0, 0.0], delta, flat, 0.0, ordered=False)
    assert free.tolist() == [5.0, 1.0]
    assert share == 1.0


def test_a_step_that_is_only_tried_counts_no_rejection():
    diagnostics = Diagnostics()
    new, share = longest_step([0.0], [1.0], lambda *_: 2.0, 1.0, max_halvings=0, diagnostics=diagnostics)
    assert (new.tolist(), share, diagnostics.as_dict()) == ([0.0], 0.0, Diagnostics().as_dict())


@pytest.mark.parametrize("bad", [np.nan, np.inf, 2.0])
def test_line_search_gives_up_counted_and_returns_a_copy(bad):
    diagnostics = Diagnostics()
    start = np.array([1.0, 2.0])
    new, share = longest_step(
        start, [1.0, 1.0], lambda *_: bad, 1.0, strictly_ordered=True, max_halvings=5, diagnostics=diagnostics
    )
    assert new.tolist() == start.tolist()
    assert new is not start
    assert share == 0.0
    assert (diagnostics.n_halved, diagnostics.n_rejected) == (5, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"thresholds": [1.0, 1.0]}, "thresholds"),
        ({"thresholds": [1.0, 0.0], "strictly_ordered": False}, "thresholds"),
        ({"delta": [1.0]}, "delta"),
        ({"delta": [1.0, np.nan]}, "delta"),
    ],
)
def test_line_search_names_bad_input(change, message):
    arguments = {
        "thresholds": [0.0, 1.0],
        "delta": [0.0, 0.0],
        "loss_at": quadratic,
        "highest": 0.0,
        "strictly_ordered": True,
    }
    with pytest.raises(ValueError, match=message):
        longest_step(**(arguments | change))


# --- Diagnostics ----------------------------------------------------------------------------------------


def test_diagnostics_add_and_refuse():
    diagnostics = Diagnostics()
    diagnostics.add(n_clipped=np.int64(4), n_repaired=1)
    diagnostics.add(n_clipped=2, n_inactive=1)
    counts = diagnostics.as_dict()
    assert counts == Diagnostics().as_dict() | {"n_clipped": 6, "n_repaired": 1, "n_inactive": 1}
    assert all(type(count) is int for count in counts.values())
    with pytest.raises(AttributeError, match="n_typo"):
        diagnostics.add(n_typo=1)
    with pytest.raises(TypeError):
        diagnostics.add(n_halved=0.5)
    assert diagnostics.n_halved == 0
