"""Every parameter of a public name says what it is where it stands: its type, its default, and what it does."""

from __future__ import annotations

import importlib
import inspect
import re

from ordinal_objectives.utils.shared_docs import entries_of, has_written_default

TOP = "ordinal_objectives"
HOMES = ["", "adapters.xgb", "adapters.lgbm", "adapters.cb", "adapters.xgb.dask", "losses", "links", "metrics"]
HOMES += ["scorers", "inspection", "plotting", "decision", "decisions", "eval_metric", "row_blocks", "spec"]
HOMES += ["adapters.xgb.spark", "histogram_engine.multi_output.losses"]
CHASE = re.compile(r"(See|The same|As (in|for|there))\b")
HOSTS = (
    *(f":class:`{one}`" for one in ("xgboost.XGBClassifier", "lightgbm.LGBMClassifier")),
    "``catboost.CatBoostClassifier``",  # whose site has no names to link to
)
# Classes whose every method says what its parameters are.
WHOLE = ("adapters.", "histogram_engine.estimator.", "histogram_engine.multi_output.estimator.")
VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def public():
    """Yield every public class and function, and the methods of classes that list parameters, each by its name."""
    found = {}
    for home in HOMES:
        module = importlib.import_module(f"{TOP}.{home}".rstrip("."))
        names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
        for name in names:
            thing = getattr(module, name)
            ours = getattr(thing, "__module__", "").startswith(TOP if hasattr(module, "__all__") else module.__name__)
            if callable(thing) and hasattr(thing, "__name__") and ours:
                found[f"{thing.__module__}.{thing.__qualname__}".removeprefix(f"{TOP}.")] = thing
    for name, thing in list(found.items()):
        for one in dir(thing) if isinstance(thing, type) else ():
            method = inspect.unwrap(getattr(inspect.getattr_static(thing, one), "__func__", getattr(thing, one)))
            ours = inspect.isfunction(method) and method.__module__.startswith(TOP) and not one.startswith("_")
            # Of a loss or a link those that list parameters: the others are functions of a margin or of rows.
            if ours and (name.startswith(WHOLE) or "\nParameters\n" in (inspect.getdoc(method) or "")):
                found[f"{name}.{one}"] = getattr(thing, one)
    return found


PUBLIC = public()


def parameters_of(thing):
    """Return the parameters of a function, or of a class that is not only there to be implemented or warned with."""
    if getattr(thing, "_is_protocol", False) or (isinstance(thing, type) and issubclass(thing, Warning)):
        return []
    return [p for p in inspect.signature(thing).parameters.values() if p.name not in ("self", "cls")]


def faults(thing):
    """Return what the docstring of a class or function lacks."""
    found = []
    doc = inspect.cleandoc(thing.__doc__)
    sections = ("Parameters",) if "\nParameters\n" in doc else ("Attributes",)  # of what is returned
    entries = {name: block for names, block in entries_of(doc, *sections) for name in names}
    for parameter in parameters_of(thing):
        header, _, text = entries.get(parameter.name, "").partition("\n")
        kind, text = header.partition(" : ")[2], " ".join(text.split())
        if not header:
            found.append(f"{parameter.name} has no entry")
        elif not kind and any(host in text for host in HOSTS):
            continue
        elif not kind and parameter.kind not in VARIABLE:
            found.append(f"{parameter.name} has no type")
        elif not text or (CHASE.match(text) and ". " not in text):
            found.append(f"{parameter.name} says nothing: {text!r}")
        elif has_written_default(parameter) and sections == ("Parameters",):
            told = kind.partition("default=")[2].replace('"', "'")
            if told != repr(parameter.default):
                found.append(f"{parameter.name} has the default {parameter.default!r}; its entry says {told!r}")
    return found


def test_parameters_say_what_they_are():
    found = {name: faults(thing) for name, thing in PUBLIC.items()}
    assert not {name: lacks for name, lacks in found.items() if lacks}
