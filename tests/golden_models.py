"""Small models of every kind, stored as arrays, to see that a rebuild changes nothing.

    python tests/golden_models.py write models.npz             every kind of golden_cases.py
    python tests/golden_models.py compare models.npz           bit for bit; prints what differs
    python tests/golden_models.py write --committed tests/data/golden_engine.npz
    python tests/golden_models.py changes results.csv          with other instruction sets, and on two threads

The engine's models of the last version are committed; `test_engine_golden.py` compares them to 1e-6 where the processor
has the instructions that they were made with. Those of the hosts depend on the hosts' versions and are compared on one
machine alone. A kind alone: --kinds "engine shifts" "oxgb.train".
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from golden_cases import COMMITTED, KINDS, Arrays, cases


def models(kinds: Sequence[str], loss: str | None = None, **others: object) -> Iterator[tuple[str, Arrays]]:
    """Yield the name and arrays of every model that its library allows, of one loss or of all; with other options."""
    from ordinal_objectives.losses import get_loss

    for kind in kinds:
        for name, case in cases(kind):
            of_loss = case.get("loss", "all_threshold")
            if loss not in (None, of_loss):
                continue
            if "hessian" in case and "link" in case and not get_loss(of_loss, case["link"]).supports(case["hessian"]):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield name, KINDS[kind][0](case | others)


def write(path: str | Path, kinds: Sequence[str]) -> int:
    """Store models: of each kind of array all models' entries, one after the other. Return how many there are."""
    found = list(models(kinds))
    content: Arrays = {"names": np.array([name for name, _ in found])}
    for key in sorted({key for _, arrays in found for key in arrays}):
        parts = [arrays.get(key, np.zeros(0)) for _, arrays in found]
        content[key] = np.concatenate([part.ravel() for part in parts if part.size])
        content[f"{key}_size"] = np.array([part.size for part in parts])
    np.savez_compressed(path, **content)
    return len(found)


def read(path: str | Path) -> dict[str, Arrays]:
    """Return the stored models by name; arrays are flat."""
    content = np.load(path)
    result: dict[str, Arrays] = {_renamed(str(name)): {} for name in content["names"]}
    for key in content.files:
        if f"{key}_size" in content.files:
            parts = np.split(content[key], np.cumsum(content[f"{key}_size"])[:-1])
            for arrays, part in zip(result.values(), parts, strict=True):
                arrays[key] = part
    return result


def _renamed(name: str) -> str:
    """Return the name of a model as it is now: second derivatives of several outputs had other words."""
    if name.startswith("outputs/"):
        name = name.replace('"hessian": "exact"', '"hessian": "full"').replace(
            '"hessian": "bound"', '"hessian": "majorized"'
        )
    return name


def changes(kinds: Sequence[str]) -> Iterator[list[object]]:
    """Yield of each kind what changes with the instruction set and the number of threads, in rows of a table.

    Differences are those of scores and thresholds, divided by 1 and the number's size together, where the splits are
    the same. Rounding can decide between splits of nearly the same gain, whether a step that leaves the loss as it is
    gets halved, and how far scores and thresholds move together where the loss does not depend on it.
    """
    from ordinal_objectives import _core

    best = _core.instruction_set()
    yield ["kind", "change", "models", "same bytes", "within 1e-6", "other splits", "largest difference"]
    for kind in kinds:
        expected = dict(models([kind]))
        for change in (*(name for name in _core.instruction_sets() if name != best), "2 threads"):
            same = close = other_splits = 0
            largest = 0.0
            _core.select_instruction_set(best if change == "2 threads" else change)
            for name, found in models([kind], **({"n_jobs": 2} if change == "2 threads" else {})):
                stored = expected[name]
                same += all(np.array_equal(found[key], stored[key], equal_nan=True) for key in found)
                if any(not np.array_equal(found[key], stored[key], equal_nan=True) for key in _SPLITS & found.keys()):
                    other_splits += 1
                    continue
                pairs = [(found[key], stored[key]) for key in ("raw", "thresholds") if key in found]
                gap = max(float((np.abs(a - b) / (1 + np.abs(b))).max(initial=0.0)) for a, b in pairs)
                close, largest = close + (gap <= 1e-6), max(largest, gap)
            yield [kind, change, len(expected), same, close, other_splits, f"{largest:.1e}" if largest else "0"]
        _core.select_instruction_set(best)


_SPLITS = {"feature", "threshold", "left", "missing_left", "count"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["write", "compare", "changes"])
    parser.add_argument("path")
    parser.add_argument("--committed", action="store_true", help="the kinds whose arrays are committed")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    arguments = parser.parse_args()
    kinds = COMMITTED if arguments.committed else arguments.kinds
    if arguments.action == "write":
        print(f"{write(arguments.path, kinds)} models")
        return
    if arguments.action == "changes":
        with Path(arguments.path).open("w", newline="") as file:
            for row in changes(kinds):
                print(*row, flush=True)
                csv.writer(file, lineterminator="\n").writerow(row)
        return
    stored = read(arguments.path)
    n_models = n_different = n_new = 0
    for name, arrays in models(kinds):
        n_models += 1
        if name not in stored:
            print(name, "is not stored")
            n_new += 1
            continue
        different = [
            key
            for key, value in arrays.items()
            if not np.array_equal(stored[name][key], value.ravel(), equal_nan=value.dtype.kind == "f")
        ]
        n_different += bool(different)
        if different:
            print(name, "differs in", ", ".join(different))
    print(f"{n_models} models, {n_different} differ; {len(stored)} stored, {n_new} new")


if __name__ == "__main__":
    main()
