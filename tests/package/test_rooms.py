"""Who imports whom, also for types: no two files each other, no framework's folder another's, no adapter the engine."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from itertools import permutations
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOP = "ordinal_objectives"
FOLDERS = {TOP: TOP} | {name: f"{TOP}.{name}" for name in ("adapters", "histogram_engine", "threshold_solver")}


def modules() -> dict[str, Path]:
    """Return every file of the package by the name it is imported by."""
    found = {}
    for folder, package in FOLDERS.items():
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join([package, *(part for part in parts if part != "__init__")])] = path
    return found


def imports_of(path: Path, known: dict[str, Path]) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= inner if inner <= known.keys() else {node.module} | (inner & known.keys())
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    # The package itself names its classes for type checkers and imports them on first use.
    return {name for name in names if name in known and name != TOP and known[name] != path}


@pytest.fixture(scope="module")
def graph():
    known = modules()
    return {name: imports_of(path, known) for name, path in known.items() if name != TOP}


def test_no_circle(graph):
    assert len(graph) > 50
    assert list(TopologicalSorter(graph).static_order())


def test_frameworks_stay_apart(graph):
    """Export is on top of the others: one file reads all models, a file writes one format; SHAP values need it."""
    for name, imported in graph.items():
        if name.startswith(f"{TOP}.export"):
            rooms = [
                room
                for room in (".adapters.xgb", ".adapters.lgbm", ".adapters.cb", ".histogram_engine")
                if room in str(imported)
            ]
            assert len(rooms) <= 1 or name == f"{TOP}.export.model", name
            continue
        assert name == f"{TOP}.inspection.features" or not [one for one in imported if f"{TOP}.export" in one], name
        for mine, other in permutations(("xgb", "lgbm", "cb"), 2):
            if f".adapters.{mine}." in name:
                assert not [one for one in imported if f".adapters.{other}" in one], name
        if ".adapters" not in name:
            assert not [one for one in imported if ".adapters" in one], name


def test_plug_ins_and_engine_stay_apart(graph):
    adapters, engine = (f"{TOP}.{room}" for room in ("adapters", "histogram_engine"))
    for mine, other in ((adapters, engine), (engine, adapters)):
        inside = {name: imported for name, imported in graph.items() if name.startswith(mine)}
        assert len(inside) > 10
        assert not [(name, one) for name, imported in inside.items() for one in imported if one.startswith(other)]
