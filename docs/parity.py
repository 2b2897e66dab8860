"""Write parity.md's tables of the names of each library, as it is installed, and of what becomes of them here.

python docs/parity.py

A name of the constructor, of ``fit``, of predictions, or of a fitted classifier is taken ("the same"), translated (a
name of ours), or refused with a reason ("none: ..."). The classifiers' own tables decide, ``ParameterNames``.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier
from lightgbm import DaskLGBMClassifier, LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from xgboost import XGBClassifier
from xgboost.dask import DaskXGBClassifier

from ordinal_objectives import (
    CatBoostOrdinalClassifier,
    DaskLGBMOrdinalClassifier,
    DaskXGBOrdinalClassifier,
    HistGradientBoostingOrdinalClassifier,
    LGBMOrdinalClassifier,
    XGBOrdinalClassifier,
)

PAGE = Path(__file__).resolve().parent / "parity.md"
BEGIN, END = "<!-- names: docs/parity.py -->\n", "<!-- end of names -->\n"
KINDS: dict[str, tuple[Any, Any]] = {
    "XGBoost": (XGBClassifier, XGBOrdinalClassifier),
    "LightGBM": (LGBMClassifier, LGBMOrdinalClassifier),
    "CatBoost": (CatBoostClassifier, CatBoostOrdinalClassifier),
    "scikit-learn": (HistGradientBoostingClassifier, HistGradientBoostingOrdinalClassifier),
    "XGBoost on Dask": (DaskXGBClassifier, DaskXGBOrdinalClassifier),
    "LightGBM on Dask": (DaskLGBMClassifier, DaskLGBMOrdinalClassifier),
}
# Those of a cluster are listed as far as they differ; fitted they are the classifiers in memory.
IN_MEMORY = {"XGBoost on Dask": "XGBoost", "LightGBM on Dask": "LightGBM"}
SPARK = "XGBoost on Spark"
PREDICTIONS = ("predict", "predict_proba", "staged_predict", "apply", "calc_leaf_indexes")
ROWS = {"self", "X", "y", "data"}


def _arguments(function: Any) -> set[str]:
    given = inspect.signature(function).parameters.values()
    return {one.name for one in given if one.kind is not one.VAR_KEYWORD} - ROWS


def _fitted(kind: Any) -> Any:
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 2)), columns=["a", "b"])
    rounds = "max_iter" if "max_iter" in _arguments(kind) else "n_estimators"
    silent = {LGBMClassifier: {"verbose": -1}, CatBoostClassifier: {"verbose": 0, "allow_writing_files": False}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(**{rounds: 2}, **silent.get(kind, {})).fit(X, np.digitize(X["a"], [-0.5, 0.5]))


def names(library: str) -> dict[str, set[str]]:
    """Return the names of a library's classifier, by where they stand."""
    theirs, ours = KINDS[library]
    fitted = _fitted(KINDS[IN_MEMORY.get(library, library)][0])
    of, public = ours._parameter_names, {name for name in {*dir(theirs), *vars(fitted)} if name[0] != "_"}
    methods = [getattr(theirs, name) for name in PREDICTIONS if hasattr(theirs, name)]
    constructor = _arguments(theirs) | set(theirs().get_params())
    if library != "CatBoost":  # whose constructor names all; LightGBM has a list of others, XGBoost has none
        constructor = constructor.union(*of.same.values())
    return {
        "constructor": constructor | (of.of_library if library == "XGBoost" else set()),
        "fit": _arguments(theirs.fit),
        "predictions": set[str]().union(*map(_arguments, methods)),
        "attributes": {name for name in public if not name.endswith(("_request", "_routing"))} - constructor,
    }


def decided(library: str) -> dict[tuple[str, str], str]:
    """Return what becomes of each name, by where it stands; "" of one that nobody has decided on."""
    ours = KINDS[library][1]
    fitted = _fitted(KINDS[IN_MEMORY.get(library, library)][1])
    of, decisions = ours._parameter_names, dict[tuple[str, str], str]()
    same = {name: own for own, others in of.same.items() for name in others if name != own}
    taken = {
        "constructor": _arguments(ours.__init__) | of.of_library,
        "fit": _arguments(ours.fit),
        "predictions": {ours._start_name, *of.rounds},
        "attributes": {*dir(ours), *dir(fitted), *of.attributes},
    }
    translated = {"constructor": same, "attributes": of.attributes}
    refused = {
        "constructor": {name: f"here it is {other}" for name, other in of.renamed.items()}
        | dict(of.refused)
        | getattr(ours, "_refused_there", {}),
        "fit": of.refused_by_fit,
        "predictions": of.refused_by_predictions(),
        "attributes": of.no_attributes,
    }
    for where, here in names(library).items():
        for name in here:
            other = translated.get(where, {}).get(name, f"booster_.{name}")
            if name in refused[where]:
                only = ", ".join(f"`{value!r}`" for value in of.neutral.get(name, ()))
                decisions[where, name] = f"{f'only {only}' if only else 'none'}: {refused[where][name]}"
            elif other != f"booster_.{name}":
                decisions[where, name] = f"`{other}`"
            else:
                decisions[where, name] = "the same" if name in taken[where] else ""
    return decisions


def decided_on_spark() -> dict[tuple[str, str], str]:
    """Return what becomes of the names of XGBoost's estimator for Spark, and of its model's methods."""
    from xgboost.spark import SparkXGBClassifier, SparkXGBClassifierModel

    from ordinal_objectives.adapters.xgb import spark_estimator as ours

    kinds = (SparkXGBClassifier, ours.SparkXGBOrdinalClassifier)
    models = (SparkXGBClassifierModel, ours.SparkXGBOrdinalClassifierModel)
    refused = {**XGBOrdinalClassifier._parameter_names.refused, **ours._NOT_ON_SPARK}
    known = _arguments(kinds[1].__init__) | set(ours._OF_CLASSIFIER) | XGBOrdinalClassifier._parameter_names.of_library
    of_training = {re.sub("([A-Z])", lambda upper: f"_{upper[1].lower()}", p.name) for p in SparkXGBClassifier().params}
    decisions = {}
    for name in of_training:
        taken = "the same" if name in known else ""
        decisions["constructor", name] = f"none: {refused[name]}" if name in refused else taken
    for where, (theirs, own) in {"estimator": kinds, "model": models}.items():
        for name in (name for name in dir(theirs) if callable(getattr(theirs, name)) and name[0] != "_"):
            how = {"set_device": "`setParams`", "set_coll_cfg": f"none: {refused['coll_cfg']}"}.get(name, "")
            decisions[where, name] = "the same" if hasattr(own, name) else how
    return decisions


def listed(library: str) -> dict[tuple[str, str], str]:
    """Return the decisions that the page lists of a library."""
    every = decided_on_spark() if library == SPARK else decided(library)
    alone = decided(IN_MEMORY[library]) if library in IN_MEMORY else {}
    return {name: here for name, here in every.items() if alone.get(name) != here}


def table(library: str) -> str:
    """Return the table of a library in Markdown, a row for each decision."""
    together, counts = defaultdict[tuple[str, str], list[str]](list), defaultdict[str, int](int)
    for (where, name), here in sorted(listed(library).items()):
        together[where, here].append(name)
        counts["the same" if here == "the same" else "translated" if here[:1] == "`" else "refused"] += 1
    order = ["constructor", "fit", "predictions", "attributes", "estimator", "model"]
    rows = sorted(
        together, key=lambda row: (order.index(row[0]), row[1] != "the same", row[1].startswith("none"), row[1])
    )
    beside = f"Beside {IN_MEMORY[library]}: " if library in IN_MEMORY else ""
    head = f"## {library}\n\n{beside}{counts['the same']} names are the same, {counts['translated']} have another one, "
    head += f"{counts['refused']} are refused.\n\n| where | name | here |\n|---|---|---|\n"
    lines = (f"| {where} | {_listed(together[where, here])} | {here} |" for where, here in rows)
    return head + "\n".join(lines) + "\n"


def _listed(found: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in found)


if __name__ == "__main__":
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    if importlib.util.find_spec("pyspark") is None:
        raise SystemExit("pyspark must be installed: pip install 'ordinal_objectives[spark]'")
    tables = "\n".join(map(table, [*KINDS, SPARK]))
    PAGE.write_text(f"{before}{BEGIN}\n{tables}\n{END}{after}", encoding="utf-8")
