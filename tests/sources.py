"""The package's own source files and modules, for the tests that read them; and tables of named exceptions."""

from __future__ import annotations

import ast
import pkgutil
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

import ordinal_objectives

ROOT = Path(__file__).parents[1]
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
    skipped = ("ordinal_objectives.__main__", "ordinal_objectives._core", "ordinal_objectives.ordinal_objectives")
    return [info.name for info in walked if not info.name.startswith(skipped)]


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
