"""Mutants of the package: small changes of its code, each of which some test should notice.

    python tests/mutants.py run             run the tests of every mutant of data/mutants.csv that has no verdict
    python tests/mutants.py run --again     of every mutant; prints those that were killed before and survive now
    python tests/mutants.py draw            add to areas that have too few, without verdicts

A mutant is known by its function and the line's text, so that it is found where a rebuild put it. It is applied to a
copy of the installed package. Verdicts are "killed", with the first test that failed, "survived" and "gone": the line
is no longer there. Where a rebuild wrote a line anew, the list has its counterpart, with the verdict of the
line before.
"""

from __future__ import annotations

import argparse
import ast
import csv
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parent
LIST = TESTS / "data" / "mutants.csv"
EACH, SECONDS, BYTES = 25, 1200, 8 << 30
# Where mutants are drawn, and the tests that should notice them.
AREAS = {
    "losses": (("losses",), "tests/losses tests/rows"),
    "links": (("links",), "tests/losses"),
    "leaves": (("leaves", "trees.py"), "tests/losses tests/trees tests/threshold_solver tests/histogram_engine"),
    "thresholds": (("threshold_solver",), "tests/threshold_solver tests/adapters tests/histogram_engine"),
    "rows": (("rows",), "tests/rows tests/losses"),
    "decisions": (("decision.py", "decisions"), "tests/decisions tests/estimators"),
    "metrics": (
        ("metrics", "scorers.py", "eval_metric.py"),
        (
            "tests/package/test_metrics.py tests/package/test_scorers.py tests/estimators/test_eval_metric.py "
            "tests/estimators/test_training_cost.py"
        ),
    ),
    "engine": (("histogram_engine",), "tests/histogram_engine"),
    "adapters": (("adapters",), "tests/adapters"),
    "estimators": (("estimators",), "tests/estimators tests/decisions"),
    "groups": (("estimators/random_intercept.py",), "tests/estimators/test_random_intercept.py"),
    "populations": (("estimators/adapted.py",), "tests/estimators/test_adapted.py"),
    "answers": (
        ("ordinal_labels.py", "agreement.py", "rows/soft_rows.py"),
        (
            "tests/package/test_ordinal_labels.py tests/package/test_agreement.py tests/rows/test_soft_rows.py "
            "tests/estimators/test_soft_labels.py"
        ),
    ),
    "distributions": (("distributions",), "tests/distributions"),
    "inspection": (
        ("inspection",),
        (
            "tests/estimators/test_inspection.py tests/estimators/test_effects.py tests/estimators/test_summary.py "
            "tests/estimators/test_proportional_odds.py tests/export/test_shap.py"
        ),
    ),
    "export": (("export",), "tests/export"),
    "plotting": (("plotting",), "tests/plotting"),
    "labels": (
        ("estimators/labels.py", "estimators/arguments.py", "estimators/ordered_classifier.py", "registry.py"),
        (
            "tests/package/test_labels.py tests/estimators/test_estimators.py tests/estimators/test_user_mistakes.py "
            "tests/estimators"
        ),
    ),
    "tables": (
        ("estimators/tables.py", "predictions.py", "row_blocks.py", "threads.py"),
        (
            "tests/estimators/test_column_kinds.py tests/estimators/test_levels_by_table.py "
            "tests/estimators/test_predictions.py tests/histogram_engine/test_row_blocks.py "
            "tests/trees/test_predictions.py tests/estimators"
        ),
    ),
    "files": (
        ("utils/files.py", "utils/validation.py", "histogram_engine/model_file.py", "adapters/xgb/model_file.py"),
        (
            "tests/package/test_file_labels.py tests/estimators/test_damaged_files.py "
            "tests/estimators/test_file_contents.py tests/estimators/test_written_files.py "
            "tests/estimators/test_parameters_in_files.py tests/histogram_engine"
        ),
    ),
}


class Mutant(NamedTuple):
    area: str
    function: str  # Class.method or function
    line: str  # its text, without the indentation
    place: int  # of the change in the line
    before: str
    after: str
    verdict_before: str = ""  # of the last run before this one: before a rebuild
    verdict: str = ""
    test: str = ""
    note: str = ""  # why one that survives changes nothing, or what a rebuild deleted


_COMPARE = {ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")}
_COMPARE |= {ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is")}
_BINARY = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*")}
_BOOLEAN = {ast.And: ("and", "or"), ast.Or: ("or", "and")}
_NAMES = {
    "minimum": "maximum",
    "maximum": "minimum",
    "min": "max",
    "max": "min",
    "argmin": "argmax",
    "argmax": "argmin",
}
_NAMES |= {"any": "all", "all": "any"}


def changes(path: Path, area: str) -> Iterator[Mutant]:
    """Yield the changes of a file: of comparisons, sums, products, conditions, numbers and extremes."""
    source = path.read_text()
    lines = source.splitlines()

    def between(left: ast.expr, right: ast.expr, words: tuple[str, str]) -> tuple[int, int, str, str] | None:
        row, start = left.end_lineno or 0, left.end_col_offset or 0
        if row != right.lineno:
            return None
        found = re.search(
            rf"(?<![\w<>=!*/]){re.escape(words[0])}(?![\w<>=!*/])", lines[row - 1][start : right.col_offset]
        )
        return (row, start + found.start(), *words) if found else None

    def of_node(node: ast.AST) -> tuple[int, int, str, str] | None:
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
            return between(node.left, node.comparators[0], _COMPARE[type(node.ops[0])])
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            return between(node.left, node.right, _BINARY[type(node.op)])
        if isinstance(node, ast.BoolOp):
            return between(node.values[0], node.values[1], _BOOLEAN[type(node.op)])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return node.lineno, node.col_offset, "not ", ""
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            text = lines[node.lineno - 1][node.col_offset : node.end_col_offset]
            return node.lineno, node.col_offset, text, repr(node.value + 1)
        if isinstance(node, ast.Attribute) and node.attr in _NAMES and node.lineno == node.end_lineno:
            return node.lineno, (node.end_col_offset or 0) - len(node.attr), node.attr, _NAMES[node.attr]
        return None

    def walk(node: ast.AST, name: str) -> Iterator[Mutant]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Raise | ast.Assert | ast.arguments | ast.AnnAssign):
                continue
            if isinstance(child, ast.ClassDef | ast.FunctionDef):
                yield from walk(child, f"{name}.{child.name}" if name else child.name)
                continue
            change = of_node(child) if name else None
            if change is not None:
                row, column, before, after = change
                text = lines[row - 1]
                indent = len(text) - len(text.lstrip())
                yield Mutant(area, name, text.strip(), column - indent, before, after)
            yield from walk(child, name)

    yield from walk(ast.parse(source), "")


def draw(package: Path, drawn: list[Mutant]) -> list[Mutant]:
    """Return some more mutants of each area that has too few, no two of them in one line."""
    taken = {(mutant.function, mutant.line) for mutant in drawn}
    for area, (places, _) in AREAS.items():
        files = [path for place in places for path in _files(package / place)]
        found = {(m.function, m.line): m for path in files for m in sorted(changes(path, area))}
        left = [mutant for key, mutant in found.items() if key not in taken]
        n_missing = max(EACH - sum(mutant.area == area for mutant in drawn), 0)
        drawn += sorted(random.Random(area).sample(left, min(n_missing, len(left))))
    return drawn


def _files(place: Path) -> list[Path]:
    # Folders may be links, where the package is not installed.
    found = [Path(folder, name) for folder, _, names in os.walk(place, followlinks=True) for name in names]
    return sorted(path for path in found if path.suffix == ".py") if place.is_dir() else [place]


def applied(mutant: Mutant, package: Path) -> tuple[Path, str] | None:
    """Return the file that holds the mutant's line, and its text with the change; None where there is none."""
    found = []
    for path in _files(package):
        text = path.read_text()
        if mutant.line in text:
            lines, functions = text.splitlines(keepends=True), dict(_functions(ast.parse(text), ""))
            for number, line in enumerate(lines):
                if line.strip() == mutant.line:
                    found.append((functions.get(number + 1) == mutant.function, path, lines, number))
    chosen = [place for place in found if place[0]] or found
    if not chosen or (not chosen[0][0] and len(chosen) > 1):
        return None
    _, path, lines, number = chosen[0]
    text = lines[number]
    start = len(text) - len(text.lstrip()) + mutant.place
    assert text.startswith(mutant.before, start), (mutant, text)
    lines[number] = text[:start] + mutant.after + text[start + len(mutant.before) :]
    return path, "".join(lines)


def _functions(node: ast.AST, name: str) -> Iterator[tuple[int, str]]:
    """Yield every line of a file's functions and classes, and the name of the innermost one."""
    for child in ast.iter_child_nodes(node):
        inner = name
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            inner = f"{name}.{child.name}" if name else child.name
            yield from ((line, inner) for line in range(child.lineno, (child.end_lineno or 0) + 1))
        yield from _functions(child, inner)


def judged(mutant: Mutant, package: Path) -> Mutant:
    """Return the mutant with its verdict."""
    change = applied(mutant, package)
    if change is None:
        return mutant._replace(verdict="gone", test="")
    path, text = change
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(package, Path(folder, package.name), ignore=shutil.ignore_patterns("__pycache__"))
        Path(folder, package.name, path.relative_to(package)).write_text(text)
        paths = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no"]
        environment = os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
        # The test that noticed it before, which may be a slow one, comes first.
        known = [mutant.test] if (TESTS.parent / mutant.test.split("::")[0]).is_file() else []
        for tests in (known, ["-m", "not slow", *AREAS[mutant.area][1].split()]):
            if not tests:
                continue
            try:
                done = subprocess.run(
                    [*command, *tests],
                    check=False,
                    cwd=TESTS.parent,
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=SECONDS,
                )
            except subprocess.TimeoutExpired:
                return mutant._replace(verdict="killed", test="by the time limit")
            # Another number says of a known test that there is none.
            if done.returncode == 1 or (done.returncode and tests is not known):
                failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
                return mutant._replace(verdict="killed", test=failed[1].split("[")[0] if failed else "import")
    return mutant._replace(verdict="survived", test="")


def read(path: Path = LIST) -> list[Mutant]:
    with path.open(newline="") as stream:
        return [Mutant(**{**row, "place": int(row["place"])}) for row in csv.DictReader(stream)]


def write(mutants: list[Mutant], path: Path = LIST) -> None:
    with path.open("w", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(Mutant._fields)
        table.writerows(mutants)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("draw", "run"))
    parser.add_argument("--again", action="store_true", help="also those that have a verdict")
    parser.add_argument("--list", type=Path, default=LIST)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    spec = find_spec("ordinal_objectives")
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    if options.what == "draw":
        write(draw(package, read(options.list)), options.list)
        return
    # For the tests, which inherit it: some mutants fill the memory in a loop without end.
    resource.setrlimit(resource.RLIMIT_DATA, (BYTES, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    mutants = read(options.list)
    left = [number for number, mutant in enumerate(mutants) if options.again or not mutant.verdict]
    with ThreadPoolExecutor(options.jobs) as pool:
        for number, new in zip(left, pool.map(lambda n: judged(mutants[n], package), left), strict=True):
            if options.again:
                new = new._replace(verdict_before=mutants[number].verdict)
            if new.verdict_before == "killed" and new.verdict == "survived":
                print("survives now:", *new, flush=True)
            mutants[number] = new
            write(mutants, options.list)
    for verdict in ("killed", "survived", "gone"):
        print(verdict, sum(mutant.verdict == verdict for mutant in mutants))


if __name__ == "__main__":
    main()
