"""The tables of the committed results, which take seconds to make, once for all tests of this folder."""

from __future__ import annotations

import pytest

from claims import accuracy_report


@pytest.fixture(scope="session")
def tables():
    return accuracy_report.tables()
