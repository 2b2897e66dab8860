"""What ``fit`` was given beside its rows, as far as a copy that is trained on other rows must know it."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ordinal_objectives.aliases import JSON, Params
from ordinal_objectives.estimators.held_out import is_auto
from ordinal_objectives.utils import validation


@dataclass(frozen=True)
class GivenToFit:
    """What ``fit`` was given beside its rows.

    Attributes
    ----------
    found_rounds : bool
        Whether it may have found the number of rounds, as an evaluation set does.
    kept : mapping of str to object
        Keywords of ``fit`` that copies are given too.
    changed : mapping of str to object
        Parameters that copies have instead, since the model did not use its own.
    refused : tuple of str
        Names of arguments that belong to the rows, or to a model that was continued: no copy can be given them.
    of_file : bool
        Whether a model file says so, which holds no keywords of ``fit``.
    """

    found_rounds: bool = False
    kept: Params = field(default_factory=dict)
    changed: Params = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    of_file: bool = False

    @classmethod
    def of(cls, sets: bool, may_find_rounds: bool, kept: Params, unknown: list[str], **belonging: Any) -> GivenToFit:
        """Return what the ``fit`` of a host's classifier was given.

        Parameters
        ----------
        sets : bool
            Whether evaluation sets, which take the place of rows held out.
        may_find_rounds : bool
            Whether anything else that may find the number of rounds.
        kept : mapping of str to object
            Keywords of ``fit``; those that are None, "auto" or an empty list say nothing.
        unknown : list of str
            Names of callbacks that may change parameters.
        **belonging
            What belongs to the rows, or to a model that is continued.
        """
        refused = [name for name, value in belonging.items() if value is not None]
        changed = {"validation_fraction": None} if sets else {}
        held = {k: v for k, v in kept.items() if not (v is None or is_auto(v) or np.size(v) == 0)}
        return cls(sets or may_find_rounds, held, changed, (*refused, *of_callbacks(unknown)))

    def check(self) -> None:
        """Raise ValueError if copies cannot be trained as the model was."""
        if self.refused:
            raise ValueError(
                f"estimator must be a model of which copies can be trained on other rows; its fit was given "
                f"{', '.join(self.refused)}, which they cannot be: fit it without"
            )

    def without_callbacks(self) -> GivenToFit:
        """Return what can be pickled: callbacks need not, and copies without them would be other models."""
        if "callbacks" not in self.kept:
            return self
        others = {name: value for name, value in self.kept.items() if name != "callbacks"}
        return replace(self, kept=others, refused=(*self.refused, "callbacks, which no file keeps"))

    def to_json(self) -> JSON:
        """Return what a model file holds, nothing where copies are trained by the parameters alone."""
        refused = list(self.without_callbacks().refused)
        if not (self.found_rounds or self.changed or refused):
            return {}
        return {"found_rounds": self.found_rounds, "changed": self.changed, "refused": refused}

    @classmethod
    def from_json(cls, stored: JSON) -> GivenToFit:
        """Return what a model file says.

        Raises
        ------
        ValueError
            If it is not what :meth:`to_json` returns.
        """
        if not stored:
            return cls(of_file=True)
        changed, refused = stored["changed"], stored["refused"]
        if changed not in ({}, {"validation_fraction": None}) or not isinstance(refused, list):
            raise ValueError(f"what fit was given must be as save_model writes it; got {stored!r}")
        found_rounds = validation.check_flag("found_rounds", stored["found_rounds"])
        return cls(found_rounds, changed=changed, refused=tuple(map(str, refused)), of_file=True)


def of_callbacks(unknown: list[str]) -> list[str]:
    """Return what an error says of callbacks that may change parameters, by their names."""
    return [f"the callback {name}, without only_reads = True" for name in unknown]


def only_reads(callback: object, own: tuple[type, ...]) -> bool:
    """Return whether a callback changes no parameter: one of the library's ``own``, or one that says so of itself."""
    return type(callback) in own or getattr(callback, "only_reads", False) is True


class Schedules(NamedTuple):
    """Callbacks that change parameters: copies of the library's own, and the names of those that may change some."""

    known: list[Any]
    unknown: list[str]

    @classmethod
    def among(cls, callbacks: list[Any], own: tuple[type, ...], schedule: type) -> Schedules:
        """Return those among callbacks; see :func:`only_reads`. ``schedule`` is the type of the library's own."""
        others = [callback for callback in callbacks if not only_reads(callback, own)]
        unknown = [callback for callback in others if type(callback) is not schedule]
        names = [getattr(callback, "__name__", type(callback).__name__) for callback in unknown]
        return cls(copy.deepcopy([callback for callback in others if type(callback) is schedule]), names)

    def warn_of_unknown(self) -> None:
        """Warn of callbacks that may change parameters, where some of the rows are trained on first.

        Such a training must change them too, and what a callback of somebody else's does it cannot know.
        """
        if self.unknown:
            warnings.warn(
                f"callbacks holds {', '.join(self.unknown)}, which n_estimators='auto' and decision_rule='kappa' do "
                f"not call where they train on some of the rows. If it changes parameters, pass n_estimators as a "
                f"number, and kappa an evaluation set; if it does not, give it an attribute only_reads = True",
                stacklevel=2,
            )


def smallest_rate(rate: float, first_rates: Iterable[float]) -> float:
    """Return the smaller of a learning rate and the positive ones with which schedules begin."""
    return min([rate, *(first for first in first_rates if first > 0)])
