"""Memory that does not grow, fits that are interrupted, readers that fail; `tests/endure.py` does more of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from endure import INTERRUPTED, MAKERS, beside_fits, grown, rows
from ordinal_objectives import RowBlocks

pytestmark = pytest.mark.slow
EACH = pytest.mark.parametrize("name", MAKERS)


@EACH
def test_memory_does_not_grow(name):
    _, growth = grown(name, 16, 32, warm=8)
    assert growth < 0.01


def test_an_interrupted_fit_leaves_the_model_as_it_was():
    """In a process of its own: pytest has callbacks too, which an interrupt would end."""
    code = f"from endure import interrupted; print(*(interrupted(name, 4)[0] for name in {INTERRUPTED}))"
    here = str(Path(__file__).parents[1])
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert all(map(int, done.stdout.split()))


@EACH
def test_threads_predict_while_another_trains(name):
    n_predictions, n_fits = beside_fits(name, 0.2)
    assert n_predictions >= 8
    assert n_fits


class Fails:
    """Blocks of rows whose reader fails at a block, once it has been read through so many times."""

    def __init__(self, X, after):
        self.X, self.after = X, after

    def __iter__(self):
        for start in (0, 100):
            if not self.after:
                raise OSError("the disk is gone")
            self.after -= 1
            yield self.X[start : start + 100]


def test_a_reader_that_fails_in_the_middle_changes_nothing():
    X, y = rows(0)
    model = MAKERS["engine"]().fit(X, y)
    before, n_failed = model.predict_proba(X), 0
    for after in range(2, 12):
        blocks = RowBlocks(Fails(X, after))
        try:
            model.fit(blocks, y[::-1])
        except OSError as error:
            n_failed += str(error) == "the disk is gone"
            np.testing.assert_array_equal(model.predict_proba(X), before)
        else:
            break
    assert n_failed > 1
