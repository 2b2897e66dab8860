"""Count what the package's Python consists of, and which of its functions a call runs through.

    python benchmarks/house.py                 a table of each folder, and calls of the package's functions
    python benchmarks/house.py --functions "oxgb.train newton"     functions of one round, the most frequent first

Code lines have neither blanks, comments nor docstrings. `Any` is counted as it is written, and "by a name" where a type
alias of it is (`aliases.py`). Calls are those of the package's own Python functions
(`sys.setprofile`): a fit, or one round, which is the difference of two trainings that are a round apart.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tokenize
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any, NamedTuple

FOLDERS = ("ordinal_objectives", "adapters", "threshold_solver", "histogram_engine")
NAMED_ANY = ("Booster", "Column", "Estimator", "Level", "Table")
Place = tuple[str, str]


class File(NamedTuple):
    code: int
    docstrings: int
    imports: int
    any: int
    named_any: int  # names of aliases.py that stand for Any
    classes: int
    functions: tuple[int, ...]  # code lines of each body


def count(path: Path) -> File:
    """Return what one file consists of."""
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
        named_any=sum(isinstance(node, ast.Name) and node.id in NAMED_ANY for node in ast.walk(tree)),
        classes=sum(isinstance(node, ast.ClassDef) for node in ast.walk(tree)),
        functions=tuple(len(set().union(*map(_lines, node.body)) & code) for node in functions),
    )


def _lines(node: ast.stmt) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def table(root: Path) -> str:
    """Return the counts of each folder, and of all."""
    counts = {folder: [count(path) for path in sorted((root / folder).rglob("*.py"))] for folder in FOLDERS}
    counts["all"] = [file for files in counts.values() for file in files]
    counts["tests"] = [count(path) for path in sorted((root / "tests").rglob("*.py"))]
    lines = [
        "| folder | code lines | files | median file | median body | imports / code | Any | by a name | classes |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for folder, files in counts.items():
        code = sum(file.code for file in files)
        bodies = [body for file in files for body in file.functions]
        cells = [
            folder,
            f"{code:,}",
            str(len(files)),
            f"{median(file.code for file in files):.0f}",
            f"{median(bodies):.0f}",
        ]
        cells += [f"{sum(file.imports for file in files) / code:.1%}", str(sum(file.any for file in files))]
        cells += [str(sum(file.named_any for file in files))]
        lines.append(f"| {' | '.join([*cells, str(sum(file.classes for file in files))])} |")
    return "\n".join(lines)


def calls(work: Callable[[], object]) -> Counter[Place]:
    """Return how often each function of the package was entered, by file and name."""
    import ordinal_objectives

    package = str(Path(ordinal_objectives.__file__).parent)
    # The mapped folders may lie elsewhere where the package is not installed but linked.
    roots = {package, *(str(Path(package, folder).resolve()) for folder in FOLDERS[1:]), str(Path(__file__).parents[1])}
    found: Counter[Place] = Counter()

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(tuple(roots)) and "/benchmarks/" not in path:
            found[
                path.rsplit("ordinal_objectives/", 1)[-1], getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
            ] += 1

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return Counter({(path, name): n for (path, name), n in found.items() if not name.endswith(("comp>", "<genexpr>"))})


def counted() -> dict[str, Counter[Place]]:
    """Return calls of some fits, each run once before, and of one round."""
    import numpy as np
    import xgboost

    from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier
    from ordinal_objectives.adapters import lgbm as olgbm, xgb as oxgb

    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    y = np.digitize(X[:, 0] + rng.logistic(size=500), [-1.0, 0.0, 1.0])
    options: dict[str, Any] = {"n_jobs": 1}

    def xgb_rounds(update: str, rounds: int) -> object:
        return oxgb.train(
            {"nthread": 1}, xgboost.DMatrix(X, y, nthread=1), rounds, n_classes=4, threshold_update=update
        )

    def lgbm_rounds(update: str, rounds: int) -> object:
        import lightgbm

        rows = lightgbm.Dataset(X, y, params={"verbosity": -1, "num_threads": 1})
        return olgbm.train({"verbosity": -1, "num_threads": 1}, rows, rounds, n_classes=4, threshold_update=update)

    fits: dict[str, Callable[[], object]] = {
        "XGBOrdinalClassifier, five trees": lambda: XGBOrdinalClassifier(n_estimators=5, **options).fit(X, y),
        "LGBMOrdinalClassifier, five trees": lambda: LGBMOrdinalClassifier(n_estimators=5, verbosity=-1, **options).fit(
            X, y
        ),
        "engine, one tree": lambda: HistGradientBoostingOrdinalClassifier(
            max_iter=1, early_stopping=False, **options
        ).fit(X, y),
        "XGBOrdinalClassifier, auto": lambda: XGBOrdinalClassifier(**options).fit(X, y),
    }
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, fit in fits.items():
            fit()
            found[name] = calls(fit)
        for prefix, train in (("oxgb.train", xgb_rounds), ("olgbm.train", lgbm_rounds)):
            for update in ("newton", "joint"):
                train(update, 3)
                a_round = calls(partial(train, update, 9))
                a_round.subtract(calls(partial(train, update, 8)))
                found[f"{prefix} {update}, a round"] = +a_round
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", metavar="NAME", help="print the functions of a fit or a round, by how it begins")
    options = parser.parse_args()
    measured = counted()
    if options.functions:
        chosen = [found for name, found in measured.items() if name.startswith(options.functions)]
        if not chosen:
            parser.error(f"--functions must begin one of {', '.join(measured)}; got {options.functions}")
        for (path, name), n in chosen[0].most_common():
            print(f"{n:5d}  {path}  {name}")
        return
    print(table(Path(__file__).parents[1]))
    print("\n| calls of the package's functions | calls | functions | files |\n|---|---|---|---|")
    for name, found in measured.items():
        print(f"| {name} | {found.total()} | {len(found)} | {len({path for path, _ in found})} |")
    from ordinal_objectives import HistGradientBoostingOrdinalClassifier, LGBMOrdinalClassifier, XGBOrdinalClassifier

    for model in (XGBOrdinalClassifier, LGBMOrdinalClassifier, HistGradientBoostingOrdinalClassifier):
        above = [base.__name__ for base in model.__mro__[1:] if base.__module__.startswith("ordinal_objectives")]
        print(f"\nClasses of ours above {model.__name__}: {len(above)} ({', '.join(above)})")


if __name__ == "__main__":
    main()
