"""Tests meet the installed package, never the source folder beside them."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

_ROOT = Path(__file__).resolve().parents[1]
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _ROOT]

settings.register_profile("reproducible", derandomize=True, deadline=None, max_examples=100)
settings.load_profile("reproducible")
