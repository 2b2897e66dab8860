"""The tables of the committed results, which take seconds to make, once for all tests of this folder."""

from __future__ import annotations

import os
import pickle
import time

import pytest

from claims.report import accuracy_report
from claims.report.words import Tables

WAIT = 600  # seconds until the worker that makes the tables is given up


@pytest.fixture(scope="session")
def tables(tmp_path_factory):
    """The tables; the workers of one run share them by a file in the folder that their own folders lie in."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return accuracy_report.tables()
    shared = tmp_path_factory.getbasetemp().parent
    made, making = shared / "tables.pickle", shared / "tables.making"
    for _ in range(10 * WAIT):
        if made.exists():
            return pickle.loads(made.read_bytes())
        try:
            making.mkdir()
        except FileExistsError:
            time.sleep(0.1)
            continue
        try:
            (making / "tables").write_bytes(pickle.dumps(accuracy_report.tables()))
            (making / "tables").rename(made)
        finally:
            (making / "tables").unlink(missing_ok=True)
            making.rmdir()
    raise TimeoutError(f"no worker made the tables in {WAIT} seconds")


@pytest.fixture(scope="session")
def t(tables):
    """The same as numbers, for sentences."""
    return Tables(tables)
