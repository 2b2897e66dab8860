"""The simulated rows are what their description says, and the committed result what the pages make of it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from claims.accuracy import shifts_simulated
from claims.accuracy.shifts_simulated import DIFFER, MODELS, PROPORTIONAL, THETA
from lib import report


@pytest.mark.parametrize("data", [DIFFER, PROPORTIONAL])
def test_labels_follow_the_margins_which_are_ordered(data):
    X, y, margins = shifts_simulated.sample(data, 20_000, 7)
    assert all(map(np.array_equal, (X, y, margins), shifts_simulated.sample(data, 20_000, 7)))
    assert (np.diff(margins, axis=1) > 0).all()
    shares = np.mean(y[:, None] <= np.arange(len(THETA)), axis=0)
    np.testing.assert_allclose(shares, np.mean(1 / (1 + np.exp(-margins)), axis=0), atol=0.015)


def test_only_effects_that_differ_have_shifts():
    X, _, margins = shifts_simulated.sample(DIFFER, 20_000, 7)
    shifts = shifts_simulated.shifts_of(margins)
    np.testing.assert_allclose(shifts.sum(axis=1), 0.0, atol=1e-12)
    # x2 moves the lowest threshold by 1.2 tanh(x2), three quarters of it against the others' mean; x3 spreads evenly.
    expected = np.tanh(X[:, [2]]) * [0.9, -0.3, -0.3, -0.3] + np.tanh(X[:, [3]]) * np.linspace(-0.8, 0.8, 4)
    np.testing.assert_allclose(shifts, expected - expected.mean(axis=0), atol=1e-12)
    _, _, proportional = shifts_simulated.sample(PROPORTIONAL, 20_000, 7)
    np.testing.assert_allclose(shifts_simulated.shifts_of(proportional), 0.0, atol=1e-12)


def test_committed_result_finds_shifts_and_costs_less_than_a_hundredth_without_any():
    rows = json.loads((report.RESULTS / "shifts_simulated.json").read_text(encoding="utf-8"))["rows"]
    assert [(row["data"], row["library"]) for row in rows] == [(d, m) for d in (DIFFER, PROPORTIONAL) for m in MODELS]
    for row in rows:
        ends = [float(end) for end in row["lowest to highest ratio"].split(" to ")]
        if row["data"] == PROPORTIONAL:
            assert max(ends) < 1.01
        else:
            assert max(ends) < 1.0
            assert float(row["correlation"]) > 0.5
            assert float(row["RMSE of the shifts"]) < float(row["size of the true shifts"])


@pytest.mark.slow
def test_pictures_are_drawn():
    family = shifts_simulated.draw_family()
    assert len(family.axes) == 6
    assert all(len(axis.lines) == 2 * len(THETA) for axis in family.axes)
    assert shifts_simulated.draw_display().axes
