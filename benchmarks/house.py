"""Count what the package's Python consists of, and which of its functions a call runs through.

    python benchmarks/house.py                  tables of this tree, and of calls of the installed package
    python benchmarks/house.py --commit REV     the same of the source of a commit
    python benchmarks/house.py --package xgboost --without dask spark testing     what stands in an installed package
    python benchmarks/house.py --results        also writes the row into results/house.md, beside those of other sources
    python benchmarks/house.py --functions "oxgb.train newton"     functions of one round, the most frequent first

Code lines have neither blanks, comments nor docstrings. Guards are the lines of each `raise`, and of each `if` or
`elif` whose block ends in one: the condition and the block, but not what an `else` holds. `hasattr` counts the calls.
`Any` is counted as it is written, and "by a name" where a type alias of it is (`aliases.py`).

Calls are those of the package's own Python functions (`sys.setprofile`): of a fit, or of one round, which is the
difference of two trainings that are a round apart. A function is a file and a qualified name; comprehensions are not
counted. A fit is measured when it runs for the second time, so that it imports nothing. A commit's fits run with the
native core that is installed, if the commit has the same `native` folder; else they are left out.

Private names of a classifier begin with one underscore. Methods, with properties, are those that its class and the
package's classes above it define; those that two or more of these classes define, abstract ones aside, are on two
levels. Attributes are the other private names of these classes, and those of an instance after a fit.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tokenize
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any, NamedTuple

FOLDERS = ("ordinal_objectives", "adapters", "threshold_solver", "histogram_engine")
ROOT = Path(__file__).parents[1]
Place = tuple[str, str]
XGB_FIT, ENGINE_FIT = "XGBOrdinalClassifier, five trees", "engine, one tree"
NOTES = (
    "Guards are the lines of each `raise`, and of each `if` or `elif` whose block ends in one. XGBoost: what a fit of "
    "`XGBOrdinalClassifier` with five trees runs through; engine: a fit of `HistGradientBoostingOrdinalClassifier` "
    "with one tree. The last four columns are of `XGBOrdinalClassifier`. `benchmarks/house.py` has the definitions. "
    "XGBoost is counted without `dask`, `spark` and `testing`, scikit-learn's ensembles without their histogram engine "
    "and tests."
)


class File(NamedTuple):
    code: int
    docstrings: int
    imports: int
    any: int
    named_any: int  # names of aliases.py that stand for Any
    classes: int
    functions: tuple[int, ...]  # code lines of each body
    raises: int
    guards: int  # lines
    hasattr: int


class Names(NamedTuple):
    """Private names of a classifier."""

    classes: int  # of the package, above its own
    methods: int
    on_two_levels: int
    attributes: int
    of_instance: int  # of the attributes


class Walk(NamedTuple):
    calls: int
    functions: int
    files: int


class Walks(NamedTuple):
    """What the installed package runs through, by fit or round, and private names by classifier."""

    walks: dict[str, Walk]
    names: dict[str, Names]


def count(path: Path, named_any: Collection[str] = ()) -> File:
    """Return what one file consists of; some names stand for Any."""
    source = path.read_text()
    tree = ast.parse(source)
    with path.open("rb") as stream:
        tokens = list(tokenize.tokenize(stream.readline))
    empty = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
    lines = {
        number
        for token in tokens
        if token.type not in empty | {tokenize.ENDMARKER}
        for number in range(token.start[0], token.end[0] + 1)
    }
    docstrings: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                docstrings |= _lines(first)
    code = lines - docstrings
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return File(
        code=len(code),
        docstrings=len(docstrings),
        imports=len(set().union(*map(_lines, imports)) & code),
        any=sum(token.type == tokenize.NAME and token.string == "Any" for token in tokens),
        named_any=sum(isinstance(node, ast.Name) and node.id in named_any for node in ast.walk(tree)),
        classes=sum(isinstance(node, ast.ClassDef) for node in ast.walk(tree)),
        functions=tuple(len(set().union(*map(_lines, node.body)) & code) for node in functions),
        raises=sum(isinstance(node, ast.Raise) for node in ast.walk(tree)),
        guards=len(_guards(tree) & code),
        hasattr=sum(isinstance(node, ast.Call) and ast.unparse(node.func) == "hasattr" for node in ast.walk(tree)),
    )


def _guards(tree: ast.Module) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise):
            lines |= _lines(node)
        elif isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise):
            lines |= set(range(node.lineno, node.body[0].lineno)).union(*map(_lines, node.body))
    return lines


def _lines(node: Any) -> set[int]:
    return set(range(node.lineno, node.end_lineno + 1))


def counts(root: Path) -> dict[str, list[File]]:
    """Return the files of each folder of a checkout, of all, and of the tests."""
    aliases = root / "ordinal_objectives" / "aliases.py"
    named = re.findall(r"^(\w+): TypeAlias = Any$", aliases.read_text(), re.M) if aliases.exists() else []
    found = {folder: [count(path, named) for path in sorted((root / folder).rglob("*.py"))] for folder in FOLDERS}
    found["all"] = [file for files in found.values() for file in files]
    found["tests"] = [count(path, named) for path in sorted((root / "tests").rglob("*.py"))]
    return found


def counts_of_package(name: str, without: Collection[str]) -> dict[str, list[File]]:
    """Return the files of an installed package, less some of its folders."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise SystemExit(f"--package must name a package that is installed; got {name}")
    root = Path(spec.origin).parent
    paths = [path for path in sorted(root.rglob("*.py")) if not {*without} & {*path.relative_to(root).parts}]
    return {"all": [count(path) for path in paths]}


def table(counted: Mapping[str, list[File]]) -> str:
    """Return the counts of each folder as a Markdown table."""
    columns = ["folder", "code lines", "files", "median file", "median body", "imports / code", "guards / code"]
    columns += ["raise", "hasattr", "Any", "by a name", "classes"]
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for folder, files in counted.items():
        code = sum(file.code for file in files)
        bodies = [body for file in files for body in file.functions]
        cells = [
            folder,
            f"{code:,}",
            str(len(files)),
            f"{median(file.code for file in files):.0f}",
            f"{median(bodies):.0f}",
            f"{sum(file.imports for file in files) / code:.1%}",
            f"{sum(file.guards for file in files) / code:.1%}",
            *(
                str(sum(numbers))
                for numbers in zip(*((f.raises, f.hasattr, f.any, f.named_any, f.classes) for f in files), strict=True)
            ),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def calls(work: Callable[[], object]) -> Counter[Place]:
    """Return how often each function of the package was entered, by file and name."""
    import ordinal_objectives

    package = str(Path(ordinal_objectives.__file__).parent)
    # The mapped folders lie elsewhere where the package is not installed but linked.
    mapped = [place for folder in FOLDERS[1:] for place in (Path(package, folder).resolve(), ROOT / folder)]
    roots = tuple(f"{place}{os.sep}" for place in (package, *mapped))
    found: Counter[Place] = Counter()

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(roots):
            found[
                path.rsplit("ordinal_objectives/", 1)[-1], getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
            ] += 1

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return Counter({(path, name): n for (path, name), n in found.items() if not name.endswith(("comp>", "<genexpr>"))})


def private_names(model: object) -> Names:
    """Return the private names of a fitted classifier, in the classes of its own package and on itself."""
    package = type(model).__module__.split(".")[0]
    classes = [base for base in type(model).__mro__ if base.__module__.split(".")[0] == package]
    members = [(name, value) for base in classes for name, value in vars(base).items() if _is_private(name)]
    methods = Counter(name for name, value in members if inspect.isroutine(value) or isinstance(value, property))
    abstract = Counter(name for name, value in members if getattr(value, "__isabstractmethod__", False))
    of_instance = {name for name in vars(model) if _is_private(name)}
    return Names(
        classes=len(classes) - 1,
        methods=len(methods),
        on_two_levels=sum(n - abstract[name] > 1 for name, n in methods.items()),
        attributes=len({name for name, _ in members} - {*methods} | of_instance),
        of_instance=len(of_instance),
    )


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def fits() -> dict[str, Callable[[], object]]:
    """Return what fits a classifier, by its name."""
    from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier

    X, y = _rows()
    options: dict[str, Any] = {"n_jobs": 1}
    return {
        XGB_FIT: lambda: XGBOrdinalClassifier(n_estimators=5, **options).fit(X, y),
        "LGBMOrdinalClassifier, five trees": lambda: LGBMOrdinalClassifier(n_estimators=5, verbosity=-1, **options).fit(
            X, y
        ),
        ENGINE_FIT: lambda: HistGradientBoostingOrdinalClassifier(max_iter=1, early_stopping=False, **options).fit(
            X, y
        ),
        "XGBOrdinalClassifier, auto": lambda: XGBOrdinalClassifier(**options).fit(X, y),
    }


def trainings() -> dict[str, Callable[[int], object]]:
    """Return what trains a number of rounds, by its name."""
    import lightgbm
    import xgboost

    from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb

    X, y = _rows()

    def by_xgboost(update: str, rounds: int) -> object:
        rows = xgboost.DMatrix(X, y, nthread=1)
        return oxgb.train({"nthread": 1}, rows, rounds, n_classes=4, threshold_update=update)

    def by_lightgbm(update: str, rounds: int) -> object:
        rows = lightgbm.Dataset(X, y, params={"verbosity": -1, "num_threads": 1})
        return olgbm.train({"verbosity": -1, "num_threads": 1}, rows, rounds, n_classes=4, threshold_update=update)

    return {
        f"{name} {update}, a round": partial(train, update)
        for name, train in (("oxgb.train", by_xgboost), ("olgbm.train", by_lightgbm))
        for update in ("newton", "joint")
    }


def _rows() -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    return X, np.digitize(X[:, 0] + rng.logistic(size=500), [-1.0, 0.0, 1.0])


def counted() -> tuple[dict[str, Counter[Place]], dict[str, Names]]:
    """Return calls of some fits, each run once before, and of one round; and private names of the fitted."""
    found, names = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, fit in fits().items():
            model = fit()
            names[type(model).__name__] = private_names(model)
            found[name] = calls(fit)
        for name, train in trainings().items():
            train(3)
            a_round = calls(partial(train, 9))
            a_round.subtract(calls(partial(train, 8)))
            found[name] = +a_round
    return found, names


def walked() -> Walks:
    """Return what the installed package runs through."""
    found, names = counted()
    walks = {name: Walk(n.total(), len(n), len({path for path, _ in n})) for name, n in found.items()}
    return Walks(walks, names)


def check_out(commit: str, root: Path, folder: Path) -> None:
    """Write the files of a commit into a folder."""
    archive = subprocess.run(["git", "archive", commit], cwd=root, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")


def walked_in(source: Path, folder: Path) -> Walks:
    """Return what the package of a checkout runs through, laid out in a folder with the installed native core."""
    from ordinal_objectives import _core

    package = shutil.copytree(source / FOLDERS[0], folder / FOLDERS[0])
    for name in FOLDERS[1:]:
        shutil.copytree(source / name, package / name)
    shutil.copy(_core.__file__, package)
    # Without site, whose finders would lead to what is installed.
    path = os.pathsep.join([str(folder), *filter(None, sys.path)])
    arguments = [sys.executable, "-S", str(Path(__file__).resolve()), "--json"]
    text = subprocess.run(arguments, env=os.environ | {"PYTHONPATH": path}, check=True, stdout=subprocess.PIPE).stdout
    found = json.loads(text)
    return Walks(
        {name: Walk(*numbers) for name, numbers in found["walks"].items()},
        {name: Names(*numbers) for name, numbers in found["names"].items()},
    )


def of_commit(commit: str) -> tuple[dict[str, list[File]], Walks | None]:
    """Return counts of a commit's source, and its walks if it has today's native core."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "source")
        check_out(commit, ROOT, source)
        same = subprocess.run(["git", "diff", "--quiet", commit, "--", "native"], cwd=ROOT, check=False).returncode == 0
        return counts(source), walked_in(source, Path(folder, "package")) if same else None


def row(name: str, counted: Mapping[str, list[File]], walks: Walks | None) -> dict[str, Any]:
    """Return the row of a source in results/house.md; what was not measured is "-"."""
    files = counted["all"]
    code, guards = sum(file.code for file in files), sum(file.guards for file in files)
    raises = sum(file.raises for file in files)
    found: dict[str, Any] = {
        "source": name,
        "code lines": code,
        "files": len(files),
        "guards / code": f"{guards / code:.1%}",
        "raise": raises,
        "raise / 100 lines": f"{100 * raises / code:.1f}",
        "hasattr": sum(file.hasattr for file in files),
        "test code lines": sum(file.code for file in counted["tests"]) if "tests" in counted else "-",
    }
    for short, fit in (("XGBoost", XGB_FIT), ("engine", ENGINE_FIT)):
        walk = ("-", "-", "-") if walks is None else walks.walks[fit]
        found |= {f"{short}: {what}": n for what, n in zip(("calls", "functions", "files"), walk, strict=True)}
    names = ("-",) * 5 if walks is None else walks.names["XGBOrdinalClassifier"]
    whats = ("private methods", "on two levels", "private attributes", "of an instance")
    return found | dict(zip(whats, names[1:], strict=True))


def write(new: dict[str, Any]) -> None:
    """Write a row into results/house.md, in the place of the one of the same source."""
    from lib import report

    path = report.RESULTS / "house.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    by_source = {one["source"]: one for one in rows} | {new["source"]: new}
    report.write("house", "What the package's Python consists of", list(by_source.values()), NOTES)


def printed(walks: Walks) -> str:
    """Return walks and private names as Markdown tables."""
    lines = ["| calls of the package's functions | calls | functions | files |", "|---|---|---|---|"]
    lines += [f"| {name} | {' | '.join(map(str, walk))} |" for name, walk in walks.walks.items()]
    columns = (
        "classifier | classes of ours above | private methods | on two levels | private attributes | of an instance"
    )
    lines += ["", f"| {columns} |", "|---|---|---|---|---|---|"]
    lines += [f"| {name} | {' | '.join(map(str, numbers))} |" for name, numbers in walks.names.items()]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sources = parser.add_mutually_exclusive_group()
    sources.add_argument("--commit", metavar="REV", help="count the source of a commit")
    sources.add_argument("--package", metavar="NAME", help="count an installed package")
    sources.add_argument(
        "--functions", metavar="NAME", help="print the functions of a fit or a round, by how it begins"
    )
    sources.add_argument("--json", action="store_true", help="print what the installed package runs through, as JSON")
    parser.add_argument("--without", nargs="+", default=[], metavar="FOLDER", help="folders of --package to leave out")
    parser.add_argument("--results", action="store_true", help="write the row into results/house.md")
    options = parser.parse_args()
    if options.functions:
        measured, _ = counted()
        chosen = [found for name, found in measured.items() if name.startswith(options.functions)]
        if not chosen:
            parser.error(f"--functions must begin one of {', '.join(measured)}; got {options.functions}")
        for (path, name), n in chosen[0].most_common():
            print(f"{n:5d}  {path}  {name}")
        return
    if options.json:
        print(json.dumps(walked()._asdict()))
        return
    walks: Walks | None = None
    if options.package:
        found = counts_of_package(options.package, options.without)
    elif options.commit:
        found, walks = of_commit(options.commit)
    else:
        found, walks = counts(ROOT), walked()
    print(table(found))
    if walks is not None:
        print("", printed(walks), sep="\n")
    if options.results:
        write(row(options.commit or options.package or "now", found, walks))


if __name__ == "__main__":
    main()
