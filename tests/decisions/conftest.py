"""What the tests of decisions share."""

from __future__ import annotations

import pytest

from ordinal_objectives.decisions import tuned


@pytest.fixture
def data(ordinal_data):
    """Return 200 rows of four classes; files with other data say so."""
    return ordinal_data(200, 4)


@pytest.fixture
def few_cut_points(monkeypatch):
    """Let a tuned decision be one of few, where a test is about what stands around it."""
    monkeypatch.setattr(tuned, "_MOST_CANDIDATES", 20)
    monkeypatch.setattr(tuned, "_MOST_PAIRED", 5)
