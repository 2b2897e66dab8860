"""Mutants of the native core: small changes of its C++ code, as those of mutants.py, which says more.

    python tests/core_mutants.py draw       add to areas that have too few, without verdicts
    python tests/core_mutants.py run        run the tests of every mutant of data/core_mutants.csv that has no verdict

The core is built once, in build/mutants, with all changes: each expression is the changed one where the environment
names the mutant. It is built for one instruction set, and without the optimisations that cost time.
"""

from __future__ import annotations

import argparse
import ctypes
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import nanobind

import mutants
from mutants import TESTS, Mutant, Switch

LIST = TESTS / "data" / "core_mutants.csv"
NATIVE = TESTS.parent / "native"
BUILD = TESTS.parent / "build" / "mutants"
EACH = 20
_ENGINE = "tests/trees " + " ".join(
    f"tests/histogram_engine/test_{name}.py"
    for name in [
        "category_splits",
        "constraints",
        "criteria",
        "engine_binning",
        "engine_cross_terms",
        "engine_guarantees",
        "engine_high_order",
        "engine_oracle",
        "engine_pruning",
        "goss",
        "multi_output_criterion",
        "row_sampler",
        "vector_criterion",
    ]
)
# Files whose slow tests count as well.
_SLOW = ("oracle.py", "engine_high_order.py", "engine_guarantees.py", "_criterion.py")
AREAS = {
    "core criteria": ("criteria/**/*", _ENGINE),
    "core scans": ("trees/scan_lanes.cpp trees/split.hpp trees/leaf_masks* trees/node_features.hpp", _ENGINE),
    "core histograms": ("trees/*histogram* trees/tree_planes* trees/tasks.hpp trees/row_layout.hpp", _ENGINE),
    "core trees": (
        "trees/grower.hpp trees/engine.* trees/*binning* trees/*partition* trees/*sampler* trees/draw*",
        _ENGINE,
    ),
    "core rows": ("rows/*", f"tests/rows {_ENGINE}"),
    "core pool": ("threads/*", f"tests/rows tests/native {_ENGINE}"),
}
# Words between spaces: those of templates have none.
_CHANGES = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&"}
_CHANGES |= {"+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+="}
_CHANGES |= {"std::min": "std::max", "std::max": "std::min"}
_WORDS = re.compile(
    rf"(?<= )(?:{'|'.join(map(re.escape, sorted(_CHANGES, key=len, reverse=True)))})(?= )"
    r"|(?<![.\w])\d+(?:\.\d+)?(?:e-?\d+)?(?![.\w])|\bstd::(?:min|max)\b|!(?=[\w(])|(?<=[ (])-(?=[a-z(])"
)
_LEFT_OUT = re.compile(
    r'#|//|template|static_assert|using|throw|namespace|.*constexpr|.*\balignas|.*"|(?:const )?[\w:]+ \w+\[|$'
)
# Python finds the two by their names.
_SWITCH = """#pragma once
#include <cstdlib>
#define SEEN inline __attribute__((visibility("default"), used))
extern "C" {
SEEN int mutant_here = std::getenv("ORDINAL_MUTANT") ? std::atoi(std::getenv("ORDINAL_MUTANT")) : -1;
SEEN char mutants_touched[1024] = {};
}
inline bool mutant_at(int number) {
    mutants_touched[number] = 1;
    return number == mutant_here;
}
"""


def changes(path: Path, area: str) -> Iterator[Mutant]:
    """Yield the changes of a file's lines that are compiled here: operators, signs, numbers, extremes."""
    text = path.read_text()
    compiled = [True]
    for line in map(str.strip, text.splitlines()):
        if line.startswith("#if"):
            compiled.append(not re.search("AVX|SSE|NEON|MSC_VER|ONE_LANE", line))
        elif line.startswith(("#else", "#elif")):
            compiled[-1] = not compiled[-1]
        elif line.startswith("#endif"):
            compiled.pop()
        if not all(compiled) or _LEFT_OUT.match(line) or text.count(line) > 1:
            continue
        for found in _WORDS.finditer(line.split("//")[0]):
            word, follows = found[0], line[found.end() :]
            if word in _CHANGES and (word != "-" or follows[0] == " "):
                after = _CHANGES[word]
            elif word[0].isdigit():
                after = repr(float(word) + 1) if re.search(r"[.e]", word) else str(int(word) + 1)
            else:
                after = ""  # of a sign or a negation
            yield Mutant(area, str(path.relative_to(NATIVE / "core")), line, found.start(), word, after)


# Where the expression around a change begins and ends.
_BEFORE = re.compile(r"[({\[,;}?]|(?<![=!<>])=(?!=)| : |return ")
_BEHIND = re.compile(r"[)}\],;?]| : ")
_HEAD = re.compile(r"\s*(?:else\b|(?:if|for|while) (?=\())")


def choice(text: str, mutant: Mutant, number: int, at: int) -> tuple[int, int, str]:
    """Return the place of the expression that a mutant changes, and one that chooses between the change and it."""
    start, depth = at, 0
    while depth or not _BEFORE.match(text, start - 1):
        start -= 1
        depth += {")": 1, "]": 1, "(": -1, "[": -1}.get(text[start], 0)
    found = _BEFORE.match(text, start - 1)
    assert found
    start, end, depth = found.end(), at + len(mutant.before), 0
    while depth or not _BEHIND.match(text, end):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(text[end], 0)
        end += 1
    while head := _HEAD.match(text, start, end):  # a condition before a statement is no part of it
        start = head.end()
        while text[start] == "(" or depth:
            depth += {"(": 1, ")": -1}.get(text[start], 0)
            start += 1
    changed = text[start:at] + mutant.after + text[at + len(mutant.before) : end]
    return start, end, f" (mutant_at({number}) ? ({' '.join(changed.split())}) : ({text[start:end]}))"


def built(numbered: Mapping[int, Mutant]) -> tuple[Path | None, set[int]]:
    """Return the compiled core with mutants, by number, and those that do not compile."""
    source, binary = BUILD / "native", BUILD / "core"
    lines: dict[tuple[str, int], int] = {}
    overlapping = set()
    for path in (path for path in NATIVE.rglob("*.*") if path.is_file()):
        name, text = str(path.relative_to(NATIVE)), path.read_text()
        here = {number: mutant for number, mutant in numbered.items() if f"core/{mutant.function}" == name}
        here = {
            number: text.index(mutant.line) + mutant.place for number, mutant in here.items() if mutant.line in text
        }
        if here:
            text = re.sub("//.*", lambda comment: " " * len(comment[0]), text)
        last = len(text)
        for number, at in sorted(here.items(), key=lambda item: -item[1]):
            start, end, both = choice(text, numbered[number], number, at)
            if end > last:
                overlapping.add(number)
                continue
            for line in range(text.count("\n", 0, start), text.count("\n", 0, end) + 1):
                lines[name, line + 1] = number
            text, last = text[:start] + both + text[end:], start
        if name == "CMakeLists.txt":
            text = text.replace("-O3", "-O1").replace('"x86_64|AMD64"', '"none"')
        copy = source / name
        if not copy.exists() or copy.read_text() != text:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text)
    if not binary.exists():
        (source / "mutant.hpp").write_text(_SWITCH)
        flags = f"-O1 -DNDEBUG -w -include {source / 'mutant.hpp'}"
        options = [f"-Dnanobind_DIR={nanobind.cmake_dir()}", f"-DPython_EXECUTABLE={sys.executable}"]
        options += ["-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_CXX_FLAGS={flags}"]
        subprocess.run(["cmake", "-G", "Ninja", "-S", source, "-B", binary, *options], check=True, capture_output=True)
    command = ["ninja", "-C", str(binary), "-k", "0", "-j1", "_core"]
    if overlapping:
        return None, overlapping
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode == 0:
        return next(binary.glob("_core.*.so")), set()
    found = re.findall(r"native/(\S+?):(\d+):\d+: +(?:error|required)", done.stdout)
    wrong = {lines[name, int(line)] for name, line in found if (name, int(line)) in lines}
    assert wrong, done.stdout[-4000:]
    return None, wrong


def draw(drawn: list[Mutant]) -> list[Mutant]:
    """Return some more mutants of each area that has too few: ones that compile, no two of them in one line."""
    taken = {(mutant.function, mutant.line) for mutant in drawn}
    left: dict[str, list[Mutant]] = {}
    for area, (places, _) in AREAS.items():
        files = sorted({path for place in places.split() for path in (NATIVE / "core").glob(place) if path.is_file()})
        found = [mutant for path in files for mutant in changes(path, area)]
        random.Random(area).shuffle(found)
        left[area] = list({(m.function, m.line): m for m in found if (m.function, m.line) not in taken}.values())
    core = None
    while core is None:
        missing = {area: EACH - Counter(m.area for m in drawn)[area] for area in AREAS}
        drawn += [left[area].pop() for area in AREAS for _ in range(min(missing[area], len(left[area])))]
        core, wrong = built(dict(enumerate(drawn)))
        drawn = [mutant for number, mutant in enumerate(drawn) if number not in wrong]
        print(len(drawn), "compile," if core else "left,", len(wrong), "do not", flush=True)
    return sorted(drawn)


def core_switch() -> Switch:
    from ordinal_objectives import _core

    library = ctypes.CDLL(_core.__file__)
    here, touched = (
        ctypes.c_int.in_dll(library, "mutant_here"),
        (ctypes.c_char * 1024).in_dll(library, "mutants_touched"),
    )

    def take() -> Collection[int]:
        found = [number for number, one in enumerate(touched.raw) if one]
        ctypes.memset(touched, 0, len(touched))
        return found

    return Switch(lambda number: setattr(here, "value", number), take)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("draw", "run"))
    options = parser.parse_args()
    drawn = mutants.read(LIST) if LIST.exists() else []
    if options.what == "draw":
        mutants.write(draw(drawn), LIST)
        return
    texts = {mutant.function: (NATIVE / "core" / mutant.function).read_text() for mutant in drawn}
    there = {number: mutant for number, mutant in enumerate(drawn) if mutant.line in texts[mutant.function]}
    core, wrong = built(there)
    assert core is not None, [drawn[number] for number in wrong]

    def done(number: int, new: Mutant) -> None:
        drawn[number] = new
        mutants.write(drawn, LIST)

    for number in range(len(drawn)):
        if number not in there:
            done(number, drawn[number]._replace(verdict="gone"))
    with tempfile.TemporaryDirectory() as folder:
        package = mutants.copied(mutants.installed(), Path(folder))
        for old in package.glob("_core.*.so"):
            old.unlink()
        shutil.copy(core, package)
        left = {number: mutant for number, mutant in enumerate(drawn) if not mutant.verdict}
        mutants.Judge(left, {area: tests for area, (_, tests) in AREAS.items()}, core_switch, done, _SLOW).run(
            Path(folder)
        )


if __name__ == "__main__":
    main()
