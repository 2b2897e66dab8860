"""What ``fit`` was given beside its rows, as far as a copy that is trained on other rows must know it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any


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


def names_of_given(**arguments: Any) -> tuple[str, ...]:
    """Return the names of the arguments that are not None."""
    return tuple(name for name, value in arguments.items() if value is not None)
