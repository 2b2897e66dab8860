"""The tables of the committed results, which take seconds to make, once for all tests of this folder."""

from __future__ import annotations

import pytest

from claims.report import accuracy_report
from claims.report.words import Tables


@pytest.fixture(scope="session")
def tables():
    return accuracy_report.tables()


@pytest.fixture(scope="session")
def t(tables):
    """The same as numbers, for sentences."""
    return Tables(tables)
