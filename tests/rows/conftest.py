"""What the tests of the native pass share."""

from __future__ import annotations

import pytest

from ordinal_objectives import _core


@pytest.fixture(params=_core.instruction_sets())
def instruction_set(request):
    before = _core.instruction_set()
    assert _core.select_instruction_set(request.param)
    yield request.param
    _core.select_instruction_set(before)
