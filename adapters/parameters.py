"""Ordinal parameters among the arguments of a framework, and parameters that are refused beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from ordinal_objectives.spec import OrdinalSpec
from ordinal_objectives.threshold_solver.record import ThresholdRecord
from ordinal_objectives.utils.validation import n_classes_of

# Parameters of the model beside the number of its classes.
OPTIONS = (
    "loss",
    "link",
    "hessian",
    "threshold_update",
    "thresholds",
    "proportional",
    "shift_l2",
    "shift_penalty",
    "max_shifts",
    "shift_method",
    "split_outputs",
)


def ordinal_options(options: dict[str, Any], label: ArrayLike) -> dict[str, Any]:
    """Take the ordinal parameters out of the options of ``cv``, and return them.

    The classes are those of all labels, since a fold may lack some.
    """
    own = given_options(options)
    if own.get("n_classes") is None:
        own["n_classes"] = n_classes_of(label)
    return own


def given_options(options: dict[str, Any]) -> dict[str, Any]:
    """Take the ordinal parameters out of the options of a ``train``, and return them."""
    return {name: options.pop(name) for name in ("n_classes", *OPTIONS) if name in options}


def spec_and_record(door: str, **given: Any) -> tuple[OrdinalSpec, ThresholdRecord | None]:
    """Return the model that a door was asked for, and the record that was given as its thresholds, if one was."""
    thresholds = given.pop("thresholds", None)
    record = thresholds if isinstance(thresholds, ThresholdRecord) else None
    return OrdinalSpec.of(door, thresholds=None if record else thresholds, **given), record


def refuse_parameters(params: Mapping[str, Any], refused: Mapping[str, str]) -> None:
    """Raise ValueError for the first parameter in ``params`` that is not allowed with an ordinal objective.

    ``refused`` maps a name to the reason.
    """
    for name, reason in refused.items():
        if params.get(name) is not None:
            raise ValueError(
                f"params[{name!r}] = {params[name]!r} is not allowed beside an ordinal objective: {reason}"
            )
