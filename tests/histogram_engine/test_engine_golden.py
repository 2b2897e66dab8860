"""The native engine's models are those of the version whose arrays are stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import golden_cases
import golden_models

pytestmark = pytest.mark.slow

_STORED = golden_models.read(Path(__file__).parents[1] / "data" / "golden_engine.npz")


@pytest.mark.parametrize("kind", golden_cases.COMMITTED)
def test_models_are_those_stored(kind):
    seen = 0
    for name, arrays in golden_models.models([kind]):
        seen += 1
        for key, value in arrays.items():
            # Instruction sets differ by 2e-8; counts and structure not at all.
            tolerance = 0.0 if value.dtype.kind in "iu" else 1e-6
            np.testing.assert_allclose(value.ravel(), _STORED[name][key], rtol=tolerance, atol=tolerance, err_msg=name)
    assert seen == sum(name.startswith(f"{kind}/") for name in _STORED)
