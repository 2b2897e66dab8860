"""Some runs of the state machines; `make fuzz` has ten thousand. What they found stands here as tests of its own."""

from __future__ import annotations

import pytest

from fuzz import run
from state_tables import TRAINERS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("trainer", TRAINERS)
def test_calls_in_any_order(trainer):
    run(trainer, 0, 1 if trainer in ("ensemble", "prediction sets") else 2)
