"""Functions stay short and take few arguments. Their complexity is a rule of ruff's in pyproject.toml."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sources import check_exceptions, trees

MOST_LINES, MOST_ARGUMENTS = 66, 8
HOST_SIGNATURES = ("train", "cv", "fit")
MANY = {
    "ordinal_objectives/compare.py: compare_updates": "an entry point: what is compared, and what all modes share",
    "threshold_solver/learner.py: longest_step": "a public function, whose options are those of a training",
    "adapters/objective.py: OrdinalObjectiveBase.__init__": "an entry point, which takes every trait by its name",
    "adapters/cb/objective.py: OrdinalObjective.__init__": "an entry point, which takes every trait by its name",
    "adapters/cb/train.py: train_spec": "what the public function and the classifier both give",
    "ordinal_objectives/metrics/intervals.py: interval": "an entry point: what is judged, and how samples are drawn",
    "ordinal_objectives/metrics/model_report.py: report": "an entry point: what is judged, and how samples are drawn",
    "ordinal_objectives/agreement.py: agreement_report": "an entry point: what is judged, and how samples are drawn",
    "ordinal_objectives/inspection/effects.py: average_marginal_effects": "an entry point: what changes, "
    "by how much, and how its interval is made",
}


def functions(tree: ast.AST, owner: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield every function with its name, behind those of the classes and functions that it is in."""
    for node in ast.iter_child_nodes(tree):
        name = owner
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{owner}.{node.name}".lstrip(".")
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield name, node
        yield from functions(node, name)


def n_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines from the name on, without those of the docstring."""
    assert function.end_lineno is not None
    lines = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function, clean=False) is not None:
        assert first.end_lineno is not None
        lines -= first.end_lineno - first.lineno + 1
    return lines


def n_arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return len([one for one in arguments if one.arg not in ("self", "cls")])


def estimators() -> set[str]:
    """Return the names of the classes that derive from a base of scikit-learn's, by however many steps."""
    bases = {
        node.name: {ast.unparse(base).split("[")[0] for base in node.bases}
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = {"BaseEstimator"}
    while new := {name for name, of in bases.items() if of & found} - found:
        found |= new
    return found


def test_functions_are_short():
    lengths = {f"{path}: {name}": n_lines(one) for path, tree in trees().items() for name, one in functions(tree)}
    assert len(lengths) > 500
    assert [name for name, n in lengths.items() if n > MOST_LINES] == []


def test_functions_take_few_arguments():
    constructors = {f"{name}.__init__" for name in estimators()}
    found = [
        f"{path}: {name}"
        for path, tree in trees().items()
        for name, one in functions(tree)
        if n_arguments(one) > MOST_ARGUMENTS
        if one.name not in HOST_SIGNATURES and name not in constructors
    ]
    check_exceptions(found, MANY)
