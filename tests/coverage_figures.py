"""Print how much of the package its tests run: branches of Python and, where they were counted, lines of native/core.

    python tests/coverage_figures.py build/coverage

The folder has what `make coverage` or `make coverage-python` leaves there. Fails below the goals.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

# Below what the tests run by a margin for machines that skip some of them: another processor, no compiler, one core.
LEAST = {"branches of Python": 0.95, "lines of native/core": 0.95}


def figures(folder: Path) -> dict[str, tuple[int, int]]:
    """Return how many of what the tests run, and how many there are."""
    totals = json.loads((folder / "python.json").read_text(encoding="utf-8"))["totals"]
    found = {"branches of Python": (totals["covered_branches"], totals["num_branches"])}
    if (native := folder / "native.json").is_file():
        lines = json.loads(native.read_text(encoding="utf-8"))
        found["lines of native/core"] = (lines["line_covered"], lines["line_total"])
    return found


def too_low(found: dict[str, tuple[int, int]]) -> list[str]:
    """Return whose share is below its goal."""
    return [name for name, (run, of) in found.items() if run < LEAST[name] * of]


if __name__ == "__main__":
    found = figures(Path(sys.argv[1]))
    for name, (run, of) in found.items():
        print(f"Coverage: {run / of:.1%} of the {name} ({run:,} of {of:,}), at least {LEAST[name]:.0%}")
    sys.exit(f"Too low: {', '.join(too_low(found))}" if too_low(found) else 0)
