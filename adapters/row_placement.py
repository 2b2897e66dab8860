"""Device of the rows of a training, and the workers that share them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.rows import CPU, Device, MarginPass, RowPass, Workers, distributed_pass


@dataclass(frozen=True)
class RowPlacement:
    """Device of the rows, their workers, and settings that must be the same on all workers.

    Attributes
    ----------
    device : Device
        Device that holds the rows' arrays.
    workers : Workers or None
        The workers of the training, each with its own rows; None if all rows are on this machine.
    grows_on_recorded : bool or None
        Whether trees grow on the recorded scores; workers must not decide this separately. None compares the scores.
    defers_loss : bool
        Whether the loss of a record may wait for the next step's sums: all workers ask for the record at the end.
    """

    device: Device = field(default_factory=CPU)
    workers: Workers | None = None
    grows_on_recorded: bool | None = None
    defers_loss: bool = False

    def rows(self, loss: OrdinalLoss, y: ArrayLike, n_classes: int, weight: Any) -> RowPass:
        """Return the pass over rows with one score each."""
        return distributed_pass(self.device.row_pass, self.workers, loss, y, n_classes, weight)

    def margins(
        self, loss: OrdinalLoss, y: ArrayLike, n_classes: int, weight: Any, *, in_doubles: bool = False
    ) -> MarginPass:
        """Return the pass over rows with a score for each threshold."""
        return distributed_pass(
            self.device.margin_pass, self.workers, loss, y, n_classes, weight, in_doubles=in_doubles
        )
