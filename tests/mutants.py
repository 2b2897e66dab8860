"""Mutants of the package: small changes of its code, each of which some test should notice.

    python tests/mutants.py run             run the tests of every mutant of data/mutants.csv that has no verdict
    python tests/mutants.py run --again     of every mutant; prints those that were killed before and survive now
    python tests/mutants.py draw            add to areas that have too few, without verdicts
    python tests/mutants.py run --areas pairs --list tests/data/option_mutants.csv      mistakes where options meet

A mutant is known by its function and the line's text, so that it is found where a rebuild put it. It is applied to a
copy of the installed package. Verdicts are "killed", with the first test that failed, "survived" and "gone": the line
is no longer there. Where a rebuild wrote a line anew, the list has its counterpart, with the verdict of the
line before.

Only a test that reaches the changed line can notice the mutant. Which do is found once, by a run of the tests on a
package whose statements say that they were reached, and kept in build/mutants.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import os
import random
import re
import resource
import shutil
import signal
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

TESTS = Path(__file__).parent
LIST = TESTS / "data" / "mutants.csv"
REACHED = TESTS.parent / "build" / "mutants" / "reached.json"
EACH, SECONDS, BYTES = 27, 1200, 8 << 30
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
            "tests/estimators/test_training_cost.py tests/decisions/test_reliability.py"
        ),
    ),
    "engine": (("histogram_engine",), "tests/histogram_engine tests/estimators/test_random_intercept.py"),
    "adapters": (("adapters",), "tests/adapters"),
    "estimators": (("estimators",), "tests/estimators tests/decisions tests/adapters/test_groups_beside.py"),
    "groups": (
        ("threshold_solver/random_intercept.py", "threshold_solver/effect_errors.py", "random_effects.py"),
        (
            "tests/estimators/test_effect_errors.py tests/estimators/test_group_effects.py "
            "tests/estimators/test_random_intercept.py tests/estimators/test_new_groups.py "
            "tests/adapters/test_groups_beside.py"
        ),
    ),
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
            "tests/estimators/test_proportional_odds.py tests/estimators/test_number_categories.py "
            "tests/export/test_shap.py"
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
        ("tables.py", "columns.py", "predictions.py", "row_blocks.py", "threads.py"),
        (
            "tests/estimators/test_column_kinds.py tests/estimators/test_columns.py "
            "tests/estimators/test_predictions.py tests/histogram_engine/test_row_blocks.py "
            "tests/trees/test_predictions.py tests/estimators"
        ),
    ),
    # Of data/option_mutants.csv, which is written by hand: nothing is drawn.
    "pairs": ((), "tests/estimators tests/adapters tests/histogram_engine tests/distributions tests/decisions"),
    "files": (
        (
            *("utils/files.py", "utils/json_of.py", "utils/validation.py"),
            *("histogram_engine/model_file.py", "adapters/xgb/input_checks.py"),
        ),
        (
            "tests/package/test_file_labels.py tests/package/test_json_of.py tests/estimators/test_damaged_files.py "
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
    place = located(mutant, package)
    if place is None:
        return None
    path, lines, number = place
    text = lines[number]
    start = len(text) - len(text.lstrip()) + mutant.place
    assert text.startswith(mutant.before, start), (mutant, text)
    lines[number] = text[:start] + mutant.after + text[start + len(mutant.before) :]
    return path, "".join(lines)


def located(mutant: Mutant, package: Path) -> tuple[Path, list[str], int] | None:
    """Return the file that holds the mutant's line, its lines, and which of them it is."""
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
    return chosen[0][1:]


def _functions(node: ast.AST, name: str) -> Iterator[tuple[int, str]]:
    """Yield every line of a file's functions and classes, and the name of the innermost one."""
    for child in ast.iter_child_nodes(node):
        inner = name
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            inner = f"{name}.{child.name}" if name else child.name
            yield from ((line, inner) for line in range(child.lineno, (child.end_lineno or 0) + 1))
        yield from _functions(child, inner)


# The package with all mutants asks at each of them whether it is the one of this process. C++ has the same.
_SWITCH = """
import os
here, touched = int(os.environ.get("ORDINAL_MUTANT", -1)), set()
def at(number):
    touched.add(number)
    return number == here
"""


def with_all(package: Path, numbered: Mapping[int, Mutant], folder: Path) -> dict[int, Mutant]:
    """Copy the package into a folder, with each change beside the expression before; return those that are gone."""
    copy = copied(package, folder)
    (folder / "mutant_switch.py").write_text(_SWITCH)
    gone, places = {}, defaultdict[Path, dict[Any, list[tuple[int, ast.expr]]]](lambda: defaultdict(list))
    for number, mutant in numbered.items():
        change = applied(mutant, package)
        if change is None:
            gone[number] = mutant._replace(verdict="gone", test="")
            continue
        path, text = change
        one, other = _difference(ast.parse(path.read_text()), ast.parse(text))
        places[path][_place(one)].append((number, other))
    for path, of_file in places.items():
        tree = _Choices(of_file).visit(ast.parse(path.read_text()))
        future = [place for place, one in enumerate(tree.body) if getattr(one, "module", "") == "__future__"]
        tree.body.insert(
            future[-1] + 1 if future else 1, ast.parse("from mutant_switch import at as _mutant_at").body[0]
        )
        (copy / path.relative_to(package)).write_text(ast.unparse(ast.fix_missing_locations(tree)))
    return gone


def installed() -> Path:
    spec = find_spec("ordinal_objectives")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def copied(package: Path, folder: Path) -> Path:
    return Path(shutil.copytree(package, folder / package.name, ignore=shutil.ignore_patterns("__pycache__")))


def _difference(one: Any, other: Any) -> tuple[ast.expr, ast.expr]:
    """Return the innermost expressions that make the difference between two trees."""
    if type(one) is type(other):
        parts = [list(ast.iter_child_nodes(tree)) for tree in (one, other)]
        differing = [pair for pair in zip(*parts, strict=False) if ast.dump(pair[0]) != ast.dump(pair[1])]
        if len(parts[0]) == len(parts[1]) and len(differing) == 1:
            found = _difference(*differing[0])
            if isinstance(found[0], ast.expr):
                return found
    return one, other


def _place(node: ast.AST) -> tuple[Any, ...]:
    return type(node), *(getattr(node, name, None) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"))


class _Choices(ast.NodeTransformer):
    def __init__(self, places: Mapping[Any, list[tuple[int, ast.expr]]]) -> None:
        self._places = places

    def visit(self, node: ast.AST) -> Any:
        place = _place(node)
        node = self.generic_visit(node)
        for number, changed in self._places.get(place, ()):
            asked = ast.Call(ast.Name("_mutant_at", ast.Load()), [ast.Constant(number)], [])
            node = ast.IfExp(asked, changed, node)
        return node


class Switch(NamedTuple):
    """How a process takes a mutant, and which ones a test has reached since this was last asked."""

    select: Callable[[int], None]
    touched: Callable[[], Collection[int]]


def python_switch() -> Switch:
    import mutant_switch

    def touched() -> Collection[int]:
        found = set(mutant_switch.touched)
        mutant_switch.touched.clear()
        return found

    return Switch(lambda number: setattr(mutant_switch, "here", number), touched)


class Judge:
    """A plugin of pytest: of the tests that were collected, a child for each mutant runs those that reach it.

    Parameters
    ----------
    numbered : dict of {int: Mutant}
        Those to judge.
    areas : dict of {str: str}
        Tests of each area.
    switch : callable
        Returns the Switch, once the package is imported.
    done : callable
        Takes number and mutant, with its verdict.
    slow : tuple of str
        Ends of the names of files whose slow tests count as well.
    """

    def __init__(
        self,
        numbered: Mapping[int, Mutant],
        areas: Mapping[str, str],
        switch: Callable[[], Switch],
        done: Callable[[int, Mutant], None],
        slow: tuple[str, ...] = (),
    ) -> None:
        self._numbered, self._areas, self._make_switch, self._done = numbered, areas, switch, done
        self._before_call: Callable[[str], None] = lambda test: None
        self._slow = slow

    def run(self, folder: Path) -> None:
        """Judge them on the package in a folder."""
        import sys

        import pytest

        sys.dont_write_bytecode = True
        sys.path.insert(0, str(folder))
        os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        os.chdir(TESTS.parent)
        asked = {test for mutant in self._numbered.values() for test in self._areas[mutant.area].split()}
        asked |= {file for mutant in self._numbered.values() if Path(file := mutant.test.split("::")[0]).is_file()}
        tests = sorted(test for test in asked if str(Path(test).parent) not in asked)
        status = pytest.main(["-q", "-p", "no:cacheprovider", "--no-summary", *tests], plugins=[self])
        assert status in (0, 5), status

    def pytest_runtestloop(self, session: Any) -> bool:
        """Judge, instead of running what was collected."""
        self._switch = self._make_switch()
        quick = [
            item
            for item in session.items
            if item.get_closest_marker("slow") is None or item.path.name.endswith(self._slow or "/")
        ]
        reached = json.loads(REACHED.read_text()) if REACHED.exists() else {}
        unknown = {number: mutant for number, mutant in self._numbered.items() if key(mutant) not in reached}
        if unknown:
            wanted = tuple({test for mutant in unknown.values() for test in self._areas[mutant.area].split()})
            found = self._survey([item for item in quick if item.nodeid.startswith(wanted)])
            reached |= {key(mutant): found.get(str(number), {}) for number, mutant in unknown.items()}
            REACHED.parent.mkdir(parents=True, exist_ok=True)
            REACHED.write_text(json.dumps(reached, indent=0))
        for number, mutant in self._numbered.items():
            seconds, area = reached[key(mutant)], tuple(self._areas[mutant.area].split())
            chosen = [item for item in quick if item.nodeid.startswith(area) and function(item) in seconds]
            chosen.sort(key=lambda item: seconds.get(function(item), 0.0))
            known = [item for item in session.items if function(item) == mutant.test]
            limit = min(SECONDS, 60.0 + 4.0 * sum(seconds.values()))
            self._done(number, self._judged(number, mutant, [*known, *chosen], limit))
        return True

    def pytest_runtest_call(self, item: Any) -> None:
        """Tell the survey what fixtures have reached."""
        self._before_call(str(item.path))

    def _survey(self, items: list[Any]) -> dict[str, dict[str, float]]:
        """Return the tests that reach each mutant, with their seconds, of those that pass."""
        seconds: dict[str, float] = defaultdict(float)
        of_file, found = defaultdict[int, set[str]](set), defaultdict[int, set[str]](set)

        def before_call(path: str) -> None:
            for number in self._switch.touched():
                of_file[number].add(path)

        def after(item: Any, took: float, failed: bool) -> None:
            if failed:
                print("fails without a change:", item.nodeid, file=told, flush=True)
            for number in () if failed else self._switch.touched():
                found[number].add(function(item))
            seconds[function(item)] += took

        def tell() -> None:
            for number, paths in of_file.items():
                found[number] |= {function(item) for item in items if str(item.path) in paths}
            of_each = {number: {test: seconds[test] for test in tests} for number, tests in found.items()}
            print(json.dumps(of_each), file=told, flush=True)  # the child ends without a flush

        self._before_call = before_call
        with tempfile.TemporaryFile("w+") as told:
            status = self._in_child(items, 20 * SECONDS, after, tell)
            told.seek(0)
            *failing, last = told.read().splitlines()
        self._before_call = lambda test: None
        assert status == 0, status
        print(*failing, sep="\n", flush=True)
        found_there: dict[str, dict[str, float]] = json.loads(last)
        return found_there

    def _judged(self, number: int, mutant: Mutant, items: list[Any], limit: float) -> Mutant:
        with tempfile.TemporaryFile("w+") as told:

            def after(item: Any, took: float, failed: bool) -> None:
                if failed:
                    print(function(item), file=told, flush=True)
                    os._exit(1)

            # Without a test that reaches it none can fail.
            status = self._in_child(items, limit, after, lambda: None, number) if items else 0
            told.seek(0)
            failing = told.read().strip()
        if status == 0:
            return mutant._replace(verdict="survived", test="")
        by = "by the time limit" if status is None else failing or "by a crash"
        return mutant._replace(verdict="killed", test=by)

    def _in_child(
        self,
        items: list[Any],
        limit: float,
        after: Callable[[Any, float, bool], None],
        at_end: Callable[[], None],
        number: int = -1,
    ) -> int | None:
        """Run tests in a child that has a mutant; return its status, None at the time limit."""
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            # For the tests: some mutants fill the memory in a loop without end.
            resource.setrlimit(resource.RLIMIT_DATA, (BYTES, resource.getrlimit(resource.RLIMIT_DATA)[1]))
            os.environ["ORDINAL_MUTANT"] = str(number)
            try:
                items[0].config.pluginmanager.unregister(name="terminalreporter")
                self._switch.select(number)
                self._switch.touched()
                for item, following in zip(items, [*items[1:], None], strict=True):
                    failed, start = item.session.testsfailed, time.monotonic()
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                    after(item, time.monotonic() - start, item.session.testsfailed > failed)
                at_end()
                os._exit(0)
            finally:
                os._exit(3)
        until = time.monotonic() + limit
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended or time.monotonic() > until:
                break
            time.sleep(0.02)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # and what it started
        if ended:
            return os.waitstatus_to_exitcode(status)
        os.waitpid(child, 0)
        return None


def function(item: Any) -> str:
    return str(item.nodeid.split("[")[0])


def key(mutant: Mutant) -> str:
    return f"{mutant.area}: {mutant.function}: {mutant.line}"


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
    parser.add_argument("--areas", nargs="+", choices=AREAS, default=list(AREAS))
    parser.add_argument("--list", type=Path, default=LIST)
    options = parser.parse_args()
    package = installed()
    if options.what == "draw":
        write(draw(package, read(options.list)), options.list)
        return
    mutants = read(options.list)
    asked = [number for number, mutant in enumerate(mutants) if mutant.area in options.areas]
    left = [number for number in asked if options.again or not mutants[number].verdict]

    def done(number: int, new: Mutant) -> None:
        if options.again:
            new = new._replace(verdict_before=mutants[number].verdict)
        if new.verdict_before == "killed" and new.verdict == "survived":
            print("survives now:", *new, flush=True)
        mutants[number] = new
        write(mutants, options.list)

    with tempfile.TemporaryDirectory() as folder:
        numbered = {number: mutants[number] for number in left}
        gone = with_all(package, numbered, Path(folder))
        for number, mutant in gone.items():
            done(number, mutant)
        numbered = {number: mutant for number, mutant in numbered.items() if number not in gone}
        Judge(numbered, {area: tests for area, (_, tests) in AREAS.items()}, python_switch, done).run(Path(folder))
    for verdict in ("killed", "survived", "gone"):
        print(verdict, sum(mutant.verdict == verdict for mutant in mutants))


if __name__ == "__main__":
    main()
