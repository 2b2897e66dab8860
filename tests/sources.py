"""The package's own source files and modules, for the tests that read them; and tables of named exceptions."""

from __future__ import annotations

import ast
import pkgutil
import re
from collections.abc import Collection, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import ordinal_objectives

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PACKAGE = ("ordinal_objectives", "adapters", "histogram_engine", "threshold_solver")


def files(*folders: str) -> list[Path]:
    """Return the Python and C++ files of folders."""
    found = [
        path for folder in folders for path in (ROOT / folder).rglob("*.*") if path.suffix in (".py", ".cpp", ".hpp")
    ]
    assert found
    return found


def module_names() -> list[str]:
    """Return the names of the package's modules: once each, though an editable install finds them below itself too."""
    walked = pkgutil.walk_packages(ordinal_objectives.__path__, "ordinal_objectives.")
    skipped = ["ordinal_objectives.__main__", "ordinal_objectives._core", "ordinal_objectives.ordinal_objectives"]
    if find_spec("pyspark") is None:  # whose classes it extends
        skipped.append("ordinal_objectives.adapters.xgb.spark_estimator")
    return [info.name for info in walked if not info.name.startswith(tuple(skipped))]


def entries() -> list[tuple[str, str]]:
    """Return the reference's entries: each name with the module that its page says it is imported from."""
    found: list[tuple[str, str]] = []
    module, listing = "", False
    for line in (DOCS / "reference.rst").read_text(encoding="utf-8").splitlines():
        directive = re.match(r"\.\. (\S+)::\s*(\S*)", line)
        if directive:
            kind, argument = directive.groups()
            module = argument if kind in ("module", "currentmodule") else module
            listing = kind == "autosummary"
            found += [(module, argument)] if kind == "py:data" else []
        elif listing and (name := re.fullmatch(r"   (\w+)", line)):
            found.append((module, name[1]))
    return found


@cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax trees of the package's Python files by their paths in the repository."""
    paths = [path for path in files(*PACKAGE) if path.suffix == ".py"]
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(paths)}


def check_exceptions(found: Collection[str], exceptions: Mapping[str, str]) -> None:
    """Fail for what offends without being named, and for a name that offends no longer."""
    new, gone = sorted(set(found) - exceptions.keys()), sorted(exceptions.keys() - set(found))
    assert not new, "\n".join(["these offend, and are no named exceptions:", *new])
    assert not gone, "\n".join(["these exceptions offend no longer; take them out:", *gone])
    assert all(exceptions.values()), "an exception needs a reason"
