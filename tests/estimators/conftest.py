"""What the tests of the classifiers share."""

from __future__ import annotations

import pytest


@pytest.fixture
def data(ordinal_data):
    """Return 300 rows of four classes; files with other data say so."""
    return ordinal_data(300, 4)
