"""Where the rows of a training are, and with whom they are shared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from ordinal_objectives.losses import OrdinalLoss
from ordinal_objectives.rows import CPU, Device, MarginPass, RowPass, Workers, distributed_pass


@dataclass(frozen=True)
class RowPlacement:
    """Where rows are passed over, by whom, and what those who share them have agreed on.

    Attributes
    ----------
    device : Device
        Where the rows' arrays are kept.
    workers : Workers or None
        Those who train together, each on its own rows; None if all rows are here.
    grows_on_recorded : bool or None
        Whether trees grow on the recorded scores, which workers must not find out one by one; None compares the scores.
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
