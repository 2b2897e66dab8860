"""An object changes itself: nobody assigns to the attributes of another."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sources import check_exceptions, trees

LIGHTGBMS = "LightGBM's booster, which keeps and pickles what is among its attributes, and has no method for it"
MATRICES = "matrices of frameworks hold one number a row"
OF_TASKS = "a classifier that was just made, and that Spark's tasks have trained"
EXCEPTIONS = {
    "adapters/lgbm/booster.py: booster.__dict__.pop('ordinal_rounds', None)": LIGHTGBMS,
    "adapters/lgbm/booster.py: booster.__dict__.setdefault('ordinal_rounds', {})": LIGHTGBMS,
    "adapters/lgbm/booster.py: vars(booster)['ordinal_thresholds']": LIGHTGBMS,
    "adapters/lgbm/booster.py: booster.best_iteration": LIGHTGBMS,
    "adapters/lgbm/train.py: data.free_raw_data": "LightGBM's data set, which frees its rows unless it is told not to",
    "adapters/lgbm/booster.py: vars(booster)['_Booster__set_objective_to_none']": LIGHTGBMS,
    "ordinal_objectives/utils/shared_docs.py: thing.__doc__": "a decorator writes the docstring of what it decorates",
    "adapters/training.py: setattr(matrix, CARRIED, labels)": MATRICES,
    "adapters/groups.py: matrix.ordinal_groups": MATRICES,
    "adapters/xgb/dask.py: matrix.feature_names": "XGBoost's matrix on Dask, which has no method for the names",
    "adapters/groups.py: vars(matrix).pop('ordinal_groups', None)": MATRICES,
    "ordinal_objectives/estimators/host_classifier.py: matrix.ordinal_groups": MATRICES,
    "adapters/xgb/spark_estimator.py: classifier._given": OF_TASKS,
    "adapters/xgb/spark_estimator.py: classifier.columns_": OF_TASKS,
    "adapters/xgb/spark_estimator.py: classifier.booster_": OF_TASKS,
    "adapters/xgb/spark_estimator.py: classifier.evals_result_": OF_TASKS,
    "adapters/xgb/spark_estimator.py: setattr(_Columns, _name, Param(HasParams._dummy(), _name, _words))": (
        "Spark reads parameters from attributes of the class"
    ),
    "adapters/xgb/train.py: one.learning_rates": "of a copy that was just made",
    "adapters/xgb/booster.py: booster.__class__": "XGBoost makes the booster; ours completes what leaves its training",
    "adapters/xgb/train.py: stopper.maximize": "XGBoost's own callback, which no method tells the direction",
}
for _made in ("__dict__", "steps"):
    EXCEPTIONS[f"ordinal_objectives/estimators/arguments.py: found.{_made}"] = "of a copy that was just made"
EXCEPTIONS["ordinal_objectives/estimators/arguments.py: estimator.__dict__"] = (
    "methods of several classes; names are kept as scikit-learn's validate_data keeps feature_names_in_"
)
Function = ast.FunctionDef | ast.AsyncFunctionDef


def offences(tree: ast.AST) -> set[str]:
    """Return what a file assigns to the attributes of objects that it has not just made."""
    classes = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    return {target for scope, own in scopes(tree, classes, frozenset()) for target in assigned(scope, own)}


def scopes(scope: ast.AST, classes: set[str], outer: frozenset[str]) -> Iterator[tuple[ast.AST, frozenset[str]]]:
    """Yield every function, and the file itself, with the names that may be assigned to in it."""
    nodes = list(inside(scope))
    makings = [one for one in nodes if isinstance(one, ast.Assign) and is_made(one.value, classes)]
    names = [name for one in makings for name in one.targets if isinstance(name, ast.Name)]
    made = {name.id for name in names} | {one.name for one in nodes if isinstance(one, Function)}
    others = {one.id for one in nodes if isinstance(one, ast.Name) and is_stored(one) and one not in names}
    if isinstance(scope, Function):
        others |= {argument.arg for argument in ast.walk(scope.args) if isinstance(argument, ast.arg)}
    own = frozenset((outer | made) - others)
    yield scope, own
    for node in nodes:
        if isinstance(node, Function):
            yield from scopes(node, classes, own)


def inside(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements and expressions of a scope, without those of functions in it."""
    for node in ast.iter_child_nodes(scope):
        yield node
        if not isinstance(node, Function):
            yield from inside(node)


def is_made(value: ast.AST, classes: set[str]) -> bool:
    """Tell whether a value is an object that this very expression makes."""
    if not isinstance(value, ast.Call):
        return False
    maker = ast.unparse(value.func)
    if maker in ("copy.copy", "copy.deepcopy", "clone"):
        return ast.unparse(value.args[0]) == "self"
    if maker == "super().__sklearn_tags__":  # an estimator changes the tags that its base hands it
        return True
    if maker.endswith(".__new__"):
        maker = ast.unparse(value.args[0]) if maker == "object.__new__" else maker.removesuffix(".__new__")
    return maker in {*classes, "cls", "type(self)"}


def is_stored(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)


def assigned(scope: ast.AST, own: frozenset[str]) -> Iterator[str]:
    for node in inside(scope):
        target = whose = None
        if isinstance(node, ast.Attribute) and is_stored(node):
            target, whose = node, node.value
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in SETTERS:
            target, whose = node, node.args[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
            target, whose = node, of_namespace(node.func.value)
        elif isinstance(node, ast.Subscript) and is_stored(node):
            target, whose = node, of_namespace(node.value)
        if target is not None and whose is not None and not is_own(whose, own):
            yield ast.unparse(target)


SETTERS = ("setattr", "delattr", "object.__setattr__", "object.__delattr__")
CHANGES = ("update", "pop", "popitem", "setdefault", "clear")


def of_namespace(node: ast.expr) -> ast.expr | None:
    """Return whose attributes ``x.__dict__`` or ``vars(x)`` are."""
    if isinstance(node, ast.Attribute) and node.attr == "__dict__":
        return node.value
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "vars" and node.args:
        return node.args[0]
    return None


def is_own(node: ast.expr, own: frozenset[str]) -> bool:
    if isinstance(node, ast.Attribute):  # a part of scikit-learn's tags
        return node.attr.endswith("_tags") and is_own(node.value, own)
    return isinstance(node, ast.Name) and node.id in {"self", "cls", *own}


def test_nobody_assigns_to_the_attributes_of_another_object():
    found = {f"{path}: {target}" for path, tree in trees().items() for target in offences(tree)}
    check_exceptions(found, EXCEPTIONS)


OFFENCES = """
class Own:
    def method(self, other):
        made = Own()
        maybe = Own() if other else other
        twin = copy.copy(other)
        foreign = Foreign()
        other.x += 1
        del other.x
        self.other.x, made.y.x = 1, 2
        foreign.x = maybe.x = twin.x = 1
        for other.z in (): pass
        setattr(other, 'x', 1)
        vars(other)['x'] = 1
        other.__dict__.update(x=1)
        def inner(made): made.x = 1
"""
OWN = """
class Own:
    def method(self, other):
        made = Own()
        new = object.__new__(type(self))
        twin = clone(self)
        self.x = made.x = new.x = twin.x = 1
        setattr(self, 'x', 1)
        self.__dict__.pop('x')
        vars(new).update(vars(self))
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        def inner(): made.x = 1
        inner.__name__ = 'x'
        other[0] = other.x[0] = 1
        other.update(x=1)
"""


def test_offences_are_seen_and_what_is_ones_own_is_not():
    seen = {"other.x", "self.other.x", "made.y.x", "foreign.x", "maybe.x", "twin.x", "other.z", "made.x"}
    seen |= {"setattr(other, 'x', 1)", "vars(other)['x']", "other.__dict__.update(x=1)"}
    assert offences(ast.parse(OFFENCES)) == seen
    assert not offences(ast.parse(OWN))
