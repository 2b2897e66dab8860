"""What ``fit`` was given beside its rows, as far as a copy that is trained on other rows must know it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ordinal_objectives.estimators.held_out import is_auto


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
    """

    found_rounds: bool = False
    kept: Mapping[str, Any] = field(default_factory=dict)
    changed: Mapping[str, Any] = field(default_factory=dict)
    refused: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, sets: bool, may_find_rounds: bool, kept: Mapping[str, Any], unknown: list[str], **belonging: Any
    ) -> GivenToFit:
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
        return cls(
            sets or may_find_rounds,
            {
                name: value
                for name, value in kept.items()
                if not (value is None or is_auto(value) or np.size(value) == 0)
            },
            {"validation_fraction": None} if sets else {},
            (*refused, *of_callbacks(unknown)),
        )

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
        return replace(self, kept=others, refused=(*self.refused, "callbacks, which no pickle keeps"))


def of_callbacks(unknown: list[str]) -> list[str]:
    """Return what an error says of callbacks that may change parameters, by their names."""
    return [f"the callback {name}, without only_reads = True" for name in unknown]


class Schedules(NamedTuple):
    """Callbacks that change parameters: copies of the library's own, and the names of those that may change some."""

    known: list[Any]
    unknown: list[str]
