"""What the tests of decisions share."""

from __future__ import annotations

import pytest


@pytest.fixture
def data(ordinal_data):
    """Return 200 rows of four classes; files with other data say so."""
    return ordinal_data(200, 4)
