"""Arguments of a framework's own ``train``: ordinal parameters among them, and checks that name the argument."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ordinal_objectives.aliases import ArrayLike
from ordinal_objectives.spec import OrdinalSpec, parameter_names
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils.validation import first_few, n_classes_of

# Ordinal model that a training is asked for, and the record of one that is continued.
type Asked = tuple[OrdinalSpec, ThresholdRecord | None]
# Keywords of a framework's own functions.
type Options = Mapping[str, Any]


def asked_of_cv(entry_point: str, options: dict[str, object], label: ArrayLike) -> Asked:
    """Remove the ordinal parameters from the options of a ``cv``, and return the model that they ask for.

    The classes are those of all labels, since a fold may lack some.
    """
    own = given_options(options)
    n_classes = n_classes_of(label) if own.get("n_classes") is None else own["n_classes"]
    return spec_and_record(entry_point, **own | {"n_classes": n_classes})


def given_options(options: dict[str, object]) -> dict[str, object]:
    """Remove the ordinal parameters from the options of a ``train``, and return them."""
    return {name: options.pop(name) for name in parameter_names("train") if name in options}


def spec_and_record(entry_point: str, **given: object) -> Asked:
    """Return the specification of an entry point's arguments, and the record passed as thresholds, if one was."""
    thresholds = given.pop("thresholds", None)
    record = thresholds if isinstance(thresholds, ThresholdRecord) else None
    return OrdinalSpec.of(entry_point, thresholds=None if record else thresholds, **given), record


def refuse_parameters(params: Mapping[str, object], refused: Mapping[str, str]) -> None:
    """Raise ValueError for the first parameter in ``params`` that is not allowed with an ordinal objective.

    ``refused`` maps a name to the reason.
    """
    for name, reason in refused.items():
        if params.get(name) is not None:
            raise ValueError(
                f"params[{name!r}] = {params[name]!r} is not allowed beside an ordinal objective: {reason}"
            )


def check_same_columns(
    model: str, trained: int, here: int | None, trained_names: Sequence[str] | None, names: Sequence[str] | None
) -> None:
    """Raise ValueError if rows have other columns than the model that is continued on them.

    Parameters
    ----------
    model : str
        The argument that holds the model.
    trained, here : int or None
        How many columns the model has, and how many the rows; None where nobody knows.
    trained_names, names : sequence of str or None
        Their names; None where any will do.
    """
    if here is not None and here != trained:
        raise ValueError(f"{model} was trained on {trained} columns; here X has {here}")
    if trained_names is None or names is None:
        return
    differing = [f"{new!r} for {old!r}" for old, new in zip(trained_names, names, strict=False) if old != new]
    if differing or not names:
        raise ValueError(
            f"{model} was trained on the columns {first_few(trained_names, repr)}; here X has "
            f"{first_few(differing) or 'no names'}"
        )


def check_same_names(names: Sequence[str] | None, given: Sequence[str] | None, *, name: str = "data") -> None:
    """Raise ValueError if rows have other names of columns than the model; None of a model takes any."""
    if names is None or names == given:
        return
    pairs = enumerate(zip(names, given or (), strict=False))
    differing = [f"{other!r} for {own!r} in column {column}" for column, (own, other) in pairs if own != other]
    got = first_few(differing) or ("none" if given is None else f"{len(given)}")
    raise ValueError(f"{name} must have the model's {len(names)} feature names, in their order; got {got}")
