"""A third criterion, written here, joins the native core by its folder and one line in each list of criteria/."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_COMPILER = os.environ.get("CXX") or shutil.which("c++")
_LINES = {
    "list.hpp": [
        ("#pragma once\n", '#pragma once\n#include "criteria/balanced/leaf.hpp"\n'),
        ("    use(joint, Joint)\n", "    use(joint, Joint) \\\n    use(balanced, Balanced)\n"),
    ],
    "gains.hpp": [("#pragma once\n", '#pragma once\n#include "criteria/balanced/gain.hpp"\n')],
    "criteria.hpp": [("#pragma once\n", '#pragma once\n#include "criteria/balanced/criterion.hpp"\n')],
}


@pytest.mark.slow
@pytest.mark.skipif(_COMPILER is None, reason="no C++ compiler on this machine")
def test_a_criterion_joins_by_its_folder(tmp_path):
    core = tmp_path / "core"
    shutil.copytree(_ROOT / "native" / "core", core)
    shutil.copytree(_ROOT / "tests" / "native" / "balanced", core / "criteria" / "balanced")
    for name, lines in _LINES.items():
        text = (core / "criteria" / name).read_text()
        for old, new in lines:
            assert text.count(old) == 1
            text = text.replace(old, new)
        (core / "criteria" / name).write_text(text)
    sources = [*core.glob("trees/*.cpp"), *core.glob("criteria/**/*.cpp"), *core.glob("rows/*_lanes.cpp")]
    sources += [core / "simd" / "dispatch.cpp", _ROOT / "tests" / "native" / "grow_balanced.cpp"]
    program = tmp_path / "grow_balanced"
    command = [str(_COMPILER), "-std=c++17", "-O0", "-pthread", "-DORDINAL_ISA=baseline", f"-I{core}"]
    subprocess.run([*command, *map(str, sources), "-o", str(program)], check=True)
    printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    nodes = [tuple(map(int, line.split())) for line in printed.splitlines()]
    # Seven splits into halves: all of them along the feature with eight values.
    assert [node[0] for node in nodes if node[2] >= 0] == [1] * 7
    assert sorted(node[3] for node in nodes if node[2] < 0) == [512] * 8
