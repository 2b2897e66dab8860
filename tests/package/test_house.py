"""Files stay readable, no two classes share a name, and what is private to a class stays with it."""

from __future__ import annotations

import ast
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
# A host reads what the fit of a classifier has found, and a cluster begins that fit.
OF_CLASSIFIERS = {
    *(f"adapters/{name}/host.py" for name in ("cb", "lgbm", "xgb")),
    *(f"ordinal_objectives/estimators/{name}.py" for name in ("description", "host", "host_classifier")),
}


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
                # Public, of named tuples; and how many tasks run at once Spark says in no other way.
                if path not in {ON_SPARK, *OF_CLASSIFIERS} and node.attr not in ("_replace", "_jsc")
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
