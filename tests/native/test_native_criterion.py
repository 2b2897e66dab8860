"""A criterion of a test joins the native core by its folder alone: a script writes what includes all criteria."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_LIST = _ROOT / "native" / "list_criteria.py"
_COMPILER = os.environ.get("CXX") or shutil.which("c++")


@pytest.mark.slow
@pytest.mark.skipif(_COMPILER is None, reason="no C++ compiler on this machine")
def test_a_criterion_joins_by_its_folder(tmp_path):
    native, generated = tmp_path / "native", tmp_path / "generated"
    core = native / "core"
    shutil.copytree(_ROOT / "native" / "core", core)
    shutil.copytree(_ROOT / "tests" / "native" / "balanced", core / "criteria" / "balanced")
    subprocess.run([sys.executable, str(_LIST), str(native), str(generated)], check=True)
    # To grow trees needs neither predictions nor samples, which take seconds to compile.
    trees = [path for path in core.glob("trees/*.cpp") if path.stem not in ("predictor", "row_sampler")]
    sources = [*trees, *core.glob("criteria/**/*.cpp"), *core.glob("rows/*_lanes.cpp")]
    sources += [core / "simd" / "dispatch.cpp", _ROOT / "tests" / "native" / "grow_balanced.cpp"]
    program = tmp_path / "grow_balanced"
    command = [str(_COMPILER), "-std=c++17", "-O0", "-pthread", "-DORDINAL_ISA=baseline", f"-I{core}", f"-I{generated}"]
    subprocess.run([*command, *map(str, sources), "-o", str(program)], check=True)
    printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    nodes = [tuple(map(int, line.split())) for line in printed.splitlines()]
    # Seven splits into halves: all of them along the feature with eight values.
    assert [node[0] for node in nodes if node[2] >= 0] == [1] * 7
    assert sorted(node[3] for node in nodes if node[2] < 0) == [512] * 8


def test_headers_whose_content_stays_are_not_written_again(tmp_path):
    run = [sys.executable, str(_LIST), str(_ROOT / "native"), str(tmp_path)]
    subprocess.run(run, check=True)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("criteria/*.hpp")}
    folders = sorted(path.parent.name for path in _ROOT.glob("native/core/criteria/*/leaf.hpp"))
    (tmp_path / "criteria" / "every_gain.hpp").write_text("#pragma once\n")
    subprocess.run(run, check=True)
    changed = [path.name for path, time in before.items() if path.stat().st_mtime_ns != time]
    assert changed == ["every_gain.hpp"]
    text = (tmp_path / "criteria" / "every_gain.hpp").read_text()
    assert [line.split("/")[1] for line in text.splitlines() if line.startswith("#include")] == folders
