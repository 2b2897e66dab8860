"""Files stay readable, no two classes share a name, and what is private to a class stays with it."""

from __future__ import annotations

import ast
import subprocess
from collections import Counter

import house
from sources import PACKAGE, check_exceptions, files, trees

MOST_LINES = 600
TWICE = {"OrdinalObjective": "both hosts export it", "ThresholdCallback": "both hosts export it"}


def test_no_file_is_long():
    lengths = {path: len(path.read_text().splitlines()) for path in files(*PACKAGE, "native", "tests", "benchmarks")}
    assert not {str(path): n for path, n in lengths.items() if n > MOST_LINES}


# A Spark estimator cannot be one of ours as well; it begins and ends the fit of the classifier that its tasks train.
ON_SPARK = "adapters/xgb/spark_estimator.py"


def all_classes() -> list[tuple[str, ast.ClassDef]]:
    """Return every class of the package with the path of its file."""
    return [(path, node) for path, tree in trees().items() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def test_no_two_classes_have_one_name():
    places = Counter(node.name for _, node in all_classes())
    assert len(places) > 50
    check_exceptions([name for name, n in places.items() if n > 1], TWICE)


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
    classes = {node.name: node for _, node in all_classes()}

    def family(name: str) -> set[str]:
        node = classes.get(name)
        return set() if node is None else members(node).union(*(family(ast.unparse(base)) for base in node.bases))

    reached = []
    for path, tree in trees().items():
        for top in tree.body:
            own = family(top.name) if isinstance(top, ast.ClassDef) else set()
            reached += [
                f"{path}:{node.lineno} {ast.unparse(node)}"
                for node in ast.walk(top)
                if isinstance(node, ast.Attribute) and is_private(node.attr)
                if not of_itself(node) and node.attr not in own
                if path != ON_SPARK and node.attr != "_replace"  # the latter is public, of named tuples
            ]
    assert not reached


COUNTED = '''"""A module."""

import os  # a comment


def checked(path):
    """Return it."""
    if not hasattr(path, "name"):
        kind = type(path)
        raise TypeError(
            f"path must have a name; got {kind}"
        )
    if (
        path.name == ""
    ):
        raise ValueError
    elif path.name == "-":
        raise ValueError
    else:
        name = path.name
    try:
        return os.stat(name)
    except OSError:
        raise
'''


def test_guards_of_a_file(tmp_path):
    (tmp_path / "one.py").write_text(COUNTED)
    found = house.count(tmp_path / "one.py")
    assert (found.code, found.docstrings, found.raises, found.hasattr) == (19, 2, 4, 1)
    assert found.guards == 5 + 4 + 2 + 1


class Above:
    _kept = _given = 0

    def _shared(self): ...

    def _own(self): ...


class Below(Above):
    _kept = 1

    def __init__(self):
        self._kept, self._found, self.public = 2, 3, 4

    @property
    def _shared(self): ...

    def _other(self): ...


def test_private_names_of_an_object():
    found = house.private_names(Below())
    assert found == house.Names(classes=1, methods=3, on_two_levels=1, attributes=3, of_instance=2)


def test_calls_of_the_package_are_counted():
    from ordinal_objectives.threads import effective_n_threads, library_n_threads

    found = house.calls(lambda: [library_n_threads(2), effective_n_threads(1)])
    assert (found["threads.py", "library_n_threads"], found["threads.py", "effective_n_threads"]) == (1, 2)


def test_the_source_of_a_commit_is_counted(tmp_path):
    def git(*arguments):
        subprocess.run(["git", "-c", "user.name=one", "-c", "user.email=one", *arguments], cwd=tmp_path, check=True)

    for folder in (*house.FOLDERS, "tests"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "one.py").write_text(COUNTED)
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "one")
    (tmp_path / "tests" / "one.py").write_text("later = 1\n")
    house.check_out("HEAD", tmp_path, tmp_path / "copy")
    found = house.row("one", house.counts(tmp_path / "copy"), None)
    assert (found["code lines"], found["raise"], found["test code lines"]) == (4 * 19, 4 * 4, 19)
    assert found["guards / code"] == "63.2%"
