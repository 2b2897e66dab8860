"""Files stay short, nothing is said twice, and what is private to a class stays with it."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ("ordinal_objectives", "adapters", "histogram_engine", "threshold_solver")
MOST_LINES, MOST_SHARED = 400, 12


def files(*folders: str) -> list[Path]:
    found = [
        path for folder in folders for path in (ROOT / folder).rglob("*.*") if path.suffix in (".py", ".cpp", ".hpp")
    ]
    assert found
    return found


def test_no_file_is_long():
    lengths = {path: len(path.read_text().splitlines()) for path in files(*PACKAGE, "native", "tests", "benchmarks")}
    assert not {str(path): n for path, n in lengths.items() if n > MOST_LINES}


def test_no_lines_are_shared():
    """Blank lines, indentation and the imports at the top of a file do not count."""
    places: dict[tuple[str, ...], str] = {}
    shared = []
    for path in files(*PACKAGE, "native"):
        lines = [(n, line.strip()) for n, line in enumerate(path.read_text().splitlines(), 1)]
        lines = [(n, line) for n, line in lines if line and not line.startswith(("import ", "from ", "#include "))]
        for start in range(len(lines) - MOST_SHARED):
            window = lines[start : start + MOST_SHARED + 1]
            here = f"{path.relative_to(ROOT)}:{window[0][0]}"
            there = places.setdefault(tuple(line for _, line in window), here)
            if there != here:
                shared.append((there, here))
    assert not shared


def members(node: ast.AST) -> set[str]:
    """Return the names that a class defines, or keeps on itself."""
    found = {one.name for one in ast.walk(node) if isinstance(one, ast.FunctionDef)}
    return found | {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute) and of_itself(one)}


def of_itself(node: ast.Attribute) -> bool:
    own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
    return own or (isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "super")


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_core"


def test_private_members_stay_with_their_class():
    """Another object's ``_name`` is used only by code of its own class, or of one derived from it."""
    trees = {path: ast.parse(path.read_text()) for path in files(*PACKAGE) if path.suffix == ".py"}
    classes = {node.name: node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}

    def family(name: str) -> set[str]:
        node = classes.get(name)
        return set() if node is None else members(node).union(*(family(ast.unparse(base)) for base in node.bases))

    reached = []
    for path, tree in trees.items():
        for top in tree.body:
            own = family(top.name) if isinstance(top, ast.ClassDef) else set()
            reached += [
                f"{path.relative_to(ROOT)}:{node.lineno} {ast.unparse(node)}"
                for node in ast.walk(top)
                if isinstance(node, ast.Attribute) and is_private(node.attr)
                if not of_itself(node) and node.attr not in own
            ]
    assert not reached


def test_private_names_are_not_imported():
    for path in files(*PACKAGE):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ordinal_objectives"):
                private = [alias.name for alias in node.names if is_private(alias.name)]
                assert not private, f"{path}:{node.lineno}"
