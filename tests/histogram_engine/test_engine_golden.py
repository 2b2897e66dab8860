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
            # Counts and structure do not differ, nor what the core computes; exponentials of other C libraries may.
            tolerance = 0.0 if value.dtype.kind in "iu" else 1e-6
            np.testing.assert_allclose(value.ravel(), _STORED[name][key], rtol=tolerance, atol=tolerance, err_msg=name)
    assert seen == sum(name.startswith(f"{kind}/") for name in _STORED)


@pytest.mark.parametrize("kind", ["engine order", "oxgb.train", "olgbm.train"])
def test_another_number_of_threads_changes_rounding_alone(kind):
    """The engine promises the same bytes."""
    two = golden_models.models([kind], n_jobs=2)
    for (name, one), (_, other) in zip(golden_models.models([kind]), two, strict=True):
        for key in one.keys() - ({"trees"} if kind != "engine order" else set()):
            tolerance = 0.0 if kind == "engine order" else 1e-6
            np.testing.assert_allclose(other[key], one[key], rtol=tolerance, atol=tolerance, err_msg=name)
